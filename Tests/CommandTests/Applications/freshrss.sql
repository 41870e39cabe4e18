-- [schema]
CREATE TABLE category(id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, name VARCHAR(191) NOT NULL, UNIQUE(name));
CREATE TABLE feed(id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, url VARCHAR(32768) NOT NULL, category INTEGER DEFAULT 0,
    name VARCHAR(191) NOT NULL, pathEntries VARCHAR(4096) DEFAULT NULL, httpAuth VARCHAR(1024) DEFAULT NULL,
    cache_nbEntries INT DEFAULT 0, cache_nbUnreads INT DEFAULT 0,
    FOREIGN KEY(category) REFERENCES category(id) ON DELETE SET NULL ON UPDATE CASCADE);
CREATE TABLE entry(id BIGINT NOT NULL, guid VARCHAR(767) NOT NULL, title VARCHAR(8192) NOT NULL, lastSeen BIGINT DEFAULT 0,
    is_read BOOLEAN NOT NULL DEFAULT 0, is_favorite BOOLEAN NOT NULL DEFAULT 0, id_feed INTEGER, PRIMARY KEY(id),
    FOREIGN KEY(id_feed) REFERENCES feed(id) ON DELETE CASCADE ON UPDATE CASCADE, UNIQUE(id_feed, guid));
CREATE TABLE entrytmp(id BIGINT NOT NULL, guid VARCHAR(767) NOT NULL, id_feed INTEGER, PRIMARY KEY(id),
    FOREIGN KEY(id_feed) REFERENCES feed(id) ON DELETE CASCADE ON UPDATE CASCADE, UNIQUE(id_feed, guid));
CREATE TABLE tag(id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, name VARCHAR(191) NOT NULL, UNIQUE(name));
CREATE TABLE entrytag(id_tag INTEGER, id_entry BIGINT, PRIMARY KEY(id_tag, id_entry),
    FOREIGN KEY(id_tag) REFERENCES tag(id) ON DELETE CASCADE ON UPDATE CASCADE,
    FOREIGN KEY(id_entry) REFERENCES entry(id) ON DELETE CASCADE ON UPDATE CASCADE);
INSERT INTO category VALUES(1, 'Uncategorized'); INSERT INTO feed VALUES(1, 'http://x/one', 1, 'One', NULL, NULL, 3, 3);
INSERT INTO entry VALUES(1795713374150330, 'a', 'A', 1, 0, 0, 1), (1795713374150331, 'b', 'B', 1, 0, 0, 1),
    (1795713374150332, 'c', 'C', 1, 0, 0, 1);
-- [here]
INSERT INTO category VALUES(2, 'Tech'); INSERT INTO feed VALUES(2, 'http://x/two', 2, 'Two', NULL, NULL, 1, 1);
INSERT INTO entry VALUES(1795713472691045, 'd', 'D', 1, 0, 0, 2);
UPDATE entry SET is_read = 1 WHERE guid = 'a'; UPDATE feed SET cache_nbUnreads = cache_nbUnreads - 1 WHERE id = 1;
INSERT INTO tag VALUES(1, 'good'); INSERT INTO entrytag VALUES(1, 1795713374150330);
-- [there]
INSERT INTO category VALUES(2, 'Tech'); INSERT INTO feed VALUES(2, 'http://x/three', 2, 'Three', NULL, NULL, 1, 1);
INSERT INTO entry VALUES(1795713472691999, 'e', 'E', 1, 0, 0, 2);
UPDATE entry SET is_read = 1 WHERE guid = 'b'; UPDATE feed SET cache_nbUnreads = cache_nbUnreads - 1 WHERE id = 1;
INSERT INTO tag VALUES(1, 'bee'), (2, 'good'); INSERT INTO entrytag VALUES(1, 1795713374150331), (2, 1795713374150331);
-- [shows]
SELECT f.name, c.name, cache_nbEntries, (SELECT count(*) FROM entry WHERE id_feed = f.id), cache_nbUnreads,
    (SELECT count(*) FROM entry WHERE id_feed = f.id AND is_read = 0)
    FROM feed AS f JOIN category AS c ON c.id = f.category ORDER BY 1;
SELECT title, f.name, is_read FROM entry JOIN feed AS f ON f.id = id_feed ORDER BY 1;
SELECT t.name, title FROM entrytag JOIN tag AS t ON t.id = id_tag JOIN entry AS e ON e.id = id_entry ORDER BY 1, 2;
-- [expected]
One|Uncategorized|3|3|1|1
Three|Tech|1|1|1|1
Two|Tech|1|1|1|1
A|One|1
B|One|1
C|One|0
D|Two|0
E|Three|0
bee|B
good|A
good|B
