-- [schema]
CREATE TABLE AlbumRoots(id INTEGER PRIMARY KEY, label TEXT, status INTEGER NOT NULL, type INTEGER NOT NULL,
    identifier TEXT, specificPath TEXT, UNIQUE(identifier, specificPath));
CREATE TABLE Albums(id INTEGER PRIMARY KEY, albumRoot INTEGER NOT NULL, relativePath TEXT NOT NULL, icon INTEGER,
    UNIQUE(albumRoot, relativePath));
CREATE TABLE Images(id INTEGER PRIMARY KEY, album INTEGER, name TEXT NOT NULL, status INTEGER NOT NULL, uniqueHash TEXT,
    UNIQUE(album, name));
CREATE TABLE ImageInformation(imageid INTEGER PRIMARY KEY, rating INTEGER, format TEXT);
CREATE TABLE Tags(id INTEGER PRIMARY KEY, pid INTEGER, name TEXT NOT NULL, icon INTEGER, UNIQUE(name, pid));
CREATE TABLE TagsTree(id INTEGER NOT NULL, pid INTEGER NOT NULL, UNIQUE(id, pid));
CREATE TABLE ImageTags(imageid INTEGER NOT NULL, tagid INTEGER NOT NULL, UNIQUE(imageid, tagid));
CREATE TABLE Settings(keyword TEXT NOT NULL UNIQUE, value TEXT);
CREATE TRIGGER delete_image DELETE ON Images BEGIN
    DELETE FROM ImageTags WHERE imageid = OLD.id; DELETE FROM ImageInformation WHERE imageid = OLD.id;
    UPDATE Albums SET icon = null WHERE icon = OLD.id; END;
CREATE TRIGGER insert_tagstree AFTER INSERT ON Tags BEGIN
    INSERT INTO TagsTree SELECT NEW.id, NEW.pid UNION SELECT NEW.id, pid FROM TagsTree WHERE id = NEW.pid; END;
INSERT INTO AlbumRoots VALUES(1, 'Photos', 0, 1, 'volumeid:?uuid=x', '/');
INSERT INTO Albums VALUES(1, 1, '/2024', NULL); INSERT INTO Images VALUES(1, 1, 'old.jpg', 1, 'h1');
INSERT INTO ImageInformation VALUES(1, 3, 'JPG'); INSERT INTO Tags VALUES(1, 0, 'people', NULL);
INSERT INTO Settings VALUES('DBVersion', '16');
-- [here]
INSERT INTO Images VALUES(2, 1, 'here.jpg', 1, 'h2'); INSERT INTO ImageInformation VALUES(2, 5, 'JPG');
INSERT INTO Tags(id, pid, name) VALUES(2, 1, 'Ann'); INSERT INTO ImageTags VALUES(2, 2);
-- [there]
INSERT INTO Images VALUES(2, 1, 'there.jpg', 1, 'h3'); INSERT INTO ImageInformation VALUES(2, 1, 'PNG');
INSERT INTO Tags(id, pid, name) VALUES(2, 1, 'Bob'); INSERT INTO ImageTags VALUES(2, 2), (1, 2);
UPDATE Albums SET icon = 2; UPDATE ImageInformation SET rating = 4 WHERE imageid = 1;
-- [shows]
SELECT Images.name, rating, format, group_concat(Tags.name) FROM Images JOIN ImageInformation AS i ON i.imageid = Images.id
    LEFT JOIN ImageTags ON ImageTags.imageid = Images.id LEFT JOIN Tags ON Tags.id = tagid GROUP BY 1 ORDER BY 1;
SELECT t.name, coalesce(p.name, t.pid) FROM Tags AS t LEFT JOIN Tags AS p ON p.id = t.pid ORDER BY 1;
SELECT t.name, coalesce(p.name, TagsTree.pid) FROM TagsTree JOIN Tags AS t USING(id) LEFT JOIN Tags AS p ON p.id = TagsTree.pid
    ORDER BY 1, 2;
SELECT relativePath, name FROM Albums JOIN Images ON Images.id = icon;
-- [expected]
here.jpg|5|JPG|Ann
old.jpg|4|JPG|Bob
there.jpg|1|PNG|Bob
Ann|people
Bob|people
people|0
Ann|0
Ann|people
Bob|0
Bob|people
people|0
/2024|there.jpg
