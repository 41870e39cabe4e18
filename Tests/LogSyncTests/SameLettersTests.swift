import Forgery
import Foundation
import GRDB
import LogSync
import LogSyncModel
import Testing

/// To Swift "é" equals "e" with an accent after it; to SQLite they are two, and so they are as values. As names of tables and
/// columns they are one, as `Foo` and `foo` are.
@Suite("Names and texts of the same letters in other bytes")
struct SameLettersTests {
    private let world: World
    private let a: Machine
    private let b: Machine
    private let folder: ForgedFolder
    private let stranger = PeerID(high: 0x5747_0000_0000_0000, low: 1)

    init() throws {
        world = try World()
        (a, b) = (try world.machine("a"), try world.machine("b"))
        folder = ForgedFolder(world.contentPath)
    }

    private static let (composed, decomposed) = ("\u{E9}", "e\u{301}")
    private static let pairs = [
        [composed, decomposed], [decomposed, composed], ["foo", "Foo"], ["Key", "\u{212A}ey"],
    ]

    private func begin(_ sql: String) async throws {
        try a.execute(sql)
        try await a.initialize()
        _ = try await world.clone("b")
    }

    private func texts(_ machine: Machine, _ sql: String) throws -> [String] {
        let database = try machine.database()
        defer { try? database.close() }
        return try database.read { try String.fetchAll($0, sql: sql) }
    }

    /// All that is kept adds up, and can be cloned.
    ///
    /// - Parameter areSpelledAlike: whether all peers write all names in the same bytes, which are what digests are of.
    private func expectSound(_ machines: Machine..., query: String, areSpelledAlike: Bool = true) async throws {
        for machine in machines {
            _ = try await machine.with { try await $0.snapshot() }
            #expect(
                try await Replicator.doctor(machine.path, configuration: machine.configuration).findings.allSatisfy {
                    $0.code != "doubtful-snapshot"
                })
        }
        // Of the snapshots alone.
        for machine in machines { _ = try await machine.with { try await $0.compact(grace: .zero) } }
        try await settle(machines[0], machines[1])
        let c = try await world.clone("c")
        #expect(try texts(c, query) == texts(machines[0], query))
        try await settle(machines[0], c)
        if areSpelledAlike { #expect(try await c.status().digest == machines[0].status().digest) }
        let report = try await Replicator.verify(c.path, configuration: c.configuration)
        #expect(report.store == true, "\(report.findings)")
    }

    // MARK: Names

    @Test(
        "Rows of a table that is not here are those of one table, and a snapshot of them can be cloned",
        arguments: pairs)
    func absentTable(names: [String]) async throws {
        try await begin("CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL)")
        for (index, name) in names.enumerated() {
            let group = ForgedGroup(
                .insert, name, key: "k\(index)", columns: [.init("body", ForgedValues.texts(["\(index)"]))])
            let again = ForgedGroup(
                .update, name, key: "k0", columns: [.init("body", ForgedValues.texts(["again \(index)"]))])
            let peer = PeerID(high: 0x5747_0000_0000_0000, low: UInt64(index + 1))
            var transactions = [
                ForgedTransaction(Dot(peer, 1), groups: [group]), ForgedTransaction(Dot(peer, 2), groups: [again]),
            ]
            for place in transactions.indices {
                transactions[place].time = HybridTime(milliseconds: 1_600_000_000_000 + Int64(index))
            }
            try folder.put(ForgedLogFile(transactions), of: peer)
            try await a.sync()
        }
        try await settle(a, b)
        let (first, second) = (try await a.status(), try await b.status())
        #expect(first.held.isEmpty && first.digest == second.digest)
        for machine in [a, b] { _ = try await machine.with { try await $0.snapshot() } }
        for machine in [a, b] {
            try machine.execute("CREATE TABLE \"\(names[1])\"(id TEXT PRIMARY KEY NOT NULL, body TEXT)")
        }
        try await settle(a, b)
        for machine in [a, b] {
            #expect(try texts(machine, "SELECT id || body FROM \"\(names[1])\" ORDER BY 1") == ["k0again 1", "k11"])
        }
        #expect(try await a.status().digest == b.status().digest)
        try await expectSound(a, b, query: "SELECT id || body FROM \"\(names[1])\" ORDER BY 1")
    }

    @Test("Cells of a column that is not here are those of one column, whichever spelling came first", arguments: pairs)
    func absentColumn(names: [String]) async throws {
        try await begin("CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL); INSERT INTO note VALUES('both')")
        let other = PeerID(high: 0x5747_0000_0000_0000, low: 2)
        func put(_ name: String, of peer: PeerID, at milliseconds: Int64) throws {
            let group = ForgedGroup(
                .insert, "note", key: "k\(peer == other ? 1 : 0)", columns: [.init(name, ForgedValues.texts([name]))])
            let both = ForgedGroup(
                .update, "note", key: "both",
                columns: [.init(name, ForgedValues.texts(["by \(peer == other ? 1 : 0)"]))])
            var transaction = ForgedTransaction(Dot(peer, 1), groups: [group, both])
            transaction.time = HybridTime(milliseconds: milliseconds)
            try folder.put(ForgedLogFile([transaction]), of: peer)
        }
        try put(names[0], of: stranger, at: 1_600_000_000_000)
        try await a.sync()
        try put(names[1], of: other, at: 1_600_000_000_001)
        try await a.sync()
        // This one meets them in the other order.
        try FileManager.default.moveItem(
            atPath: "\(world.contentPath)/peers/\(stranger)", toPath: world.root + "/aside")
        try await b.sync()
        try FileManager.default.moveItem(
            atPath: world.root + "/aside", toPath: "\(world.contentPath)/peers/\(stranger)")
        try await settle(b, a)
        #expect(try await a.status().digest == b.status().digest)
        for machine in [a, b] { _ = try await machine.with { try await $0.snapshot() } }
        for machine in [a, b] { try machine.execute("ALTER TABLE note ADD COLUMN \"\(names[1])\" TEXT") }
        try await settle(a, b)
        let query = "SELECT id || coalesce(\"\(names[1])\", '') FROM note ORDER BY 1"
        #expect(try texts(a, query) == texts(b, query) && texts(a, query).first == "bothby 1")
        #expect(try texts(a, query).map { Array($0.utf8).count } == texts(b, query).map { Array($0.utf8).count })
        try await expectSound(a, b, query: query, areSpelledAlike: false)
    }

    @Test("Two columns of one row that are one to us are refused, and nothing waits for them")
    func twice() async throws {
        try await begin("CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL)")
        let group = ForgedGroup(
            .insert, "note", key: "k",
            columns: [Self.composed, Self.decomposed].map { .init($0, ForgedValues.texts(["x"])) })
        try folder.put(ForgedLogFile([ForgedTransaction(Dot(stranger, 1), groups: [group])]), of: stranger)
        try a.execute("INSERT INTO note VALUES('after')")
        try await settle(a, b)
        #expect(try await b.status().held.map(\.sequence) == [1])
        #expect(try texts(b, "SELECT id FROM note") == ["after"])
    }

    @Test(
        "What a migration brings under the letters of another name stays here, and takes nothing's place; doctor says so"
    )
    func migration() async throws {
        try await begin(
            """
            CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, "\(Self.composed)" TEXT); INSERT INTO t VALUES('x', 'first');
            CREATE TABLE "\(Self.composed)"(id TEXT PRIMARY KEY NOT NULL);
            """)
        try await settle(a, b)
        try b.execute(
            """
            ALTER TABLE t ADD COLUMN "\(Self.decomposed)" TEXT;
            UPDATE t SET "\(Self.decomposed)" = 'second'; INSERT INTO t VALUES('y', 'own', 'other');
            CREATE TABLE "\(Self.decomposed)"(id TEXT PRIMARY KEY NOT NULL);
            INSERT INTO "\(Self.decomposed)" VALUES('here');
            """)
        try await settle(b, a)
        let query = "SELECT id || \"\(Self.composed)\" FROM t ORDER BY 1"
        #expect(try texts(a, query) == ["xfirst", "yown"] && texts(b, query) == ["xfirst", "yown"])
        try a.execute("UPDATE t SET \"\(Self.composed)\" = 'third' WHERE id = 'x'")
        try await settle(a, b)
        #expect(
            try texts(b, "SELECT \"\(Self.composed)\" || \"\(Self.decomposed)\" FROM t WHERE id = 'x'") == [
                "thirdsecond"
            ])
        #expect(try a.count("SELECT count(*) FROM \"\(Self.composed)\"") == 0)
        let found = try await Replicator.doctor(b.path, configuration: b.configuration).findings.filter {
            $0.code == "same-letters"
        }
        #expect(found.count == 2 && found.allSatisfy { $0.help != nil }, "\(found)")
        let report = try await Replicator.verify(b.path, configuration: b.configuration)
        #expect(report.store == true && report.contents.allSatisfy { $0.compared.allSatisfy(\.equal) })
    }

    @Test("Two peers that add one column, each in other bytes, have one column")
    func concurrentMigrations() async throws {
        try await begin("CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL)")
        try a.execute("ALTER TABLE t ADD COLUMN \"\(Self.composed)\"; INSERT INTO t VALUES('a', 1)")
        try b.execute("ALTER TABLE t ADD COLUMN \"\(Self.decomposed)\"; INSERT INTO t VALUES('b', 2)")
        try await settle(a, b)
        try a.execute("UPDATE t SET \"\(Self.composed)\" = 3 WHERE id = 'b'")
        try b.execute("UPDATE t SET \"\(Self.decomposed)\" = 4 WHERE id = 'a'")
        try await settle(a, b)
        #expect(try texts(a, "SELECT id || \"\(Self.composed)\" FROM t ORDER BY 1") == ["a4", "b3"])
        #expect(try texts(b, "SELECT id || \"\(Self.decomposed)\" FROM t ORDER BY 1") == ["a4", "b3"])
        for machine in [a, b] { _ = try await machine.with { try await $0.snapshot() } }
        try await expectSound(a, b, query: "SELECT id FROM t ORDER BY 1", areSpelledAlike: false)
    }

    // MARK: Values

    @Test("As keys, unique values, references and rows of the history they are two", arguments: ["", " WITHOUT ROWID"])
    func values(kind: String) async throws {
        let (n, d) = (Self.composed, Self.decomposed)
        try await begin(
            """
            CREATE TABLE tag(name TEXT PRIMARY KEY NOT NULL, note TEXT)\(kind);
            CREATE TABLE account(id INTEGER PRIMARY KEY, email TEXT UNIQUE);
            CREATE TABLE use(id INTEGER PRIMARY KEY, tag TEXT REFERENCES tag(name) ON UPDATE CASCADE);
            INSERT INTO tag VALUES('\(n)', 'n'), ('\(d)', 'd');
            INSERT INTO account VALUES(1, '\(n)'), (2, '\(d)');
            INSERT INTO use VALUES(1, '\(n)'), (2, '\(d)');
            """)
        let all = """
            SELECT 'tag ' || hex(name) || note FROM tag UNION ALL SELECT 'account ' || hex(email) FROM account
            UNION ALL SELECT 'use ' || hex(tag) FROM use ORDER BY 1
            """
        #expect(try texts(b, all) == texts(a, all) && texts(a, all).count == 6)
        // One becomes the other, and what others had goes on having it.
        try a.execute("DELETE FROM account WHERE id = 2; UPDATE account SET email = '\(d)' WHERE id = 1")
        try a.execute("UPDATE tag SET note = 'n2' WHERE name = '\(n)'")
        try b.execute("UPDATE tag SET note = 'n3' WHERE name = '\(n)'; UPDATE tag SET note = 'd2' WHERE name = '\(d)'")
        try await settle(a, b)
        #expect(try texts(b, "SELECT hex(email) FROM account") == ["65CC81"])
        #expect(try texts(b, all) == texts(a, all))
        #expect(try texts(b, "SELECT note FROM tag WHERE name = '\(d)'") == ["d2"])
        #expect(try await a.with { try await $0.conflicts() }.conflicts.count == 1)
        // A row by one of them is not the other's.
        try a.execute("DELETE FROM use WHERE tag = '\(n)'; DELETE FROM tag WHERE name = '\(n)'")
        try await settle(a, b)
        #expect(try texts(b, "SELECT hex(name) || note FROM tag") == ["65CC81d2"])
        try await expectSound(a, b, query: all)
    }

    @Test("A union has both")
    func union() async throws {
        try await begin("CREATE TABLE t(id TEXT PRIMARY KEY NOT NULL, tags TEXT); INSERT INTO t VALUES('x', '[]')")
        _ = try await a.with { try await $0.setPolicy("union", for: "t.tags") }
        try await settle(a, b)
        try a.execute("UPDATE t SET tags = '[\"\(Self.composed)\"]'")
        try b.execute("UPDATE t SET tags = '[\"\(Self.decomposed)\"]'")
        try await settle(a, b)
        #expect(try texts(a, "SELECT hex(tags) FROM t") == texts(b, "SELECT hex(tags) FROM t"))
        #expect(try a.count("SELECT json_array_length(tags) FROM t") == 2)
    }

    @Test("A database that joins goes by the content's names, in whatever case its own are", arguments: [false, true])
    func joining(isRenamed: Bool) async throws {
        try a.execute("CREATE TABLE Note(id INTEGER PRIMARY KEY, body TEXT); INSERT INTO Note VALUES(1, 'of a')")
        try await a.initialize()
        if isRenamed {
            try a.execute(
                "ALTER TABLE Note RENAME TO n; ALTER TABLE n RENAME TO NOTE; ALTER TABLE NOTE RENAME body TO Body")
            try await a.sync()
        }
        try b.execute("CREATE TABLE note(ID INTEGER PRIMARY KEY, BODY TEXT); INSERT INTO note VALUES(1, 'of b')")
        try await b.initialize()
        try await settle(a, b)
        try a.execute("UPDATE note SET body = 'by a' WHERE body = 'of b'")
        try b.execute("UPDATE note SET body = 'by b' WHERE body = 'of a'")
        try await settle(a, b)
        for machine in [a, b] { #expect(try texts(machine, "SELECT body FROM note ORDER BY 1") == ["by a", "by b"]) }
        #expect(try await a.status().digest == b.status().digest)
        try await expectSound(a, b, query: "SELECT body FROM note ORDER BY 1")
    }
}
