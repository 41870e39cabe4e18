import LogSyncModel
import Testing

@testable import LogSyncStore

/// Columns that were renamed in a release of which one peer skips the look, and whose rows say nothing there.
@Suite("Columns that a peer skipping a release takes for new")
struct LateRenameTests {
    struct Releases: CustomTestStringConvertible, Sendable {
        var first: String
        var second: String
        var column: String
        var testDescription: String { "\(first) \(second)" }

        static let all = [
            Releases(
                first: "ALTER TABLE t RENAME v TO w;", second: "ALTER TABLE t DROP n;", column: "w"),
            Releases(
                first: "ALTER TABLE t DROP v;", second: "ALTER TABLE t RENAME n TO w;", column: "w"),
            Releases(
                first: "ALTER TABLE t RENAME v TO w;",
                second: """
                    CREATE TABLE t_new(id INTEGER PRIMARY KEY, z TEXT, w TEXT, n TEXT);
                    INSERT INTO t_new(id, w, n) SELECT id, w, n FROM t; DROP TABLE t; ALTER TABLE t_new RENAME TO t;
                    """, column: "w"),
            Releases(
                first: "ALTER TABLE t RENAME v TO w; ALTER TABLE t RENAME w TO x;",
                second: "ALTER TABLE t DROP n; ALTER TABLE t ADD y INTEGER", column: "x"),
        ]

        /// One peer never has the column's first name.
        static let skipped = Releases(
            first: "ALTER TABLE t ADD y TEXT;", second: "ALTER TABLE t RENAME y TO x;", column: "x")
        /// The column that is dropped; of others nothing is lost.
        var lost: String { first.hasPrefix("ALTER TABLE t DROP") ? "v" : "n" }
    }

    private static let table = "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT, n TEXT);"

    @Test("are those that another peer has seen renamed", arguments: Releases.all, [false, true])
    func renamed(releases: Releases, writesFirst: Bool) throws {
        let folder = try TestFolder()
        let a = try TestPeer(folder, "a", sql: Self.table)
        let b = try TestPeer(folder, "b", cloning: a)
        for change in [releases.first, releases.second] {
            try a.write(change)
            try a.record()
        }
        try b.write(releases.first + releases.second)
        try b.record()
        let column = releases.column
        if writesFirst {
            // Under the name that b takes it for.
            try b.write("INSERT INTO t(id, \(column)) VALUES(2, 'b')")
            try a.write("INSERT INTO t(id, \(column)) VALUES(1, 'a')")
        }
        try agree(a, b)
        if !writesFirst {
            try a.write("INSERT INTO t(id, \(column)) VALUES(1, 'a')")
            try b.write("INSERT INTO t(id, \(column)) VALUES(2, 'b')")
            try agree(a, b)
        }
        for peer in [a, b] { #expect(try peer.strings("SELECT \(column) FROM t ORDER BY 1") == ["a", "b"]) }
        try a.write("UPDATE t SET \(column) = 'a2' WHERE \(column) = 'b'")
        try agree(a, b)
        try b.write("UPDATE t SET \(column) = 'b2' WHERE \(column) = 'a'")
        try agree(a, b)
        for peer in [a, b] { #expect(try peer.strings("SELECT \(column) FROM t ORDER BY 1") == ["a2", "b2"]) }
        // It says it once.
        #expect(try a.record() == nil)
        #expect(try b.record() == nil)
    }

    @Test(
        "are that to rows which were there, too, whichever peer has written them, and nothing of them is lost",
        arguments: Releases.all + [Releases.skipped])
    func rows(releases: Releases) throws {
        let folder = try TestFolder()
        let a = try TestPeer(folder, "a", sql: Self.table + "INSERT INTO t(id) VALUES(1), (2), (3), (4)")
        let b = try TestPeer(folder, "b", cloning: a)
        let (column, skips) = (releases.column, "INSERT INTO t(id, \(releases.column))")
        for change in [releases.first, releases.second] {
            try a.write(change)
            try a.record()
        }
        try b.write(releases.first + releases.second)
        try b.record()
        try b.write("UPDATE t SET \(column) = 'b' WHERE id IN (2, 3); \(skips) VALUES(12, 'b12')")
        try b.record()
        try a.write("UPDATE t SET \(column) = 'a' WHERE id IN (1, 3); \(skips) VALUES(11, 'a11')")
        try agree(a, b)
        let c = try TestPeer(folder, "c", cloning: b)
        try agree(a, b, c)
        for peer in [a, b, c] {
            #expect(
                try peer.strings("SELECT id, \(column) FROM t WHERE id <> 3 ORDER BY id")
                    == ["1|a", "2|b", "4|NULL", "11|a11", "12|b12"])
            #expect(try peer.store.lostColumns().allSatisfy { $0.column == releases.lost })
        }
        try b.write("UPDATE t SET \(column) = NULL WHERE id = 1")
        try agree(a, b, c)
        #expect(try a.strings("SELECT \(column) FROM t WHERE id = 1") == ["NULL"])
        #expect(try a.record() == nil)
        #expect(try b.record() == nil)
    }

    @Test("are that to a peer which learns of them before it renames its own, and whichever peer has filled them")
    func renamedAfterwards() throws {
        let folder = try TestFolder()
        let a = try TestPeer(folder, "a", sql: Self.table + "INSERT INTO t(id) VALUES(1), (2), (3)")
        let b = try TestPeer(folder, "b", cloning: a)
        let releases = [
            "ALTER TABLE t ADD y TEXT; UPDATE t SET y = 'y' || coalesce(n, id)", "ALTER TABLE t RENAME y TO x",
        ]
        try a.write("INSERT INTO t(id, n) VALUES(8, 'a')")
        try b.write("INSERT INTO t(id, n) VALUES(9, 'b')")
        try a.write(releases[0])
        try a.record()
        try b.write(releases.joined(separator: ";"))
        try b.record()
        try a.pull(from: b)
        try a.write("INSERT INTO t(id, y) VALUES(18, 'of a')")
        try b.write("INSERT INTO t(id, x) VALUES(19, 'of b')")
        try a.record()
        try a.write(releases[1])
        try a.record()
        let name = try a.strings("SELECT log_name FROM logsync_column WHERE name = 'x' AND NOT dropped")
        #expect(name == ["x"], "before it is told so")
        try agree(a, b)
        let c = try TestPeer(folder, "c", cloning: b)
        try agree(a, b, c)
        for peer in [a, b, c] {
            #expect(
                try peer.strings("SELECT x FROM t ORDER BY x") == ["of a", "of b", "y1", "y2", "y3", "ya", "yb"])
        }
        try a.write("UPDATE t SET x = 'later' WHERE x = 'yb'")
        try b.write("UPDATE t SET x = 'later' WHERE x = 'ya'")
        try agree(a, b, c)
        #expect(try c.strings("SELECT count(*) FROM t WHERE x = 'later'") == ["2"])
    }

    @Test(
        "A column that another peer's release has dropped is not what bears its name there by now",
        arguments: ["INSERT INTO t VALUES(1, 'v1', 'n1')", ""])
    func another(rows: String) throws {
        let folder = try TestFolder()
        let a = try TestPeer(folder, "a", sql: Self.table + rows)
        let b = try TestPeer(folder, "b", cloning: a)
        for change in ["ADD y TEXT", "DROP v", "RENAME y TO v"] {
            try a.write("ALTER TABLE t \(change)")
            try a.record()
        }
        try a.write("INSERT INTO t(id, v) VALUES(5, 'y5')")
        try b.pull(from: a)
        try b.record()
        try b.write("INSERT OR REPLACE INTO t(id, v) VALUES(1, 'v2')")
        for _ in 0..<2 {
            try a.pull(from: b)
            try b.pull(from: a)
        }
        #expect(try a.strings("SELECT v FROM t ORDER BY id") == ["NULL", "y5"])
        #expect(try b.strings("SELECT v FROM t ORDER BY id") == ["v2", "NULL"])
    }

    @Test("Nor is one that the peer has met whose release gives its name to another, though it never had it")
    func met() throws {
        let folder = try TestFolder()
        let c = try TestPeer(folder, "c", sql: Self.table + "INSERT INTO t VALUES(1, 'v1', 'n1')")
        let b = try TestPeer(folder, "b", cloning: c)
        for change in ["ADD y TEXT", "DROP v"] {
            try c.write("ALTER TABLE t \(change)")
            try c.record()
        }
        let a = try TestPeer(folder, "a", cloning: c)
        try a.write("ALTER TABLE t RENAME y TO v")
        try a.record()
        try a.write("UPDATE t SET v = 'y1'")
        for _ in 0..<2 {
            for peer in [c, a] { try b.pull(from: peer) }
            for peer in [b, c] { try a.pull(from: peer) }
        }
        #expect(try a.strings("SELECT v FROM t") == ["y1"])
        #expect(try b.strings("SELECT v FROM t") == ["v1"])
    }

    @Test("A name that was another column's for one release is the same to a peer that skips this release")
    func nameOfOneRelease() throws {
        let folder = try TestFolder()
        let schema = "k TEXT NOT NULL PRIMARY KEY, n TEXT"
        let a = try TestPeer(
            folder, "a",
            sql: "CREATE TABLE t(\(schema), v TEXT); INSERT INTO t VALUES('one', 1, 'v1'), ('two', 2, 'v2')")
        let b = try TestPeer(folder, "b", cloning: a)
        for peer in [a, b] { try peer.write("INSERT INTO t VALUES('of \(peer.name)', 3, 'v of \(peer.name)')") }
        func rebuild(_ columns: String, _ values: String) -> String {
            """
            CREATE TABLE made(\(schema), \(columns)); INSERT INTO made SELECT k, n, \(values) FROM t;
            DROP TABLE t; ALTER TABLE made RENAME TO t;
            """
        }
        let first = rebuild("w TEXT", "v")
        let second = rebuild("w_o TEXT, w TEXT", "w, 'new ' || k")
        try a.write(first)
        try a.record()
        try a.write(second)
        try b.write(first + second)
        for _ in 0..<2 {
            try a.pull(from: b)
            try b.pull(from: a)
        }
        try agree(a, b)
        for peer in [a, b] {
            #expect(
                try peer.strings("SELECT k, w_o, w FROM t ORDER BY k") == [
                    "of a|v of a|new of a", "of b|v of b|new of b", "one|v1|new one", "two|v2|new two",
                ])
        }
    }

    @Test("A new column whose name was another's for one release is called so in the logs of all peers")
    func newNameOfOneRelease() throws {
        let folder = try TestFolder()
        let a = try TestPeer(folder, "a", sql: Self.table + "INSERT INTO t VALUES(1, 'v1', 'n1'), (2, 'v2', 'n2')")
        let b = try TestPeer(folder, "b", cloning: a)
        let releases = ["ALTER TABLE t RENAME v TO w", "ALTER TABLE t RENAME w TO v; ALTER TABLE t ADD w TEXT"]
        for release in releases {
            try a.write(release)
            try a.record()
        }
        try b.write(releases.joined(separator: ";"))
        try b.record()
        // Each by itself.
        for peer in [a, b] {
            let names = try peer.strings(
                "SELECT name, log_name FROM logsync_column WHERE name IN ('v', 'w') AND NOT dropped ORDER BY name")
            #expect(names == ["v|v", "w|w"], "\(peer.name)")
        }
        try a.write("UPDATE t SET w = 'by a' WHERE id = 1")
        try b.write("UPDATE t SET w = 'by b' WHERE id = 2")
        try agree(a, b)
        for peer in [a, b] { #expect(try peer.strings("SELECT v, w FROM t ORDER BY id") == ["v1|by a", "v2|by b"]) }
    }

    @Test(
        "Of columns that another peer has followed from release to release nothing is lost where they come to be known")
    func regained() throws {
        let folder = try TestFolder()
        let key = "n INTEGER DEFAULT 1 NOT NULL, k TEXT NOT NULL, PRIMARY KEY(k, n)"
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE t(v TEXT, g TEXT, x TEXT, y TEXT, \(key)) WITHOUT ROWID;
                WITH i(n) AS (VALUES(1), (2), (3), (4), (5), (6))
                INSERT INTO t(k, v, g, x, y) SELECT n, 'v' || n, 'g', 'x' || n, 'y' || n FROM i;
                """)
        let b = try TestPeer(folder, "b", cloning: a)
        func rebuild(_ name: String, _ former: String) -> String {
            """
            CREATE TABLE made(\(name) TEXT, g TEXT, x TEXT, y TEXT, \(key)) STRICT, WITHOUT ROWID;
            INSERT INTO made(n, k, \(name), g, x, y) SELECT n, k, \(former), g, x, y FROM t;
            DROP TABLE t; ALTER TABLE made RENAME TO t;
            """
        }
        let releases = [
            rebuild("v", "v"), rebuild("w", "v"),
            """
            ALTER TABLE t RENAME x TO away; ALTER TABLE t RENAME y TO x; ALTER TABLE t RENAME w TO y;
            ALTER TABLE t RENAME away TO w
            """,
        ]
        try a.write(releases.joined())
        try a.record()
        for release in releases {
            try b.write(release)
            try b.record()
            try b.pull(from: a)
            try a.pull(from: b)
        }
        try a.write("UPDATE t SET y = 'a1' WHERE k = '1'")
        try b.write("UPDATE t SET y = 'b2' WHERE k = '2'")
        try agree(a, b)
        for peer in [a, b] {
            #expect(
                try peer.strings("SELECT k, y, w, x FROM t ORDER BY k")
                    == ["1|a1|x1|y1", "2|b2|x2|y2"] + (3...6).map { "\($0)|v\($0)|x\($0)|y\($0)" })
            #expect(try peer.store.lostColumns().isEmpty)
        }
    }

    @Test(
        "Of a column that came back before it was renamed, what a program has written since is a write",
        arguments: [true, false])
    func writtenAfterItCameBack(saysLast: Bool) throws {
        let folder = try TestFolder()
        let a = try TestPeer(
            folder, "a",
            sql: "CREATE TABLE t(k TEXT PRIMARY KEY, v TEXT); INSERT INTO t VALUES('1', 'v1'), ('2', 'v2'), ('3', 'v3')"
        )
        let b = try TestPeer(folder, "b", cloning: a)
        let again = "ALTER TABLE t DROP COLUMN v; ALTER TABLE t ADD COLUMN v TEXT;"
        let renamed = """
            CREATE TABLE u(k TEXT PRIMARY KEY, w TEXT); INSERT INTO u SELECT k, v FROM t; DROP TABLE t;
            ALTER TABLE u RENAME TO t;
            """
        func migrateAtOnce() throws {
            // No trigger is there to capture the update.
            try b.write(again + renamed + "UPDATE t SET w = 'by b' WHERE k = '1'; INSERT INTO t VALUES('5', 'b5')")
            try b.record()
        }
        if !saysLast { try migrateAtOnce() }
        for release in [again + "INSERT INTO t VALUES('4', 'a4')", renamed] {
            try a.write(release)
            try a.record()
        }
        if saysLast { try migrateAtOnce() }
        try agree(a, b)
        for peer in [a, b] {
            let rows = try peer.strings("SELECT k, w FROM t ORDER BY k")
            #expect(rows == ["1|by b", "2|NULL", "3|NULL", "4|a4", "5|b5"], "\(peer.name)")
        }
    }

    @Test("Of a column that was decided to be one that came back, what a program has written is a write on every peer")
    func decidedAfterItCameBack() throws {
        let folder = try TestFolder()
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE t(k TEXT PRIMARY KEY, v TEXT, n INT);
                INSERT INTO t(k, v) VALUES('1', 'v1'), ('2', 'v2'), ('3', 'v3')
                """)
        let b = try TestPeer(folder, "b", cloning: a)
        let again = "ALTER TABLE t DROP COLUMN v; ALTER TABLE t ADD COLUMN v TEXT;"
        let renamed = """
            CREATE TABLE u(k TEXT PRIMARY KEY, n INT, w TEXT); INSERT INTO u SELECT k, n, v FROM t; DROP TABLE t;
            ALTER TABLE u RENAME TO t;
            """
        for release in [again, renamed + "INSERT INTO t VALUES('4', 1, 'a4')"] {
            try a.write(release)
            try a.record()
        }
        try b.write(again + renamed + "UPDATE t SET w = 'by b' WHERE k = '1'; INSERT INTO t VALUES('5', 1, 'b5')")
        try b.record()
        try a.pull(from: b)
        try b.pull(from: a)
        _ = try a.store.migrate("", renamings: [Renaming(table: "t", column: "v", to: "w")])
        try agree(a, b)
        for peer in [a, b] {
            let rows = try peer.strings("SELECT k, w FROM t ORDER BY k")
            #expect(rows == ["1|by b", "2|NULL", "3|NULL", "4|a4", "5|b5"], "\(peer.name)")
        }
    }

    @Test(
        "may be of the key, of which rows that hold the same say nothing, and few say too little",
        arguments: ["", "WITHOUT ROWID"], ["g", "of two"])
    func ofTheKey(kind: String, value: String) throws {
        let folder = try TestFolder()
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE t(v TEXT, n INT, k TEXT NOT NULL, g TEXT DEFAULT 'g' NOT NULL, PRIMARY KEY(k, g)) \(kind);
                INSERT INTO t(v, k, g) VALUES('1', 'one', 'g'), ('2', 'two', '\(value)'), ('3', 'three', 'g');
                """)
        let b = try TestPeer(folder, "b", cloning: a)
        let h = "h TEXT DEFAULT 'g' NOT NULL"
        let first = """
            CREATE TABLE u(v TEXT, n INT, k TEXT NOT NULL, \(h), PRIMARY KEY(k, h)) \(kind);
            INSERT INTO u SELECT * FROM t; DROP TABLE t; ALTER TABLE u RENAME TO t;
            """
        let second = """
            CREATE TABLE u(\(h), k TEXT NOT NULL, v TEXT, n INT, PRIMARY KEY(k, h)) \(kind);
            INSERT INTO u SELECT h, k, v, n FROM t; DROP TABLE t; ALTER TABLE u RENAME TO t;
            """
        for release in [first, second] {
            try a.write(release)
            try a.record()
        }
        try b.write(first + second)
        try b.record()
        for peer in [a, b] {
            try peer.write("INSERT INTO t(k, h, v) VALUES('\(peer.name)', 'of \(peer.name)', 'v')")
            try peer.record()
        }
        try b.write("UPDATE t SET v = 'by b' WHERE k = 'two'")
        try agree(a, b)
        try b.write("UPDATE t SET h = 'later' WHERE k = 'one'; DELETE FROM t WHERE k = 'three'")
        try agree(a, b)
        for peer in [a, b] {
            #expect(
                try peer.strings("SELECT k, h, v FROM t ORDER BY k")
                    == ["a|of a|v", "b|of b|v", "one|later|1", "two|\(value)|by b"])
            #expect(try peer.store.lostColumns().isEmpty)
        }
    }

    /// Each calls the key's column otherwise, and has none or few rows that tell.
    struct KeyRename: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var rows = ""
        var migration: String

        static func rebuild(_ columns: String, _ values: String) -> String {
            """
            CREATE TABLE u(\(columns)); INSERT INTO u SELECT \(values) FROM t; DROP TABLE t;
            ALTER TABLE u RENAME TO t;
            """
        }

        static let all = [
            KeyRename(
                testDescription: "at its place, without rows",
                migration: rebuild("code TEXT NOT NULL PRIMARY KEY, l TEXT, v TEXT", "k, l, v")),
            KeyRename(
                testDescription: "at another, with a row", rows: "INSERT INTO t VALUES('one', 'l', 'v')",
                migration: rebuild("v TEXT, l TEXT, code TEXT NOT NULL PRIMARY KEY", "v, l, k")),
            KeyRename(
                testDescription: "exchanged with another, without rows",
                migration: """
                    ALTER TABLE t RENAME k TO code; ALTER TABLE t RENAME l TO k; ALTER TABLE t RENAME code TO l;
                    ALTER TABLE t RENAME v TO code;
                    """),
        ]
    }

    @Test("A column of a key is never undecided, however little rows say", arguments: KeyRename.all)
    func keyIsDecided(rename: KeyRename) throws {
        let folder = try TestFolder()
        let a = try TestPeer(
            folder, "a", sql: "CREATE TABLE t(k TEXT NOT NULL PRIMARY KEY, l TEXT, v TEXT);" + rename.rows)
        let b = try TestPeer(folder, "b", cloning: a)
        for peer in [a, b] {
            try peer.write(rename.migration)
            try peer.record()
            #expect(try peer.store.summary().undecided.isEmpty)
            try peer.write("INSERT INTO t(l, code) VALUES('by \(peer.name)', 'of \(peer.name)')")
            try peer.record()
        }
        try agree(a, b)
        for peer in [a, b] {
            #expect(
                try peer.strings("SELECT code, l FROM t WHERE l LIKE 'by%' ORDER BY 1") == ["of a|by a", "of b|by b"])
        }
    }

    @Test(
        "are left alone where few rows tell, and what another peer writes meanwhile is there",
        arguments: ["", "WITHOUT ROWID"], ["TEXT", "INTEGER"])
    func moved(kind: String, type: String) throws {
        let folder = try TestFolder()
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE t(v \(type), k TEXT NOT NULL PRIMARY KEY) \(kind);
                INSERT INTO t VALUES(1, 'one'), (2, 'two'), (3, 'three')
                """)
        let b = try TestPeer(folder, "b", cloning: a)
        let rename = "ALTER TABLE t RENAME v TO w;"
        let rebuild = """
            CREATE TABLE t_new(k TEXT NOT NULL PRIMARY KEY, w \(type)) \(kind);
            INSERT INTO t_new(k, w) SELECT k, w FROM t; DROP TABLE t; ALTER TABLE t_new RENAME TO t;
            """
        try a.write(rename)
        try a.record()
        try a.write("UPDATE t SET w = 10 WHERE k = 'one'")
        try b.write(rename + "UPDATE t SET w = 20 WHERE k = 'two';" + rebuild)
        try b.record()
        try agree(a, b)
        try a.write(rebuild)
        try agree(a, b)
        for peer in [a, b] { #expect(try peer.strings("SELECT w FROM t ORDER BY k") == ["10", "3", "20"]) }
    }
}
