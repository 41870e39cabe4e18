import Testing

/// What a program may do to one kind of table, a step at a time.
struct CaptureCase: Sendable, CustomTestStringConvertible {
    var name: String
    var steps: [String]
    /// Steps that name rows by integers are for one side only: the other side's integers are its own.
    var isOneSided = false

    var testDescription: String { name }

    init(_ name: String, _ steps: [String], oneSided: Bool = false) {
        self.name = name
        self.steps = steps
        isOneSided = oneSided
    }

    /// All of them. Where time is short, those whose keys are all that differs share a pair of stores, six at a time; they are
    /// dealt out, since neighbours may be of one table.
    static var sideBySide: [[CaptureCase]] {
        let most = Scale.choose(6, long: 1)
        let keyed = [false, true].flatMap { isOneSided in
            let kinds = keys.filter { $0.isOneSided == isOneSided }
            let groups = (kinds.count + most - 1) / most
            return (0..<groups).map { group in
                stride(from: group, to: kinds.count, by: groups).map { kinds[$0] }
            }
        }
        return keyed + others.map { [$0] }
    }

    /// Every way to write a table with a key of its own: one, two, three and four are tuples of literals.
    static func keyed(
        _ table: String, _ key: [String], _ one: String, _ two: String, _ three: String, _ four: String,
        note: String = "note", oneSided: Bool = false
    ) -> CaptureCase {
        let columns = key.joined(separator: ", ")
        func matches(_ tuple: String) -> String { "(\(columns)) IS (\(tuple))" }
        let first = key[0]
        return CaptureCase(
            table,
            [
                "INSERT INTO \(table) (\(columns), \(note)) VALUES (\(one), 'one'), (\(two), 'two'), (\(three), 'three');",
                "UPDATE \(table) SET \(note) = 'uno' WHERE \(matches(one));",
                "UPDATE \(table) SET \(note) = \(note); UPDATE \(table) SET \(first) = \(first);",
                "DELETE FROM \(table) WHERE \(matches(two));",
                "REPLACE INTO \(table) (\(columns), \(note)) VALUES (\(one), 'replaced');",
                "INSERT OR REPLACE INTO \(table) (\(columns), \(note)) VALUES (\(two), 'new by replace'), (\(two), 'and at once replaced');",
                "INSERT INTO \(table) (\(columns), \(note)) VALUES (\(one), 'x') ON CONFLICT DO UPDATE SET \(note) = 'upserted' || \(note);",
                "INSERT INTO \(table) (\(columns), \(note)) VALUES (\(one), 'ignored') ON CONFLICT DO NOTHING; INSERT OR IGNORE INTO \(table) (\(columns), \(note)) VALUES (\(one), 'ignored');",
                "UPDATE \(table) SET (\(columns)) = (\(four)) WHERE \(matches(one));",
                "UPDATE OR REPLACE \(table) SET (\(columns)) = (\(three)), \(note) = 'on top of three' WHERE \(matches(four));",
                "BEGIN; DELETE FROM \(table) WHERE \(matches(three)); INSERT INTO \(table) (\(columns), \(note)) VALUES (\(three), 'again'); COMMIT;",
                "BEGIN; UPDATE \(table) SET (\(columns)) = (\(one)) WHERE \(matches(three)); UPDATE \(table) SET (\(columns)) = (\(three)) WHERE \(matches(two)); UPDATE \(table) SET (\(columns)) = (\(two)) WHERE \(matches(one)); COMMIT;",
                "PRAGMA recursive_triggers = ON; REPLACE INTO \(table) (\(columns), \(note)) VALUES (\(two), 'replaced, triggers fired'), (\(four), 'four');",
                "DELETE FROM \(table);",
                "INSERT INTO \(table) (\(columns), \(note)) VALUES (\(four), NULL);",
            ], oneSided: oneSided)
    }

    /// Tables of `kinds.sql` with keys whose values a program chooses.
    static let keys: [CaptureCase] = [
        .keyed("text_key", ["code"], "'k1'", "'k2'", "'k3'", "'k4'"),
        .keyed("compact_key", ["word"], "'k1'", "'k2'", "''", "'k4'", note: "meaning"),
        .keyed(
            "composite_key", ["area", "number", "part"], "'a', 1, x'00'", "'a', 1, x'01'", "'a', 2, x''",
            "'b', -1, x'ffee'"),
        .keyed("compact_composite", ["first", "second"], "'a', 'b'", "'b', 'a'", "'', ''", "'é', '📗'"),
        .keyed("blob_key", ["id"], "x'00'", "x''", "x'fffefd'", "x'6b34'"),
        .keyed("nocase_key", ["name"], "'Alpha'", "'beta'", "'GAMMA'", "'delta'"),
        .keyed("rtrim_key", ["name"], "'a  '", "'b'", "' c '", "'d '"),
        .keyed("int_key", ["id"], "1000001", "-2", "9223372036854775807", "-9223372036854775808"),
        .keyed("descending_key", ["id"], "1000001", "-2", "0", "9007199254740993"),
        .keyed("loose_key", ["id"], "1", "'1'", "x'31'", "1.5"),
        .keyed("plain", ["id"], "1000001", "1000002", "-3", "1000004", oneSided: true),
        .keyed(
            "\"odd \"\"table\"\" 'name'\"", ["\"select\""], "'k1'", "'k''2'", "'k\"3'", "';--'", note: "\"quote\"\"d\""),
        .keyed("\"Größe übersicht\"", ["\"Schlüssel\""], "'ä'", "'Ä'", "'a\u{308}'", "'📏'", note: "\"Länge 📏\""),
        .keyed(
            "\"group\"", ["\"order\""], "1000001", "1000002", "1000003", "1000004", note: "\"where\"", oneSided: true),
        .keyed("shadowed_rowid", ["code"], "'k1'", "'k2'", "'k3'", "'k4'"),
        .keyed("MixedCase", ["Code"], "'k1'", "'k2'", "'k3'", "'k4'", note: "Note"),
        .keyed("MIXEDCASE", ["cODE"], "'k1'", "'k2'", "'k3'", "'k4'", note: "nOTE"),
        .keyed("strict_types", ["code"], "'k1'", "'k2'", "'k3'", "'k4'", note: "t"),
        .keyed("null_key", ["code"], "'k1'", "'k2'", "'k3'", "'k4'"),
        .keyed("null_pair", ["a", "b"], "'a', 1", "'a', 2", "'b', 1", "'', 0"),
    ]

    /// What needs its own steps.
    static let others: [CaptureCase] = [
        CaptureCase(
            "keys with NULL in them",
            [
                "INSERT INTO null_key VALUES (NULL, 'first'), (NULL, 'second'), (NULL, 'third');",
                "UPDATE null_key SET note = 'second, edited' WHERE note = 'second';",
                "DELETE FROM null_key WHERE note = 'first';",
                "UPDATE null_key SET code = 'named' WHERE note = 'third';",
                "UPDATE null_key SET code = NULL WHERE code = 'named';",
                "INSERT INTO null_pair VALUES (NULL, 1, 'n1'), (NULL, 1, 'n1 too'), ('a', NULL, 'an'), (NULL, NULL, 'nn');",
                "UPDATE null_pair SET note = note || '!' WHERE a IS NULL;",
                "DELETE FROM null_pair WHERE note = 'n1!'; UPDATE null_pair SET b = 5 WHERE note = 'an';",
            ]),
        CaptureCase(
            "keys that differ only in spelling",
            [
                "INSERT INTO nocase_key VALUES ('Spell', 'one'); INSERT INTO rtrim_key VALUES ('spell', 'one');",
                "UPDATE nocase_key SET name = 'SPELL' WHERE name = 'spell'; UPDATE rtrim_key SET name = 'spell   ' WHERE name = 'spell';",
                "REPLACE INTO nocase_key VALUES ('sPeLl', 'two'); REPLACE INTO rtrim_key VALUES ('spell ', 'two');",
                "INSERT INTO nocase_key VALUES ('spELL', 'x') ON CONFLICT DO UPDATE SET name = excluded.name, note = 'three';",
                "DELETE FROM nocase_key WHERE name = 'SPELL'; DELETE FROM rtrim_key WHERE name = 'spell';",
            ]),
        CaptureCase(
            "only_key",
            [
                "INSERT INTO only_key VALUES ('a', 'b'), ('b', 'a'), ('c', 'c');",
                "DELETE FROM only_key WHERE a = 'a';",
                "UPDATE only_key SET b = 'd' WHERE a = 'b';",
                "REPLACE INTO only_key VALUES ('c', 'c'), ('e', 'e');",
                "UPDATE OR REPLACE only_key SET a = 'e', b = 'e' WHERE a = 'c';",
            ]),
        CaptureCase(
            "integers that SQLite gives",
            [
                "INSERT INTO plain (note) VALUES ('p1'), ('p2'), ('p3'); INSERT INTO ticket (title) VALUES ('t1'), ('t2');",
                "UPDATE plain SET id = id + 500000 WHERE note = 'p1'; UPDATE ticket SET state = 'done' WHERE title = 't1';",
                "DELETE FROM ticket WHERE title = 't2'; INSERT INTO ticket (title) VALUES ('t3');",
                "REPLACE INTO ticket (id, title) SELECT id, 't3 replaced' FROM ticket WHERE title = 't3';",
                "BEGIN; DELETE FROM plain WHERE note = 'p3'; INSERT INTO plain (note) VALUES ('takes p3''s number'); COMMIT;",
                "UPDATE plain SET rowid = rowid + 7 WHERE note = 'p2';",
            ], oneSided: true),
        CaptureCase(
            "generated columns",
            [
                "INSERT INTO computed (price, quantity, title) VALUES (1.5, 2, 'First Title'), (0.1, 3, 'Second'), (2, 2, 'Third');",
                "UPDATE computed SET price = 7.25 WHERE title = 'Second';",
                "UPDATE computed SET title = 'Second Title' WHERE title = 'Second';",
                "REPLACE INTO computed (price, quantity, title, note) VALUES (9, 9, 'FIRST title', 'displaced by its slug');",
                "UPDATE OR REPLACE computed SET title = 'third' WHERE title = 'Second Title';",
                "INSERT INTO computed (title, note) VALUES ('THIRD', 'x') ON CONFLICT (slug) DO UPDATE SET note = 'upserted by slug';",
                "DELETE FROM computed WHERE slug = 'third';",
            ]),
        CaptureCase(
            "secondary unique indexes, collated, partial and on an expression",
            [
                "INSERT INTO account (email, handle, nick) VALUES ('a@x', 'ha', 'Na'), ('b@x', 'hb', 'Nb'), ('c@x', 'hc', 'Nc'), ('d@x', 'hd', 'Nd');",
                "REPLACE INTO account (email, handle, nick) VALUES ('A@X', 'hz', 'Nz');",
                "REPLACE INTO account (email, handle, nick) VALUES ('a@x', 'hb', 'NC');",
                "INSERT INTO account (email, handle, nick) VALUES ('e@x', 'he', 'Ne'), ('f@x', 'hf', 'Nf'), ('g@x', 'hg', 'Ng');",
                "UPDATE OR REPLACE account SET email = 'F@x' WHERE email = 'e@x';",
                "UPDATE OR REPLACE account SET handle = 'hd' WHERE email = 'g@x';",
                "UPDATE account SET active = 0 WHERE handle = 'hd'; INSERT INTO account (email, handle) VALUES ('h@x', 'hd');",
                "UPDATE OR REPLACE account SET active = 1 WHERE email = 'g@x';",
                "INSERT INTO account (email, nick) VALUES ('i@x', 'NG') ON CONFLICT DO NOTHING;",
                "INSERT INTO account (email, handle) VALUES ('F@X', 'upserted') ON CONFLICT (email) DO UPDATE SET handle = excluded.handle;",
                "BEGIN; INSERT INTO account (email) VALUES ('j@x'); REPLACE INTO account (email, handle) VALUES ('J@x', 'twice'); REPLACE INTO account (email, handle) VALUES ('J@X', 'thrice'); COMMIT;",
                "PRAGMA recursive_triggers = ON; REPLACE INTO account (email, handle) VALUES ('j@X', 'triggers fired');",
                "UPDATE account SET email = NULL, nick = NULL; UPDATE account SET email = 'k' || id || '@x';",
            ]),
        CaptureCase(
            "a text key with secondary unique columns",
            [
                "INSERT INTO badge VALUES ('b1', 900001, 'Ann'), ('b2', 900002, 'Bob'), ('b3', 900003, 'Cy');",
                "REPLACE INTO badge VALUES ('b4', 900001, 'Dee');",
                "REPLACE INTO badge VALUES ('b2', 900003, 'Bob takes two');",
                "UPDATE OR REPLACE badge SET serial = 900001 WHERE code = 'b2';",
                "INSERT INTO badge VALUES ('b5', 900001, 'x') ON CONFLICT (serial) DO UPDATE SET code = excluded.code;",
                "REPLACE INTO \"group\" VALUES (1000005, 'w', 'unique'); REPLACE INTO \"group\" VALUES (1000006, 'w', 'unique');",
            ], oneSided: true),
        CaptureCase(
            "every action of a foreign key",
            [
                "INSERT INTO parent VALUES (900001, 'p1'), (900002, 'p2'), (900003, 'p3'), (900004, 'p4');",
                """
                INSERT INTO child_cascade VALUES (900001, 'c1', 900001), (900002, 'c2', 900002);
                INSERT INTO child_set_null VALUES (900001, 'n1', 900001), (900002, 'n2', 900002);
                INSERT INTO child_set_default VALUES (900001, 'd1', 900001), (900002, 'd2', 900002);
                INSERT INTO child_restrict VALUES (900002, 'r2', 900002);
                INSERT INTO child_no_action VALUES (900002, 'a2', 900002), (900003, 'a3', 900003);
                INSERT INTO grandchild VALUES (900001, 'g1', 900001), (900002, 'g2', 900002);
                """,
                "DELETE FROM parent WHERE id = 900001;",
                "UPDATE parent SET id = 910002 WHERE id = 900002;",
                "BEGIN; DELETE FROM parent WHERE id = 900003; DELETE FROM child_no_action WHERE parent_id = 900003; COMMIT;",
                "REPLACE INTO parent VALUES (900004, 'p4 replaced');",
                "INSERT INTO country VALUES ('cc', 'Here'), ('dd', 'There'); INSERT INTO city VALUES ('Hereville', 'cc'), ('Herestadt', 'cc'), ('Thereton', 'dd');",
                "UPDATE country SET code = 'xx' WHERE code = 'cc';",
                "DELETE FROM country WHERE code = 'dd';",
                "REPLACE INTO country VALUES ('xx', 'cities cascade away');",
            ], oneSided: true),
        CaptureCase(
            "a tree in one table",
            [
                "INSERT INTO node VALUES (900001, 'root', NULL), (900002, 'left', 900001), (900003, 'right', 900001), (900004, 'leaf', 900002), (900005, 'own parent', 900005);",
                "UPDATE node SET parent_id = 900003 WHERE name = 'leaf';",
                "UPDATE node SET parent_id = NULL WHERE name = 'left';",
                "BEGIN; UPDATE node SET parent_id = 900003 WHERE name = 'left'; DELETE FROM node WHERE name = 'leaf'; INSERT INTO node (name, parent_id) VALUES ('new leaf', 900002); COMMIT;",
                "DELETE FROM node WHERE name = 'root';",
            ], oneSided: true),
        CaptureCase(
            "two tables that refer to each other, a shared key and a join table",
            [
                """
                BEGIN;
                INSERT INTO team VALUES (900001, 'reds', NULL), (900002, 'blues', NULL);
                INSERT INTO player VALUES (900001, 'Ann', 900001), (900002, 'Bob', 900001), (900003, 'Cy', 900002);
                UPDATE team SET captain_id = 900001 WHERE name = 'reds'; UPDATE team SET captain_id = 900003 WHERE name = 'blues';
                COMMIT;
                """,
                "INSERT INTO passport VALUES (900001, 'A-1'), (900003, 'C-3'); INSERT INTO friendship VALUES (900001, 900002, 'may'), (900002, 900001, 'june'), (900003, 900003, 'self');",
                "UPDATE team SET captain_id = 900002 WHERE name = 'reds'; UPDATE passport SET number = 'A-2' WHERE number = 'A-1';",
                "UPDATE friendship SET other = 900003 WHERE since = 'may';",
                "REPLACE INTO friendship VALUES (900002, 900001, 'july'); UPDATE passport SET player_id = 900002 WHERE number = 'A-2';",
                "DELETE FROM player WHERE name = 'Bob';",
                "DELETE FROM team WHERE name = 'blues';",
            ], oneSided: true),
        CaptureCase(
            "a full-text index kept by triggers",
            [
                "INSERT INTO article VALUES (900001, 'Ferns', 'of the northern moraine'), (900002, 'Mosses', 'of the southern moraine');",
                "UPDATE article SET body = 'of the western glacier' WHERE title = 'Ferns';",
                "UPDATE article SET id = 900003 WHERE title = 'Mosses';",
                "DELETE FROM article WHERE title = 'Ferns'; INSERT INTO article (title, body) VALUES ('Lichens', 'of the moraine');",
            ], oneSided: true),
        CaptureCase(
            "a trigger that writes a tracked table",
            [
                "INSERT INTO ticket (title) VALUES ('counted'), ('counted too');",
                "REPLACE INTO counter VALUES ('tickets made', 100);",
                "INSERT INTO ticket (title) VALUES ('counted as well');",
            ]),
        CaptureCase(
            "UPDATE … FROM, INSERT … SELECT, RETURNING and WITH",
            [
                "INSERT INTO text_key SELECT 'bulk' || value, NULL, value FROM (WITH RECURSIVE n (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < 300) SELECT value FROM n);",
                "UPDATE text_key SET note = c.meaning FROM (SELECT 'bulk7' AS code, 'lucky' AS meaning) c WHERE c.code = text_key.code;",
                "WITH odd AS (SELECT code FROM text_key WHERE amount % 2 = 1) DELETE FROM text_key WHERE code IN odd RETURNING code;",
                "UPDATE text_key SET amount = amount + 1 RETURNING amount;",
            ]),
    ]
}
