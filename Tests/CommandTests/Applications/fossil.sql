-- [schema]
CREATE TABLE blob(rid INTEGER PRIMARY KEY, rcvid INTEGER, size INTEGER, uuid TEXT UNIQUE NOT NULL, content BLOB,
    CHECK(length(uuid) >= 40 AND rid > 0));
CREATE TABLE delta(rid INTEGER PRIMARY KEY, srcid INTEGER NOT NULL REFERENCES blob);
CREATE TABLE user(uid INTEGER PRIMARY KEY, login TEXT UNIQUE, pw TEXT, cap TEXT, mtime DATE);
CREATE TABLE rcvfrom(rcvid INTEGER PRIMARY KEY, uid INTEGER REFERENCES user, mtime DATETIME, nonce TEXT UNIQUE, ipaddr TEXT);
CREATE TABLE config(name TEXT PRIMARY KEY NOT NULL, value CLOB, mtime DATE, CHECK(typeof(name) = 'text' AND length(name) >= 1));
CREATE TABLE filename(fnid INTEGER PRIMARY KEY, name TEXT UNIQUE);
CREATE TABLE mlink(mid INTEGER, fid INTEGER, pmid INTEGER, pid INTEGER, fnid INTEGER REFERENCES filename, pfnid INTEGER, mperm INTEGER,
    isaux BOOLEAN DEFAULT 0);
CREATE INDEX mlink_i1 ON mlink(mid);
CREATE TABLE plink(pid INTEGER REFERENCES blob, cid INTEGER REFERENCES blob, isprim BOOLEAN, mtime DATETIME,
    baseid INTEGER REFERENCES blob, UNIQUE(pid, cid));
CREATE TABLE leaf(rid INTEGER PRIMARY KEY);
CREATE TABLE event(type TEXT, mtime DATETIME, objid INTEGER PRIMARY KEY, tagid INTEGER, uid INTEGER REFERENCES user, user TEXT, comment TEXT);
CREATE TABLE unclustered(rid INTEGER PRIMARY KEY); CREATE TABLE unsent(rid INTEGER PRIMARY KEY); CREATE TABLE phantom(rid INTEGER PRIMARY KEY);
CREATE TABLE tag(tagid INTEGER PRIMARY KEY, tagname TEXT UNIQUE);
CREATE TABLE tagxref(tagid INTEGER REFERENCES tag, tagtype INTEGER, srcid INTEGER REFERENCES blob, origid INTEGER REFERENCES blob,
    value TEXT, mtime TIMESTAMP, rid INTEGER REFERENCE blob, UNIQUE(rid, tagid));
INSERT INTO user(login, cap) VALUES('ann', 's'), ('bob', 'v'); INSERT INTO config VALUES('project-code', 'c0de', 1), ('last-sync-pw', '', 1);
INSERT INTO tag VALUES(1, 'bgcolor'), (8, 'branch'); INSERT INTO rcvfrom VALUES(1, 1, 1, NULL, NULL);
INSERT INTO blob VALUES(1, 1, 9, '1111111111111111111111111111111111111111', x'01'); INSERT INTO leaf VALUES(1); INSERT INTO unclustered VALUES(1);
INSERT INTO event VALUES('ci', 1, 1, NULL, 1, 'ann', 'initial'); INSERT INTO tagxref VALUES(8, 2, 1, 1, 'trunk', 1, 1);
-- [here]
INSERT INTO rcvfrom VALUES(2, 1, 2, NULL, NULL);
INSERT INTO blob VALUES(2, 2, 4, '2222222222222222222222222222222222222222', x'02'), (3, 2, 4, '3333333333333333333333333333333333333333', x'03');
INSERT INTO filename VALUES(1, 'README'); INSERT INTO mlink VALUES(3, 2, 1, 0, 1, 0, 0, 0); INSERT INTO plink VALUES(1, 3, 1, 2, NULL);
INSERT INTO event VALUES('ci', 2, 3, NULL, 1, 'ann', 'here'); DELETE FROM leaf; INSERT INTO leaf VALUES(3); INSERT INTO unclustered VALUES(2), (3);
INSERT INTO tagxref VALUES(8, 2, 3, 1, 'trunk', 2, 3); UPDATE config SET value = 'x' WHERE name = 'last-sync-pw';
-- [there]
INSERT INTO rcvfrom VALUES(2, 2, 3, NULL, NULL); INSERT INTO tag VALUES(9, 'sym-fix');
INSERT INTO blob VALUES(2, 2, 4, '4444444444444444444444444444444444444444', x'04'), (3, 2, 4, '5555555555555555555555555555555555555555', x'05');
INSERT INTO filename VALUES(1, 'main.c'); INSERT INTO mlink VALUES(3, 2, 1, 0, 1, 0, 0, 0); INSERT INTO plink VALUES(1, 3, 1, 3, NULL);
INSERT INTO delta VALUES(2, 3);
INSERT INTO event VALUES('ci', 3, 3, NULL, 2, 'bob', 'there'); DELETE FROM leaf; INSERT INTO leaf VALUES(3); INSERT INTO unclustered VALUES(2), (3);
INSERT INTO tagxref VALUES(8, 2, 3, 1, 'fix', 3, 3), (9, 1, 3, 3, NULL, 3, 3);
-- [shows]
SELECT substr(b.uuid, 1, 1), user.login, event.comment, (SELECT count(*) FROM leaf WHERE leaf.rid = b.rid) FROM blob AS b
    LEFT JOIN rcvfrom USING(rcvid) LEFT JOIN user USING(uid) LEFT JOIN event ON objid = b.rid ORDER BY 1;
SELECT substr(m.uuid, 1, 1), substr(f.uuid, 1, 1), substr(p.uuid, 1, 1), mlink.pid, name FROM mlink JOIN blob AS m ON m.rid = mid
    JOIN blob AS f ON f.rid = fid JOIN blob AS p ON p.rid = pmid JOIN filename USING(fnid) ORDER BY 1;
SELECT substr(p.uuid, 1, 1), substr(c.uuid, 1, 1) FROM plink JOIN blob AS p ON p.rid = pid JOIN blob AS c ON c.rid = cid ORDER BY 2;
SELECT substr(a.uuid, 1, 1), substr(b.uuid, 1, 1) FROM delta JOIN blob AS a USING(rid) JOIN blob AS b ON b.rid = srcid;
SELECT tagname, value, substr(b.uuid, 1, 1), substr(s.uuid, 1, 1) FROM tagxref JOIN tag USING(tagid) JOIN blob AS b ON b.rid = tagxref.rid
    JOIN blob AS s ON s.rid = srcid ORDER BY 3, 1;
SELECT count(*) FROM unclustered JOIN blob USING(rid);
-- [expected]
1|ann|initial|0
2|ann||0
3|ann|here|1
4|bob||0
5|bob|there|1
3|2|1|0|README
5|4|1|0|main.c
1|3
1|5
4|5
branch|trunk|1|1
branch|trunk|3|3
branch|fix|5|5
sym-fix||5|5
5
-- [apart]
SELECT value FROM config WHERE name = 'last-sync-pw';
