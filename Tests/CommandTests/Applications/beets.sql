-- [schema]
CREATE TABLE items(id INTEGER PRIMARY KEY, path BLOB, album_id INTEGER, title TEXT, artist TEXT, mb_trackid TEXT,
    track INTEGER, disc INTEGER, year INTEGER, discogs_albumid INTEGER);
CREATE TABLE albums(id INTEGER PRIMARY KEY, artpath BLOB, album TEXT, albumartist TEXT, mb_albumid TEXT, year INTEGER,
    discogs_albumid INTEGER);
CREATE TABLE item_attributes(id INTEGER PRIMARY KEY, entity_id INTEGER, key TEXT, value TEXT,
    UNIQUE(entity_id, key) ON CONFLICT REPLACE);
CREATE TABLE album_attributes(id INTEGER PRIMARY KEY, entity_id INTEGER, key TEXT, value TEXT,
    UNIQUE(entity_id, key) ON CONFLICT REPLACE);
CREATE TABLE migrations(name TEXT NOT NULL, table_name TEXT NOT NULL, PRIMARY KEY(name, table_name));
INSERT INTO albums VALUES(1, NULL, 'Kind of Blue', 'Davis', '', 1959, 0);
INSERT INTO items VALUES(1, x'2f61', 1, 'So What', 'Davis', '', 1, 1, 1959, 0);
INSERT INTO item_attributes VALUES(1, 1, 'data_source', 'mb');
-- [here]
INSERT INTO albums VALUES(2, NULL, 'Blue Train', 'Coltrane', '', 1958, 0);
INSERT INTO items VALUES(2, x'2f62', 2, 'Moment''s Notice', 'Coltrane', '', 1, 1, 1958, 0);
INSERT INTO item_attributes VALUES(2, 2, 'mood', 'bright');
INSERT INTO migrations VALUES('m1', 'items');
-- [there]
INSERT INTO albums VALUES(2, NULL, 'Mingus Ah Um', 'Mingus', '', 1959, 2);
INSERT INTO items VALUES(2, x'2f63', 2, 'Better Git It', 'Mingus', '', 1, 1, 1959, 2);
INSERT INTO item_attributes VALUES(2, 2, 'mood', 'wild');
INSERT INTO album_attributes VALUES(1, 2, 'shelf', '3');
-- [shows]
SELECT i.title, a.album, (SELECT group_concat(key || '=' || value) FROM item_attributes WHERE entity_id = i.id)
    FROM items AS i JOIN albums AS a ON a.id = i.album_id ORDER BY 1;
SELECT album, discogs_albumid FROM albums ORDER BY 1;
SELECT a.album, t.value FROM album_attributes AS t JOIN albums AS a ON a.id = t.entity_id;
-- [expected]
Better Git It|Mingus Ah Um|mood=wild
Moment's Notice|Blue Train|mood=bright
So What|Kind of Blue|data_source=mb
Blue Train|0
Kind of Blue|0
Mingus Ah Um|2
Mingus Ah Um|3
-- [apart]
SELECT count(*) FROM migrations;
