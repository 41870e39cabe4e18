-- [schema]
CREATE TABLE quasseluser(userid INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, username TEXT UNIQUE NOT NULL,
    password TEXT NOT NULL, hashversion INTEGER NOT NULL DEFAULT 0, authenticator TEXT NOT NULL DEFAULT 'Database');
CREATE TABLE sender(senderid INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, sender TEXT NOT NULL, realname TEXT, avatarurl TEXT);
CREATE UNIQUE INDEX sender_index ON sender(sender, realname, avatarurl);
CREATE TABLE network(networkid INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, userid INTEGER NOT NULL, networkname TEXT NOT NULL,
    identityid INTEGER NOT NULL DEFAULT 1, perform TEXT, connected INTEGER NOT NULL DEFAULT 0, UNIQUE(userid, networkname));
CREATE TABLE buffer(bufferid INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, userid INTEGER NOT NULL, groupid INTEGER,
    networkid INTEGER NOT NULL, buffername TEXT NOT NULL, buffercname TEXT NOT NULL, buffertype INTEGER NOT NULL DEFAULT 0,
    lastmsgid INTEGER NOT NULL DEFAULT 0, lastseenmsgid INTEGER NOT NULL DEFAULT 0, markerlinemsgid INTEGER NOT NULL DEFAULT 0,
    bufferactivity INTEGER NOT NULL DEFAULT 0, highlightcount INTEGER NOT NULL DEFAULT 0, key TEXT,
    joined INTEGER NOT NULL DEFAULT 0, cipher TEXT, CHECK(lastseenmsgid <= lastmsgid));
CREATE UNIQUE INDEX buffer_idx ON buffer(userid, networkid, buffername);
CREATE UNIQUE INDEX buffer_cname_idx ON buffer(userid, networkid, buffercname);
CREATE TABLE backlog(messageid INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL, bufferid INTEGER NOT NULL,
    type INTEGER NOT NULL, flags INTEGER NOT NULL, senderid INTEGER NOT NULL, senderprefixes TEXT, message TEXT);
CREATE TRIGGER backlog_lastmsgid_update_trigger_insert AFTER INSERT ON backlog FOR EACH ROW BEGIN
    UPDATE buffer SET lastmsgid = new.messageid WHERE buffer.bufferid = new.bufferid AND buffer.lastmsgid < new.messageid; END;
CREATE TABLE coreinfo(key TEXT NOT NULL PRIMARY KEY, value TEXT);
CREATE TABLE core_state(key TEXT NOT NULL, value bytea, PRIMARY KEY(key));
CREATE TABLE ircserver(serverid INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, userid INTEGER NOT NULL, networkid INTEGER NOT NULL,
    hostname TEXT NOT NULL, port INTEGER NOT NULL DEFAULT 6667, ssl INTEGER NOT NULL DEFAULT 0);
CREATE TABLE user_setting(userid INTEGER NOT NULL, settingname TEXT NOT NULL, settingvalue BLOB, PRIMARY KEY(userid, settingname));
CREATE TABLE identity(identityid INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, userid INTEGER NOT NULL, identityname TEXT NOT NULL,
    realname TEXT NOT NULL, awaynick TEXT, autoawaytime INTEGER NOT NULL, ident TEXT, UNIQUE(userid, identityname));
CREATE TABLE identity_nick(nickid INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, identityid INTEGER NOT NULL, nick TEXT NOT NULL,
    UNIQUE(identityid, nick));
INSERT INTO coreinfo VALUES('schemaversion', '31'); INSERT INTO core_state VALUES('sessions', x'00');
INSERT INTO quasseluser(username, password) VALUES('ann', 'x');
INSERT INTO identity(userid, identityname, realname, autoawaytime) VALUES(1, 'Default', 'Ann', 10);
INSERT INTO identity_nick(identityid, nick) VALUES(1, 'ann');
INSERT INTO network(userid, networkname, identityid) VALUES(1, 'Libera', 1);
INSERT INTO ircserver(userid, networkid, hostname) VALUES(1, 1, 'irc.example.org');
INSERT INTO buffer(userid, networkid, buffername, buffercname, buffertype) VALUES(1, 1, '#Debian', '#debian', 2), (1, 1, '#sql', '#sql', 2);
INSERT INTO sender(sender, realname, avatarurl) VALUES('bob!b@x', '', '');
INSERT INTO backlog(time, bufferid, type, flags, senderid, message) VALUES(1, 1, 1, 0, 1, 'hello');
-- [here]
INSERT INTO sender(sender, realname, avatarurl) VALUES('eve!e@x', '', ''), ('carl!c@x', '', '');
INSERT INTO backlog(time, bufferid, type, flags, senderid, message) VALUES(2, 1, 1, 0, 2, 'here by eve'), (3, 1, 1, 0, 3, 'here by carl');
UPDATE buffer SET lastseenmsgid = 2, markerlinemsgid = 2 WHERE bufferid = 1;
UPDATE core_state SET value = x'01';
-- [there]
INSERT INTO network(userid, networkname, identityid) VALUES(1, 'OFTC', 1);
INSERT INTO buffer(userid, networkid, buffername, buffercname, buffertype) VALUES(1, 2, '#oftc', '#oftc', 2);
INSERT INTO sender(sender, realname, avatarurl) VALUES('dora!d@x', '', ''), ('carl!c@x', '', '');
INSERT INTO backlog(time, bufferid, type, flags, senderid, message) VALUES(2, 3, 1, 0, 2, 'there by dora'), (4, 2, 1, 0, 3, 'there by carl');
INSERT INTO user_setting VALUES(1, 'theme', x'02');
-- [shows]
SELECT networkname, buffername, sender, message FROM backlog JOIN sender USING(senderid) JOIN buffer USING(bufferid)
    JOIN network USING(networkid) ORDER BY 1, 2, time;
SELECT buffername, (SELECT message FROM backlog WHERE messageid = lastmsgid), (SELECT message FROM backlog WHERE messageid = lastseenmsgid)
    FROM buffer ORDER BY 1;
SELECT sender FROM sender ORDER BY 1; SELECT username, settingname FROM user_setting JOIN quasseluser USING(userid);
-- [expected]
Libera|#Debian|bob!b@x|hello
Libera|#Debian|eve!e@x|here by eve
Libera|#Debian|carl!c@x|here by carl
Libera|#sql|carl!c@x|there by carl
OFTC|#oftc|dora!d@x|there by dora
#Debian|here by carl|here by eve
#oftc|there by dora|
#sql|there by carl|
bob!b@x
carl!c@x
dora!d@x
eve!e@x
ann|theme
-- [apart]
SELECT hex(value) FROM core_state;
