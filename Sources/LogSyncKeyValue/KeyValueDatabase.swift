import Foundation
import GRDB
import LogSync
import LogSyncModel
import Synchronization

/// The connections of a key-value store: one that only reads, and one that writes.
///
/// NB: a DatabasePool would do as both, but writes whenever it is opened and the write-ahead log is empty, and so has even who
/// only reads wait for another program's transaction. May go when GRDB opens a pool without that.
final class KeyValueDatabase: Sendable {
    let path: String
    // Declared first, so that it is let go of first: the last connection empties the write-ahead log, which a reader cannot.
    /// nil where it is closed.
    private let reader: Mutex<DatabaseQueue?>
    let writer: DatabaseQueue
    private let configuration: SyncConfiguration

    /// Opens the database, and makes it where it is not there.
    ///
    /// - Throws: `LogSyncError`: `noPermission`, `cannotCreate`, `invalidStore`.
    init(_ path: String, _ configuration: SyncConfiguration) throws {
        self.path = path
        self.configuration = configuration
        var database = Configuration()
        database.busyMode = .timeout(configuration.wait / .seconds(1))
        do {
            writer = try DatabaseQueue(path: path, configuration: database)
            database.readonly = true
            reader = Mutex(try DatabaseQueue(path: path, configuration: database))
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CANTOPEN && access(path, F_OK) != 0 {
            let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
            throw LogSyncError(
                access(folder, F_OK) == 0 ? .noPermission : .cannotCreate, "\(path) could not be made",
                help: "Give a path in a folder that is there, and that this user may write")
        } catch let error as DatabaseError {
            throw LogSyncError(
                .invalidStore, "\(path) cannot be opened: \(error.message ?? "\(error.resultCode)")",
                help: "Give the path of a database, in a folder that is there")
        }
    }

    func close() throws {
        // Who reads now has it until then.
        reader.withLock { $0 = nil }
        try writer.close()
    }

    private var closed: LogSyncError {
        LogSyncError(.usage, "the key-value store \(path) is closed; nothing was done", help: "Open it again")
    }

    /// Removes a database that was just made for nothing. What another process has open, or has used, stays.
    func remove() throws {
        try close()
        var alone = Configuration()
        alone.busyMode = .immediateError
        do {
            try DatabaseQueue(path: path, configuration: alone).writeWithoutTransaction { db in
                // SQLite lets go of the write-ahead log for who has the database alone.
                try db.execute(sql: "PRAGMA journal_mode = DELETE")
                try db.inTransaction(.exclusive) {
                    let isUnused =
                        try !db.tableExists("logsync_store") && db.tableExists("entry")
                        && Row.fetchOne(db, sql: "SELECT 1 FROM entry") == nil
                    if isUnused { unlink(path) }
                    return .rollback
                }
            }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
            return
        }
    }

    /// Makes the tables where they are not there, and a journal in which nobody who reads waits for who writes. Writes nothing
    /// where all is there.
    ///
    /// - Throws: as ``write(_:)``.
    func makeTables() async throws {
        try await awaited {
            try await writer.writeWithoutTransaction { db in
                try db.execute(
                    sql: """
                        PRAGMA journal_mode = WAL;
                        CREATE TABLE IF NOT EXISTS entry(key TEXT PRIMARY KEY NOT NULL, value) WITHOUT ROWID;
                        CREATE TABLE IF NOT EXISTS local_account(name TEXT PRIMARY KEY NOT NULL, value TEXT);
                        """)
            }
        }
    }

    /// Reads in one transaction.
    ///
    /// - Throws: what `body` throws; `LogSyncError.locked` where a process has the database for itself for as long as
    ///   `configuration.wait`.
    func read<Result>(_ body: (Database) throws -> Result) throws -> Result {
        do {
            guard let reader = reader.withLock({ $0 }) else { throw closed }
            return try reader.read(body)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
            throw LogSyncError.heldAlone(path, by: configuration.lockHolder(path))
        }
    }

    /// Writes in one transaction.
    ///
    /// - Throws: what `body` throws; `LogSyncError.locked` where another program writes for as long as `configuration.wait`.
    func write<Result: Sendable>(_ body: @escaping @Sendable (Database) throws -> Result) async throws -> Result {
        try await awaited { try await writer.write(body) }
    }

    private func awaited<Result>(_ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
            throw LogSyncError.locked(path, by: configuration.lockHolder(path))
        } catch let error as DatabaseError where error.resultCode == .SQLITE_MISUSE {
            throw reader.withLock { $0 } == nil ? closed : error
        }
    }
}
