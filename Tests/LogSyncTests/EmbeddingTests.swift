import Foundation
import GRDB
import LogSync
import LogSyncModel
import Synchronization
import Testing

@Suite("Embedding in a program") struct EmbeddingTests {
    private let world: World
    private let a: Machine
    private let b: Machine

    init() async throws {
        world = try World()
        a = try await world.founder("a", rows: ["one"])
        b = try await world.clone("b")
    }

    // MARK: Writing

    @Test("A write in a connection to another store is refused, and changes neither")
    func otherStore() async throws {
        let other = try b.database()
        let replicator = try a.replicator()
        let error = await #expect(throws: LogSyncError.self) {
            try await replicator.write(in: other) { try $0.execute(sql: "DELETE FROM note") }
        }
        #expect(error?.code == .usage)
        #expect(error?.message.contains(a.path) == true && error?.message.contains(b.path) == true)
        let memory = try DatabaseQueue()
        await #expect(throws: LogSyncError.self) { try await replicator.write(in: memory) { _ in } }
        #expect(try a.ids() == ["one"] && b.ids() == ["one"])
        try other.close()
        await replicator.close()
    }

    @Test("A write by another path to the store is one to the store")
    func linked() async throws {
        let link = world.root + "/link"
        try FileManager.default.createSymbolicLink(
            atPath: link, withDestinationPath: (a.path as NSString).deletingLastPathComponent)
        let queue = try a.database(link + "/notes.db")
        let replicator = try a.replicator()
        try await replicator.write(in: queue, author: "ann") { db in
            try db.execute(sql: "INSERT INTO note(id) VALUES('two')")
        }
        #expect(try await replicator.log(author: "ann").count == 1)
        try queue.close()
        await replicator.close()
    }

    @Test("A write is cancelled with its task, undone, and leaves the connection as it was")
    func cancelled() async throws {
        let queue = try a.database()
        try await queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = NORMAL") }
        let replicator = try a.replicator()
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            try await replicator.write(in: queue) { db in
                try db.execute(sql: "INSERT INTO note(id) VALUES('cancelled')")
                begin.yield()
                // Ends by being interrupted, or not before the test's limit.
                try db.execute(
                    sql: """
                        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100000000000)
                        SELECT count(*) FROM n
                        """)
            }
        }
        for await _ in begun { break }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try a.ids() == ["one"])
        let synchronous = try await queue.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA synchronous") }
        #expect(synchronous == 1)
        // One that is cancelled before it begins does nothing.
        let late = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await replicator.write(in: queue) { try $0.execute(sql: "INSERT INTO note(id) VALUES('late')") }
        }
        await #expect(throws: CancellationError.self) { try await late.value }
        try await replicator.write(in: queue) { try $0.execute(sql: "INSERT INTO note(id) VALUES('two')") }
        #expect(try a.ids() == ["one", "two"])
        try queue.close()
        await replicator.close()
    }

    // MARK: Starting again

    @Test("Init with other options than the store was made with says which it ignores")
    func otherOptions() async throws {
        let a = try World().machine("a")
        try a.makeDatabase()
        var options = InitializeOptions()
        options.policies = [("note.stars", "max"), ("note", "unique-merge")]
        #expect(try await a.initialize(options).warnings == [])
        #expect(try await a.initialize(options).warnings == [])
        options.policies = [("note.stars", "min"), ("note.body", "first-writer"), ("note", "unique-park")]
        options.identities = ["note": .surrogate]
        options.skip = ["note"]
        let warnings = try await a.initialize(options).warnings
        #expect(warnings.count == 5)
        for word in ["natural", "max", "note.body", "unique-merge", "replicated"] {
            #expect(warnings.contains { $0.contains(word) }, "\(word): \(warnings)")
        }
        #expect(try await a.with { try await $0.policies() }.map(\.policy).sorted() == ["max", "unique-merge"])
    }

    // MARK: History

    @Test("A transaction whose log is gone has expired; one that never was is none")
    func expired() async throws {
        try a.insert("two")
        try await a.sync()
        try await b.sync()
        let peer = try await a.peer()
        let replicator = try b.replicator()
        try await replicator.show(Dot(peer, 1)) { _ in }
        try FileManager.default.removeItem(atPath: world.logsPath(peer))
        let error = await #expect(throws: LogSyncError.self) { try await replicator.show(Dot(peer, 1)) { _ in } }
        #expect(error?.code == .historyExpired)
        let unknown = await #expect(throws: LogSyncError.self) { try await replicator.show(Dot(peer, 99)) { _ in } }
        #expect(unknown?.code == .usage)
        await replicator.close()
    }

    // MARK: Policies in code

    private static let joined = MergePolicy(name: "joined") { versions in
        func text(_ value: Value) -> String {
            if case .text(let bytes) = value { String(decoding: bytes, as: UTF8.self) } else { "" }
        }
        return .text(versions.map { text($0.value) }.sorted().joined(separator: "+"))
    }

    @Test("What a process without the policy has merged is decided again by one that has it")
    func policyInCode() async throws {
        var (a, b) = (a, b)
        let plain = a
        a.configuration.policies["joined"] = Self.joined
        b.configuration.policies["joined"] = Self.joined
        try await a.with { try await $0.setPolicy("joined", for: "note.body") }
        try await settle(a, b)
        for round in 0..<2 {
            try a.execute("UPDATE note SET body = 'A\(round)'")
            try b.execute("UPDATE note SET body = 'B\(round)'")
            try await b.sync()
            // As the command line does, beside the program.
            try await plain.sync()
            #expect(try plain.notes() == ["one=B\(round)"])
            #expect(try await plain.status().missingPolicies.map(\.policy) == ["joined"])
            #expect(try await a.status().missingPolicies.isEmpty)
            try await settle(a, b)
            #expect(try a.notes() == ["one=A\(round)+B\(round)"] && a.notes() == b.notes())
        }
        // Decided once: then nothing is to be done.
        #expect(try await a.sync().recorded == 0)
        #expect(try a.notes() == ["one=A1+B1"])
    }
}
