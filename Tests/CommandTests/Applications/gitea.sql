-- [schema]
CREATE TABLE version(id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, version INTEGER NULL);
CREATE TABLE user(id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, lower_name TEXT NOT NULL, name TEXT NOT NULL,
    passwd_hash_algo TEXT NOT NULL DEFAULT 'argon2', login_source INTEGER NOT NULL DEFAULT 0);
CREATE UNIQUE INDEX UQE_user_lower_name ON user(lower_name);
CREATE TABLE repository(id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, owner_id INTEGER NULL, lower_name TEXT NOT NULL,
    name TEXT NOT NULL, default_branch TEXT NULL, num_watches INTEGER NULL, fork_id INTEGER NULL);
CREATE UNIQUE INDEX UQE_repository_s ON repository(owner_id, lower_name);
CREATE TABLE issue(id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, repo_id INTEGER NULL, `index` INTEGER NULL,
    poster_id INTEGER NULL, name TEXT NULL, is_pull INTEGER NULL, milestone_id INTEGER NULL);
CREATE UNIQUE INDEX UQE_issue_repo_index ON issue(repo_id, `index`);
CREATE TABLE issue_index(group_id INTEGER PRIMARY KEY NOT NULL, max_index INTEGER NULL);
CREATE TABLE milestone(id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, repo_id INTEGER NULL, name TEXT NULL);
CREATE TABLE label(id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, repo_id INTEGER NULL, org_id INTEGER NULL, name TEXT);
CREATE TABLE issue_label(id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, issue_id INTEGER NULL, label_id INTEGER NULL);
CREATE TABLE session(`key` CHAR(16) PRIMARY KEY NOT NULL, data BLOB NULL);
INSERT INTO version VALUES(1, 300);
INSERT INTO user(lower_name, name) VALUES('ann', 'ann');
INSERT INTO repository(owner_id, lower_name, name, fork_id) VALUES(1, 'boat', 'boat', 0);
-- [here]
INSERT INTO user(lower_name, name) VALUES('bob', 'bob');
INSERT INTO repository(owner_id, lower_name, name, fork_id) VALUES(2, 'kite', 'kite', 1);
INSERT INTO issue(repo_id, `index`, poster_id, name, milestone_id) VALUES(2, 1, 2, 'torn', 0);
INSERT INTO label(repo_id, org_id, name) VALUES(2, 0, 'bug');
INSERT INTO issue_label(issue_id, label_id) VALUES(1, 1);
INSERT INTO session VALUES('s', x'00');
-- [there]
INSERT INTO user(lower_name, name) VALUES('cem', 'cem');
INSERT INTO issue(repo_id, `index`, poster_id, name, milestone_id) VALUES(1, 1, 2, 'leaks', 0);
-- [shows]
SELECT i.name, r.name, u.name, (SELECT l.name FROM issue_label AS x JOIN label AS l ON l.id = x.label_id
    WHERE x.issue_id = i.id) FROM issue AS i JOIN repository AS r ON r.id = i.repo_id JOIN user AS u ON u.id = i.poster_id
    ORDER BY 1;
SELECT name, fork_id > 0 FROM repository ORDER BY 1;
-- [expected]
leaks|boat|cem|
torn|kite|bob|bug
boat|0
kite|1
-- [apart]
SELECT count(*) FROM session;
