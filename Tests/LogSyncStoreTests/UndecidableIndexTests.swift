import LogSyncModel
import LogSyncSQLite
import Testing

@testable import LogSyncStore

/// UNIQUE indexes that read integers which each store gives to rows itself.
@Suite struct UndecidableIndexTests {
    private static let tables = """
        CREATE TABLE p(id INTEGER PRIMARY KEY, v, g AS (id * 2));
        CREATE TABLE c(
            k TEXT PRIMARY KEY, p INTEGER REFERENCES p, o INTEGER REFERENCES p, u, q AS (p / 3), n AS (coalesce(p, 0)),
            low AS (min(p, o)), high AS (max(p, o)));
        """

    private func report(_ sql: String, _ identities: [String: IdentityChoice] = [:]) throws -> FoundingReport {
        let folder = try TestFolder()
        let path = folder.path + "/app.db"
        let app = try TestPeer.open(path)
        defer { TestPeer.close(app) }
        try app.execute(Self.tables + sql)
        var plan = InitializePlan(content: "test", container: "/nowhere", peerName: "a")
        plan.identities = identities
        return try Store.examine(path, plan: plan, configuration: TestPeer.configuration(1))
    }

    @Test(arguments: [
        ("CREATE UNIQUE INDEX i ON c(u) WHERE p > 2", "p"),
        ("CREATE UNIQUE INDEX i ON c(u) WHERE p = u", "p"),
        ("CREATE UNIQUE INDEX i ON c(u) WHERE p IN (1, 2)", "p"),
        ("CREATE UNIQUE INDEX i ON c(p / 3)", "p"),
        ("CREATE UNIQUE INDEX i ON c(p % 10, u)", "p"),
        ("CREATE UNIQUE INDEX i ON c(coalesce(p, 5))", "p"),
        ("CREATE UNIQUE INDEX i ON c(coalesce(p, u))", "p"),
        ("CREATE UNIQUE INDEX i ON c(u || p)", "p"),
        ("CREATE UNIQUE INDEX i ON c(substr('n' || p, 2, 1))", "p"),
        ("CREATE UNIQUE INDEX i ON c(u, CASE WHEN p > 2 THEN 0 END)", "p"),
        ("CREATE UNIQUE INDEX i ON c(q)", "p"),
        ("CREATE UNIQUE INDEX i ON c(min(p, o))", "p, o"),
        ("CREATE UNIQUE INDEX i ON c(min(p, o), max(p, u))", "p, o"),
        ("CREATE UNIQUE INDEX i ON p(v) WHERE id > 2", "id"),
        ("CREATE UNIQUE INDEX i ON p(v) WHERE rowid % 2", "rowid"),
        ("CREATE UNIQUE INDEX i ON p(v) WHERE g > 2", "id"),
        ("CREATE UNIQUE INDEX i ON p(v, CASE WHEN id > 2 THEN 1 END)", "id"),
        ("CREATE UNIQUE INDEX i ON c(u) WHERE rowid > 2", "rowid"),
    ])
    func anIndexThatComputesWithThemIsRefused(index: String, column: String) throws {
        let report = try report(index)
        #expect(report.refusals.count == 1)
        let error = try #require(report.refusal)
        #expect(error.code == .unsupportedTable)
        #expect(error.message.contains("UNIQUE index i ") && error.message.contains("(\(column))"), "\(error)")
        // Where the integers are the same everywhere, so is what is computed of them.
        guard column != "rowid" else { return }
        #expect(error.help?.contains("drop the index, or say with --identity p=natural") ?? false)
        #expect(try self.report(index, ["p": .natural]).refusals == [])
    }

    @Test(arguments: [
        "CREATE UNIQUE INDEX i ON c(p, u)",
        "CREATE UNIQUE INDEX i ON c(u) WHERE p IS NULL",
        "CREATE UNIQUE INDEX i ON c(u, p) WHERE (p) NOTNULL AND p IS NOT NULL AND \"p\" > 0",
        "CREATE UNIQUE INDEX i ON c(u) WHERE p = 0 OR 0 < c.p",
        "CREATE UNIQUE INDEX i ON c(coalesce(p, 0), lower(u))",
        "CREATE UNIQUE INDEX i ON c(ifnull(p, -1) DESC, u) WHERE lower(u) > 'p'",
        "CREATE UNIQUE INDEX i ON c(u, iif(length(u) > 2, p, NULL))",
        "CREATE UNIQUE INDEX i ON c(u, CASE u WHEN 'p' THEN p ELSE '' END)",
        "CREATE UNIQUE INDEX i ON c(p || ':' || u)",
        "CREATE UNIQUE INDEX i ON c(lower(u) || '-' || p)",
        "CREATE UNIQUE INDEX i ON c(n, u)",
        "CREATE UNIQUE INDEX i ON c(min(p, o), max(o, p))",
        "CREATE UNIQUE INDEX i ON c(low, high)",
        "CREATE UNIQUE INDEX i ON c(nullif(p, 0), u)",
        "CREATE UNIQUE INDEX i ON p('INV-' || id)",
        "CREATE UNIQUE INDEX i ON p(printf('%05d', id))",
        "CREATE UNIQUE INDEX i ON p(id / 2)",
        "CREATE UNIQUE INDEX i ON p(v, CASE WHEN v > 1 THEN 0 ELSE id END)",
        "CREATE UNIQUE INDEX i ON p(id, v) WHERE id > 2",
        "CREATE UNIQUE INDEX i ON p(g)",
        "CREATE INDEX i ON c(p / 3) WHERE p > 7",
    ])
    func anIndexThatTellsThemApartIsTaken(index: String) throws {
        #expect(try report(index).refusals == [])
    }

    @Test func whatAMigrationBringsIsNamedAndAColumnOfOneIsNot() throws {
        let folder = try TestFolder()
        let peer = try TestPeer(folder, "a", sql: Self.tables)
        try peer.write("CREATE UNIQUE INDEX i ON c(p / 3); CREATE UNIQUE INDEX j ON c(p, u)")
        _ = try peer.store.record()
        let found = try peer.store.undecidableIndexes()
        #expect(found.map(\.index) == ["i"])
        #expect(found.first?.numbered == ["p"])
        #expect(try peer.store.health().undecidable == found)
        try peer.write("DROP INDEX i")
        _ = try peer.store.record()
        #expect(try peer.store.undecidableIndexes() == [])
    }

    @Test func rowsWithAnIntegerOfTheirOwnInAKeyContestNothing() throws {
        let clock = TestClock()
        let folder = try TestFolder()
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE t(id INTEGER PRIMARY KEY, kind TEXT, name TEXT UNIQUE, UNIQUE(id, kind));
                CREATE UNIQUE INDEX i ON t(kind, CASE WHEN name LIKE 'free%' THEN id ELSE 0 END)
                """, clock: clock)
        let b = try TestPeer(folder, "b", cloning: a, clock: clock)
        clock.milliseconds += 1000
        func insert(_ names: [String]) -> String {
            "INSERT INTO t(kind, name) VALUES \(names.map { "('k', '\($0)')" }.joined(separator: ", "))"
        }
        // Of so many, two are decided together in whatever order their identities come.
        let names = (1...40).map { "free \($0)" }
        try a.write(insert(names + ["one"]))
        _ = try a.store.record()
        clock.milliseconds += 1000
        try b.write(insert(names.reversed() + ["two"]))
        _ = try b.store.record()
        for _ in 0..<2 { try b.pull(from: a); try a.pull(from: b) }
        // Names that were exchanged have every row decided again.
        try a.write(
            """
            BEGIN; UPDATE t SET name = 'free x ' || substr(name, 6) WHERE name LIKE 'free%';
            UPDATE t SET name = 'free ' || (substr(name, 8) % 40 + 1) WHERE name LIKE 'free x%'; COMMIT
            """)
        for _ in 0..<2 { try b.pull(from: a); try a.pull(from: b) }
        for peer in [a, b] {
            #expect(try peer.strings("SELECT name FROM t ORDER BY name") == names.sorted() + ["one"])
            #expect(
                try peer.store.parkedRows(table: nil, all: false).map(\.reason)
                    == Array(repeating: "unique", count: 41))
            #expect(try peer.store.audit().problems == [])
        }
    }
}
