import Foundation
import GRDB
import LogSync
import LogSyncTesting
import Testing

@Suite("Recording within a program's own transactions") struct ProgramTransactionTests {
    private let peers: TestPeers
    private var a: TestPeers.Peer { peers["a"] }
    private var b: TestPeers.Peer { peers["b"] }

    init() async throws {
        peers = try await TestPeers("a", "b") { pool in
            try pool.write { try $0.execute(sql: "CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, body TEXT)") }
        }
        try await peers.settle()
    }

    private static func insert(_ db: Database, _ ids: String...) throws {
        for id in ids { try db.execute(sql: "INSERT INTO note VALUES(?, 'of ' || ?)", arguments: [id, id]) }
    }

    /// `author context keys`, in order.
    private func history(_ peer: TestPeers.Peer) async throws -> [String] {
        try await peer.replicator.history(HistoryFilter(tables: ["note"])).map { transaction in
            let keys = transaction.changes.compactMap { $0.key.value(as: String.self) }.joined(separator: ",")
            return "\(transaction.author ?? "-") \(transaction.context ?? "-") \(keys)"
        }
    }

    @Test("A write of GRDB's own has an author and a context here and elsewhere; what was written before it has not")
    func author() async throws {
        let replicator = a.replicator
        try await a.pool.write { db in
            try Self.insert(db, "one")
            try replicator.record(db, author: "ann", context: "first")
        }
        try await a.pool.write { try Self.insert($0, "plain") }
        let count = try await a.pool.write { db in
            try replicator.record(db, author: "bob") {
                try Self.insert(db, "two", "three")
                return 2
            }
        }
        #expect(count == 2)
        try await peers.settle()
        let expected = ["ann first one", "- - plain", "bob - three,two"]
        #expect(try await history(a) == expected)
        #expect(try await history(b) == expected)
        try await peers.expectSame()
    }

    @Test("A transaction or savepoint that is undone records nothing, and what comes after it is recorded as ever")
    func undone() async throws {
        struct Refused: Error {}
        let replicator = a.replicator
        for round in 0..<3 {
            await #expect(throws: Refused.self) {
                try await a.pool.write { db in
                    try Self.insert(db, "undone")
                    try replicator.record(db, author: "nobody")
                    throw Refused()
                }
            }
            try await a.pool.write { db in
                try Self.insert(db, "a\(round)")
                try db.inSavepoint {
                    try Self.insert(db, "undone")
                    try replicator.record(db, author: "nobody")
                    return .rollback
                }
                try Self.insert(db, "b\(round)")
                try replicator.record(db, author: "ann")
            }
            // Another writer of logsync's tables in between, and none the last time.
            if round == 1 { _ = try await replicator.sync() }
        }
        try await peers.settle()
        #expect(try await history(a) == ["ann - a0,b0", "ann - a1,b1", "ann - a2,b2"])
        try await peers.expectSame()
        #expect(try await Replicator.verify(a.replicator.path, configuration: SyncConfiguration()).findings.isEmpty)
    }

    @Test("A running replicator and a program that records do not wait for one another, and all of it arrives")
    func running() async throws {
        let replicator = a.replicator
        await replicator.start()
        var waits = 0
        for number in 0..<100 {
            let span = try await a.pool.write { db in
                try Self.insert(db, "n\(number)")
                let start = ContinuousClock.now
                try replicator.record(db, author: "ann")
                return start.duration(to: .now)
            }
            if span > .seconds(4) { waits += 1 }
        }
        await replicator.stop()
        // Waiting for each other ends with the busy time-out of five seconds, each time; a machine that is busy with other
        // things makes one or the other wait, too.
        #expect(waits < 50)
        try await peers.settle()
        #expect(try await history(b).count == 100)
        try await peers.expectSame()
    }

    @Test("Other files, no transaction, and a replicator that has not begun are refused; the program's write stays")
    func refused() async throws {
        let (first, second) = (a.replicator, b.replicator)
        let other = await #expect(throws: LogSyncError.self) {
            try await a.pool.write { try second.record($0, author: "ann") }
        }
        #expect(other?.code == .usage)
        let none = await #expect(throws: LogSyncError.self) {
            try await a.pool.writeWithoutTransaction { try first.record($0, author: "ann") }
        }
        #expect(none?.code == .usage)
        await first.close()
        let codes = try await a.pool.write { db in
            try Self.insert(db, "kept")
            do {
                try first.record(db, author: "ann")
                return ""
            } catch let error as LogSyncError {
                return error.code.rawValue
            }
        }
        #expect(codes == "locked")
        try await peers.settle()
        #expect(try await history(b) == ["- - kept"])
    }

    @Test("Before the folder is there nothing is recorded, and later all of it")
    func unfounded() async throws {
        let world = try World()
        let machine = try world.machine("late")
        let pool = try DatabasePool(path: machine.path)
        try await pool.write { try $0.execute(sql: "CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, body TEXT)") }
        let away = world.container + "-away"
        let replicator = try await Replicator.open(
            pool, container: away, content: "late", runs: false, configuration: machine.configuration)
        try await pool.write { db in
            try replicator.record(db, author: "ann") { try Self.insert(db, "early") }
        }
        try FileManager.default.createDirectory(atPath: away, withIntermediateDirectories: false)
        _ = try await replicator.sync()
        try await pool.write { db in
            try replicator.record(db, author: "ann") { try Self.insert(db, "late") }
        }
        #expect(try await replicator.history().map { $0.author ?? "-" } == ["-", "ann"])
        await replicator.close()
    }

    @Test("What a pool commits without waiting for the disk is made durable before it is published")
    func durable() async throws {
        let replicator = a.replicator
        let fact = "SELECT value FROM logsync_store WHERE key = 'unsynchronized'"
        #expect(try await a.pool.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA synchronous") } == 1)
        try await a.pool.write { db in
            try replicator.record(db, author: "ann") { try Self.insert(db, "one") }
        }
        #expect(try await a.pool.read { try Int.fetchOne($0, sql: fact) } == 1)
        _ = try await replicator.sync()
        #expect(try await a.pool.read { try Int.fetchOne($0, sql: fact) } == 0)
    }
}
