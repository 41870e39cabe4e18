import LogSyncModel
import Testing

@testable import LogSyncStore

/// Every kind of table that SQLite has, written on two peers.
@Suite struct TableKindTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private func pair(
        _ sql: String, plan: (inout InitializePlan) -> Void = { _ in }
    ) throws -> (TestPeer, TestPeer) {
        let a = try TestPeer(folder, "a", sql: sql, plan: plan)
        return (a, try TestPeer(folder, "b", cloning: a))
    }

    @Test func withoutRowidAndCompositeKeys() throws {
        let (a, b) = try pair(
            """
            CREATE TABLE w(k TEXT PRIMARY KEY, v) WITHOUT ROWID;
            CREATE TABLE c(x INT, y BLOB, v, PRIMARY KEY(y, x));
            CREATE TABLE d(x INT, y BLOB, v, PRIMARY KEY(y, x DESC)) WITHOUT ROWID;
            INSERT INTO w VALUES ('a', 1), ('b', 2); INSERT INTO c VALUES (1, x'00ff', 1), (2, x'', 2);
            INSERT INTO d SELECT * FROM c;
            """)
        try a.write("UPDATE w SET v = 3 WHERE k = 'a'; UPDATE w SET k = 'c' WHERE k = 'b'; DELETE FROM c WHERE x = 1")
        try b.write("INSERT INTO c VALUES (1, x'', 3); UPDATE d SET x = x + 10; DELETE FROM w WHERE k = 'b'")
        try agree(a, b)
        #expect(try a.strings("SELECT * FROM w") == ["a|3", "c|2"])
        #expect(try a.strings("SELECT x, v FROM c ORDER BY x") == ["1|3", "2|2"])
        #expect(try a.strings("SELECT x, v FROM d ORDER BY x") == ["11|1", "12|2"])
    }

    @Test func rowsWithANullInTheirKeyStayApart() throws {
        let (a, b) = try pair(
            "CREATE TABLE t(x TEXT, y INT, v, PRIMARY KEY(x, y)); INSERT INTO t VALUES (NULL, 1, 'a'), (NULL, 1, 'b')")
        #expect(try b.strings("SELECT v FROM t ORDER BY v") == ["a", "b"])
        try a.write("UPDATE t SET v = 'c' WHERE v = 'b'; INSERT INTO t VALUES (NULL, 1, 'd')")
        try b.write("INSERT INTO t VALUES (NULL, 1, 'e'); DELETE FROM t WHERE v = 'a'")
        try agree(a, b)
        #expect(try b.strings("SELECT v FROM t ORDER BY v") == ["c", "d", "e"])
        try a.write("UPDATE t SET x = 'k' WHERE v = 'c'; UPDATE t SET v = 'D' WHERE v = 'd'")
        try agree(a, b)
        #expect(try b.strings("SELECT x, v FROM t ORDER BY v") == ["NULL|D", "k|c", "NULL|e"])
        try b.write("UPDATE t SET x = NULL WHERE v = 'c'; DELETE FROM t WHERE v = 'D'")
        try agree(a, b)
        #expect(try a.strings("SELECT x, v FROM t ORDER BY v") == ["NULL|c", "NULL|e"])
    }

    @Test func aKeysSpellingTravelsAsACell() throws {
        let (a, b) = try pair(
            """
            CREATE TABLE n(k TEXT PRIMARY KEY COLLATE NOCASE, v);
            CREATE TABLE r(k TEXT COLLATE RTRIM PRIMARY KEY, v) WITHOUT ROWID;
            INSERT INTO n VALUES ('Bob', 1); INSERT INTO r VALUES ('x', 1);
            """)
        try a.write("UPDATE n SET k = 'BOB'; UPDATE r SET k = 'x  '")
        #expect(try a.recorded() == "n ~1, r ~1")
        try agree(a, b)
        #expect(try b.strings("SELECT k FROM n") == ["BOB"])
        #expect(try b.strings("SELECT k || '.' FROM r") == ["x  ."])
        try b.write("INSERT OR REPLACE INTO n VALUES ('bob', 2); UPDATE r SET v = 3 WHERE k = 'x    '")
        try agree(a, b)
        #expect(try a.strings("SELECT * FROM n") == ["bob|2"])
        #expect(try a.strings("SELECT k || '.', v FROM r") == ["x  .|3"])
        try a.write("DELETE FROM n; INSERT INTO n VALUES ('BoB', 4)")
        try b.write("UPDATE r SET k = 'x ', v = 5")
        try agree(a, b)
        #expect(try b.strings("SELECT * FROM n") == ["BoB|4"])
        #expect(try a.strings("SELECT k || '.', v FROM r") == ["x .|5"])
    }

    @Test func wholeRealsAndIntegersAreOneKey() throws {
        let (a, b) = try pair("CREATE TABLE t(k PRIMARY KEY, v); INSERT INTO t VALUES (1, 'a')")
        try a.write("UPDATE t SET k = 1.0")
        #expect(try a.recorded() == "t ~1")
        try agree(a, b)
        #expect(try b.strings("SELECT typeof(k) FROM t") == ["real"])
        try a.write("INSERT INTO t VALUES (2, 'x')")
        try b.write("INSERT INTO t VALUES (2.0, 'y'); INSERT INTO t VALUES ('2', 'z'), (x'32', 'w')")
        try agree(a, b)
        #expect(try a.strings("SELECT count(*) FROM t") == ["4"])
        try a.write("DELETE FROM t WHERE k = 2")
        try agree(a, b)
        #expect(try b.strings("SELECT count(*) FROM t") == ["3"])
    }

    @Test func generatedColumnsAreComputedNotCarried() throws {
        let (a, b) = try pair(
            """
            CREATE TABLE t(v AS (a * 2) VIRTUAL, id INTEGER PRIMARY KEY, a INT, s TEXT AS (a || '!') STORED UNIQUE, b);
            INSERT INTO t(a, b) VALUES (1, 2);
            CREATE TABLE k(a TEXT, g TEXT GENERATED ALWAYS AS (upper(a)) STORED, PRIMARY KEY(a)) WITHOUT ROWID;
            INSERT INTO k(a) VALUES ('x');
            """)
        try a.write("UPDATE t SET a = 5; INSERT INTO t(a, b) VALUES (7, 8)")
        try b.write("UPDATE t SET b = 9; INSERT INTO k(a) VALUES ('y')")
        try agree(a, b)
        #expect(try b.strings("SELECT v, a, s, b FROM t ORDER BY a") == ["10|5|5!|9", "14|7|7!|8"])
        #expect(try a.strings("SELECT g FROM k") == ["X", "Y"])
        try a.write("INSERT OR REPLACE INTO t(a, b) VALUES (5, 'new')")
        try agree(a, b)
        #expect(try b.strings("SELECT a, b FROM t ORDER BY a") == ["5|new", "7|8"])
    }

    @Test func strictAndAutoincrementTables() throws {
        let (a, b) = try pair(
            """
            CREATE TABLE s(id INTEGER PRIMARY KEY, i INT, r REAL, t TEXT, b BLOB, a ANY) STRICT;
            CREATE TABLE n(id INTEGER PRIMARY KEY AUTOINCREMENT, v);
            INSERT INTO s VALUES (1, 1, 1, 'x', x'00', '007'), (2, NULL, NULL, NULL, NULL, NULL);
            INSERT INTO n(v) VALUES (1), (2), (3); DELETE FROM n WHERE id = 3;
            """)
        try b.store.continueSequences()
        try a.write("UPDATE s SET r = 2 WHERE id = 1; INSERT INTO n(v) VALUES ('a')")
        try b.write("UPDATE s SET a = 7 WHERE id = 1; INSERT INTO n(v) VALUES ('b')")
        try agree(a, b)
        #expect(try a.strings("SELECT r, a, typeof(a) FROM s WHERE id = 1") == ["2.0|7|integer"])
        // 3 was deleted: no row ever has it again.
        #expect(try a.strings("SELECT count(*) FROM n WHERE id = 3") == ["0"])
        #expect(try b.strings("SELECT count(*) FROM n WHERE id = 3") == ["0"])
        #expect(try a.strings("SELECT v FROM n ORDER BY v") == b.strings("SELECT v FROM n ORDER BY v"))
    }

    @Test func namesThatNeedQuoting() throws {
        let (a, b) = try pair(
            """
            CREATE TABLE "a ""table'" ("select" INTEGER PRIMARY KEY, "two words" TEXT, "it's" UNIQUE, "emb""edded", [brack], "new
            line", "über", "?1" REFERENCES "order"("group"));
            CREATE TABLE "order"("group" INTEGER PRIMARY KEY, "from" TEXT);
            CREATE TABLE "Ключи"("a b" TEXT, "c'd" INT REFERENCES "a ""table'", "where", PRIMARY KEY("a b", "c'd"));
            CREATE UNIQUE INDEX "an ""index" ON "order"("from");
            INSERT INTO "order" VALUES (1, 'x'); INSERT INTO "a ""table'" VALUES (1, 't', 'u', 'e', 'b', 'n', 'ü', 1);
            INSERT INTO "Ключи" VALUES ('k', 1, 'w');
            """)
        try a.write(
            """
            UPDATE "a ""table'" SET "two words" = 'T', "new
            line" = 'N'; INSERT INTO "order" VALUES (2, 'y'); UPDATE "a ""table'" SET "?1" = 2
            """)
        try b.write(
            """
            INSERT INTO "order" VALUES (2, 'z'); INSERT INTO "Ключи" VALUES ('l', 1, 'w'); UPDATE "Ключи" SET "a b" = 'm' WHERE "a b" = 'k';
            INSERT INTO "order"("from") VALUES ('q'); INSERT OR REPLACE INTO "order"("from") VALUES ('q')
            """)
        try agree(a, b)
        #expect(try a.strings("SELECT \"two words\", \"new\nline\" FROM \"a \"\"table'\"") == ["T|N"])
        #expect(try a.strings("SELECT \"from\" FROM \"order\" ORDER BY 1") == ["q", "x", "y", "z"])
        let referred = try b.strings(
            "SELECT o.\"from\" FROM \"a \"\"table'\" t JOIN \"order\" o ON o.\"group\" = t.\"?1\"")
        #expect(referred == ["y"])
        #expect(try a.strings("SELECT \"a b\" FROM \"Ключи\" ORDER BY 1") == ["l", "m"])
    }

    @Test func columnsNamedLikeTheRowid() throws {
        let (a, b) = try pair(
            """
            CREATE TABLE r(rowid TEXT PRIMARY KEY, v);
            CREATE TABLE s(rowid TEXT, _rowid_ TEXT, v, PRIMARY KEY(rowid, _rowid_));
            CREATE TABLE o(oid TEXT NOT NULL, rowid INT NOT NULL, _rowid_ BLOB, v, PRIMARY KEY(oid, rowid));
            CREATE TABLE i(id INTEGER PRIMARY KEY, rowid, oid, _rowid_);
            INSERT INTO r VALUES ('a', 1); INSERT INTO s VALUES ('a', 'b', 1); INSERT INTO o VALUES ('a', 7, x'00', 1);
            INSERT INTO i VALUES (5, 1, 2, 3);
            """)
        try a.write("UPDATE r SET v = 2; UPDATE s SET _rowid_ = 'c'; UPDATE o SET rowid = 8; UPDATE i SET oid = 9")
        try b.write(
            "INSERT INTO r VALUES ('b', 1); INSERT INTO s VALUES ('b', 'b', 1); INSERT INTO o VALUES ('b', 7, x'00', 1); INSERT INTO i VALUES (6, 5, 5, 5); UPDATE i SET rowid = 'x' WHERE id = 5"
        )
        try agree(a, b)
        #expect(try a.strings("SELECT * FROM r ORDER BY 1") == ["a|2", "b|1"])
        #expect(try a.strings("SELECT * FROM s ORDER BY 1") == ["a|c|1", "b|b|1"])
        #expect(try a.strings("SELECT oid, rowid, v FROM o ORDER BY 1") == ["a|8|1", "b|7|1"])
        #expect(try b.strings("SELECT * FROM i ORDER BY 1") == ["5|x|9|3", "6|5|5|5"])
        try a.write("DELETE FROM o WHERE oid = 'a'; INSERT OR REPLACE INTO o VALUES ('b', 7, NULL, 3)")
        try agree(a, b)
        #expect(try b.strings("SELECT * FROM o") == ["b|7|NULL|3"])
    }

    @Test func tablesOfNothingButTheirKey() throws {
        let (a, b) = try pair(
            """
            CREATE TABLE i(id INTEGER PRIMARY KEY); CREATE TABLE k(k TEXT PRIMARY KEY) WITHOUT ROWID;
            CREATE TABLE n(k TEXT PRIMARY KEY COLLATE NOCASE); INSERT INTO i VALUES (1), (5);
            INSERT INTO k VALUES ('a'); INSERT INTO n VALUES ('A');
            """)
        try a.write(
            "INSERT INTO i DEFAULT VALUES; INSERT INTO k VALUES ('b'); UPDATE n SET k = 'a'; DELETE FROM i WHERE id = 1"
        )
        try b.write("INSERT INTO i DEFAULT VALUES; INSERT INTO k VALUES ('c'); INSERT INTO n VALUES ('b')")
        try agree(a, b)
        #expect(try a.strings("SELECT count(*) FROM i") == ["3"])
        #expect(try b.strings("SELECT k FROM k") == ["a", "b", "c"])
        #expect(try b.strings("SELECT k FROM n ORDER BY k") == ["a", "b"])
    }

    @Test func aKeyThatIsItsParentsInteger() throws {
        let (a, b) = try pair(
            """
            CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE detail(id INTEGER PRIMARY KEY REFERENCES person(id), text TEXT);
            INSERT INTO person VALUES (1, 'ann'); INSERT INTO detail VALUES (1, 'of ann');
            """)
        try a.write("INSERT INTO person VALUES (2, 'bob'); INSERT INTO detail VALUES (2, 'of bob')")
        try b.write(
            "INSERT INTO person VALUES (2, 'cid'); INSERT INTO detail VALUES (2, 'of cid'); UPDATE detail SET text = 'of Ann' WHERE id = 1"
        )
        try agree(a, b)
        let query = "SELECT name, text FROM person JOIN detail USING (id) ORDER BY name"
        for peer in [a, b] { #expect(try peer.strings(query) == ["ann|of Ann", "bob|of bob", "cid|of cid"]) }
        try a.write("UPDATE detail SET id = 99 WHERE text = 'of bob'; UPDATE person SET id = 99 WHERE name = 'bob'")
        try agree(a, b)
        for peer in [a, b] { #expect(try peer.strings(query) == ["ann|of Ann", "bob|of bob", "cid|of cid"]) }
    }

    @Test func compositeForeignKeysIntoJoinTables() throws {
        let (a, b) = try pair(
            """
            CREATE TABLE list(id INTEGER PRIMARY KEY, name); CREATE TABLE track(id INTEGER PRIMARY KEY, name);
            CREATE TABLE entry(list INT REFERENCES list, track INT REFERENCES track, PRIMARY KEY(list, track));
            CREATE TABLE vote(id INTEGER PRIMARY KEY, l INT, t INT, n, FOREIGN KEY(l, t) REFERENCES entry(list, track));
            INSERT INTO list VALUES (1, 'L'); INSERT INTO track VALUES (1, 'T');
            INSERT INTO entry VALUES (1, 1); INSERT INTO vote VALUES (1, 1, 1, 'v');
            """)
        for (peer, name) in [(a, "a"), (b, "b")] {
            try peer.write(
                """
                INSERT INTO list VALUES (2, '\(name)'); INSERT INTO track VALUES (2, '\(name)'); INSERT INTO entry VALUES (2, 2), (1, 2);
                INSERT INTO vote VALUES (2, 2, 2, '\(name)'), (3, 1, 2, 'L\(name)')
                """)
        }
        try agree(a, b)
        for peer in [a, b] {
            #expect(
                try peer.strings(
                    "SELECT list.name, track.name, n FROM vote JOIN list ON l = list.id JOIN track ON t = track.id ORDER BY 1, 2"
                )
                    == ["L|T|v", "L|a|La", "L|b|Lb", "a|a|a", "b|b|b"])
            #expect(try peer.strings("PRAGMA foreign_key_check") == [])
        }
    }

    @Test func integersThatMeanTheSameEverywhere() throws {
        let (a, b) = try pair(
            """
            CREATE TABLE country(code INTEGER PRIMARY KEY, name TEXT); INSERT INTO country VALUES (47, 'Norway');
            CREATE TABLE city(id INTEGER PRIMARY KEY, country INT REFERENCES country);
            INSERT INTO city VALUES (1, 47);
            """
        ) { $0.identities["Country"] = .natural }
        try a.write("INSERT INTO country VALUES (46, 'Sweden'); INSERT INTO city VALUES (2, 46)")
        try b.write("INSERT INTO country VALUES (46, 'Sverige'); UPDATE country SET code = 48 WHERE code = 47")
        try agree(a, b)
        for peer in [a, b] { #expect(try peer.strings("SELECT code FROM country ORDER BY code") == ["46", "48"]) }
    }

    @Test func aUniqueColumnSetAsIdentity() throws {
        let (a, b) = try pair(
            """
            CREATE TABLE user(id INTEGER PRIMARY KEY, email TEXT NOT NULL UNIQUE COLLATE NOCASE, v);
            CREATE TABLE post(id INTEGER PRIMARY KEY, user INT NOT NULL REFERENCES user, text);
            INSERT INTO user VALUES (1, 'x@y', 1);
            """
        ) { $0.identities["user"] = .columns(["email"]) }
        try a.write("INSERT INTO user VALUES (2, 'Ann@y', 'a'); INSERT INTO post VALUES (1, 2, 'a')")
        try b.write("INSERT INTO user VALUES (3, 'ann@y', 'b'); INSERT INTO post VALUES (1, 3, 'b')")
        try agree(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT count(*) FROM user") == ["2"])
            #expect(
                try peer.strings("SELECT text, lower(email) FROM post JOIN user ON user.id = user ORDER BY 1") == [
                    "a|ann@y", "b|ann@y",
                ])
        }
        try a.write("UPDATE user SET email = 'new@y' WHERE email = 'ann@y'; UPDATE user SET id = 77 WHERE id = 1")
        try agree(a, b)
        for peer in [a, b] {
            #expect(
                try peer.strings("SELECT text, email FROM post JOIN user ON user.id = user ORDER BY 1") == [
                    "a|new@y", "b|new@y",
                ])
        }
    }

    @Test func undeclaredReferences() throws {
        let (a, b) = try pair(
            """
            CREATE TABLE album(id INTEGER PRIMARY KEY, name); CREATE TABLE song(id INTEGER PRIMARY KEY, album_id INT, name);
            INSERT INTO album VALUES (1, 'x'); INSERT INTO song VALUES (1, 1, 'y');
            """
        ) { $0.references = [("Song", "album_id", "ALBUM")] }
        try a.write("INSERT INTO album VALUES (2, 'a'); INSERT INTO song VALUES (2, 2, 'of a')")
        try b.write("INSERT INTO album VALUES (2, 'b'); INSERT INTO song VALUES (2, 2, 'of b')")
        try agree(a, b)
        for peer in [a, b] {
            #expect(
                try peer.strings("SELECT album.name, song.name FROM song JOIN album ON album.id = album_id ORDER BY 1")
                    == ["a|of a", "b|of b", "x|y"])
        }
    }

    @Test func anIntegerPrimaryKeyDescendingIsNoRowid() throws {
        let (a, b) = try pair(
            "CREATE TABLE t(id INTEGER PRIMARY KEY DESC, v); INSERT INTO t VALUES (1, 'a'), (NULL, 'n')")
        try a.write("INSERT INTO t VALUES (2, 'b'), (NULL, 'm'); UPDATE t SET v = 'N' WHERE v = 'n'")
        try b.write("INSERT INTO t VALUES (2, 'c'); DELETE FROM t WHERE id = 1")
        try agree(a, b)
        #expect(try a.strings("SELECT id FROM t ORDER BY id") == ["NULL", "NULL", "2"])
        #expect(try a.strings("SELECT v FROM t WHERE id IS NULL ORDER BY 1") == ["N", "m"])
    }

    @Test func naturalKeysBesideUniqueColumns() throws {
        let (a, b) = try pair(
            """
            CREATE TABLE t(k TEXT PRIMARY KEY, u UNIQUE, v); INSERT INTO t VALUES ('a', 1, 1), ('b', 2, 2);
            CREATE TABLE w(k TEXT PRIMARY KEY, u UNIQUE, v) WITHOUT ROWID; INSERT INTO w SELECT * FROM t;
            """)
        for table in ["t", "w"] {
            try a.write("UPDATE \(table) SET u = 5 WHERE k = 'a'; INSERT INTO \(table) VALUES ('c', 1, 3)")
            try b.write("UPDATE \(table) SET k = 'd' WHERE k = 'b'")
        }
        try agree(a, b)
        for table in ["t", "w"] {
            #expect(try b.strings("SELECT * FROM \(table) ORDER BY k") == ["a|5|1", "c|1|3", "d|2|2"])
        }
    }

    @Test func aRowWithANullInItsKeyThatTakesAnothersRowidIsAnotherRow() throws {
        let folder = try TestFolder()
        let a = try TestPeer(folder, "a", sql: "CREATE TABLE t(k INT, l TEXT, v, PRIMARY KEY(k, l))")
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write("INSERT INTO t VALUES (NULL, 'a', 1)")
        try converge(a, b)
        try a.write("DELETE FROM t; INSERT INTO t VALUES (NULL, 'a', 2)")
        try b.write("UPDATE t SET v = 3")
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.store.audit().problems == [])
            #expect(try peer.strings("SELECT v FROM t") == ["2"])
        }
    }

    @Test func aRowThatWasDisplacedByOneThatWasDisplacedInTurnIsGone() throws {
        let folder = try TestFolder()
        let a = try TestPeer(folder, "a", sql: "CREATE TABLE t(k TEXT PRIMARY KEY, u UNIQUE, w UNIQUE)")
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write("INSERT INTO t VALUES ('d', 3, NULL)")
        try converge(a, b)
        try b.write("REPLACE INTO t VALUES ('B', 3, 1); REPLACE INTO t VALUES ('b', 2, 1)")
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.store.audit().problems == [])
            #expect(try peer.strings("SELECT k FROM t") == ["b"])
        }
    }

    @Test(arguments: ["", ", u UNIQUE"])
    func aRowWithANullInItsKeyThatTakesTheRowidOfADisplacedRowIsAnotherRow(unique: String) throws {
        let folder = try TestFolder()
        let more = unique.isEmpty ? "" : ", 1"
        let a = try TestPeer(
            folder, "a", sql: "CREATE TABLE t(k TEXT PRIMARY KEY, v\(unique)); INSERT INTO t VALUES ('a', 1\(more))")
        let b = try TestPeer(folder, "b", cloning: a)
        try converge(a, b)
        // The second displaces the first, by its other key or by its place, and goes in turn.
        let rowid = unique.isEmpty ? "rowid, " : ""
        try a.write(
            """
            REPLACE INTO t(\(rowid)k, v\(unique.isEmpty ? "" : ", u")) VALUES (\(rowid.isEmpty ? "" : "1, ")'b', 2\(more));
            DELETE FROM t WHERE k = 'b'; INSERT INTO t(k, v) VALUES (NULL, 3)
            """)
        try b.write("UPDATE t SET v = 4 WHERE k = 'a'")
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.store.audit().problems == [])
            #expect(try peer.strings("SELECT k, v FROM t") == ["NULL|3"])
        }
    }

    @Test func aRowThatIsDisplacedByTheRowidOfAnotherIsGone() throws {
        let folder = try TestFolder()
        let a = try TestPeer(
            folder, "a", sql: "CREATE TABLE t(k TEXT PRIMARY KEY, v); INSERT INTO t VALUES ('a', 1), ('b', 2), ('c', 3)"
        )
        let b = try TestPeer(folder, "b", cloning: a)
        try converge(a, b)
        try a.write("REPLACE INTO t(rowid, k, v) VALUES (2, 'new at 2', 4)")
        try a.write("UPDATE OR REPLACE t SET rowid = 1 WHERE k = 'c'")
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.store.audit().problems == [])
            #expect(try peer.strings("SELECT k, v FROM t ORDER BY k") == ["c|3", "new at 2|4"])
        }
    }
}
