-- [schema]
CREATE TABLE room_master_table(id INTEGER PRIMARY KEY, identity_hash TEXT);
CREATE TABLE android_metadata(locale TEXT);
CREATE TABLE list(id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, name TEXT NOT NULL);
CREATE TABLE task(id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, list INTEGER NOT NULL, text TEXT NOT NULL,
    FOREIGN KEY(list) REFERENCES list(id) ON UPDATE NO ACTION ON DELETE CASCADE);
INSERT INTO room_master_table VALUES(42, 'h1'); INSERT INTO android_metadata VALUES('en_US');
-- [here]
INSERT INTO list(name) VALUES('home'); INSERT INTO task(list, text) VALUES(1, 'milk');
UPDATE room_master_table SET identity_hash = 'h2';
-- [there]
INSERT INTO list(name) VALUES('work'); INSERT INTO task(list, text) VALUES(1, 'mail');
-- [shows]
SELECT t.text, l.name FROM task AS t JOIN list AS l ON l.id = t.list ORDER BY 1;
-- [expected]
mail|work
milk|home
-- [apart]
SELECT identity_hash FROM room_master_table;
