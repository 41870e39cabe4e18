-- [schema]
CREATE TABLE podcast(id INTEGER PRIMARY KEY NOT NULL, title TEXT NOT NULL DEFAULT '', url TEXT NOT NULL DEFAULT '',
    auto_archive_episodes INTEGER NOT NULL DEFAULT 0, download_folder TEXT NOT NULL DEFAULT '',
    pause_subscription INTEGER NOT NULL DEFAULT 0, section TEXT NOT NULL DEFAULT '');
CREATE TABLE episode(id INTEGER PRIMARY KEY NOT NULL, podcast_id INTEGER NOT NULL, title TEXT NOT NULL DEFAULT '',
    url TEXT NOT NULL, published INTEGER NOT NULL DEFAULT 0, guid TEXT NOT NULL, state INTEGER NOT NULL DEFAULT 0,
    is_new INTEGER NOT NULL DEFAULT 0, download_filename TEXT NULL DEFAULT NULL,
    current_position_updated INTEGER NOT NULL DEFAULT 0);
CREATE TABLE version(version integer);
CREATE UNIQUE INDEX idx_podcast_url ON podcast(url);
CREATE UNIQUE INDEX idx_podcast_download_folder ON podcast(download_folder);
CREATE UNIQUE INDEX idx_episode_download_filename ON episode(podcast_id, download_filename);
CREATE UNIQUE INDEX idx_episode_guid ON episode(podcast_id, guid);
INSERT INTO version VALUES(8);
INSERT INTO podcast(title, url, download_folder) VALUES('One', 'http://one', 'One');
INSERT INTO episode(podcast_id, title, url, guid) VALUES(1, 'first', 'http://one/1', 'g1');
-- [here]
INSERT INTO podcast(title, url, download_folder) VALUES('Here', 'http://here', 'Here'), ('Both', 'http://both', 'Both');
INSERT INTO episode(podcast_id, title, url, guid) VALUES(2, 'of here', 'http://here/1', 'g1'), (3, 'of both', 'http://both/1', 'g1'),
    (1, 'second', 'http://one/2', 'g2');
UPDATE podcast SET title = 'Eins' WHERE id = 1;
UPDATE version SET version = 9;
-- [there]
INSERT INTO podcast(title, url, download_folder) VALUES('Both', 'http://both', 'Both'), ('There', 'http://there', 'There');
INSERT INTO episode(podcast_id, title, url, guid) VALUES(2, 'of both', 'http://both/1', 'g1'), (3, 'of there', 'http://there/1', 'g1'),
    (1, 'second', 'http://one/2', 'g2');
UPDATE podcast SET pause_subscription = 1 WHERE id = 1;
-- [shows]
SELECT p.title, p.pause_subscription, e.title FROM episode AS e LEFT JOIN podcast AS p ON p.id = e.podcast_id ORDER BY 1, 3;
SELECT count(*) FROM podcast;
-- [expected]
Both|0|of both
Eins|1|first
Eins|1|second
Here|0|of here
There|0|of there
4
-- [apart]
SELECT version FROM version;
