import Foundation
import GRDB
import LogSyncModel
import LogSyncStore
import Testing

@testable import LogSync

/// Killed at their end, these are brought to it when they are called again.
@Suite("Init, clone and leave that were killed late")
struct InterruptedTests {
    let world: World
    let a: Machine

    init() async throws {
        world = try World()
        a = try await world.founder("a", rows: ["one"])
    }

    private static func copy(_ from: String, _ to: String) throws {
        for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: from + suffix) {
            // Within this process it would drop SQLite's locks.
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/bin/cp")
            process.arguments = [from + suffix, to + suffix]
            try process.run()
            process.waitUntilExit()
        }
    }

    private func journal(_ machine: Machine) throws -> String? {
        let database = try machine.database()
        defer { try? database.close() }
        return try database.read { try String.fetchOne($0, sql: "PRAGMA journal_mode") }
    }

    private func own(_ machine: Machine) throws -> Int {
        try machine.count("SELECT count(*) FROM sqlite_master WHERE name LIKE 'logsync%'")
    }

    @Test("An init that is begun anew knows what the journal was before the first turned it")
    func journalOfInit() async throws {
        let (b, killed) = (try world.machine("b"), try world.machine("killed"))
        var mortal = b
        // As its death would leave the files once the journal is turned.
        mortal.configuration.random = {
            if FileManager.default.fileExists(atPath: b.path + "-wal"),
                !FileManager.default.fileExists(atPath: killed.path)
            {
                try? Self.copy(b.path, killed.path)
            }
            return UInt64.random(in: .min ... .max)
        }
        try mortal.makeDatabase()
        try mortal.insert("two")
        #expect(try journal(b) == "delete")
        try await mortal.initialize()
        #expect(try journal(killed) == "wal")
        try await killed.initialize()
        #expect(try killed.ids() == ["one", "two"])
        for machine in [b, killed] {
            _ = try await machine.with { try await $0.leave() }
            #expect(try journal(machine) == "delete")
            #expect(try own(machine) == 0)
        }
    }

    @Test("A leave that is begun anew puts the journal back, wherever the first was killed")
    func journalOfLeave() async throws {
        var configuration = StoreConfiguration()
        let (path, deaths) = (a.path, world.root)
        configuration.awaitReaders = { _ in
            let number = (0...).first { !FileManager.default.fileExists(atPath: "\(deaths)/\($0).db") } ?? 0
            try? Self.copy(path, "\(deaths)/\(number).db")
        }
        try Store.open(path, configuration: configuration).leave()
        #expect(try journal(a) == "delete" && own(a) == 0)
        var count = 0
        while FileManager.default.fileExists(atPath: "\(deaths)/\(count).db") {
            let copy = try world.machine("copy \(count)")
            try Self.copy("\(deaths)/\(count).db", copy.path)
            if try await Replicator.removeLeftovers(copy.path, configuration: copy.configuration).isEmpty {
                try Store.open(copy.path, configuration: StoreConfiguration()).leave()
            }
            #expect(try journal(copy) == "delete" && own(copy) == 0, "death \(count)")
            #expect(try copy.ids() == ["one"])
            count += 1
        }
        #expect(count > 1)
    }

    @Test("A leave whose tables are gone is finished: no list names the store, and an init of it is nobody's double")
    func leave() async throws {
        let b = try await world.clone("b")
        try await settle(a, b)
        let former = try await b.peer()
        try Store.open(b.path, configuration: StoreConfiguration()).leave()
        func listed() async throws -> [ListReport.Store] {
            try await Replicator.list(configuration: b.configuration).stores
        }
        #expect(try await listed().map(\.state) == [.missing])
        func finish(dryRun: Bool = false) async throws -> String? {
            try await Replicator.finishLeaving(b.path, dryRun: dryRun, configuration: b.configuration)
        }
        #expect(try await finish(dryRun: true) == "notes")
        #expect(try await listed().count == 1)
        #expect(try await finish() == "notes")
        #expect(try await listed().isEmpty)
        #expect(try await finish() == nil)
        try await b.initialize()
        #expect(try await finish() == nil, "it is a store")
        #expect(try await listed().map(\.state) == [.ok])
        try await settle(a, b)
        let peers = try await a.status().peers
        #expect(peers.first { $0.id == former }?.retired == true)
    }

    @Test("A clone goes on with a store that an interrupted one has put in its place; any other is named as what it is")
    func clone() async throws {
        var b = try world.machine("b")
        let (path, states) = (b.path, b.configuration.stateDirectory + "/stores/")
        // Whether it is known for that clone's when others first hear of it.
        b.configuration.didChangeFile = { _ in
            let names = (try? FileManager.default.contentsOfDirectory(atPath: states)) ?? []
            let texts = names.compactMap { try? String(contentsOfFile: states + $0, encoding: .utf8) }
            let isKnown = texts.contains { $0.contains(#""isCloning":true"#) }
            if !isKnown || !FileManager.default.fileExists(atPath: path) {
                Issue.record("published by a store that is not known to be a clone's")
            }
        }
        func clone(_ name: String? = "b") async throws -> CloneReport {
            try await Replicator.clone(
                to: b.path, container: world.container, content: "notes", peerName: name,
                configuration: b.configuration)
        }
        let first = try await clone()
        #expect(!first.resumed)
        b.configuration.didChangeFile = nil
        let directory = StateDirectory(b.configuration.stateDirectory)
        func interrupt() throws {
            var state = try #require(try directory.load(first.peer.id))
            #expect(state.isCloning == nil)
            state.isCloning = true
            try directory.save(state)
        }
        // Killed before the file's first name was removed, and before it said what it had done.
        for name in ["b", nil] {
            try interrupt()
            try FileManager.default.linkItem(atPath: b.path, toPath: b.path + ".logsync-clone")
            try a.insert(name ?? "none")
            try await a.sync()
            let again = try await clone(name)
            #expect(again.resumed && again.peer == first.peer && again.imported == 1)
            #expect(!FileManager.default.fileExists(atPath: b.path + ".logsync-clone"))
        }
        #expect(try a.ids() == b.ids())
        #expect(try await b.status().identity == nil)
        // One that has come to its end is a store as any other.
        let refused = await #expect(throws: LogSyncError.self) { try await clone() }
        #expect(refused?.code == .cannotCreate && refused?.message.contains("is a store of notes") == true)
        #expect(refused?.help?.contains("init") == false)
        // Another name was asked for.
        try interrupt()
        let other = await #expect(throws: LogSyncError.self) { try await clone("c") }
        #expect(other?.code == .cannotCreate)
    }
}
