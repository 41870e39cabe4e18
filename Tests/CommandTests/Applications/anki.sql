-- [schema]
CREATE TABLE col(id integer PRIMARY KEY, crt integer NOT NULL, mod integer NOT NULL, scm integer NOT NULL,
    ver integer NOT NULL, dty integer NOT NULL, usn integer NOT NULL, ls integer NOT NULL, conf text NOT NULL,
    models text NOT NULL, decks text NOT NULL, dconf text NOT NULL, tags text NOT NULL);
CREATE TABLE notes(id integer PRIMARY KEY, guid text NOT NULL, mid integer NOT NULL, mod integer NOT NULL,
    usn integer NOT NULL, tags text NOT NULL, flds text NOT NULL, sfld integer NOT NULL, csum integer NOT NULL,
    flags integer NOT NULL, data text NOT NULL);
CREATE TABLE cards(id integer PRIMARY KEY, nid integer NOT NULL, did integer NOT NULL, ord integer NOT NULL,
    mod integer NOT NULL, usn integer NOT NULL, type integer NOT NULL, queue integer NOT NULL, due integer NOT NULL,
    ivl integer NOT NULL, factor integer NOT NULL, reps integer NOT NULL, lapses integer NOT NULL,
    left integer NOT NULL, odue integer NOT NULL, odid integer NOT NULL, flags integer NOT NULL, data text NOT NULL);
CREATE TABLE revlog(id integer PRIMARY KEY, cid integer NOT NULL, usn integer NOT NULL, ease integer NOT NULL,
    ivl integer NOT NULL, lastIvl integer NOT NULL, factor integer NOT NULL, time integer NOT NULL,
    type integer NOT NULL);
CREATE TABLE graves(oid integer NOT NULL, type integer NOT NULL, usn integer NOT NULL, PRIMARY KEY (oid, type))
    WITHOUT ROWID;
CREATE TABLE config(key text NOT NULL PRIMARY KEY, usn integer NOT NULL, mtime_secs integer NOT NULL, val blob NOT NULL)
    WITHOUT ROWID;
CREATE TABLE notetypes(id integer NOT NULL PRIMARY KEY, name text NOT NULL COLLATE unicase,
    mtime_secs integer NOT NULL, usn integer NOT NULL, config blob NOT NULL);
CREATE UNIQUE INDEX idx_notetypes_name ON notetypes (name);
CREATE TABLE fields(ntid integer NOT NULL, ord integer NOT NULL, name text NOT NULL COLLATE unicase,
    config blob NOT NULL, PRIMARY KEY (ntid, ord)) WITHOUT ROWID;
CREATE UNIQUE INDEX idx_fields_name_ntid ON fields (name, ntid);
CREATE TABLE templates(ntid integer NOT NULL, ord integer NOT NULL, name text NOT NULL COLLATE unicase,
    mtime_secs integer NOT NULL, usn integer NOT NULL, config blob NOT NULL, PRIMARY KEY (ntid, ord)) WITHOUT ROWID;
CREATE UNIQUE INDEX idx_templates_name_ntid ON templates (name, ntid);
CREATE TABLE decks(id integer PRIMARY KEY NOT NULL, name text NOT NULL COLLATE unicase, mtime_secs integer NOT NULL,
    usn integer NOT NULL, common blob NOT NULL, kind blob NOT NULL);
CREATE UNIQUE INDEX idx_decks_name ON decks (name);
CREATE TABLE deck_config(id integer PRIMARY KEY NOT NULL, name text NOT NULL COLLATE unicase,
    mtime_secs integer NOT NULL, usn integer NOT NULL, config blob NOT NULL);
CREATE TABLE tags(tag text NOT NULL PRIMARY KEY COLLATE unicase, usn integer NOT NULL, collapsed boolean NOT NULL,
    config blob NULL) WITHOUT ROWID;
INSERT INTO col VALUES(1, 1700000000, 0, 0, 18, 0, 0, 0, '', '', '', '', '');
INSERT INTO decks VALUES(1, 'Default', 0, 0, x'', x'');
INSERT INTO notetypes VALUES(1700000000001, 'Basic', 0, 0, x'');
INSERT INTO fields VALUES(1700000000001, 0, 'Front', x''), (1700000000001, 1, 'Back', x'');
INSERT INTO templates VALUES(1700000000001, 0, 'Card 1', 0, 0, x'');
INSERT INTO tags VALUES('Straße', -1, 0, NULL);
INSERT INTO notes VALUES(1700000000100, 'abc', 1700000000001, 0, -1, '', 'Haus', 'Haus', 1, 0, '');
INSERT INTO cards VALUES(1700000000101, 1700000000100, 1, 0, 0, -1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, '');
-- [here]
INSERT INTO decks VALUES(1700000000200, 'Français', 0, -1, x'', x'');
INSERT INTO notes VALUES(1700000000201, 'def', 1700000000001, 0, -1, '', 'maison', 'maison', 2, 0, '');
INSERT INTO cards VALUES(1700000000202, 1700000000201, 1700000000200, 0, 0, -1, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, '');
INSERT INTO revlog VALUES(1700000000203, 1700000000101, -1, 3, 1, 0, 2500, 4000, 0);
-- [there]
INSERT INTO decks VALUES(1700000000300, 'Ελληνικά', 0, -1, x'', x'');
INSERT INTO notes VALUES(1700000000301, 'ghi', 1700000000001, 0, -1, '', 'σπίτι', 'σπίτι', 3, 0, '');
INSERT INTO cards VALUES(1700000000302, 1700000000301, 1700000000300, 0, 0, -1, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, '');
INSERT INTO tags VALUES('STRASSE2', -1, 0, NULL);
-- [shows]
SELECT n.flds, d.name, (SELECT count(*) FROM revlog WHERE cid = c.id) FROM cards AS c JOIN notes AS n ON n.id = c.nid
    JOIN decks AS d ON d.id = c.did ORDER BY n.id;
SELECT tag FROM tags ORDER BY tag;
-- [expected]
Haus|Default|1
maison|Français|0
σπίτι|Ελληνικά|0
Straße
STRASSE2
