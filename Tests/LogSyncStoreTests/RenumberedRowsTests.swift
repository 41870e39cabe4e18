import LogSyncModel
import Testing

@testable import LogSyncStore

/// Indexes that come and go, and rows whose rowids change without anybody's doing.
extension SchemaTests {
    @Test func uniqueIndexesComeAndGo() throws {
        let (a, b) = try pair()
        for peer in [a, b] {
            try peer.write("CREATE UNIQUE INDEX u ON t(x); CREATE UNIQUE INDEX w ON c(i); CREATE INDEX p ON t(y)")
        }
        #expect(try a.recorded() == nil)
        try a.write("REPLACE INTO t VALUES ('n', 1, 'displaced a'); REPLACE INTO c(i) VALUES (2)")
        try agree(a, b)
        #expect(try b.strings("SELECT * FROM t ORDER BY k") == ["b|2|2", "n|1|displaced a"])
        #expect(try b.strings("SELECT count(*) FROM c") == ["1"])
        for peer in [a, b] { try peer.write("DROP INDEX u") }
        try b.write("INSERT INTO t VALUES ('m', 1, 1); UPDATE t SET y = 'b' WHERE k = 'n'")
        try agree(a, b)
        #expect(try a.strings("SELECT * FROM t ORDER BY k") == ["b|2|2", "m|1|1", "n|1|b"])
    }

    /// A deletion is all that says so, whatever has become of the table's indexes meanwhile.
    @Test(arguments: [
        "DELETE FROM p WHERE id = 3; CREATE UNIQUE INDEX pu ON p(name)",
        "CREATE UNIQUE INDEX pu ON p(city, name); DELETE FROM p WHERE id = 3",
        """
        DELETE FROM p WHERE id = 3;
        CREATE TABLE p_new(id INTEGER PRIMARY KEY, name TEXT UNIQUE, city TEXT); INSERT INTO p_new SELECT * FROM p;
        DROP TABLE p; ALTER TABLE p_new RENAME TO p
        """,
    ])
    func aRowWithTheIntegerOfOneThatIsGoneIsAnotherRow(migration: String) throws {
        let (a, b) = try pair(
            """
            CREATE TABLE p(id INTEGER PRIMARY KEY, name TEXT, city TEXT);
            CREATE TABLE c(id INTEGER PRIMARY KEY, p INTEGER REFERENCES p(id), v TEXT);
            INSERT INTO p VALUES (1, 'ann', 'x'), (2, 'bob', 'y'), (3, 'cy', 'z');
            """)
        try a.write("\(migration); INSERT INTO p(name, city) VALUES ('A', 'a')")
        try b.write("INSERT INTO c(p, v) VALUES (3, 'of cy')")
        try agree(a, b)
        #expect(try a.strings("SELECT name FROM p ORDER BY name") == ["A", "ann", "bob"])
        #expect(try a.strings("SELECT v FROM c") == [])
        #expect(try a.store.parkedRows(table: "c").count == 1)
        #expect(try a.store.audit().problems == [])
    }

    /// Two rows hold the same, and one is edited by the other peer; one of the new integers is another row's old one.
    /// The rebuild may make a column UNIQUE besides.
    @Test(arguments: ["", " UNIQUE"])
    func rowsThatARebuildNumbersAnewStayTheSame(unique: String) throws {
        let (a, b) = try pair(
            """
            CREATE TABLE p(id INTEGER PRIMARY KEY, name TEXT, city TEXT);
            CREATE TABLE c(id INTEGER PRIMARY KEY, p INTEGER REFERENCES p(id), v TEXT);
            INSERT INTO p SELECT value, 'name ' || value, 'city' FROM json_each('[1,2,3,4,5,6,7,8,9,10,11,12]');
            INSERT INTO c SELECT id, id, 'of ' || id FROM p;
            """)
        let migration = """
            BEGIN; CREATE TABLE p_new(id INTEGER PRIMARY KEY, name TEXT\(unique), city TEXT);
            INSERT INTO p_new SELECT id * 10, name, city FROM p; DROP TABLE p; ALTER TABLE p_new RENAME TO p;
            UPDATE c SET p = p * 10; COMMIT
            """
        let isUnique = !unique.isEmpty
        if isUnique { try a.write("UPDATE p SET city = 'edited' WHERE id = 5") }
        try a.write(migration)
        try b.write("UPDATE p SET city = 'moved' WHERE id = 3; DELETE FROM c WHERE id = 4; DELETE FROM p WHERE id = 4")
        try agree(a, b)
        try b.write(migration)
        try b.write("INSERT INTO p(name, city) VALUES ('new', 'city')")
        try agree(a, b)
        let cities = [3: "moved", 5: isUnique ? "edited" : "city"]
        let names = (1...12).filter { $0 != 4 }.map { "name \($0)|\(cities[$0] ?? "city")" } + ["new|city"]
        #expect(try a.strings("SELECT name, city FROM p").sorted() == names.sorted())
        #expect(
            try a.strings("SELECT v, name FROM c JOIN p ON p.id = c.p").sorted()
                == (1...12).filter { $0 != 4 }.map { "of \($0)|name \($0)" }.sorted())
        #expect(try a.strings("SELECT id FROM p WHERE name = 'name 12'") == ["120"])
        if isUnique {
            // A row that displaces one by the column's value goes on as that.
            try a.write("REPLACE INTO p(name, city) VALUES ('name 2', 'displaced')")
            try agree(a, b)
            #expect(try b.strings("SELECT city FROM p WHERE name = 'name 2'") == ["displaced"])
        }
        for peer in [a, b] { #expect(try peer.store.audit().problems == []) }
    }

    /// A rebuild that gives rows each other's integers: what has become of the table that refers to them, and what the peers
    /// have written.
    @Test(arguments: ["7 - id", "id % 6 + 1"], ["UPDATE c SET p = ", "rebuilt"])
    func rowsThatExchangeTheirIntegersInARebuildStayTheSame(number: String, children: String) throws {
        let (a, b) = try pair(
            """
            CREATE TABLE p(id INTEGER PRIMARY KEY, name TEXT, city TEXT, n INT);
            CREATE TABLE c(id INTEGER PRIMARY KEY, p INTEGER REFERENCES p(id), v TEXT);
            INSERT INTO p SELECT value, 'name ' || value, 'city', 7 FROM json_each('[1,2,3,4,5,6]');
            INSERT INTO c SELECT id, id, 'of ' || id FROM p;
            """)
        let other = number.replacing("id", with: "p")
        let isRebuilt = children == "rebuilt"
        let migration = """
            BEGIN; CREATE TABLE p_new(id INTEGER PRIMARY KEY, name TEXT, city TEXT, n INT);
            INSERT INTO p_new SELECT \(number), name, city, n * 10 FROM p; DROP TABLE p; ALTER TABLE p_new RENAME TO p;
            \(isRebuilt ? """
                CREATE TABLE c_new(id INTEGER PRIMARY KEY, p INTEGER REFERENCES p(id), v TEXT);
                INSERT INTO c_new SELECT id, \(other), v FROM c; DROP TABLE c; ALTER TABLE c_new RENAME TO c;
                """ : "UPDATE c SET p = \(other);") COMMIT
            """
        try a.write("UPDATE p SET city = 'edited' WHERE id = 5")
        try a.write(migration)
        try b.write("UPDATE p SET city = 'moved' WHERE id = 3; INSERT INTO c(p, v) VALUES (2, 'new of 2')")
        try agree(a, b)
        let pairs = "SELECT v, name FROM c JOIN p ON p.id = c.p ORDER BY v"
        let expected = ["new of 2|name 2"] + (1...6).map { "of \($0)|name \($0)" }
        for peer in [a, b] { #expect(try peer.strings(pairs) == expected) }
        #expect(try b.strings("SELECT id, name FROM p ORDER BY id") == (1...6).map { "\($0)|name \($0)" })
        try b.write(migration)
        try a.write("INSERT INTO c(p, v) SELECT id, 'newer of 4' FROM p WHERE name = 'name 4'")
        try agree(a, b)
        for peer in [a, b] {
            #expect(try peer.strings(pairs) == [expected[0], "newer of 4|name 4"] + expected.dropFirst())
            #expect(
                try peer.strings("SELECT name, city FROM p ORDER BY name")
                    == (1...6).map { "name \($0)|\($0 == 5 ? "edited" : $0 == 3 ? "moved" : "city")" })
            #expect(try peer.store.audit().problems == [])
        }
        #expect(try a.strings("SELECT name FROM p WHERE id = 1") == ["name 6"])
    }

    /// Integers are what says which row it is, where rows hold too little to say it, or others still refer to them.
    @Test(arguments: [
        // An order that is turned round.
        ("name TEXT, n INT", "id, name, 7 - n", ""),
        ("n INT", "id, 7 - n", ""),
        // Values that are put right, under integers that others go on referring to.
        ("name TEXT, n TEXT", "7 - id, name, n", ""),
        // Two rows of many.
        ("name TEXT", "CASE id WHEN 1 THEN 2 WHEN 2 THEN 1 ELSE id END, name", "DELETE FROM c"),
    ])
    func rowsKeepTheirIntegersInARebuild(columns: String, selected: String, before: String) throws {
        let names = columns.split(separator: ", ").map { $0.split(separator: " ")[0] }.joined(separator: ", ")
        let (a, b) = try pair(
            """
            CREATE TABLE p(id INTEGER PRIMARY KEY, \(columns));
            CREATE TABLE c(id INTEGER PRIMARY KEY, p INTEGER REFERENCES p(id), v TEXT);
            INSERT INTO p SELECT value\(columns.contains("name") ? ", 'name ' || value" : "")
            \(columns.contains("n ") ? ", value" : "") FROM json_each('[1,2,3,4,5,6]');
            INSERT INTO c SELECT id, id, 'of ' || id FROM p;
            """)
        try a.write(before)
        let children = try a.strings("SELECT v, p FROM c ORDER BY v")
        try agree(a, b)
        try a.write(
            """
            BEGIN; CREATE TABLE p_new(id INTEGER PRIMARY KEY, \(columns));
            INSERT INTO p_new SELECT \(selected) FROM p; DROP TABLE p; ALTER TABLE p_new RENAME TO p; COMMIT
            """)
        let rows = try a.strings("SELECT id, \(names) FROM p ORDER BY id")
        try agree(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT id, \(names) FROM p ORDER BY id") == rows)
            #expect(try peer.strings("SELECT v, p FROM c ORDER BY v") == children)
        }
    }

    /// A row that was there, and was edited, is told by what is UNIQUE from one that has come since and has its integer now.
    @Test(arguments: ["1", "1, 2"])
    func editedRowsThatExchangeTheirIntegersWithNewOnesStayTheSame(rows: String) throws {
        let (a, b) = try pair(
            """
            CREATE TABLE p(id INTEGER PRIMARY KEY, name TEXT UNIQUE, note TEXT, v TEXT);
            INSERT INTO p SELECT value, 'name ' || value, 'note', 'v' FROM json_each('[\(rows)]');
            """)
        try agree(a, b)
        try a.write(
            """
            INSERT INTO p VALUES (-1, 'name -1', 'note', 'v'); UPDATE p SET note = 'edited' WHERE id = 1;
            UPDATE p SET note = 'edited' WHERE id = 2;
            BEGIN; CREATE TABLE p_new(id INTEGER PRIMARY KEY, name TEXT UNIQUE, note TEXT, v TEXT);
            INSERT INTO p_new SELECT coalesce(lag(id) OVER (ORDER BY id), max(id) OVER ()), name, note, v FROM p;
            DROP TABLE p; ALTER TABLE p_new RENAME TO p; COMMIT
            """)
        try b.write("UPDATE p SET v = 'by b' WHERE name = 'name 1'")
        try agree(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT v || ' ' || note FROM p WHERE name = 'name 1'") == ["by b edited"])
            #expect(try peer.strings("SELECT name FROM p WHERE v = 'by b'") == ["name 1"])
        }
    }

    /// What columns say which row it is tells that whatever integer it has; and what is written to a column that the peer does
    /// not have yet stays with the row.
    @Test(arguments: ["id * 10", "id % 4 + 1"])
    func rowsOfChosenColumnsStayTheSameUnderOtherIntegers(number: String) throws {
        let table = "(id INTEGER PRIMARY KEY, k TEXT UNIQUE, v TEXT)"
        let a = try TestPeer(
            folder, "a",
            sql: "CREATE TABLE t\(table); INSERT INTO t(k, v) VALUES ('0', '0'), ('1', '1'), ('2', '2'), ('3', '3')"
        ) { $0.identities = ["t": .columns(["k"])] }
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write("ALTER TABLE t ADD COLUMN z TEXT; UPDATE t SET z = 'z ' || k")
        try converge(a, b)
        try b.write(
            """
            DELETE FROM t WHERE k = '0'; CREATE TABLE t_new\(table); INSERT INTO t_new SELECT \(number), k, v FROM t;
            DROP TABLE t; ALTER TABLE t_new RENAME TO t; UPDATE t SET v = 'by b' WHERE k = '2'
            """)
        try a.write("UPDATE t SET v = 'by a' WHERE k = '3'")
        #expect(try b.recorded() == "t ~1 -1")
        try converge(a, b)
        #expect(try a.strings("SELECT k, v, z FROM t ORDER BY k") == ["1|1|z 1", "2|by b|z 2", "3|by a|z 3"])
        #expect(try b.strings("SELECT k, v FROM t ORDER BY k") == ["1|1", "2|by b", "3|by a"])
    }

    /// Its deletion says which number the row had, and another row has that by the time the schema is followed.
    @Test func aNamelessRowIsDeletedAfterAColumnWasDropped() throws {
        let (a, b) = try pair(
            "CREATE TABLE n(k INT PRIMARY KEY, v, w); INSERT INTO n VALUES (NULL, 'nameless', 1), (2, 'two', 2);")
        try a.write("ALTER TABLE n DROP COLUMN w; DELETE FROM n; INSERT INTO n VALUES (2, 'again')")
        _ = try a.store.record()
        #expect(try a.store.audit().problems == [])
        try b.write("ALTER TABLE n DROP COLUMN w")
        try agree(a, b)
        for peer in [a, b] { #expect(try peer.strings("SELECT k, v FROM n") == ["2|again"]) }
    }

    /// What was captured of them says which numbers they had.
    @Test(arguments: [
        "VACUUM",
        """
        CREATE TABLE m(v, l TEXT, k INT, PRIMARY KEY(k, l)); INSERT INTO m(k, l, v) SELECT k, l, v FROM n;
        DROP TABLE n; ALTER TABLE m RENAME TO n
        """,
    ])
    func namelessRowsAreNumberedAnewBeforeTheyAreRecorded(migration: String) throws {
        let (a, b) = try pair(
            "CREATE TABLE n(k INT, l TEXT, v, PRIMARY KEY(k, l)); INSERT INTO n VALUES (NULL, NULL, 1);")
        try a.write("INSERT INTO n VALUES (4, 'b', 3), (2, NULL, 4)")
        try a.write("DELETE FROM n WHERE v = 3")
        try a.write("INSERT INTO n VALUES (1, 'b', 5)")
        try a.write(migration)
        _ = try a.store.record()
        #expect(try a.store.audit().problems == [])
        #expect(try a.store.record() == nil)
        try agree(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT k, l, v FROM n ORDER BY v") == ["NULL|NULL|1", "2|NULL|4", "1|b|5"])
        }
    }

    @Test func vacuumRenumbersRows() throws {
        let (a, b) = try pair(
            """
            CREATE TABLE t(k TEXT PRIMARY KEY, v); CREATE TABLE u(k TEXT PRIMARY KEY, v UNIQUE); CREATE TABLE n(k TEXT PRIMARY KEY, v);
            CREATE TABLE p(id INTEGER PRIMARY KEY, v); CREATE TABLE j(p INT REFERENCES p, k TEXT, v, PRIMARY KEY(p, k));
            """)
        try a.write(
            """
            INSERT INTO t SELECT value, value FROM json_each('[0,1,2,3,4,5,6,7,8,9]'); INSERT INTO u SELECT * FROM t; INSERT INTO n SELECT * FROM t;
            INSERT INTO p SELECT k, v FROM t; INSERT INTO j SELECT id, v, v FROM p;
            """)
        _ = try a.store.record()
        try a.write("DELETE FROM t WHERE k IN (0, 3, 4); DELETE FROM u WHERE k IN (0, 5); DELETE FROM j WHERE p < 4")
        _ = try a.store.record()
        // Pending before and after.
        try a.write(
            "UPDATE t SET v = 'before' WHERE k = 7; DELETE FROM u WHERE k = 1; INSERT INTO t VALUES ('x', 1); UPDATE j SET v = 'j' WHERE p = 6; INSERT INTO n VALUES (NULL, 'null')"
        )
        try a.write("VACUUM")
        try a.write(
            "UPDATE t SET v = 'after' WHERE k = 8; DELETE FROM t WHERE k = 9; REPLACE INTO u VALUES ('y', 8); UPDATE j SET k = 'k' WHERE p = 8; UPDATE n SET v = 'NULL' WHERE k IS NULL"
        )
        try agree(a, b)
        #expect(
            try b.strings("SELECT * FROM t ORDER BY k") == ["1|1", "2|2", "5|5", "6|6", "7|before", "8|after", "x|1"])
        #expect(try b.strings("SELECT * FROM u ORDER BY k") == ["2|2", "3|3", "4|4", "6|6", "7|7", "9|9", "y|8"])
        #expect(try b.strings("SELECT * FROM j ORDER BY p") == ["4|4|4", "5|5|5", "6|6|j", "7|7|7", "8|k|8", "9|9|9"])
        try b.write("VACUUM; UPDATE u SET v = 'b' WHERE k = 9; DELETE FROM n WHERE k IS NULL")
        try agree(a, b)
        #expect(try a.strings("SELECT count(*) FROM n") == ["10"])
        try a.write("VACUUM")
        #expect(try a.recorded() == nil)
        try agree(a, b)
    }

    @Test func vacuumMovesRowsWithNullsInTheirKeys() throws {
        let (a, b) = try pair("CREATE TABLE n(k TEXT PRIMARY KEY, v)")
        try a.write("INSERT INTO n VALUES ('a', 1), (NULL, 2), (NULL, 3), ('b', 4), (NULL, 5)")
        _ = try a.store.record()
        try a.write("DELETE FROM n WHERE v IN (1, 2)")
        _ = try a.store.record()
        try a.write("VACUUM")
        #expect(try a.recorded() == nil)
        try agree(a, b)
        try a.write("UPDATE n SET v = 33 WHERE v = 3")
        #expect(try a.recorded() == "n ~1")
        try agree(a, b)
        #expect(try b.strings("SELECT * FROM n ORDER BY v") == ["b|4", "NULL|5", "NULL|33"])
    }

    @Test func theAppsOwnDDLNeverFails() throws {
        let (a, b) = try pair()
        try a.write(
            """
            PRAGMA foreign_keys = OFF;
            ALTER TABLE t ADD COLUMN z; ALTER TABLE t RENAME COLUMN z TO zz; ALTER TABLE t DROP COLUMN zz; ALTER TABLE t RENAME COLUMN k TO key;
            ALTER TABLE t RENAME TO t2; ALTER TABLE t2 RENAME TO t; ALTER TABLE t RENAME COLUMN key TO k;
            CREATE VIEW v AS SELECT * FROM t; CREATE TRIGGER g AFTER INSERT ON t BEGIN UPDATE t SET x = 0 WHERE k = 'none'; END; DROP TRIGGER g; DROP VIEW v;
            ALTER TABLE i DROP COLUMN t; DROP TABLE c; CREATE TABLE c(id INTEGER PRIMARY KEY, i INT REFERENCES i); REINDEX; ANALYZE; VACUUM;
            """)
        #expect(try a.recorded() == "c -1")
        try a.write("UPDATE t SET x = 'works'; INSERT INTO c VALUES (1, 1); DELETE FROM i WHERE id = 2")
        try converge(a, b)
        #expect(try b.strings("SELECT x FROM t") == ["works", "works"])
        #expect(try a.store.audit().problems == [])
        #expect(try b.store.audit().problems == [])
    }
}
