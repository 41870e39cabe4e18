import LogSyncModel
import Testing

@testable import LogSyncStore

/// Tables without a key: each row goes by an identity of its own.
@Suite struct KeylessTableTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private static let schema = """
        CREATE TABLE s(name TEXT, n INT); CREATE TABLE p(id INTEGER PRIMARY KEY, x);
        CREATE TABLE r(pid INT REFERENCES p, w TEXT);
        INSERT INTO p VALUES(1, 'one'), (2, 'two');
        INSERT INTO s VALUES('a', 1), ('a', 1), ('b', 2), (NULL, NULL);
        INSERT INTO r VALUES(1, 'x'), (1, 'x'), (2, 'y')
        """
    private static let rows = "SELECT name, n FROM s ORDER BY 1, 2"

    private func pair(_ schema: String = Self.schema) throws -> (TestPeer, TestPeer) {
        let a = try TestPeer(folder, "a", sql: schema)
        return (a, try TestPeer(folder, "b", cloning: a))
    }

    @Test(
        "Columns that were chosen say on every peer which row is meant, also where the schema changes",
        arguments: ["", "id TEXT DEFAULT (hex(randomblob(8))) PRIMARY KEY, "])
    func chosenColumns(key: String) throws {
        let a = try TestPeer(
            folder, "a",
            sql: "CREATE TABLE s(\(key)owner TEXT NOT NULL, name TEXT NOT NULL, value TEXT, UNIQUE(owner, name));"
                + "INSERT INTO s(owner, name, value) VALUES('ann', 'theme', 'dark')"
        ) { $0.identities = ["s": .columns(["owner", "name"])] }
        let b = try TestPeer(folder, "b", cloning: a)
        let rows = "SELECT owner, name FROM s ORDER BY 1, 2"
        func both(_ owner: String) throws {
            for peer in [a, b] {
                try peer.write("INSERT INTO s(owner, name, value) VALUES('\(owner)', 'font', '\(peer.name)')")
            }
        }
        try both("ann")
        try agree(a, b)
        #expect(try b.strings(rows) == ["ann|font", "ann|theme"])
        try a.write("ALTER TABLE s ADD COLUMN more TEXT")
        try both("bob")
        for _ in 0..<2 {
            try a.pull(from: b)
            try b.pull(from: a)
        }
        try b.write("ALTER TABLE s ADD COLUMN more TEXT")
        try both("cid")
        try agree(a, b)
        #expect(try a.strings(rows) == ["ann|font", "ann|theme", "bob|font", "cid|font"])
        #expect(try a.store.summary().parked == 0)
    }

    @Test(
        "A link that two peers have made is gone for good when one of them deletes it",
        arguments: [
            ("w TEXT NOT NULL", "(pid, w)"), ("w TEXT NOT NULL", "(w COLLATE NOCASE, pid)"),
            ("w TEXT NOT NULL REFERENCES q, id INTEGER PRIMARY KEY AUTOINCREMENT", "(pid, w)"),
        ])
    func deletedLinks(columns: String, unique: String) throws {
        let (a, b) = try pair(
            """
            CREATE TABLE p(id INTEGER PRIMARY KEY); INSERT INTO p VALUES(1);
            CREATE TABLE q(w TEXT PRIMARY KEY); INSERT INTO q VALUES('a'), ('b'), ('x');
            CREATE TABLE link(pid INT NOT NULL REFERENCES p, \(columns));
            CREATE UNIQUE INDEX link_both ON link\(unique);
            """)
        for peer in [a, b] { try peer.write("INSERT INTO link(pid, w) VALUES(1, 'x'), (1, '\(peer.name)')") }
        try agree(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT pid, w FROM link ORDER BY 2") == ["1|a", "1|b", "1|x"])
            #expect(try peer.store.summary().parked == 0)
            #expect(try peer.store.audit().problems == [])
        }
        try b.write("DELETE FROM link WHERE w = 'x'")
        try agree(a, b)
        #expect(try a.strings("SELECT pid, w FROM link ORDER BY 2") == ["1|a", "1|b"])
        // One that is made again is there again, and one that is another's is not its twin.
        try a.write("INSERT INTO link(pid, w) VALUES(1, 'x'); DELETE FROM link WHERE w = 'b'")
        try agree(a, b)
        #expect(try b.strings("SELECT pid, w FROM link ORDER BY 2") == ["1|a", "1|x"])
    }

    @Test("Rows that hold more than what is UNIQUE in them stay two, of which one is parked")
    func contestedRows() throws {
        let (a, b) = try pair("CREATE TABLE s(name TEXT NOT NULL UNIQUE, value)")
        for peer in [a, b] { try peer.write("INSERT INTO s VALUES('x', '\(peer.name)')") }
        try agree(a, b)
        #expect(try a.store.summary().parked == 1)
        try a.write("DELETE FROM s")
        try agree(a, b)
        #expect(try a.strings("SELECT count(*) FROM s") == ["1"])
    }

    @Test("Columns by which a program finds one row at a time are pointed out")
    func namingColumns() throws {
        let schema =
            "CREATE TABLE s(host TEXT, name TEXT, value TEXT); CREATE INDEX s_names ON s(host, name); CREATE TABLE q(x);"
        func suggestions(_ rows: String, _ name: String) throws -> [String] {
            try folder.examine(schema + "INSERT INTO s VALUES \(rows)", in: name).tables.flatMap(\.suggestions)
        }
        let found = try suggestions("('a', 'salt', 1), ('a', 'key', 2), ('b', 'salt', 1)", "named")
        #expect(found.count == 1 && found[0].contains("--identity s=host,name"))
        #expect(try suggestions("('a', 'salt', 1), ('a', 'salt', 2)", "many") == [])
        #expect(try suggestions("('a', 'salt', 1)", "one") == [])
    }

    @Test func equalRowsAreAsManyRows() throws {
        let (a, b) = try pair()
        #expect(try b.strings(Self.rows) == ["NULL|NULL", "a|1", "a|1", "b|2"])
        try a.write("DELETE FROM s WHERE rowid = 1; INSERT INTO s VALUES('c', 3), ('c', 3)")
        try b.write("UPDATE s SET n = 7 WHERE name = 'b'")
        try agree(a, b)
        #expect(try a.strings(Self.rows) == ["NULL|NULL", "a|1", "b|7", "c|3", "c|3"])
        try b.write("DELETE FROM s WHERE name = 'c' AND rowid = (SELECT max(rowid) FROM s WHERE name = 'c')")
        try agree(a, b)
        #expect(try a.strings(Self.rows) == ["NULL|NULL", "a|1", "b|7", "c|3"])
    }

    @Test func editsOfOneRowMeet() throws {
        let (a, b) = try pair()
        try a.write("UPDATE s SET name = 'bee' WHERE name = 'b'")
        try b.write("UPDATE s SET n = 20 WHERE name = 'b'")
        try agree(a, b)
        #expect(try a.strings("SELECT name, n FROM s WHERE n = 20") == ["bee|20"])
    }

    @Test func theirReferencesAreTranslated() throws {
        let (a, b) = try pair()
        try a.write("INSERT INTO p VALUES(3, 'of a'); INSERT INTO r VALUES(3, 'a')")
        try b.write("INSERT INTO p VALUES(3, 'of b'); INSERT INTO r VALUES(3, 'b')")
        try agree(a, b)
        for peer in [a, b] {
            #expect(
                try peer.strings("SELECT x, w FROM r JOIN p ON id = pid WHERE w <> 'x' ORDER BY 2")
                    == ["of a|a", "of b|b", "two|y"])
        }
    }

    @Test(arguments: ["INTEGER NOT NULL", "INTEGER"]) func whatRefersToThemByTheirRowidsIsTranslated(type: String)
        throws
    {
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE playlists(name TEXT NOT NULL); CREATE TABLE items(playlist \(type), song \(type));
                CREATE TABLE songs(title TEXT);
                INSERT INTO playlists VALUES('one'), ('two'); INSERT INTO songs VALUES('x'), ('y');
                INSERT INTO items VALUES(1, 2), (2, 1);
                """
        ) {
            $0.references = [
                (table: "items", column: "playlist", parent: "playlists"),
                (table: "items", column: "song", parent: "songs"),
            ]
        }
        let b = try TestPeer(folder, "b", cloning: a)
        for peer in [a, b] {
            try peer.write(
                """
                INSERT INTO playlists VALUES('of \(peer.name)'); INSERT INTO songs VALUES('by \(peer.name)');
                INSERT INTO items VALUES(3, 3); UPDATE items SET song = 3 WHERE playlist = \(peer === a ? 1 : 2);
                """)
        }
        try agree(a, b)
        let items = """
            SELECT name, title FROM items
            LEFT JOIN playlists ON playlists.rowid = playlist LEFT JOIN songs ON songs.rowid = song ORDER BY name
            """
        for peer in [a, b] {
            #expect(try peer.strings(items) == ["of a|by a", "of b|by b", "one|by a", "two|by b"])
        }
        // Those who come later, and what they write, are told the same.
        let c = try TestPeer(folder, "c", cloning: b)
        try agree(a, b, c)
        try c.write(
            "INSERT INTO items SELECT p.rowid, s.rowid FROM playlists AS p, songs AS s WHERE name = 'of a' AND title = 'x'"
        )
        try agree(a, b, c)
        #expect(
            try a.strings("\(items), title") == ["of a|by a", "of a|x", "of b|by b", "one|by a", "two|by b"])
    }

    @Test(arguments: [
        "", "DELETE FROM s WHERE rowid = 1; UPDATE s SET n = 5 WHERE name = 'b'; INSERT INTO s VALUES('n', 1);",
    ])
    func rowsAreFoundAgainAfterVacuum(pending: String) throws {
        let (a, b) = try pair()
        try a.write("DELETE FROM s WHERE rowid = 1")
        try agree(a, b)
        try a.write(pending + "VACUUM")
        let expected = try a.strings(Self.rows)
        #expect(try a.strings("SELECT rowid FROM s WHERE name = 'b'") == ["2"], "VACUUM moved nothing")
        try b.write("UPDATE s SET name = 'none' WHERE name IS NULL")
        try agree(a, b)
        #expect(try b.strings(Self.rows).sorted() == expected.map { $0 == "NULL|NULL" ? "none|NULL" : $0 }.sorted())
        #expect(try a.store.conflicts(table: nil, all: false).isEmpty)
    }

    /// A row that came is not the one that went, whatever the schema's number says.
    @Test(
        arguments: [
            "VACUUM", "ANALYZE", "CREATE VIEW w AS SELECT 1", "ALTER TABLE p RENAME TO q", "CREATE INDEX i ON s(name)",
            "CREATE UNIQUE INDEX i ON s(name)", "ALTER TABLE s ADD COLUMN z DEFAULT 'z'",
            "CREATE TABLE c(name, n, m); INSERT INTO c SELECT * FROM s; DROP TABLE s; ALTER TABLE c RENAME TO s",
        ], 0...3)
    func aNewRowIsNotADeletedOne(change: String, place: Int) throws {
        for theirs in ["UPDATE s SET n = 'lost' WHERE name = 'old'", "DELETE FROM s WHERE name = 'old'"] {
            let folder = try TestFolder()
            let a = try TestPeer(
                folder, "a",
                sql: """
                    CREATE TABLE s(name, n, m); INSERT INTO s VALUES('old', 1, 1), ('kept', 1, 1);
                    CREATE TABLE p(id INTEGER PRIMARY KEY)
                    """)
            let b = try TestPeer(folder, "b", cloning: a)
            var ours = [
                "INSERT INTO s(name, n, m) VALUES('new', 2, 2)", "DELETE FROM s WHERE name = 'old'",
                "UPDATE s SET n = 'a' WHERE name = 'kept'",
            ]
            // What is written to a table without triggers is told apart by nothing.
            ours.insert(change, at: change.hasPrefix("CREATE TABLE") ? 3 : place)
            for statement in ours { try a.write(statement) }
            try b.write("\(theirs); UPDATE s SET m = 'b' WHERE name = 'kept'")
            if change.hasPrefix("ALTER TABLE s") { try b.write(change) }
            try agree(a, b)
            for peer in [a, b] {
                #expect(try peer.strings("SELECT name, n, m FROM s ORDER BY 1") == ["kept|a|b", "new|2|2"])
            }
        }
    }

    /// What was captured before a VACUUM names rows by other numbers than what was captured after it.
    @Test(arguments: [
        (
            ["DELETE FROM s WHERE name = 'a'", "VACUUM", "UPDATE s SET n = 'a' WHERE name = 'c'"], "b",
            ["c|a|c", "d|4|d"]
        ),
        (
            ["DELETE FROM s WHERE name = 'a'", "UPDATE s SET n = 'a' WHERE name = 'c'", "VACUUM"], "b",
            ["c|a|c", "d|4|d"]
        ),
        (
            ["DELETE FROM s WHERE name = 'c'", "VACUUM", "UPDATE s SET n = 'a' WHERE name = 'd'"], "a",
            ["b|2|b", "d|a|d"]
        ),
        (["DELETE FROM s WHERE name = 'a'", "VACUUM", "SELECT 1"], "b", ["c|3|c", "d|4|d"]),
    ])
    func writesBeforeAndAfterAVacuum(writes: [String], last: String, expected: [String]) throws {
        let (a, b) = try pair(
            "CREATE TABLE s(name, n, m); INSERT INTO s VALUES('a', 1, ''), ('b', 2, ''), ('c', 3, ''), ('d', 4, '')")
        for statement in writes { try a.write(statement) }
        try a.write("INSERT INTO s VALUES('new', 5, 'a'); DELETE FROM s WHERE name = '\(last)'")
        try b.write("UPDATE s SET m = name")
        try agree(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT name, n, m FROM s ORDER BY 1") == expected + ["new|5|a"])
        }
    }

    /// Nothing says what happened between two of them, but what rows hold.
    @Test func severalVacuums() throws {
        let (a, b) = try pair(
            "CREATE TABLE s(name, n, m); INSERT INTO s VALUES('a', 1, ''), ('b', 2, ''), ('c', 3, ''), ('d', 4, '')")
        try a.write("DELETE FROM s WHERE name = 'a'; VACUUM")
        try a.write("INSERT INTO s VALUES('new', 5, 'a'); DELETE FROM s WHERE name = 'b'; VACUUM")
        try b.write("UPDATE s SET m = name")
        try agree(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT name, n, m FROM s ORDER BY 1") == ["c|3|c", "d|4|d", "new|5|a"])
        }
        try a.write("INSERT INTO s VALUES('last', 6, 'a')")
        try a.write("DELETE FROM s WHERE name <> 'last'; VACUUM; INSERT INTO s VALUES('more', 7, 'a')")
        try a.write("DELETE FROM s WHERE name = 'last'; VACUUM")
        try b.write("UPDATE s SET m = 'lost'")
        try agree(a, b)
        for peer in [a, b] { #expect(try peer.strings("SELECT name, n, m FROM s") == ["more|7|a"]) }
    }

    @Test func foundersWithTheSameRowsHaveThemOnce() throws {
        let a = try TestPeer(folder, "a", sql: Self.schema)
        let b = try TestPeer(folder, "b", sql: "\(Self.schema); INSERT INTO s VALUES('a', 1), ('b alone', 0)")
        try agree(a, b)
        #expect(try a.strings(Self.rows) == ["NULL|NULL", "a|1", "a|1", "a|1", "b|2", "b alone|0"])
        #expect(try a.strings("SELECT pid, w FROM r ORDER BY 2") == ["1|x", "1|x", "2|y"])
    }

    @Test(arguments: ["id INTEGER PRIMARY KEY, name TEXT, n INT", "id TEXT PRIMARY KEY, name TEXT, n INT"])
    func aKeyMayCome(columns: String) throws {
        let (a, b) = try pair("CREATE TABLE s(name TEXT, n INT); INSERT INTO s VALUES('a', 1), ('b', 2)")
        let rebuild = """
            BEGIN; CREATE TABLE n(\(columns)); INSERT INTO n SELECT 10 * rowid, name, n FROM s; DROP TABLE s;
            ALTER TABLE n RENAME TO s; COMMIT
            """
        try a.write(rebuild)
        try b.write("INSERT INTO s VALUES('late', 1); UPDATE s SET n = 22 WHERE name = 'b'")
        for _ in 0..<2 {
            try a.pull(from: b)
            try b.pull(from: a)
        }
        try b.write(rebuild)
        try agree(a, b)
        try a.write("INSERT INTO s VALUES(7, 'new', 0)")
        try agree(a, b)
        #expect(try b.strings(Self.rows) == ["a|1", "b|22", "late|1", "new|0"])
    }

    @Test func aTableThatComesLaterIsReplicatedToo() throws {
        let (a, b) = try pair()
        for peer in [a, b] { try peer.write("CREATE TABLE later(x); INSERT INTO later VALUES('packaged')") }
        try agree(a, b)
        try b.write("INSERT INTO later VALUES('b')")
        try agree(a, b)
        #expect(try a.strings("SELECT x FROM later ORDER BY x") == ["b", "packaged"])
    }

    @Test func aSnapshotBringsThem() throws {
        let (a, b) = try pair()
        try a.write("UPDATE s SET n = n + 1; DELETE FROM r WHERE w = 'y'")
        try agree(a, b)
        let c = try TestPeer(folder, "c", filling: try a.snapshot(), from: a)
        try agree(a, b, c)
        #expect(try c.strings(Self.rows) == ["NULL|NULL", "a|2", "a|2", "b|3"])
    }

    @Test func aVersionOfTheSchemaStaysHere() throws {
        let (a, _) = try pair("CREATE TABLE meta(schema_version INT); INSERT INTO meta VALUES(3)")
        try a.write("UPDATE meta SET schema_version = 4")
        #expect(try a.store.record() == nil)
    }

    @Test func whoCloneAContentOfBeforeAreToldThatTheIntegerNamesNoRows() throws {
        let folder = try TestFolder()
        let sql = "CREATE TABLE t(name TEXT); INSERT INTO t VALUES('x')"
        let a = try TestPeer(folder, "a", sql: sql) { $0.settings = [("identity", "t", "natural")] }
        let said = "SELECT value FROM logsync_setting WHERE kind = 'key' AND target = 't'"
        #expect(try a.strings(said) == [])
        try a.write(
            """
            CREATE TABLE n(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO n(name) SELECT name FROM t; DROP TABLE t;
            ALTER TABLE n RENAME TO t
            """)
        try a.record()
        #expect(try a.strings(said) == ["[]"])
    }
}
