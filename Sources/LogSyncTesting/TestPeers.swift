import Foundation
public import GRDB
public import LogSync
import LogSyncModel
import LogSyncSQLite
import Logging
import Synchronization

/// Stores of one content in a temporary folder, each with a shared folder of its own, a courier that carries files between
/// these, and a clock; for the tests of programs.
///
/// ```swift
/// let peers = try await TestPeers("desk", "phone") { try TodoApp.migrator.migrate($0) }
/// try await peers["desk"].pool.write { try $0.execute(sql: "INSERT INTO item(title) VALUES('Pears')") }
/// try await peers.settle()
/// try await peers.expectSame()
/// ```
///
/// Nothing runs by itself, so that a test needs no waiting: ``settle(_:)`` does it all. The folder goes away with the object.
public final class TestPeers: Sendable {
    /// One machine.
    public struct Peer: Sendable {
        public let name: String
        /// The program's connection.
        public let pool: DatabasePool
        public let replicator: Replicator
        /// The shared folder as this machine sees it.
        public let container: String
    }

    public let peers: [Peer]
    /// What all of them take for the time.
    public let clock: TestClock
    private let root: String
    private let content: String
    /// Deliveries that are held up, as from and to.
    private let held = Mutex<Set<[String]>>([])
    /// The folders in which each peer has published: another one from when its database was restored.
    private let folders = Mutex<[String: Set<String>]>([:])

    /// Makes a store for each name; the first founds the content, and the others join it.
    ///
    /// - Parameters:
    ///   - rules: as ``Replicator/open(_:container:content:peer:whenContainerIsAway:runs:configuration:_:)`` takes them.
    ///   - prepare: makes the schema, and what rows every machine begins with.
    /// - Throws: what `prepare` and opening throw.
    public init(
        _ names: String..., content: String = "test", clock: TestClock = TestClock(),
        rules: @Sendable (inout Replicator.Rules) -> Void = { _ in }, prepare: @Sendable (DatabasePool) throws -> Void
    ) async throws {
        let root = NSTemporaryDirectory() + "logsync-peers-\(UUID().uuidString)"
        self.root = root
        self.clock = clock
        self.content = content
        var peers: [Peer] = []
        for name in names {
            let container = "\(root)/\(name)/shared"
            try FileManager.default.createDirectory(atPath: container, withIntermediateDirectories: true)
            if let first = peers.first {
                try Courier.copy("\(first.container)/\(content)", to: "\(container)/\(content)")
            }
            var database = Configuration()
            database.busyMode = .timeout(5)
            let pool = try DatabasePool(path: "\(root)/\(name)/store.db", configuration: database)
            try prepare(pool)
            var configuration = SyncConfiguration(stateDirectory: "\(root)/\(name)/state")
            configuration.machineID = "test-\(name)"
            configuration.clock = clock
            configuration.logger = Logger(label: name) { _ in SwiftLogNoOpLogHandler() }
            let replicator = try await Replicator.open(
                pool, container: container, content: content, peer: name, whenContainerIsAway: .fails, runs: false,
                configuration: configuration, rules)
            peers.append(Peer(name: name, pool: pool, replicator: replicator, container: container))
        }
        self.peers = peers
    }

    deinit {
        // What a test leaves behind in the temporary directory is the system's to clear away.
        try? FileManager.default.removeItem(atPath: root)
    }

    /// The peer of a name that was given to ``init(_:content:clock:rules:prepare:)``; another one ends the test.
    public subscript(_ name: String) -> Peer {
        guard let peer = peers.first(where: { $0.name == name }) else {
            preconditionFailure("there is no test peer \(name)")
        }
        return peer
    }

    // MARK: Syncing

    /// Syncs each peer, and carries what they publish, until nothing is new.
    ///
    /// - Parameter names: whose turn it is; all where none is named. Files are carried between these alone.
    /// - Throws: what syncing throws; `LogSyncError` (`ioError`) where they do not come to rest.
    public func settle(_ names: String...) async throws {
        let peers = names.isEmpty ? peers : names.map { self[$0] }
        for _ in 0..<50 {
            var isNews = false
            for peer in peers {
                let result = try await peer.replicator.sync()
                isNews = isNews || result.recorded + result.published + result.imported > 0
                for other in peers where other.name != peer.name {
                    isNews = try await carry(from: peer, to: other) || isNews
                }
            }
            if !isNews { return }
        }
        throw LogSyncError(.ioError, "the peers \(peers.map(\.name)) did not come to rest")
    }

    /// What one peer publishes does not reach the other until ``deliver()``.
    public func hold(from: String, to: String) { _ = held.withLock { $0.insert([from, to]) } }

    /// Lets everything through that was held up, with the next ``settle(_:)``.
    public func deliver() { held.withLock { $0 = [] } }

    /// Carries a peer's own folders to where another one sees them. Returns whether anything was new.
    private func carry(from peer: Peer, to other: Peer) async throws -> Bool {
        guard !held.withLock({ $0.contains([peer.name, other.name]) }) else { return false }
        let current = "\(content)/peers/\(try await peer.replicator.status().peer.id)"
        let own = folders.withLock { folders in
            folders[peer.name, default: []].insert(current)
            return folders[peer.name, default: []].sorted()
        }
        var isNews = false
        for folder in own {
            let isNew = try Courier.match("\(peer.container)/\(folder)", to: "\(other.container)/\(folder)")
            isNews = isNews || isNew
        }
        return isNews
    }

    // MARK: Comparing

    /// Whether all peers have the same replicated state, and show the same rows.
    ///
    /// Tables whose integers are each machine's own are compared by their state alone.
    ///
    /// - Throws: ``PeersDiffer``, which says what differs.
    public func expectSame() async throws {
        var seen: (name: String, digest: String, tables: [String: [String]])?
        for peer in peers {
            let digest = try await peer.replicator.status().digest
            let tables = try await peer.pool.read { db in try Self.rows(db) }
            guard let first = seen else {
                seen = (peer.name, digest, tables)
                continue
            }
            for (table, rows) in first.tables.sorted(by: { $0.key < $1.key }) where tables[table] != rows {
                throw PeersDiffer(
                    description: "\(table) is \(rows) at \(first.name), and \(tables[table] ?? []) at \(peer.name)")
            }
            guard digest == first.digest else {
                throw PeersDiffer(description: "\(first.name) and \(peer.name) have not imported the same")
            }
        }
    }

    /// Rows of tables without integers that are local, as text.
    private static func rows(_ db: Database) throws -> [String: [String]] {
        let names = try String.fetchAll(
            db,
            sql: """
                SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'logsync\\_%' ESCAPE '\\'
                AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name <> 'grdb_migrations'
                """)
        var tables: [String: [String]] = [:]
        for name in names {
            let key = try db.primaryKey(name)
            guard key.rowIDColumn == nil, !key.columns.isEmpty, try db.foreignKeys(on: name).isEmpty else { continue }
            let rows = try Row.fetchAll(db, sql: "SELECT * FROM \(SQL.name(name))")
            tables[name] = rows.map { row in row.map { "\($0)=\($1)" }.joined(separator: " ") }.sorted()
        }
        return tables
    }
}

/// Two peers that should be the same are not.
public struct PeersDiffer: Error, Sendable, CustomStringConvertible {
    public var description: String
}

/// A clock that stands still until it is moved.
public final class TestClock: WallClock {
    private let milliseconds: Mutex<Int64>

    /// - Parameter milliseconds: Unix time.
    public init(milliseconds: Int64 = 1_700_000_000_000) { self.milliseconds = Mutex(milliseconds) }

    public func now() -> Int64 { milliseconds.withLock { $0 } }

    public func advance(by duration: Duration) {
        milliseconds.withLock { $0 += Int64(duration / .milliseconds(1)) }
    }
}
