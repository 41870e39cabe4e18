import Foundation
import GRDB
import GRDBSQLite
import LogSyncFormat
import LogSyncModel
import LogSyncSQLite
import Testing

@testable import LogSyncStore

/// A clock that a test sets.
final class TestClock: WallClock, @unchecked Sendable {
    // Unchecked: tests move it from one thread.
    var milliseconds: Int64 = 1_700_000_000_000
    func now() -> Int64 { milliseconds }
}

/// A temporary folder that goes with the test.
final class TestFolder {
    let path: String
    /// Whether what is recorded and imported is recorded and imported with batches off, too, see
    /// ``TestPeer/bothWays(where:sourceLocation:_:)``.
    let comparesWays: Bool
    /// Of peers that are given none: stands still where ways are compared, because one comes after the other.
    let clock: TestClock?

    init(comparingWays: Bool = false) throws {
        comparesWays = comparingWays
        clock = comparingWays ? TestClock() : nil
        // After all that programs write meanwhile.
        clock?.milliseconds = SystemClock().now() + 3_600_000
        path = NSTemporaryDirectory() + "logsync-test-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}

/// One store, a plain connection of "the app" to it, and a way to hand transactions to another.
final class TestPeer {
    let store: Store
    let app: Connection
    let path: String
    let name: String
    /// Kept as long as a peer lives in it.
    let folder: TestFolder
    let configuration: StoreConfiguration

    static func configuration(_ seed: UInt64, _ clock: (any WallClock)? = nil) -> StoreConfiguration {
        var configuration = StoreConfiguration()
        if let clock { configuration.clock = clock }
        // Every second one keeps all but its smallest values in blobs.
        if seed.isMultiple(of: 2) { configuration.blobThreshold = 4 }
        // Every third one writes what it records bit by bit.
        if seed.isMultiple(of: 3) { configuration.recordingMemory = 500 }
        nonisolated(unsafe) var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
        configuration.random = {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state
        }
        return configuration
    }

    /// Makes a database from SQL and founds replication in it.
    init(
        _ folder: TestFolder, _ name: String, sql: String, seed: UInt64 = .random(in: 0 ... .max),
        clock: (any WallClock)? = nil, leavesOutKeys: Bool = false,
        plan change: (inout InitializePlan) -> Void = { _ in }
    ) throws {
        self.folder = folder
        path = folder.path + "/" + name + ".db"
        self.name = name
        app = try Self.open(path)
        try app.execute("PRAGMA journal_mode=WAL;" + sql)
        var plan = InitializePlan(content: "test", container: "/nowhere", peerName: name)
        change(&plan)
        var configuration = Self.configuration(seed, clock ?? folder.clock)
        configuration.leavesOutKeys = leavesOutKeys
        self.configuration = configuration
        store = try Store.initialize(path, plan: plan, configuration: configuration).store
    }

    /// Clones another peer's store.
    convenience init(
        _ folder: TestFolder, _ name: String, cloning peer: TestPeer, schema: String? = nil,
        seed: UInt64 = .random(in: 0 ... .max), clock: (any WallClock)? = nil
    ) throws {
        try self.init(folder, name, emptyLike: peer, schema: schema, seed: seed, clock: clock)
        try pull(from: peer)
    }

    /// Makes a store with another peer's schema and settings and no rows yet.
    init(
        _ folder: TestFolder, _ name: String, emptyLike peer: TestPeer, schema: String? = nil,
        seed: UInt64 = .random(in: 0 ... .max), clock: (any WallClock)? = nil
    ) throws {
        self.folder = folder
        path = folder.path + "/" + name + ".db"
        self.name = name
        var plan = InitializePlan(content: "test", container: "/nowhere", peerName: name)
        plan.settings = try peer.settings()
        configuration = Self.configuration(seed, clock ?? folder.clock)
        store = try Store.create(
            path, schema: try schema ?? peer.store.schemaText().text, plan: plan, configuration: configuration)
        app = try Self.open(path)
    }

    /// Takes a store that is open already.
    init(_ folder: TestFolder, _ name: String, opening store: Store) throws {
        self.folder = folder
        path = store.path
        self.name = name
        self.store = store
        configuration = store.database.configuration
        app = try Self.open(path)
    }

    /// The app's connection: plain SQLite, no GRDB.
    static func open(_ path: String) throws -> Connection {
        var handle: OpaquePointer?
        #expect(sqlite3_open(path, &handle) == SQLITE_OK)
        let connection = Connection(try #require(handle))
        sqlite3_busy_timeout(connection.handle, 5000)
        return connection
    }

    static func close(_ connection: Connection) {
        connection.finalizeStatements()
        sqlite3_close_v2(connection.handle)
    }

    deinit { Self.close(app) }

    /// Waits until the clock that the triggers read has moved on.
    func awaitAnotherMillisecond() throws {
        let now = "SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"
        let before = try app.integer(now)
        while try app.integer(now) == before {}
    }

    private func settings() throws -> [(kind: String, target: String, value: String)] {
        try app.rows("SELECT kind, target, value FROM logsync_setting").map {
            (String(text: $0[0]), String(text: $0[1]), String(text: $0[2]))
        }
    }

    func write(_ sql: String) throws {
        try app.execute(sql)
        // `SELECT *` prepared before an ALTER TABLE would go on returning as many columns as then.
        app.finalizeStatements()
    }

    /// Writes as a program does that embeds logsync. Returns whether that was recorded.
    ///
    /// - Parameter recording: what the program keeps in memory; nil for one that has just begun.
    @discardableResult
    func embed(
        in queue: DatabaseQueue, by recording: EmbeddedRecording? = nil, author: String? = nil,
        _ updates: (Database) throws -> Void
    ) throws -> Bool {
        let recording = recording ?? EmbeddedRecording(configuration)
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        let expected = ExpectedStore(
            peer: try store.registration().peer, path: path,
            inode: try #require(attributes[.systemFileNumber] as? UInt64), sequence: 0, chain: nil)
        let before = try store.vector()
        try queue.inDatabase { db in
            try db.inTransaction(.immediate) {
                try recording.record(on: db, expected, author: author, context: nil) { try updates(db) }
                return .commit
            }
        }
        return try store.vector() != before
    }

    /// Turns what the program wrote into a transaction.
    @discardableResult
    func record() throws -> RecordedTransaction? { try bothWays(where: false) { try $0.record() } }

    /// Records here and merges every transaction of `other`'s outbox that has not come yet.
    @discardableResult
    func pull(from other: TestPeer, record: Bool = true) throws -> [ImportedTransaction] {
        if record { try other.record() }
        let isNew = try !store.vector().includes(other.vector())
        return try bothWays(where: isNew) { try other.send(to: $0) }
    }

    /// Hands a store every transaction of the outbox that it does not have.
    private func send(to target: Store) throws -> [ImportedTransaction] {
        let vector = try target.vector()
        let waiting = try store.outbox(unpublishedOnly: false).filter { !vector.covers($0.dot) }
        var imported: [ImportedTransaction] = []
        imported += try target.importStep { nil }.imported
        for entry in waiting {
            // What depends on a third peer's transaction waits.
            let header = try incoming(entry).header
            guard try target.readiness(of: header, chainBefore: entry.chainBefore) == .ready else { break }
            imported += try target.preparingTables {
                // Which is read once.
                var next: IncomingTransaction? = try incoming(entry)
                return try target.importStep {
                    defer { next = nil }
                    return next
                }.imported
            }
        }
        return imported
    }

    private func incoming(_ entry: OutboxTransaction) throws -> IncomingTransaction {
        var queue = try store.blocks(of: entry.dot)[...]
        let reader = try SegmentReader(peer: entry.dot.peer, previous: entry.chainBefore) { queue.popFirst() }
        return IncomingTransaction(
            header: reader.header, chainBefore: entry.chainBefore, chain: entry.chain,
            blobs: { [store] in try #require(try store.blobBytes(of: $0)) }
        ) { body in
            while let groups = try reader.nextFrame() { try groups.forEach(body) }
            #expect(try reader.finish().chain == entry.chain)
        }
    }

    func dump(_ sql: String) throws -> [[Value]] { try app.rows(sql) }

    func strings(_ sql: String) throws -> [String] {
        try app.rows(sql).map { row in
            row.map { value in
                switch value {
                case .null: "NULL"
                case .integer(let integer): String(integer)
                case .real(let real): String(real)
                case .text(let bytes): String(decoding: bytes, as: UTF8.self)
                case .blob(let bytes): "x" + Hex.encode(bytes)
                case .reference, .external: "?"
                }
            }.joined(separator: "|")
        }
    }

    func digest() throws -> String { try store.summary().digest }
    func vector() throws -> VersionVector { try store.vector() }
}

/// Both have all that the other has, and show and hold the same.
func converge(_ peers: TestPeer..., sourceLocation: SourceLocation = #_sourceLocation) throws {
    for _ in 0..<3 {
        for a in peers {
            // A transaction may wait for one of a peer further on.
            for _ in peers { for b in peers where a !== b { try a.pull(from: b) } }
        }
    }
    for peer in peers.dropFirst() {
        #expect(try peer.vector() == peers[0].vector(), sourceLocation: sourceLocation)
        #expect(try peer.digest() == peers[0].digest(), sourceLocation: sourceLocation)
    }
}
