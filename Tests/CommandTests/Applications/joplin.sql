-- [schema]
CREATE TABLE folders(id TEXT PRIMARY KEY, title TEXT NOT NULL DEFAULT '', encryption_applied INT NOT NULL DEFAULT 0,
    parent_id TEXT NOT NULL DEFAULT '');
CREATE TABLE notes(id TEXT PRIMARY KEY, parent_id TEXT NOT NULL DEFAULT '', title TEXT NOT NULL DEFAULT '',
    body TEXT NOT NULL DEFAULT '', is_conflict INT NOT NULL DEFAULT 0, encryption_applied INT NOT NULL DEFAULT 0);
CREATE TABLE tags(id TEXT PRIMARY KEY, title TEXT NOT NULL DEFAULT '');
CREATE TABLE note_tags(id TEXT PRIMARY KEY, note_id TEXT NOT NULL, tag_id TEXT NOT NULL);
CREATE TABLE sync_items(id INTEGER PRIMARY KEY AUTOINCREMENT, sync_target INT NOT NULL, sync_time INT NOT NULL DEFAULT 0,
    item_id TEXT NOT NULL);
CREATE TABLE item_changes(id INTEGER PRIMARY KEY AUTOINCREMENT, item_type INT NOT NULL, item_id TEXT NOT NULL);
CREATE TABLE notes_normalized(id TEXT NOT NULL, title TEXT NOT NULL DEFAULT '', body TEXT NOT NULL DEFAULT '');
CREATE TABLE settings(key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE version(version INT NOT NULL);
INSERT INTO version VALUES(47);
INSERT INTO settings VALUES('clientId', 'c1');
INSERT INTO folders(id, title) VALUES('f1', 'Home');
-- [here]
INSERT INTO notes(id, parent_id, title) VALUES('n1', 'f1', 'milk');
INSERT INTO sync_items(sync_target, item_id) VALUES(2, 'n1');
UPDATE settings SET value = 'c2';
-- [there]
INSERT INTO notes(id, parent_id, title) VALUES('n2', 'f1', 'bread');
-- [shows]
SELECT n.title, f.title FROM notes AS n JOIN folders AS f ON f.id = n.parent_id ORDER BY 1;
SELECT version FROM version;
-- [expected]
bread|Home
milk|Home
47
-- [apart]
SELECT count(*), (SELECT value FROM settings) FROM sync_items;
