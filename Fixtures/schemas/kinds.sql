-- Every kind of table that capture has to cope with, one of each.

-- Keys.
CREATE TABLE text_key (code TEXT PRIMARY KEY NOT NULL, note TEXT, amount NUMERIC);
CREATE TABLE compact_key (word TEXT PRIMARY KEY, meaning TEXT, uses INTEGER DEFAULT 0) WITHOUT ROWID;
CREATE TABLE composite_key (area TEXT NOT NULL, number INTEGER NOT NULL, part BLOB NOT NULL, note TEXT, PRIMARY KEY (area, number, part));
CREATE TABLE compact_composite (second TEXT, first TEXT, note TEXT, PRIMARY KEY (first, second DESC)) WITHOUT ROWID;
CREATE TABLE blob_key (id BLOB PRIMARY KEY NOT NULL, note TEXT);
CREATE TABLE null_key (code TEXT PRIMARY KEY, note TEXT);
CREATE TABLE null_pair (a TEXT, b INTEGER, note TEXT, PRIMARY KEY (a, b));
CREATE TABLE nocase_key (name TEXT COLLATE NOCASE PRIMARY KEY NOT NULL, note TEXT);
CREATE TABLE rtrim_key (name TEXT COLLATE RTRIM PRIMARY KEY NOT NULL, note TEXT);
-- Neither of these two is an alias of the rowid, though both look like one.
CREATE TABLE int_key (id INT PRIMARY KEY NOT NULL, note TEXT);
CREATE TABLE descending_key (id INTEGER PRIMARY KEY DESC, note TEXT);
CREATE TABLE loose_key (id PRIMARY KEY NOT NULL, note);

-- Integer keys.
CREATE TABLE plain (id INTEGER PRIMARY KEY, note TEXT);
CREATE TABLE ticket (id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL, state TEXT DEFAULT 'open');

-- Columns.
CREATE TABLE computed (
    id INTEGER PRIMARY KEY,
    price REAL,
    quantity INTEGER,
    total REAL GENERATED ALWAYS AS (price * quantity) VIRTUAL,
    title TEXT,
    slug TEXT GENERATED ALWAYS AS (lower(replace(title, ' ', '-'))) STORED UNIQUE,
    note TEXT
);
CREATE TABLE strict_types (code TEXT PRIMARY KEY NOT NULL, i INTEGER, r REAL, t TEXT, b BLOB, a ANY) STRICT;
CREATE TABLE anything (id TEXT PRIMARY KEY NOT NULL, value, number NUMERIC, float REAL, whole INTEGER, words TEXT, bytes BLOB);
CREATE TABLE only_key (a TEXT NOT NULL, b TEXT NOT NULL, PRIMARY KEY (a, b));

-- Names.
CREATE TABLE "odd ""table"" 'name'" ("select" TEXT PRIMARY KEY NOT NULL, "a b" TEXT, "quote""d" TEXT, "[brackets]" TEXT, "semi;colon--" TEXT);
CREATE TABLE "Größe übersicht" ("Schlüssel" TEXT PRIMARY KEY NOT NULL, "Länge 📏" REAL);
CREATE TABLE "group" ("order" INTEGER PRIMARY KEY, "where" TEXT, "table" TEXT UNIQUE);
CREATE TABLE shadowed_rowid (rowid TEXT, code TEXT PRIMARY KEY NOT NULL, note TEXT);
CREATE TABLE MixedCase (Code TEXT PRIMARY KEY NOT NULL, "Note" TEXT);

-- Secondary unique indexes: collated, partial, on an expression.
CREATE TABLE account (
    id INTEGER PRIMARY KEY,
    email TEXT COLLATE NOCASE UNIQUE,
    handle TEXT,
    active INTEGER NOT NULL DEFAULT 1,
    nick TEXT
);
CREATE UNIQUE INDEX account_handle ON account (handle) WHERE active = 1;
CREATE UNIQUE INDEX account_nick ON account (lower(nick));
CREATE TABLE badge (code TEXT PRIMARY KEY NOT NULL, serial INTEGER UNIQUE, holder TEXT, UNIQUE (holder, serial));

-- Foreign keys, every action.
CREATE TABLE parent (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
INSERT INTO parent (id, name) VALUES (1, 'fallback');
CREATE TABLE child_cascade (id INTEGER PRIMARY KEY, name TEXT, parent_id INTEGER NOT NULL REFERENCES parent (id) ON DELETE CASCADE ON UPDATE CASCADE);
CREATE TABLE child_set_null (id INTEGER PRIMARY KEY, name TEXT, parent_id INTEGER REFERENCES parent (id) ON DELETE SET NULL ON UPDATE CASCADE);
CREATE TABLE child_set_default (id INTEGER PRIMARY KEY, name TEXT, parent_id INTEGER DEFAULT 1 REFERENCES parent (id) ON DELETE SET DEFAULT ON UPDATE CASCADE);
CREATE TABLE child_restrict (id INTEGER PRIMARY KEY, name TEXT, parent_id INTEGER REFERENCES parent (id) ON DELETE RESTRICT ON UPDATE CASCADE);
CREATE TABLE child_no_action (id INTEGER PRIMARY KEY, name TEXT, parent_id INTEGER REFERENCES parent (id) ON DELETE NO ACTION ON UPDATE CASCADE DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE grandchild (id INTEGER PRIMARY KEY, name TEXT, child_id INTEGER REFERENCES child_cascade (id) ON DELETE CASCADE);
CREATE TABLE country (code TEXT PRIMARY KEY NOT NULL, name TEXT);
CREATE TABLE city (name TEXT PRIMARY KEY NOT NULL, country_code TEXT REFERENCES country (code) ON DELETE CASCADE ON UPDATE CASCADE);

-- A self-reference, a cycle of two tables, a shared key, a join table.
CREATE TABLE node (id INTEGER PRIMARY KEY, name TEXT NOT NULL, parent_id INTEGER REFERENCES node (id) ON DELETE CASCADE);
CREATE TABLE team (id INTEGER PRIMARY KEY, name TEXT NOT NULL, captain_id INTEGER REFERENCES player (id) ON DELETE SET NULL);
CREATE TABLE player (id INTEGER PRIMARY KEY, name TEXT NOT NULL, team_id INTEGER REFERENCES team (id) ON DELETE CASCADE);
CREATE TABLE passport (player_id INTEGER PRIMARY KEY REFERENCES player (id) ON DELETE CASCADE, number TEXT);
CREATE TABLE friendship (one INTEGER NOT NULL REFERENCES player (id) ON DELETE CASCADE, other INTEGER NOT NULL REFERENCES player (id) ON DELETE CASCADE, since TEXT, PRIMARY KEY (one, other));

-- A full-text index that the app's own triggers keep, and a view.
CREATE TABLE article (id INTEGER PRIMARY KEY, title TEXT NOT NULL, body TEXT);
CREATE VIRTUAL TABLE article_search USING fts5 (title, body, content = 'article', content_rowid = 'id');
CREATE TRIGGER article_inserted AFTER INSERT ON article BEGIN
    INSERT INTO article_search (rowid, title, body) VALUES (new.id, new.title, new.body);
END;
CREATE TRIGGER article_deleted AFTER DELETE ON article BEGIN
    INSERT INTO article_search (article_search, rowid, title, body) VALUES ('delete', old.id, old.title, old.body);
END;
CREATE TRIGGER article_updated AFTER UPDATE ON article BEGIN
    INSERT INTO article_search (article_search, rowid, title, body) VALUES ('delete', old.id, old.title, old.body);
    INSERT INTO article_search (rowid, title, body) VALUES (new.id, new.title, new.body);
END;
CREATE VIEW open_tickets AS SELECT id, title FROM ticket WHERE state = 'open';

-- A trigger that writes a tracked table: its effect is in the log, and must not happen again on import.
CREATE TABLE counter (name TEXT PRIMARY KEY NOT NULL, value INTEGER NOT NULL DEFAULT 0);
INSERT INTO counter (name) VALUES ('tickets made');
CREATE TRIGGER ticket_counted AFTER INSERT ON ticket BEGIN
    UPDATE counter SET value = value + 1 WHERE name = 'tickets made';
END;
