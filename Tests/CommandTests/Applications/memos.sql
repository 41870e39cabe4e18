-- [schema]
CREATE TABLE system_setting(name TEXT NOT NULL, value TEXT NOT NULL, description TEXT NOT NULL DEFAULT '', UNIQUE(name));
CREATE TABLE user(id INTEGER PRIMARY KEY AUTOINCREMENT, created_ts BIGINT NOT NULL DEFAULT (strftime('%s', 'now')),
    updated_ts BIGINT NOT NULL DEFAULT (strftime('%s', 'now')),
    row_status TEXT NOT NULL CHECK(row_status IN ('NORMAL', 'ARCHIVED')) DEFAULT 'NORMAL', username TEXT COLLATE BINARY NOT NULL UNIQUE,
    role TEXT NOT NULL DEFAULT 'USER', email TEXT NOT NULL DEFAULT '', password_hash TEXT NOT NULL);
CREATE TABLE user_setting(user_id INTEGER NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, UNIQUE(user_id, key));
CREATE TABLE memo(id INTEGER PRIMARY KEY AUTOINCREMENT, uid TEXT NOT NULL UNIQUE, creator_id INTEGER NOT NULL,
    created_ts BIGINT NOT NULL DEFAULT (strftime('%s', 'now')), row_status TEXT NOT NULL DEFAULT 'NORMAL', content TEXT NOT NULL DEFAULT '',
    visibility TEXT NOT NULL CHECK(visibility IN ('PUBLIC', 'PROTECTED', 'PRIVATE')) DEFAULT 'PRIVATE',
    pinned INTEGER NOT NULL CHECK(pinned IN (0, 1)) DEFAULT 0, payload TEXT NOT NULL DEFAULT '{}');
CREATE TABLE memo_relation(memo_id INTEGER NOT NULL, related_memo_id INTEGER NOT NULL, type TEXT NOT NULL,
    UNIQUE(memo_id, related_memo_id, type));
CREATE TABLE attachment(id INTEGER PRIMARY KEY AUTOINCREMENT, uid TEXT NOT NULL UNIQUE, creator_id INTEGER NOT NULL,
    filename TEXT NOT NULL DEFAULT '', blob BLOB DEFAULT NULL, memo_id INTEGER, reference TEXT NOT NULL DEFAULT '');
CREATE TABLE inbox(id INTEGER PRIMARY KEY AUTOINCREMENT, created_ts BIGINT NOT NULL DEFAULT (strftime('%s', 'now')),
    sender_id INTEGER NOT NULL, receiver_id INTEGER NOT NULL, status TEXT NOT NULL, message TEXT NOT NULL DEFAULT '{}');
CREATE TABLE reaction(id INTEGER PRIMARY KEY AUTOINCREMENT, created_ts BIGINT NOT NULL DEFAULT (strftime('%s', 'now')),
    creator_id INTEGER NOT NULL, memo_id INTEGER NOT NULL, reaction_type TEXT NOT NULL, UNIQUE(creator_id, memo_id, reaction_type));
CREATE TABLE memo_share(id INTEGER PRIMARY KEY AUTOINCREMENT, uid TEXT NOT NULL UNIQUE, memo_id INTEGER NOT NULL, creator_id INTEGER NOT NULL,
    expires_ts BIGINT DEFAULT NULL, FOREIGN KEY(memo_id) REFERENCES memo(id) ON DELETE CASCADE);
INSERT INTO system_setting VALUES('BASIC', '{"schemaVersion":"0.31.2"}', '');
INSERT INTO user(username, password_hash) VALUES('ann', 'x'), ('bob', 'x');
INSERT INTO memo(uid, creator_id, content) VALUES('m1', 1, 'first'); INSERT INTO user_setting VALUES(1, 'GENERAL', 'en');
-- [here]
INSERT INTO memo(uid, creator_id, content) VALUES('h1', 2, 'here'), ('h2', 1, 'on here');
INSERT INTO memo_relation VALUES(3, 2, 'COMMENT'); INSERT INTO attachment(uid, creator_id, filename, memo_id) VALUES('a1', 2, 'here.png', 2);
INSERT INTO reaction(creator_id, memo_id, reaction_type) VALUES(1, 1, 'yes'), (1, 2, 'yes');
INSERT INTO user_setting VALUES(1, 'GENERAL', 'de') ON CONFLICT(user_id, key) DO UPDATE SET value = excluded.value;
INSERT INTO memo_share(uid, memo_id, creator_id) VALUES('s1', 2, 2); UPDATE system_setting SET value = '{"schemaVersion":"0.32.0"}';
-- [there]
INSERT INTO user(username, password_hash) VALUES('cid', 'x'); INSERT INTO memo(uid, creator_id, content) VALUES('t1', 3, 'there'), ('t2', 2, 'on first');
INSERT INTO memo_relation VALUES(3, 1, 'COMMENT'); INSERT INTO reaction(creator_id, memo_id, reaction_type) VALUES(1, 1, 'yes'), (3, 2, 'no');
INSERT INTO user_setting VALUES(3, 'GENERAL', 'fr') ON CONFLICT(user_id, key) DO UPDATE SET value = excluded.value;
INSERT INTO inbox(sender_id, receiver_id, status) VALUES(3, 1, 'UNREAD'); UPDATE memo SET pinned = 1 WHERE uid = 'm1';
-- [shows]
SELECT uid, content, username, pinned FROM memo JOIN user ON user.id = creator_id ORDER BY 1;
SELECT a.uid, type, b.uid FROM memo_relation JOIN memo AS a ON a.id = memo_id JOIN memo AS b ON b.id = related_memo_id ORDER BY 1;
SELECT filename, username, memo.uid FROM attachment JOIN memo ON memo.id = memo_id JOIN user ON user.id = attachment.creator_id;
SELECT username, uid, reaction_type FROM reaction JOIN memo ON memo.id = memo_id JOIN user ON user.id = reaction.creator_id ORDER BY 1, 2;
SELECT username, value FROM user_setting JOIN user ON user.id = user_id ORDER BY 1;
SELECT s.username, r.username FROM inbox JOIN user AS s ON s.id = sender_id JOIN user AS r ON r.id = receiver_id;
SELECT memo_share.uid, memo.uid, username FROM memo_share JOIN memo ON memo.id = memo_id JOIN user ON user.id = memo_share.creator_id;
-- [expected]
h1|here|bob|0
h2|on here|ann|0
m1|first|ann|1
t1|there|cid|0
t2|on first|bob|0
h2|COMMENT|h1
t2|COMMENT|m1
here.png|bob|h1
ann|h1|yes
ann|m1|yes
cid|t1|no
ann|de
cid|fr
cid|ann
s1|h1|bob
-- [apart]
SELECT value FROM system_setting;
