import Foundation
import LogSyncModel
import LogSync
import Testing

@Suite("Making stores")
struct MakingTests {
    private func code(_ body: () async throws -> Void) async -> LogSyncError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? LogSyncError)?.code
        }
    }

    @Test("Init says again what it did, and changes nothing")
    func again() async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.makeDatabase()
        try a.insert("one")
        let first = try await a.initialize()
        let listing = try world.listing()
        let second = try await a.initialize()
        #expect(!first.alreadyInitialized && second.alreadyInitialized)
        #expect(first.tables.map(\.table) == ["note"] && second.tables == first.tables)
        #expect(first.peer == second.peer && second.recorded == 0)
        #expect(try world.listing() == listing)
    }

    @Test("A dry run does nothing")
    func dryRun() async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.makeDatabase()
        var options = InitializeOptions()
        options.dryRun = true
        let report = try await a.initialize(options)
        #expect(report.dryRun && report.tables.map(\.identity) == ["natural"])
        #expect(try world.listing().isEmpty)
        #expect(await code { try await a.sync() } == .notReplicated)
    }

    @Test("Options that contradict what is there are refused")
    func contradictions() async throws {
        let world = try World()
        let a = try await world.founder("a", rows: ["one"])
        #expect(
            await code {
                _ = try await Replicator.initialize(
                    a.path, container: world.container, content: "other", configuration: a.configuration)
            } == .configuration)
        var renamed = InitializeOptions()
        renamed.peerName = "x"
        #expect(await code { try await a.initialize(renamed) } == .configuration)
        let b = try world.machine("b")
        try b.makeDatabase()
        var other = InitializeOptions()
        try other.addIdentity("note=surrogate")
        #expect(await code { try await b.initialize(other) } == .configuration)
        var taken = InitializeOptions()
        taken.peerName = "a"
        #expect(await code { try await b.initialize(taken) } == .configuration)
        #expect(await code { try await b.sync() } == .notReplicated)
    }

    @Test("A container that is not there is not made")
    func noContainer() async throws {
        let world = try World()
        try FileManager.default.removeItem(atPath: world.container)
        let a = try world.machine("a")
        try a.makeDatabase()
        #expect(await code { try await a.initialize() } == .containerUnavailable)
        #expect(await code { _ = try await world.clone("b") } == .containerUnavailable)
        #expect(!FileManager.default.fileExists(atPath: world.container))
        #expect(await code { try await a.sync() } == .notReplicated)
    }

    @Test("A store within a shared folder is refused")
    func withinContainer() async throws {
        let world = try World()
        let a = try await world.founder("a")
        let path = world.container + "/deep/notes.db"
        try FileManager.default.createDirectory(
            atPath: world.container + "/deep", withIntermediateDirectories: true)
        try a.execute("CREATE TABLE t(id TEXT PRIMARY KEY)", at: path)
        #expect(
            await code {
                _ = try await Replicator.initialize(
                    path, container: world.container, content: "other", configuration: a.configuration)
            } == .configuration)
        // Another folder's container is one too.
        let elsewhere = try World()
        #expect(
            await code {
                _ = try await Replicator.clone(
                    to: world.container + "/clone.db", container: elsewhere.container, content: "notes",
                    configuration: a.configuration)
            } == .configuration)
    }

    @Test("Clone overwrites nothing, and needs a schema")
    func cloneRefuses() async throws {
        let world = try World()
        let a = try await world.founder("a", rows: ["one"])
        let b = try world.machine("b")
        try Data("mine".utf8).write(to: URL(fileURLWithPath: b.path))
        #expect(await code { _ = try await world.clone("b") } == .cannotCreate)
        #expect(try String(contentsOfFile: b.path, encoding: .utf8) == "mine")
        try FileManager.default.removeItem(atPath: "\(world.contentPath)/peers/\(try await a.peer())/schemas")
        #expect(await code { _ = try await world.clone("c") } == .containerUnavailable)
        #expect(try FileManager.default.contentsOfDirectory(atPath: world.root + "/c").isEmpty)
    }

    @Test("A clone takes the identities that the content has settled")
    func cloneTakesIdentities() async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute("CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)")
        try a.execute("INSERT INTO tag(id, name) VALUES(7, 'red')")
        var options = InitializeOptions()
        try options.addIdentity("tag=name")
        try await a.initialize(options)
        let b = try await world.clone("b")
        try a.execute("INSERT INTO tag(name) VALUES('blue')")
        try b.execute("INSERT INTO tag(name) VALUES('blue')")
        try await settle(a, b)
        for machine in [a, b] {
            let count = try machine.count("SELECT count(*) FROM tag")
            #expect(count == 2)
        }
    }

    @Test("Leave keeps the data and ends replication")
    func leave() async throws {
        let world = try World()
        let a = try await world.founder("a", rows: ["one"])
        let b = try await world.clone("b")
        try a.insert("two")
        _ = try await a.with { try await $0.leave() }
        #expect(await code { try await a.sync() } == .notReplicated)
        #expect(try a.ids() == ["one", "two"])
        #expect(try a.count("SELECT count(*) FROM sqlite_master WHERE name LIKE 'logsync%'") == 0)
        try await b.sync()
        #expect(try b.ids() == ["one", "two"])
        #expect(try await Replicator.list(configuration: a.configuration).stores.isEmpty)
    }

    @Test("A store that another process holds is locked, and free again afterwards")
    func locked() async throws {
        let world = try World()
        var a = try await world.founder("a")
        a.configuration.wait = .milliseconds(50)
        let machine = a
        try await machine.holding { try await machine.expectLocked() }
        try await a.sync()
    }
}
