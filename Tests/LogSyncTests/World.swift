import Foundation
import GRDB
import LogSyncContainer
import LogSyncModel
import LogSyncStore
import LogSync
import Logging
import Synchronization
import Testing

/// Machines and one shared folder, in a temporary directory that goes away with it.
final class World: Sendable {
    let root: String
    let container: String
    /// From how many bytes on its machines put values into blobs; nil for what is usual.
    let blobThreshold: Int?

    init(container name: String = "Sync", blobThreshold: Int? = nil) throws {
        self.blobThreshold = blobThreshold
        let base = NSTemporaryDirectory() + "logsync-tests-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: base, withIntermediateDirectories: true)
        root = URL(fileURLWithPath: base).resolvingSymlinksInPath().path
        container = root + "/" + name
        try FileManager.default.createDirectory(atPath: container, withIntermediateDirectories: true)
    }

    deinit {
        // What a test leaves behind in the temporary directory is the system's to clear away.
        try? FileManager.default.removeItem(atPath: root)
    }

    func machine(_ name: String, id: String? = nil) throws -> Machine { try Machine(name, id: id, in: self) }

    /// A machine with a store that was made a peer of the content.
    func founder(_ name: String, rows: [String] = []) async throws -> Machine {
        let machine = try machine(name)
        try machine.makeDatabase()
        for row in rows { try machine.insert(row) }
        _ = try await machine.initialize()
        return machine
    }

    func clone(_ name: String) async throws -> Machine {
        let machine = try machine(name)
        _ = try await Replicator.clone(
            to: machine.path, container: container, content: "notes", peerName: name,
            configuration: machine.configuration)
        return machine
    }

    var contentPath: String { container + "/notes" }
    func logsPath(_ peer: PeerID) -> String { "\(contentPath)/peers/\(peer)/logs" }

    /// The names of a peer's log files.
    func logs(_ peer: PeerID) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: logsPath(peer)).filter { $0.hasSuffix(".tlog") }.sorted()
    }

    /// Every file in the container with its length and modification time.
    func listing() throws -> [String: String] {
        var found: [String: String] = [:]
        let files = FileManager.default.enumerator(atPath: container)
        while let name = files?.nextObject() as? String {
            let path = container + "/" + name
            var status = stat()
            guard lstat(path, &status) == 0 else { continue }
            found[name] = "\(status.st_ino) \(status.st_size) \(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec)"
        }
        return found
    }
}

/// One machine: a directory for its store, a state directory, a machine id and a clock.
struct Machine: Sendable {
    let name: String
    let world: World
    let path: String
    var configuration: SyncConfiguration

    init(_ name: String, id: String?, in world: World) throws {
        self.name = name
        self.world = world
        let directory = world.root + "/" + name
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        path = directory + "/notes.db"
        configuration = SyncConfiguration(stateDirectory: world.root + "/" + name + "-state")
        configuration.machineID = id ?? name
        configuration.wait = .seconds(60)
        if let threshold = world.blobThreshold { configuration.blobThreshold = threshold }
        configuration.logger = Logger(label: name) { _ in SwiftLogNoOpLogHandler() }
    }

    func database(_ path: String? = nil) throws -> DatabaseQueue {
        var configuration = GRDB.Configuration()
        configuration.busyMode = .timeout(5)
        return try DatabaseQueue(path: path ?? self.path, configuration: configuration)
    }

    func makeDatabase() throws {
        try execute("CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, body TEXT, stars INTEGER)")
    }

    func execute(_ sql: String, at path: String? = nil) throws {
        let database = try database(path)
        try database.write { try $0.execute(sql: sql) }
        try database.close()
    }

    /// The first column of what a query finds.
    func strings(_ query: String) throws -> [String] {
        let database = try database()
        defer { try? database.close() }
        return try database.read { try String.fetchAll($0, sql: query) }
    }

    /// Puts the whole store in one file, as a program that makes backups does.
    func checkpoint() throws {
        let database = try database()
        try database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)") }
        try database.close()
    }

    func insert(_ id: String, _ body: String = "", at path: String? = nil) throws {
        try execute("INSERT INTO note(id, body) VALUES('\(id)', '\(body)')", at: path)
    }

    func count(_ sql: String) throws -> Int {
        let database = try database()
        defer { try? database.close() }
        return try database.read { try Int.fetchOne($0, sql: sql) ?? 0 }
    }

    /// Keeps a write transaction open while `body` runs.
    func holding(_ body: () async throws -> Void) async throws {
        var configuration = GRDB.Configuration()
        configuration.allowsUnsafeTransactions = true
        let database = try DatabaseQueue(path: path, configuration: configuration)
        try await database.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE; DELETE FROM note") }
        try await body()
        try await database.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
    }

    func expectLocked() async throws {
        try insertRefused()
        let error = await #expect(throws: LogSyncError.self) {
            try await with { replicator in
                try await replicator.acceptClock(of: try await replicator.status().peer.id)
            }
        }
        #expect(error?.code == .locked)
    }

    /// Another writer is indeed at work.
    private func insertRefused() throws {
        var configuration = GRDB.Configuration()
        configuration.busyMode = .immediateError
        let database = try DatabaseQueue(path: path, configuration: configuration)
        #expect(throws: DatabaseError.self) {
            try database.write { try $0.execute(sql: "DELETE FROM note") }
        }
        try database.close()
    }

    static func insert(_ id: String, _ database: DatabaseQueue) async throws {
        try await database.write { try $0.execute(sql: "INSERT INTO note(id) VALUES(?)", arguments: [id]) }
    }

    static func has(_ id: String, _ database: DatabaseQueue) async throws -> Bool {
        try await database.read { db in
            try Bool.fetchOne(db, sql: "SELECT EXISTS(SELECT 1 FROM note WHERE id = ?)", arguments: [id]) ?? false
        }
    }

    /// Every note as `id=body`.
    func notes(at path: String? = nil) throws -> [String] {
        let database = try database(path)
        defer { try? database.close() }
        return try database.read { db in
            try String.fetchAll(db, sql: "SELECT id || '=' || coalesce(body, '') FROM note ORDER BY id")
        }
    }

    func ids(at path: String? = nil) throws -> [String] {
        try notes(at: path).map { String($0.prefix { $0 != "=" }) }
    }

    @discardableResult
    func initialize(_ options: InitializeOptions? = nil) async throws -> InitializeReport {
        var all = options ?? InitializeOptions()
        all.peerName = all.peerName ?? name
        return try await Replicator.initialize(
            path, container: world.container, content: "notes", options: all, configuration: configuration)
    }

    func replicator(_ path: String? = nil) throws -> Replicator {
        try Replicator(store: path ?? self.path, configuration: configuration)
    }

    @discardableResult
    func sync(_ path: String? = nil) async throws -> SyncResult { try await with(path) { try await $0.sync() } }

    func status(_ path: String? = nil) async throws -> StoreStatus { try await with(path) { try await $0.status() } }

    /// As a command does it that ends afterwards.
    func with<T: Sendable>(_ path: String? = nil, _ body: (Replicator) async throws -> T) async throws -> T {
        let replicator = try replicator(path)
        do {
            let result = try await body(replicator)
            await replicator.close()
            return result
        } catch {
            await replicator.close()
            throw error
        }
    }

    func peer(_ path: String? = nil) async throws -> PeerID { try await status(path).peer.id }
}

/// Syncs the machines in turn until nobody has anything new.
func settle(_ machines: Machine...) async throws {
    var withoutNews = 0
    for _ in 0..<10 {
        for machine in machines {
            let result = try await machine.sync()
            withoutNews = result.recorded + result.published + result.imported > 0 ? 0 : withoutNews + 1
            if withoutNews == machines.count { return }
        }
    }
    Issue.record("the machines did not settle")
}

/// Waits until a condition holds, looking again every few milliseconds.
func eventually(
    within limit: Duration = .seconds(120), _ what: Comment, _ condition: () async throws -> Bool,
    sourceLocation: SourceLocation = #_sourceLocation
) async throws {
    let deadline = ContinuousClock.now + limit
    while try await !condition() {
        guard ContinuousClock.now < deadline else {
            Issue.record(what, sourceLocation: sourceLocation)
            return
        }
        try await Task.sleep(for: .milliseconds(3))
    }
}
