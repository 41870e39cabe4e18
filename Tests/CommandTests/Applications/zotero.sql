-- [schema]
CREATE TABLE version(schema TEXT PRIMARY KEY, version INT NOT NULL);
CREATE TABLE libraries(libraryID INTEGER PRIMARY KEY, type TEXT NOT NULL);
CREATE TABLE itemTypes(itemTypeID INTEGER PRIMARY KEY, typeName TEXT);
CREATE TABLE fields(fieldID INTEGER PRIMARY KEY, fieldName TEXT);
CREATE TABLE items(itemID INTEGER PRIMARY KEY, itemTypeID INT NOT NULL, dateAdded TIMESTAMP NOT NULL DEFAULT '2026',
    dateModified TIMESTAMP NOT NULL DEFAULT '2026', libraryID INT NOT NULL, key TEXT NOT NULL,
    version INT NOT NULL DEFAULT 0, synced INT NOT NULL DEFAULT 0, UNIQUE (libraryID, key),
    FOREIGN KEY (libraryID) REFERENCES libraries(libraryID) ON DELETE CASCADE);
CREATE TABLE itemDataValues(valueID INTEGER PRIMARY KEY, value UNIQUE);
CREATE TABLE itemData(itemID INT, fieldID INT, valueID, PRIMARY KEY (itemID, fieldID),
    FOREIGN KEY (itemID) REFERENCES items(itemID) ON DELETE CASCADE,
    FOREIGN KEY (valueID) REFERENCES itemDataValues(valueID));
CREATE TABLE itemNotes(itemID INTEGER PRIMARY KEY, parentItemID INT, note TEXT, title TEXT,
    FOREIGN KEY (itemID) REFERENCES items(itemID) ON DELETE CASCADE,
    FOREIGN KEY (parentItemID) REFERENCES items(itemID) ON DELETE CASCADE);
CREATE TABLE tags(tagID INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE itemTags(itemID INT NOT NULL, tagID INT NOT NULL, type INT NOT NULL, PRIMARY KEY (itemID, tagID),
    FOREIGN KEY (itemID) REFERENCES items(itemID) ON DELETE CASCADE,
    FOREIGN KEY (tagID) REFERENCES tags(tagID) ON DELETE CASCADE);
CREATE TABLE collections(collectionID INTEGER PRIMARY KEY, collectionName TEXT NOT NULL,
    parentCollectionID INT DEFAULT NULL, libraryID INT NOT NULL, key TEXT NOT NULL, UNIQUE (libraryID, key),
    FOREIGN KEY (parentCollectionID) REFERENCES collections(collectionID) ON DELETE CASCADE);
CREATE TABLE collectionItems(collectionID INT NOT NULL, itemID INT NOT NULL, orderIndex INT NOT NULL DEFAULT 0,
    PRIMARY KEY (collectionID, itemID), FOREIGN KEY (collectionID) REFERENCES collections(collectionID) ON DELETE CASCADE,
    FOREIGN KEY (itemID) REFERENCES items(itemID) ON DELETE CASCADE);
CREATE TABLE syncDeleteLog(syncObjectTypeID INT NOT NULL, libraryID INT NOT NULL, key TEXT NOT NULL,
    UNIQUE (syncObjectTypeID, libraryID, key));
INSERT INTO version VALUES('userdata', 120); INSERT INTO libraries VALUES(1, 'user');
INSERT INTO itemTypes VALUES(1, 'note'), (2, 'book'); INSERT INTO fields VALUES(110, 'title');
INSERT INTO items(itemID, itemTypeID, libraryID, key) VALUES(1, 2, 1, 'AAAA1111');
INSERT INTO itemDataValues VALUES(1, 'Dune'); INSERT INTO itemData VALUES(1, 110, 1);
-- [here]
INSERT INTO items(itemID, itemTypeID, libraryID, key) VALUES(2, 2, 1, 'BBBB2222');
INSERT INTO itemDataValues VALUES(2, 'Emma'); INSERT INTO itemData VALUES(2, 110, 2);
INSERT INTO tags VALUES(1, 'novel'); INSERT INTO itemTags VALUES(2, 1, 0);
INSERT INTO items(itemID, itemTypeID, libraryID, key) VALUES(3, 1, 1, 'CCCC3333');
INSERT INTO itemNotes VALUES(3, 2, 'on Emma', '');
INSERT INTO syncDeleteLog VALUES(1, 1, 'X');
-- [there]
INSERT INTO items(itemID, itemTypeID, libraryID, key) VALUES(2, 2, 1, 'DDDD4444');
INSERT INTO itemDataValues VALUES(2, 'Solaris'); INSERT INTO itemData VALUES(2, 110, 2);
INSERT INTO tags VALUES(1, 'novel'); INSERT INTO itemTags VALUES(2, 1, 0);
INSERT INTO collections(collectionID, collectionName, libraryID, key) VALUES(1, 'SF', 1, 'EEEE5555');
INSERT INTO collectionItems(collectionID, itemID) VALUES(1, 1), (1, 2);
-- [shows]
SELECT v.value, t.typeName, (SELECT g.name FROM itemTags AS x JOIN tags AS g USING (tagID) WHERE x.itemID = i.itemID),
    (SELECT n.note FROM itemNotes AS n WHERE n.parentItemID = i.itemID), (SELECT c.collectionName FROM collectionItems AS x
    JOIN collections AS c USING (collectionID) WHERE x.itemID = i.itemID)
    FROM items AS i JOIN itemData AS d USING (itemID) JOIN itemDataValues AS v USING (valueID)
    JOIN itemTypes AS t USING (itemTypeID) ORDER BY 1;
SELECT count(*) FROM tags;
-- [expected]
Dune|book|||SF
Emma|book|novel|on Emma|
Solaris|book|novel||SF
1
-- [apart]
SELECT count(*) FROM syncDeleteLog;
