import Foundation
import GRDB
import LogSyncKeyValue
import LogSyncModel
import Logging
import Synchronization
import Testing

@testable import LogSyncStore
@testable import LogSync

@Suite("What happens to a program while its database is replicated") struct EmbeddedLifeTests {
    private let world: World
    private let log = CapturedLog.Lines()

    init() throws { world = try World() }

    private func open(
        _ name: String, container: String? = nil, runs: Bool = false
    ) async throws -> (pool: DatabasePool, replicator: Replicator) {
        let machine = try world.machine(name)
        var configuration = GRDB.Configuration()
        configuration.busyMode = .timeout(5)
        let pool = try DatabasePool(path: machine.path, configuration: configuration)
        try await pool.write { db in
            try db.execute(sql: "CREATE TABLE IF NOT EXISTS note(id TEXT PRIMARY KEY NOT NULL, body TEXT)")
        }
        var sync = machine.configuration
        sync.logger = Logger(label: name) { [log] _ in CapturedLog(log) }
        let replicator = try await Replicator.open(
            pool, container: container ?? world.container, content: "notes", peer: name, runs: runs,
            configuration: sync)
        return (pool, replicator)
    }

    private func ids(_ pool: DatabasePool) async throws -> [String] {
        try await pool.read { try String.fetchAll($0, sql: "SELECT id FROM note ORDER BY id") }
    }

    private static func insert(_ db: Database, _ id: String) throws {
        try db.execute(sql: "INSERT INTO note(id) VALUES(?)", arguments: [id])
    }

    // MARK: The folder

    @Test("While its folder is away, what is asked of it says so, writes are no errors, and it is looked for")
    func away() async throws {
        let away = world.root + "/away"
        let (pool, replicator) = try await open("a", container: away, runs: true)
        let events = replicator.events()
        let errors = Task {
            var names: [String] = []
            for await event in events {
                switch event {
                case .error(_, let error): names.append("error \(error.code)")
                case .unavailable: names.append("unavailable")
                case .ready: return names
                default: break
                }
            }
            return names
        }
        try await eventually(within: .seconds(120), "it has looked") {
            log.all.contains { $0.contains("it is not there") }
        }
        for number in 0..<5 {
            try await pool.write { db in try replicator.record(db, author: "ann") { try Self.insert(db, "n\(number)") }
            }
        }
        for code in [
            await #expect(throws: LogSyncError.self) { try await replicator.history() }?.code,
            await #expect(throws: LogSyncError.self) { try await replicator.historyToken() }?.code,
            await #expect(throws: LogSyncError.self) { try await replicator.status() }?.code,
            await #expect(throws: LogSyncError.self) { try await replicator.sync() }?.code,
        ] { #expect(code == .containerUnavailable) }
        try FileManager.default.createDirectory(atPath: away, withIntermediateDirectories: true)
        #expect(await errors.value.allSatisfy { $0 == "unavailable" })
        #expect(!log.all.contains { $0.contains("not replicated") })
        try await eventually(within: .seconds(120), "what was written is recorded") {
            try await replicator.status().outbox == 0
        }
        await replicator.stop()
        await replicator.close()
    }

    @Test("A database that is no store, or none any more, is not looked into again and again")
    func noStore() async throws {
        let machine = try world.machine("a")
        try machine.makeDatabase()
        var configuration = machine.configuration
        let looks = Mutex(0)
        configuration.didChangeWork = { isAtWork in if isAtWork { looks.withLock { $0 += 1 } } }
        let replicator = try Replicator(store: machine.path, configuration: configuration, opensNow: false)
        await replicator.start()
        try await eventually(within: .seconds(120), "it has looked") { looks.withLock { $0 } > 0 }
        // Nothing is what is waited for, so there is no condition to await.
        try await Task.sleep(for: .milliseconds(400))
        #expect(looks.withLock { $0 } < 5)
        _ = try await machine.initialize()
        try await eventually(within: .seconds(120), "it is opened when it is one") { await replicator.isOpen }
        await replicator.stop()
        await replicator.close()
    }

    // MARK: Names

    @Test("A table that was renamed is told of under the name that it has here, and its observations notice")
    func renamed() async throws {
        let (pool, a) = try await open("a")
        let (other, b) = try await open("b")
        for one in [pool, other] {
            try await one.write { db in try db.execute(sql: "ALTER TABLE note RENAME TO memo") }
        }
        for replicator in [a, b, a] { _ = try await replicator.sync() }
        var changes = b.changes.makeAsyncIterator()
        var imports = b.didImport.makeAsyncIterator()
        let texts = ValueObservation.tracking { try String.fetchAll($0, sql: "SELECT body FROM memo") }
        let observing = Task {
            for try await shown in texts.values(in: other) where shown == ["x"] { return true }
            return false
        }
        let seen = try await b.historyToken()
        try await pool.write { db in try db.execute(sql: "INSERT INTO memo VALUES('one', 'x')") }
        for replicator in [a, b] { _ = try await replicator.sync() }
        #expect(await changes.next()?.tables.keys.sorted() == ["memo"])
        #expect(await imports.next()?.transactions.first?.tables.keys.sorted() == ["memo"])
        let history = try await b.history(HistoryFilter(after: seen, tables: ["memo"])).flatMap(\.changes)
        #expect(history.map(\.table) == ["memo"] && history.first?.key["id"] == "one".databaseValue)
        #expect(try await observing.value)
        await a.close()
        await b.close()
    }

    // MARK: Leaving

    @Test("A program that leaves goes on writing, also by its replicators' calls, while another of them runs")
    func leaving() async throws {
        let (pool, replicator) = try await open("a", runs: true)
        let (_, other) = try await open("a", runs: true)
        let (third, b) = try await open("b")
        try await pool.write { db in try Self.insert(db, "one") }
        try await eventually(within: .seconds(120), "it is published") {
            _ = try await b.sync()
            return try await ids(third) == ["one"]
        }
        try await replicator.leave()
        #expect(await replicator.currentActivity.isRunning == false)
        #expect(try await pool.read { try !$0.tableExists("logsync_store") })
        try await pool.write { db in try replicator.record(db, author: "ann") { try Self.insert(db, "two") } }
        try await replicator.write(in: pool, author: "ann") { db in try Self.insert(db, "three") }
        #expect(try await ids(pool) == ["one", "three", "two"])
        await other.stop()
        for one in [replicator, other, b] { await one.close() }
    }

    @Test("A program that closes its connection before its replicator is told so, and no error")
    func closing() async throws {
        let (pool, replicator) = try await open("a")
        let (other, b) = try await open("b")
        try pool.close()
        try await other.write { db in try Self.insert(db, "one") }
        _ = try await b.sync()
        _ = try await replicator.sync()
        try await eventually(within: .seconds(120), "it is said") {
            log.all.contains { $0.contains("has closed its connection") }
        }
        #expect(!log.all.contains { $0.contains("out of memory") })
        await replicator.close()
        await b.close()
    }

    // MARK: The way to did-import

    @Test("A replicator that was started lives until it is stopped, whether anything else holds it or not")
    func startedLives() async throws {
        weak var known: Replicator?
        do {
            let (pool, replicator) = try await open("a", runs: true)
            await replicator.start()
            (known, _) = (replicator, pool)
        }
        let isAlive = known != nil
        #expect(isAlive)
        await known?.stop()
        await known?.close()
        for _ in 0..<3000 where known != nil { try await Task.sleep(for: .milliseconds(10)) }
        let isGone = known == nil
        #expect(isGone)
    }

    @Test("A replicator beside its program's own connection keeps the database open, one alone lets go of it")
    func staysOpen() async throws {
        let (_, replicator) = try await open("a", runs: true)
        // The file of another store, so that neither wakes the other.
        let alone = try await world.clone("b").replicator()
        await alone.start()
        try await eventually(within: .seconds(120), "the one alone rests") { await alone.isResting }
        #expect(await !replicator.isResting)
        await alone.stop()
        await replicator.stop()
        await alone.close()
        await replicator.close()
    }

    // MARK: Keys

    @Test("A key that is no text, as any peer may publish it, ends no program and is nobody's value")
    func strangeKey() async throws {
        let (a, b) = (try world.machine("a"), try world.machine("b"))
        func open(_ machine: Machine) async throws -> KeyValueStore {
            try await KeyValueStore.open(
                machine.path, container: world.container, content: "settings", peer: machine.name, runs: false,
                configuration: machine.configuration)
        }
        let (first, second) = (try await open(a), try await open(b))
        try a.execute("INSERT INTO entry VALUES(x'ff00', 1), (x'6b', 2)")
        try await first.set(3, for: "k")
        for store in [first, second] { #expect(try await store.synchronize()) }
        #expect(try b.count("SELECT count(*) FROM entry") == 3)
        #expect(try second.dictionaryRepresentation.keys.sorted() == ["k"])
        #expect(try second.usage.keys == 1 && second.usage.excess.isEmpty)
        #expect(try second.value(for: "k") == 3)
        await first.close()
        await second.close()
    }

    @Test("Another program's database keeps its journal when it is refused")
    func journal() async throws {
        let machine = try world.machine("a")
        try machine.makeDatabase()
        let error = await #expect(throws: LogSyncError.self) {
            try await KeyValueStore.open(
                machine.path, container: world.container, content: "settings", configuration: machine.configuration)
        }
        #expect(error?.code == .invalidStore)
        let database = try machine.database()
        #expect(try await database.read { try String.fetchOne($0, sql: "PRAGMA journal_mode") } == "delete")
        try database.close()
    }
}

extension Replicator {
    /// Whether the store's files were let go of.
    fileprivate var isResting: Bool { opened?.store.isResting ?? false }
    fileprivate var isOpen: Bool { opened != nil }
}
