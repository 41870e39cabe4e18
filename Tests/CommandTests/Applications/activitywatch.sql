-- [schema]
CREATE TABLE buckets(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE NOT NULL, type TEXT NOT NULL,
    client TEXT NOT NULL, hostname TEXT NOT NULL, created TEXT NOT NULL, data TEXT NOT NULL DEFAULT '{}');
CREATE TABLE events(id INTEGER PRIMARY KEY AUTOINCREMENT, bucketrow INTEGER NOT NULL, starttime INTEGER NOT NULL,
    endtime INTEGER NOT NULL, data TEXT NOT NULL, FOREIGN KEY (bucketrow) REFERENCES buckets(id));
CREATE TABLE key_value(key TEXT PRIMARY KEY, value TEXT, last_modified NUMBER NOT NULL);
INSERT INTO buckets(name, type, client, hostname, created) VALUES('window_desk', 'window', 'watcher', 'desk', '2026');
INSERT INTO events(bucketrow, starttime, endtime, data) VALUES(1, 10, 20, 'mail');
-- [here]
INSERT INTO events(bucketrow, starttime, endtime, data) VALUES(1, 20, 30, 'shell');
INSERT INTO buckets(name, type, client, hostname, created) VALUES('afk_desk', 'afk', 'watcher', 'desk', '2026');
INSERT INTO events(bucketrow, starttime, endtime, data) VALUES(2, 20, 25, 'idle');
-- [there]
INSERT INTO buckets(name, type, client, hostname, created) VALUES('window_lap', 'window', 'watcher', 'lap', '2026');
INSERT INTO events(bucketrow, starttime, endtime, data) VALUES(2, 20, 31, 'maps');
-- [shows]
SELECT b.name, e.data FROM events AS e JOIN buckets AS b ON b.id = e.bucketrow ORDER BY 1, 2;
-- [expected]
afk_desk|idle
window_desk|mail
window_desk|shell
window_lap|maps
