import Foundation
import GRDB
import LogSyncModel
import LogSync
import Testing

/// Tools that drop the tables which they do not know, and leave the triggers.
@Suite("A store whose tables another program dropped")
struct LeftoverTests {
    let world: World
    let a: Machine
    let b: Machine

    init() async throws {
        world = try World()
        a = try await world.founder("a", rows: ["one"])
        b = try await world.clone("b")
        try await settle(a, b)
    }

    /// Drops logsync's tables, but for those that a condition keeps.
    private func dropTables(_ machine: Machine, where condition: String = "1") throws {
        let database = try machine.database()
        defer { try? database.close() }
        try database.write { db in
            let names = try String.fetchAll(
                db, sql: "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'logsync%' AND \(condition)"
            )
            for name in names { try db.execute(sql: "DROP TABLE \(name)") }
        }
    }

    private func own(_ machine: Machine) throws -> Int {
        try machine.count("SELECT count(*) FROM sqlite_master WHERE name LIKE 'logsync%'")
    }

    @Test("Leave removes what is left, and programs can write again")
    func leave() async throws {
        try dropTables(a)
        #expect(throws: DatabaseError.self) { try a.insert("refused") }
        let refused = await #expect(throws: LogSyncError.self) { try await a.sync() }
        #expect(refused?.code == .notReplicated && refused?.help?.contains("logsync leave") == true)
        let dry = try await Replicator.removeLeftovers(a.path, dryRun: true, configuration: a.configuration)
        #expect(dry.count == 4 && dry.contains("logsync_insert_2"))
        #expect(try own(a) == 4)
        #expect(try await Replicator.removeLeftovers(a.path, configuration: a.configuration) == dry)
        #expect(try own(a) == 0)
        try a.insert("two")
        #expect(try a.ids() == ["one", "two"])
    }

    @Test(
        "One table is as good as all of them",
        arguments: [
            "logsync_pending_2", "logsync_clock_2", "logsync_transaction", "logsync_dependency", "logsync_blob",
        ])
    func oneTable(name: String) async throws {
        try dropTables(a, where: "name = '\(name)'")
        for _ in 0..<2 {
            let refused = await #expect(throws: LogSyncError.self) { try await a.sync() }
            #expect(refused?.code == .notReplicated && refused?.help?.contains("logsync leave") == true)
        }
        #expect(try await !Replicator.removeLeftovers(a.path, configuration: a.configuration).isEmpty)
        #expect(try own(a) == 0)
        try a.insert("two")
        #expect(try a.ids() == ["one", "two"])
    }

    @Test("Nothing says which peer a store was whose facts were deleted: leave removes what is left")
    func emptied() async throws {
        try a.execute("DELETE FROM logsync_store")
        let refused = await #expect(throws: LogSyncError.self) { try await a.sync() }
        #expect(refused?.code == .notReplicated && refused?.help?.contains("logsync leave") == true)
        #expect(try await !Replicator.removeLeftovers(a.path, configuration: a.configuration).isEmpty)
        #expect(try own(a) == 0)
        try a.insert("two")
        #expect(try a.ids() == ["one", "two"])
    }

    @Test("The digests of unique keys are made again from the records")
    func digests() async throws {
        try a.execute(
            """
            CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT UNIQUE, size INTEGER);
            CREATE TABLE pair(x TEXT, y TEXT, size INTEGER, PRIMARY KEY(x, y)) WITHOUT ROWID;
            INSERT INTO tag VALUES(1, 'red', 1), (2, 'blue', 1);
            INSERT INTO pair VALUES('p', 'q', 1);
            """)
        try b.execute(
            """
            CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT UNIQUE, size INTEGER);
            CREATE TABLE pair(x TEXT, y TEXT, size INTEGER, PRIMARY KEY(x, y)) WITHOUT ROWID;
            """)
        try await settle(a, b)
        let uniques = "SELECT name || ' ' || sql FROM sqlite_master WHERE name LIKE 'logsync_unique%' ORDER BY name"
        let before = try a.strings(uniques)
        let names = before.map { String($0.prefix { $0 != " " }) }
        let digests = names.map { "SELECT digest || ' ' || row FROM \($0) ORDER BY 1" }
        let held = try digests.map(a.strings)
        #expect(before.count >= 3 && held.contains { $0.count == 2 })
        try dropTables(a, where: "name LIKE 'logsync_unique%'")
        let findings = try await Replicator.doctor(a.path, configuration: a.configuration).findings
        #expect(findings.count { $0.code == "dropped-table" } == names.count, "\(findings)")
        // A row that REPLACE displaces is found by these digests alone.
        try a.execute("INSERT OR REPLACE INTO tag VALUES(7, 'red', 2); UPDATE pair SET size = 2")
        try a.execute("UPDATE note SET body = 'edited' WHERE id = 'one'")
        try await settle(a, b)
        #expect(try a.strings(uniques) == before)
        #expect(try a.strings(digests[0]) == held[0])
        #expect(try b.strings("SELECT name || size FROM tag ORDER BY 1") == ["blue1", "red2"])
        #expect(try b.count("SELECT size FROM pair") == 2)
        #expect(try b.notes() == ["one=edited"])
        for machine in [a, b] {
            #expect(try await Replicator.verify(machine.path, configuration: machine.configuration).findings.isEmpty)
            #expect(try await machine.status().parked == 0)
        }
        #expect(try await a.status().digest == b.status().digest)
    }

    @Test("Leave publishes what was written where one of these is gone")
    func leaveWithoutDigests() async throws {
        try dropTables(a, where: "name = 'logsync_unique_2'")
        try a.insert("two")
        try await a.with { _ = try await $0.leave() }
        #expect(try own(a) == 0)
        try await b.sync()
        #expect(try b.ids() == ["one", "two"])
    }

    @Test(
        "So it does where some tables are left, too, and nothing of a store goes",
        arguments: ["logsync_clock_%", "logsync_peer%"])
    func someTables(left: String) async throws {
        #expect(try await Replicator.removeLeftovers(a.path, configuration: a.configuration).isEmpty)
        try dropTables(a, where: "name NOT LIKE '\(left)'")
        try a.execute("CREATE TABLE logsync_mine(k); CREATE TABLE logsync_clock_9(k)")
        _ = try await Replicator.removeLeftovers(a.path, configuration: a.configuration)
        #expect(try own(a) == 2)
    }

    @Test("Init joins again under its name, each row once, and nobody waits for the peer that it was")
    func join() async throws {
        let former = try await a.peer()
        try a.insert("two")
        try await settle(a, b)
        try dropTables(a)
        let report = try await a.initialize()
        #expect(report.joined && report.peer?.name == "a" && report.peer?.id != former)
        try a.insert("three")
        try await settle(a, b)
        for machine in [a, b] { #expect(try machine.ids() == ["one", "three", "two"]) }
        #expect(try await b.status().peers.first { $0.id == former }?.retired == true)
    }

    @Test("An init or leave that was interrupted is begun anew by init, and taken back by leave")
    func interrupted() async throws {
        let unfinished = "UPDATE logsync_store SET value = 9223372036854775807 WHERE key = 'format'"
        try a.execute(unfinished)
        let refused = await #expect(throws: LogSyncError.self) { try await a.sync() }
        #expect(refused?.code == .notReplicated && refused?.message.contains("interrupted") == true)
        try a.insert("two")
        let report = try await a.initialize()
        #expect(report.joined && !report.alreadyInitialized)
        try await settle(a, b)
        for machine in [a, b] { #expect(try machine.ids() == ["one", "two"]) }

        try a.execute(unfinished)
        #expect(try await !Replicator.removeLeftovers(a.path, configuration: a.configuration).isEmpty)
        #expect(try own(a) == 0)
        #expect(try a.ids() == ["one", "two"])
    }

    @Test("Where rows would be there twice, init says what to run instead")
    func surrogates() async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute("CREATE TABLE song(id INTEGER PRIMARY KEY, name TEXT)")
        try await a.initialize()
        let b = try await world.clone("b")
        try a.execute("INSERT INTO song(name) VALUES('x')")
        try await settle(a, b)
        try dropTables(a)
        let error = await #expect(throws: LogSyncError.self) { try await a.initialize() }
        #expect(error?.code == .configuration)
        #expect(error?.help?.contains("logsync leave") == true && error?.help?.contains("logsync clone") == true)
        try dropTables(b)
        #expect(try await Replicator.removeLeftovers(b.path, configuration: b.configuration).count == 4)
    }
}
