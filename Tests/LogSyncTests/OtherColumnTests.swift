import LogSync
import LogSyncModel
import Testing

/// Two peers that have followed one migration to different columns of one name.
@Suite("A column that is another one to other peers")
struct OtherColumnTests {
    private static let rebuild = """
        CREATE TABLE n(k TEXT PRIMARY KEY NOT NULL, text TEXT, v TEXT); INSERT INTO n SELECT k, note, v FROM t; DROP TABLE t;
        ALTER TABLE n RENAME TO t;
        """

    /// Where a program had written too few rows since for them to say anything, what the other peer has said is followed.
    @Test(
        "is told where its values had said that it was renamed, and others' had not",
        arguments: [(true, 8), (true, 7), (true, 1), (false, 1)])
    func told(isChanged: Bool, rows: Int) async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(
            "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, note TEXT, v TEXT);"
                + (1...rows).map { "INSERT INTO t VALUES('a\($0)', 'n\($0)', 'v');" }.joined())
        try await a.initialize()
        let b = try await world.clone("b")
        try b.execute(Self.rebuild + "INSERT INTO t VALUES('b', 'by b', 'v')")
        try await b.sync()
        try a.execute(Self.rebuild + (isChanged ? "UPDATE t SET text = 'other'" : ""))
        try await settle(a, b)
        let findings = try await Replicator.doctor(b.path, configuration: b.configuration).findings
        let other = findings.filter { $0.severity != .note }
        let isOther = isChanged && rows > 7
        #expect(other.map(\.code) == (isOther ? ["other-column"] : []))
        #expect(other.allSatisfy { $0.place.hasSuffix(": t.text") })
        let shown = try a.strings("SELECT text FROM t WHERE k = 'b' AND text IS NOT NULL")
        #expect(shown == (isOther ? [] : ["by b"]))
    }
    /// The table's columns got other names while it had no row, so that anything said of them counts; and then they get others.
    @Test("is none where a name goes on, as another peer has said before, after rows have come")
    func nameGoesOn() async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, k TEXT, note TEXT NOT NULL, w TEXT, gone TEXT)")
        try await a.initialize()
        let (b, c) = (try await world.clone("b"), try await world.clone("c"))
        let releases = [
            "ALTER TABLE t RENAME gone TO left", "ALTER TABLE t RENAME note TO text; ALTER TABLE t ADD note TEXT",
        ]
        try b.execute(releases[0] + "; INSERT INTO t(k, note, w) VALUES('k1', 'n1', 'w1'), ('k2', 'n2', 'w2')")
        for release in releases { try c.execute(release) }
        try await settle(c, b)
        try b.execute(releases[1] + "; UPDATE t SET text = 'edited' WHERE k = 'k1'")
        try await settle(b, a, c, b)
        for release in releases { try a.execute(release) }
        try await settle(a, b, c)
        for machine in [a, b, c, try await world.clone("d")] {
            #expect(
                try machine.strings("SELECT k || ' ' || text || coalesce(note, '') FROM t ORDER BY k")
                    == ["k1 edited", "k2 n2"], "\(machine.name)")
            let report = try await Replicator.verify(machine.path, configuration: machine.configuration)
            #expect(report.findings.filter { $0.severity != .note }.isEmpty, "\(report.findings)")
        }
    }

    struct Last: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var fill: String
        var rows = 3
        /// What rows hold that nobody has edited, and the one that was.
        var shown: (unedited: String, edited: String)
        /// Whether the peer that has migrated shows at once what another writes under the former name.
        var isRename = false

        static let all = [
            Last(
                testDescription: "by one statement", fill: "UPDATE t SET f = 'f of ' || st",
                shown: ("f of open", "f of shut")),
            Last(
                testDescription: "row by row",
                fill: (1...8).map { "UPDATE t SET f = 'f of ' || st WHERE k = 'k\($0)'" }
                    .joined(separator: ";"),
                rows: 8, shown: ("f of open", "f of shut")),
            Last(
                testDescription: "with what the former holds", fill: "UPDATE t SET f = st || ''",
                shown: ("open", "shut"),
                isRename: true),
        ]
    }

    @Test("is a new one where the table's last column goes, and it is filled with other values", arguments: Last.all)
    func last(_ last: Last) async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(
            "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, n INTEGER, st TEXT);"
                + (1...last.rows).map { "INSERT INTO t VALUES('k\($0)', \($0), 'open \($0)');" }.joined())
        try await a.initialize()
        let b = try await world.clone("b")
        let migration = "ALTER TABLE t ADD COLUMN f TEXT; \(last.fill); ALTER TABLE t DROP COLUMN st"
        try a.execute(migration)
        try await a.sync()
        #expect(try await a.status().undecided.isEmpty)
        try b.execute("UPDATE t SET st = 'shut 2' WHERE k = 'k2'")
        try await settle(b, a)
        let (open, shut) = last.shown
        #expect(try a.strings("SELECT f FROM t WHERE k = 'k2'") == ["\(last.isRename ? shut : open) 2"])
        try b.execute(migration)
        try await settle(b, a)
        for machine in [a, b, try await world.clone("c")] {
            #expect(
                try machine.strings("SELECT f FROM t ORDER BY k LIMIT 3") == ["\(open) 1", "\(shut) 2", "\(open) 3"],
                "\(machine.name)")
            let report = try await Replicator.verify(machine.path, configuration: machine.configuration)
            #expect(report.findings.filter { $0.severity != .note }.isEmpty, "\(report.findings)")
        }
    }

    struct Theirs: CustomTestStringConvertible, Sendable {
        var testDescription: String
        var table: String
        var rows: String
        var releases: [String]
        var shown: [String]

        static let all = [
            Theirs(
                testDescription: "in a rebuild", table: "k TEXT PRIMARY KEY NOT NULL, st TEXT, gone INTEGER DEFAULT 0",
                rows: "('a1', 'open', 0), ('a2', 'shut', 1), ('a3', 'lost', 0)",
                releases: [
                    """
                    CREATE TABLE n(k TEXT PRIMARY KEY NOT NULL, rank INTEGER, gone INTEGER DEFAULT 0);
                    INSERT INTO n SELECT k, CASE st WHEN 'open' THEN 1 WHEN 'shut' THEN 0 ELSE 7 END, gone FROM t; DROP TABLE t;
                    ALTER TABLE n RENAME TO t;
                    """, "ALTER TABLE t DROP COLUMN gone",
                ], shown: ["a1 1", "a2 0", "a3 7", "b 3"]),
            Theirs(
                testDescription: "by ALTER TABLE", table: "k TEXT PRIMARY KEY NOT NULL, note INTEGER",
                rows: "('a1', NULL), ('a2', NULL)",
                releases: ["ALTER TABLE t ADD COLUMN rank INTEGER", "ALTER TABLE t DROP COLUMN note"],
                shown: ["a1 -", "a2 -", "b 3"]),
        ]
    }

    /// Of what was renamed, others would have its former name.
    @Test(
        "is the one that others have written to under its name, where its own values do not tell", arguments: Theirs.all
    )
    func ofOthers(_ theirs: Theirs) async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute("CREATE TABLE t(\(theirs.table)); INSERT INTO t VALUES\(theirs.rows)")
        try await a.initialize()
        let b = try await world.clone("b")
        try b.execute(theirs.releases[0])
        try await b.sync()
        try b.execute("INSERT INTO t(k, rank) VALUES('b', 3)")
        try await settle(b, a)
        for release in theirs.releases { try a.execute(release) }
        try await a.sync()
        #expect(try await a.status().undecided.isEmpty)
        try b.execute(theirs.releases[1])
        try await settle(b, a)
        for machine in [a, b, try await world.clone("c")] {
            #expect(
                try machine.strings("SELECT k || ' ' || coalesce(rank, '-') FROM t ORDER BY k") == theirs.shown,
                "\(machine.name)")
        }
    }

    /// The column that came with the first of two releases would be, to a store that takes both at once, the one that went with
    /// the second.
    @Test(
        "is one that another peer has seen come before the other went, whenever it says so", arguments: [false, true])
    func cameBefore(isLate: Bool) async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(
            "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, v TEXT); INSERT INTO t VALUES('k1', 'x1'), ('k2', 'x2')")
        try await a.initialize()
        let b = try await world.clone("b")
        let releases = [
            "ALTER TABLE t ADD COLUMN j TEXT; UPDATE t SET j = 'j of ' || v;",
            """
            CREATE TABLE n(k TEXT PRIMARY KEY NOT NULL, j TEXT); INSERT INTO n SELECT k, j FROM t; DROP TABLE t;
            ALTER TABLE n RENAME TO t;
            """,
        ]
        func look(at machine: Machine) async throws {
            for release in releases {
                try machine.execute(release)
                try await machine.sync()
            }
        }
        if !isLate { try await look(at: b) }
        try a.execute(releases.joined())
        try await a.sync()
        #expect(try await a.status().undecided.isEmpty != isLate)
        if isLate { try await look(at: b) }
        try await settle(a, b)
        for machine in [a, b, try await world.clone("c")] {
            #expect(try machine.strings("SELECT j FROM t ORDER BY k") == ["j of x1", "j of x2"], "\(machine.name)")
            #expect(try await machine.status().undecided.isEmpty)
        }
    }

    /// So few rows a program may have written, all of them, between the migration and the look after it.
    @Test(
        "is what another peer's rows tell, where this one's have all been written, whatever this one has said",
        arguments: zip([3, 7], [false, true]))
    func overruled(rows: Int, isWritten: Bool) async throws {
        let world = try World()
        let a = try world.machine("a")
        let values = (1...rows).map { "('\($0)', 'word \($0)', \($0).5)" }.joined(separator: ", ")
        try a.execute("CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, n TEXT, m REAL); INSERT INTO t VALUES\(values)")
        try await a.initialize()
        let b = try await world.clone("b")
        let migration = """
            CREATE TABLE x(k TEXT PRIMARY KEY NOT NULL, c TEXT, m REAL, more TEXT);
            INSERT INTO x(k, c, m) SELECT k, n, m FROM t; DROP TABLE t; ALTER TABLE x RENAME TO t;
            """
        try a.execute(migration)
        for row in 1...rows { try a.execute("UPDATE t SET c = c || '!' WHERE k = '\(row)'") }
        if isWritten { try b.execute("UPDATE t SET n = 'of b' WHERE k = '1'") }
        try await a.sync()
        try await b.sync()
        try b.execute(migration)
        try await settle(b, a)
        let expected = (1...rows).map { row in
            row == 1 && isWritten ? "of b" : "word \(row)!"
        }
        for machine in [a, b, try await world.clone("c")] {
            #expect(try machine.strings("SELECT c FROM t ORDER BY k") == expected, "\(machine.name)")
            #expect(try await machine.status().undecided.isEmpty)
            let report = try await Replicator.verify(machine.path, configuration: machine.configuration)
            #expect(report.findings.filter { $0.severity != .note }.isEmpty, "\(report.findings)")
        }
    }
}
