-- [schema]
CREATE TABLE moz_origins(id INTEGER PRIMARY KEY, prefix TEXT NOT NULL, host TEXT NOT NULL, frecency INTEGER NOT NULL,
    UNIQUE (prefix, host));
CREATE TABLE moz_places(id INTEGER PRIMARY KEY, url LONGVARCHAR, title LONGVARCHAR, rev_host LONGVARCHAR,
    visit_count INTEGER DEFAULT 0, hidden INTEGER DEFAULT 0 NOT NULL, typed INTEGER DEFAULT 0 NOT NULL,
    frecency INTEGER DEFAULT -1 NOT NULL, last_visit_date INTEGER, guid TEXT, foreign_count INTEGER DEFAULT 0 NOT NULL,
    url_hash INTEGER DEFAULT 0 NOT NULL, origin_id INTEGER REFERENCES moz_origins(id));
CREATE UNIQUE INDEX moz_places_guid_uniqueindex ON moz_places(guid);
CREATE TABLE moz_historyvisits(id INTEGER PRIMARY KEY, from_visit INTEGER, place_id INTEGER, visit_date INTEGER,
    visit_type INTEGER, session INTEGER, source INTEGER DEFAULT 0 NOT NULL, triggeringPlaceId INTEGER);
CREATE TABLE moz_inputhistory(place_id INTEGER NOT NULL, input LONGVARCHAR NOT NULL, use_count INTEGER,
    PRIMARY KEY (place_id, input));
CREATE TABLE moz_bookmarks(id INTEGER PRIMARY KEY, type INTEGER, fk INTEGER DEFAULT NULL, parent INTEGER,
    position INTEGER, title LONGVARCHAR, keyword_id INTEGER, folder_type TEXT, dateAdded INTEGER, lastModified INTEGER,
    guid TEXT, syncStatus INTEGER NOT NULL DEFAULT 0, syncChangeCounter INTEGER NOT NULL DEFAULT 1);
CREATE UNIQUE INDEX moz_bookmarks_guid_uniqueindex ON moz_bookmarks(guid);
CREATE TABLE moz_bookmarks_deleted(guid TEXT PRIMARY KEY, dateRemoved INTEGER NOT NULL DEFAULT 0);
CREATE TABLE moz_keywords(id INTEGER PRIMARY KEY AUTOINCREMENT, keyword TEXT UNIQUE, place_id INTEGER, post_data TEXT);
CREATE TABLE moz_anno_attributes(id INTEGER PRIMARY KEY, name VARCHAR(32) UNIQUE NOT NULL);
CREATE TABLE moz_annos(id INTEGER PRIMARY KEY, place_id INTEGER NOT NULL, anno_attribute_id INTEGER, content LONGVARCHAR);
CREATE TABLE moz_items_annos(id INTEGER PRIMARY KEY, item_id INTEGER NOT NULL, anno_attribute_id INTEGER,
    content LONGVARCHAR);
CREATE TABLE moz_meta(key TEXT PRIMARY KEY, value NOT NULL) WITHOUT ROWID;
CREATE TABLE moz_newtab_story_click(newtab_story_id INTEGER, count INTEGER);
INSERT INTO moz_bookmarks(id, type, parent, position, title, guid) VALUES(1, 2, 0, 0, '', 'root________'),
    (2, 2, 1, 0, 'menu', 'menu________');
INSERT INTO moz_origins VALUES(1, 'https://', 'a.org', 1);
INSERT INTO moz_places(id, url, title, guid, url_hash, origin_id, foreign_count)
    VALUES(1, 'https://a.org/', 'A', 'pa', 125508604, 1, 1);
INSERT INTO moz_bookmarks(id, type, fk, parent, position, title, guid) VALUES(3, 1, 1, 2, 0, 'A', 'ba');
-- [here]
INSERT INTO moz_places(id, url, title, guid, url_hash, origin_id) VALUES(2, 'https://a.org/b', 'B', 'pb', 47358, 1);
INSERT INTO moz_bookmarks(id, type, parent, position, title, guid) VALUES(4, 2, 2, 1, 'here', 'fh');
INSERT INTO moz_bookmarks(id, type, fk, parent, position, title, guid) VALUES(5, 1, 2, 4, 0, 'B', 'bb');
INSERT INTO moz_historyvisits(id, from_visit, place_id, visit_date) VALUES(1, 0, 1, 10), (2, 1, 2, 11);
UPDATE moz_places SET visit_count = visit_count + 1, foreign_count = foreign_count + 1 WHERE id IN (1, 2);
-- [there]
INSERT INTO moz_origins VALUES(2, 'https://', 'c.org', 1);
INSERT INTO moz_places(id, url, title, guid, url_hash, origin_id) VALUES(2, 'https://c.org/', 'C', 'pc', 99, 2);
INSERT INTO moz_bookmarks(id, type, parent, position, title, guid) VALUES(4, 2, 2, 1, 'there', 'ft');
INSERT INTO moz_bookmarks(id, type, fk, parent, position, title, guid) VALUES(5, 1, 2, 4, 0, 'C', 'bc');
INSERT INTO moz_historyvisits(id, from_visit, place_id, visit_date) VALUES(1, 0, 2, 20), (2, 1, 1, 21);
UPDATE moz_places SET visit_count = visit_count + 1, foreign_count = foreign_count + 1 WHERE id IN (1, 2);
-- [shows]
SELECT b.title, f.title, p.url, o.host FROM moz_bookmarks AS b JOIN moz_bookmarks AS f ON f.id = b.parent
    JOIN moz_places AS p ON p.id = b.fk JOIN moz_origins AS o ON o.id = p.origin_id ORDER BY 1;
SELECT p.title, (SELECT q.title FROM moz_historyvisits AS w JOIN moz_places AS q ON q.id = w.place_id
    WHERE w.id = v.from_visit) FROM moz_historyvisits AS v JOIN moz_places AS p ON p.id = v.place_id ORDER BY v.visit_date;
SELECT title, visit_count, foreign_count FROM moz_places ORDER BY 1;
SELECT parent FROM moz_bookmarks WHERE guid = 'root________';
-- [expected]
A|menu|https://a.org/|a.org
B|here|https://a.org/b|a.org
C|there|https://c.org/|c.org
A|
B|A
C|
A|C
A|2|3
B|1|1
C|1|1
0
