import Foundation
import GRDB
import GRDBSQLite
import LogSyncModel
import LogSyncSQLite

/// The one connection of a store file, the transactions on it, and the ``OpenStore`` that is kept between them.
///
/// The file is its program's: some programs want it for themselves, which as long as any connection is open they do not
/// get. So the connection can be let go of between transactions (``rest(_:)``); the next one opens it again.
final class StoreConnection: Sendable {
    let path: String
    let configuration: StoreConfiguration
    let box: Box

    /// What is touched by one thread at a time.
    ///
    /// Unchecked because it is read and written while its lock is held alone, and when nobody else has it any more.
    final class Box: @unchecked Sendable {
        let lock = NSLock()
        /// nil while the connection rests, or is closed.
        var queue: DatabaseQueue?
        var isClosed = false
        var connection: Connection?
        var store: OpenStore?
        var generation: Int64 = -1
        var files: OpenFiles
        var turns = LockTurns()
        /// Whether commits go into a log, which is synchronized after them.
        var isLogged = false
        /// How many rows this connection had ever changed when the transaction under way began.
        var changesBefore: Int64 = 0
        /// Whether something was committed and not synchronized.
        var isUnsynchronized = false
        /// How often it was opened.
        var openings: Int64 = 1
        /// What a transaction that writes has to find; nil where that is not known.
        var expected: ExpectedStore?
        /// What the files were when the connection was let go of; nil while it is open.
        var rest: RestingFiles?

        /// How it waits for other programs.
        let wait: BusyWait

        init(_ queue: DatabaseQueue, _ files: OpenFiles, _ wait: BusyWait) {
            self.queue = queue
            self.files = files
            self.wait = wait
        }
    }

    init(_ path: String, configuration: StoreConfiguration, mayCreate: Bool = false) throws {
        self.path = path
        self.configuration = configuration
        if !mayCreate { try Self.checkFile(path) }
        let wait = BusyWait(path, configuration)
        let (queue, files) = try Self.opened(path, configuration, wait)
        box = Box(queue, files, wait)
    }

    private static func opened(
        _ path: String, _ configuration: StoreConfiguration, _ wait: BusyWait
    ) throws -> (DatabaseQueue, OpenFiles) {
        var database = GRDB.Configuration()
        database.busyMode = .callback { wait.goesOn(after: $0) }
        database.foreignKeysEnabled = false
        database.label = "logsync"
        database.prepareDatabase { db in
            if let handle = db.sqliteConnection {
                try Connection.defend(handle, trustsSchema: true)
                for loadable in configuration.extensions { try Connection.load(loadable, into: handle) }
            }
            // What is published must not be lost by a power cut afterwards; see ``commit(_:isDurable:)``.
            try db.execute(sql: "PRAGMA synchronous = FULL")
            try db.execute(sql: "PRAGMA cache_size = -\(configuration.pageCache >> 10)")
            try db.execute(sql: "PRAGMA temp_store = MEMORY")
        }
        do {
            return try open(path, database)
        } catch let error as DatabaseError {
            // Who only reads waits for no transaction, but for one who lets nobody in.
            if error.resultCode == .SQLITE_BUSY {
                throw LogSyncError.heldAlone(path, by: configuration.lockHolder(path))
            }
            throw SQLiteFailure.error(
                code: error.extendedResultCode.rawValue, message: error.message ?? "", file: path, sql: error.sql ?? "")
        }
    }

    /// How often files may be replaced while they are opened.
    private static let attempts = 3

    /// Opens the database and its log, and says which files these are.
    private static func open(
        _ path: String, _ configuration: GRDB.Configuration
    ) throws -> (DatabaseQueue, OpenFiles) {
        for _ in 0..<attempts {
            let before = OpenFiles(path)
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            // The log is opened by the first that reads.
            try queue.inDatabase { _ = try Row.fetchOne($0, sql: "SELECT 1 FROM sqlite_master") }
            let files = OpenFiles(path)
            if files.include(before) { return (queue, files) }
            try queue.inDatabase { db in
                if let handle = db.sqliteConnection { try Connection(handle).disableCheckpointOnClose() }
            }
            try queue.close()
        }
        throw LogSyncError(
            .locked, "\(path) is being replaced; nothing was changed",
            help: "Run the command again when it is in place.")
    }

    private static func checkFile(_ path: String) throws {
        var status = stat()
        guard stat(path, &status) == 0 else { throw OpenFailure.missing(path, errno) }
        if status.st_mode & S_IFMT == S_IFDIR {
            throw LogSyncError(
                .noStore, "\(path) is a directory, not a database", help: "Give the path of the database in it.")
        }
    }

    deinit {
        box.queue?.unsafeReentrantWrite { _ in leaveDisplacedFilesAlone() }
        // SQLite keeps a connection, and its files, open for as long as it has statements; nobody else has this one now.
        box.store = nil
        box.connection?.finalizeStatements()
    }

    func close() throws {
        box.lock.lock()
        defer { box.lock.unlock() }
        box.isClosed = true
        try closeQueue { leaveDisplacedFilesAlone() }
    }

    func closeQueue(_ prepare: () throws -> Void) throws {
        guard let queue = box.queue else { return }
        try queue.inDatabase { _ in
            box.store = nil
            box.connection?.finalizeStatements()
            // Last, because it may keep others out until the end.
            try prepare()
            box.connection?.finalizeStatements()
        }
        do {
            try queue.close()
        } catch {
            queue.inDatabase { _ in box.connection?.unlockAlone() }
            throw error
        }
        (box.queue, box.connection) = (nil, nil)
    }

    /// The queue, of a connection that is opened where it rested.
    private func queue() throws -> DatabaseQueue {
        if let queue = box.queue { return queue }
        guard !box.isClosed else { throw LogSyncError(.invalidStore, "the connection to \(path) is closed") }
        try Self.checkFile(path)
        if let rest = box.rest, !rest.isSameDatabase(as: RestingFiles(path)) { throw replaced(path) }
        let (queue, files) = try Self.opened(path, configuration, box.wait)
        (box.queue, box.files, box.rest, box.isLogged) = (queue, files, nil, false)
        box.openings += 1
        return queue
    }

    // MARK: Files

    /// Whether the files that are open are still those of the path: neither the database nor its log was replaced or removed.
    /// While the connection rests, no log is open.
    func isInPlace() throws -> Bool {
        box.lock.lock()
        if let rest = box.rest {
            defer { box.lock.unlock() }
            return rest.isSameDatabase(as: RestingFiles(path))
        }
        box.lock.unlock()
        return try withConnection { try isInPlace($0) }
    }

    func isInPlace(_ connection: Connection) throws -> Bool { try displacedFile(connection) == nil }

    /// The path of a file that is open here and is not the one at that path any more.
    private func displacedFile(_ connection: Connection) throws -> String? {
        try box.files.displaced { try connection.isLogged }
    }

    func checkFiles(_ connection: Connection) throws {
        guard let file = try displacedFile(connection) else { return }
        throw replaced(file)
    }

    /// The log that is open here and stands beside another database by now; nil for none.
    func strandedLog() -> StrandedLog? {
        box.lock.lock()
        defer { box.lock.unlock() }
        return box.queue == nil ? nil : box.files.strandedLog()
    }

    private func replaced(_ file: String) -> LogSyncError {
        LogSyncError(
            .locked, "\(file) was replaced or removed while \(path) was open here; nothing was written",
            help: "Run the command again. Stop every program that has a database open before it is restored.")
    }

    /// Has closing write nothing where the files that are open are no longer those of the path.
    func leaveDisplacedFilesAlone() {
        guard let connection = box.connection else { return }
        // SQLite removes the log by name: between this look and that, nobody may open the database and find no log, as where
        // one was deleted. Where others have it open, the log is theirs to remove.
        let isAlone = (try? connection.isLogged) == false || connection.lockAlone()
        // Where it cannot be told, nothing is lost by leaving the log to who opens the database next.
        let isInPlace = (try? isInPlace(connection)) ?? false
        // It fails for no connection that is open.
        if !isAlone || !isInPlace { try? connection.disableCheckpointOnClose() }
    }

    // MARK: Transactions

    func expect(_ expected: ExpectedStore?) {
        box.lock.lock()
        defer { box.lock.unlock() }
        box.expected = expected
    }

    /// Runs `body` without a transaction, the main schema's triggers off.
    func withConnection<Result>(_ body: (Connection) throws -> Result) throws -> Result {
        box.lock.lock()
        defer { box.lock.unlock() }
        do {
            return try queue().inDatabase { db in try body(try connection(db)) }
        } catch let error as DatabaseError {
            throw SQLiteFailure.error(
                code: error.extendedResultCode.rawValue, message: error.message ?? "", file: path, sql: error.sql ?? "")
        }
    }

    /// How long a transaction may have taken that is undone because another program reads, in seconds, and how long it is waited
    /// until it is done again, in microseconds.
    private static let repeatable = 0.005
    static let pause: UInt32 = 3000

    /// Another program has begun to read, and what was done is done again.
    private struct Again: Error {}

    /// Runs `body` in a write transaction; undoes everything where it throws.
    ///
    /// - Parameters:
    ///   - repeats: whether `body` does nothing but to write, so that it may be done again where another program has begun to
    ///     read meanwhile.
    ///   - isDurable: as ``commit(_:isDurable:)`` takes it.
    ///   - isNews: false where nothing is written that anybody's ``OpenStore`` keeps in memory: programs that record go on
    ///     with theirs then.
    ///   - takesTurns: as ``begin(_:attempts:takesTurns:)`` takes it.
    func write<Result>(
        repeats: Bool = false, isDurable: Bool = true, isNews: Bool = true, takesTurns: Bool = true,
        _ body: (OpenStore) throws -> Result
    ) throws -> Result {
        while true {
            do {
                return try writeOnce(isDurable: isDurable, isNews: isNews, takesTurns: takesTurns) { store, start in
                    let result = try body(store)
                    let isShort = start.duration(to: .now) < .seconds(Self.repeatable)
                    if repeats, isShort, configuration.isRead(path) { throw Again() }
                    return result
                }
            } catch is Again { usleep(Self.pause) }
        }
    }

    private func writeOnce<Result>(
        isDurable: Bool, isNews: Bool, takesTurns: Bool,
        _ body: (OpenStore, ContinuousClock.Instant) throws -> Result
    ) throws -> Result {
        try withConnection { connection in
            let start = try begin(connection, takesTurns: takesTurns)
            defer { box.turns.noteEnd(of: start) }
            do {
                try checkFiles(connection)
                let store = try currentSession(connection)
                if let expected = box.expected, !expected.isThere(store) { throw UnexpectedStore() }
                let before = connection.totalChanges
                let result = try body(store, start)
                try store.keepSettledHistory()
                if store.hasSubscriptions { try Subscriptions(store: store).serve() }
                if isNews, connection.totalChanges != before {
                    try store.raiseAllocators()
                    box.generation += 1
                    try store.save(generation: box.generation)
                }
                try commit(connection, isDurable: isDurable)
                return result
            } catch {
                try undo(connection, after: error)
                throw error
            }
        }
    }

    /// Runs `body` in a brief write transaction of which nobody needs to know: what ``OpenStore`` keeps in memory is not touched.
    func writeAside<Result>(_ body: (Connection) throws -> Result) throws -> Result {
        try write(endsSession: false, takesTurns: false, body)
    }

    /// Runs `body` on one state of the store.
    func read<Result>(_ body: (OpenStore) throws -> Result) throws -> Result {
        try withConnection { connection in
            try connection.execute("BEGIN")
            do {
                let result = try body(try currentSession(connection))
                try connection.execute("COMMIT")
                return result
            } catch {
                try undo(connection, after: error)
                throw error
            }
        }
    }

    /// Runs `body` in a write transaction on a database that is not a store yet, or is to be none any more.
    func writeRaw<Result>(_ body: (Connection) throws -> Result) throws -> Result {
        try write(endsSession: true, takesTurns: true, body)
    }

    private func write<Result>(
        endsSession: Bool, takesTurns: Bool, _ body: (Connection) throws -> Result
    ) throws -> Result {
        try withConnection { connection in
            let start = try begin(connection, takesTurns: takesTurns)
            defer { box.turns.noteEnd(of: start) }
            do {
                try checkFiles(connection)
                let result = try body(connection)
                try commit(connection)
                if endsSession { box.store = nil }
                return result
            } catch {
                try undo(connection, after: error)
                throw error
            }
        }
    }

    /// What the transactions so far have settled, see ``OpenStore/settled``.
    func takeSettled() throws -> [String: TableChanges] {
        box.lock.lock()
        defer { box.lock.unlock() }
        defer { box.store?.settled = [:] }
        return box.store?.settled ?? [:]
    }

    func undo(_ connection: Connection, after error: any Error) throws {
        box.store = nil
        connection.finalizeStatements()
        // Some errors (a full disk, an I/O error) have already rolled back.
        if connection.isInTransaction { try connection.execute("ROLLBACK") }
    }

    private func connection(_ db: Database) throws -> Connection {
        if let connection = box.connection { return connection }
        guard let handle = db.sqliteConnection else {
            throw LogSyncError(.invalidStore, "the connection to \(path) is closed")
        }
        let connection = Connection(handle)
        try connection.setTriggersEnabled(false)
        // GRDB's authorizer tells its observers which tables a statement touches; nobody observes here, and it would be
        // asked for every column of every statement.
        sqlite3_set_authorizer(handle, nil, nil)
        box.connection = connection
        return connection
    }

    /// The open store, read anew where another logsync wrote the store meanwhile.
    func currentSession(_ connection: Connection) throws -> OpenStore {
        let generation = try StoreFacts(connection).value("generation")?.asInteger ?? 0
        if let store = box.store, generation == box.generation { return store }
        connection.finalizeStatements()
        try connection.boundFunctions()
        let store = try OpenStore(connection, configuration: configuration)
        box.store = store
        box.generation = generation
        return store
    }
}
