-- [schema]
CREATE TABLE rss_feed(rssurl VARCHAR(1024) PRIMARY KEY NOT NULL, url VARCHAR(1024) NOT NULL, title VARCHAR(1024) NOT NULL,
    lastmodified INTEGER(11) NOT NULL DEFAULT 0, is_rtl INTEGER(1) NOT NULL DEFAULT 0, etag VARCHAR(128) NOT NULL DEFAULT '');
CREATE TABLE rss_item(id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, guid VARCHAR(64) NOT NULL,
    title VARCHAR(1024) NOT NULL, url VARCHAR(1024) NOT NULL, feedurl VARCHAR(1024) NOT NULL, pubDate INTEGER NOT NULL,
    content VARCHAR(65535) NOT NULL, unread INTEGER(1) NOT NULL, enqueued INTEGER(1) NOT NULL DEFAULT 0,
    deleted INTEGER(1) NOT NULL DEFAULT 0);
CREATE INDEX idx_guid ON rss_item(guid);
CREATE TABLE google_replay(id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, guid VARCHAR(64) NOT NULL,
    state INTEGER NOT NULL, ts INTEGER NOT NULL);
CREATE TABLE metadata(db_schema_version_major INTEGER NOT NULL, db_schema_version_minor INTEGER NOT NULL);
INSERT INTO metadata VALUES(2, 11);
INSERT INTO rss_feed(rssurl, url, title) VALUES('https://a.org/f', 'https://a.org', 'A');
INSERT INTO rss_item(guid, title, url, feedurl, pubDate, content, unread) VALUES('g1', 'one', 'u', 'https://a.org/f', 1, '', 1);
-- [here]
UPDATE rss_item SET unread = 0 WHERE guid = 'g1';
INSERT INTO rss_item(guid, title, url, feedurl, pubDate, content, unread) VALUES('g2', 'two', 'u', 'https://a.org/f', 2, '', 1);
INSERT INTO google_replay(guid, state, ts) VALUES('g1', 1, 1);
-- [there]
INSERT INTO rss_item(guid, title, url, feedurl, pubDate, content, unread) VALUES('g3', 'three', 'u', 'https://a.org/f', 3, '', 1);
-- [shows]
SELECT guid, unread FROM rss_item ORDER BY 1;
SELECT * FROM metadata;
-- [expected]
g1|0
g2|1
g3|1
2|11
-- [apart]
SELECT count(*) FROM google_replay;
