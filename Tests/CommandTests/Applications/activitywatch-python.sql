-- [schema]
CREATE TABLE bucketmodel(key INTEGER NOT NULL PRIMARY KEY, id VARCHAR(255) NOT NULL, created DATETIME NOT NULL,
    name VARCHAR(255), type VARCHAR(255) NOT NULL, client VARCHAR(255) NOT NULL, hostname VARCHAR(255) NOT NULL,
    datastr VARCHAR(255));
CREATE UNIQUE INDEX bucketmodel_id ON bucketmodel(id);
CREATE TABLE eventmodel(id INTEGER NOT NULL PRIMARY KEY, bucket_id INTEGER NOT NULL, timestamp DATETIME NOT NULL,
    duration DECIMAL(10, 5) NOT NULL, datastr VARCHAR(255) NOT NULL,
    FOREIGN KEY (bucket_id) REFERENCES bucketmodel(key));
INSERT INTO bucketmodel VALUES(1, 'window_desk', '2026', NULL, 'window', 'watcher', 'desk', '{}');
INSERT INTO eventmodel VALUES(1, 1, '2026', 1.5, 'mail');
-- [here]
INSERT INTO bucketmodel VALUES(2, 'afk_desk', '2026', NULL, 'afk', 'watcher', 'desk', '{}');
INSERT INTO eventmodel VALUES(2, 2, '2026', 2, 'idle');
-- [there]
INSERT INTO bucketmodel VALUES(2, 'window_lap', '2026', NULL, 'window', 'watcher', 'lap', '{}');
INSERT INTO eventmodel VALUES(2, 2, '2026', 2, 'maps');
-- [shows]
SELECT b.id, e.datastr FROM eventmodel AS e JOIN bucketmodel AS b ON b.key = e.bucket_id ORDER BY 1, 2;
-- [expected]
afk_desk|idle
window_desk|mail
window_lap|maps
