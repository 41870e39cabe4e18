-- [schema]
CREATE TABLE feed_source(url_hash TEXT NOT NULL PRIMARY KEY, url TEXT NOT NULL, title TEXT NOT NULL, category_id TEXT,
    last_sync_timestamp INTEGER, logo_url TEXT, fetch_failed INTEGER NOT NULL DEFAULT 0);
CREATE TABLE feed_source_category(id TEXT NOT NULL PRIMARY KEY, title TEXT NOT NULL);
CREATE TABLE feed_item(url_hash TEXT NOT NULL PRIMARY KEY, url TEXT NOT NULL, title TEXT, feed_source_id TEXT NOT NULL,
    is_read INTEGER NOT NULL DEFAULT 0, is_bookmarked INTEGER NOT NULL DEFAULT 0, pub_date INTEGER);
CREATE TABLE sync_metadata(id INTEGER NOT NULL PRIMARY KEY, last_upload INTEGER);
INSERT INTO feed_source_category VALUES('c1', 'News');
INSERT INTO feed_source VALUES('s1', 'https://a.org', 'A', 'c1', 0, NULL, 0);
INSERT INTO feed_item VALUES('i1', 'https://a.org/1', 'One', 's1', 0, 0, 1);
-- [here]
UPDATE feed_item SET is_read = 1 WHERE url_hash = 'i1';
INSERT INTO feed_item VALUES('i2', 'https://a.org/2', 'Two', 's1', 0, 0, 2);
INSERT INTO sync_metadata VALUES(1, 5);
-- [there]
UPDATE feed_item SET is_bookmarked = 1 WHERE url_hash = 'i1';
INSERT INTO feed_item VALUES('i2', 'https://a.org/2', 'Two', 's1', 0, 0, 2);
-- [shows]
SELECT url_hash, is_read, is_bookmarked FROM feed_item ORDER BY 1;
-- [expected]
i1|1|1
i2|0|0
-- [apart]
SELECT count(*) FROM sync_metadata;
