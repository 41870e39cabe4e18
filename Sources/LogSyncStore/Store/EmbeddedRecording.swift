import Foundation
package import GRDB
import LogSyncFormat
import LogSyncModel
import LogSyncSQLite

/// Records what a program's own transaction has changed, within that transaction and on the program's connection.
///
/// The program holds SQLite's write lock, so nothing may be waited for that another thread lets go of only when it has had
/// that lock: neither the store's connection nor the lock of its steps. What is kept in memory between transactions is
/// therefore this object's own. It holds as long as the store's generation says so; a transaction that the program undoes
/// leaves the generation that was, and the next recording reads the store anew.
///
/// Unchecked because what is kept is touched only while `lock` is held.
package final class EmbeddedRecording: @unchecked Sendable {
    private let configuration: StoreConfiguration
    private let lock = NSLock()
    private var store: OpenStore?
    private var generation: Int64 = -1
    private var programs: [Program] = []

    /// A program's connection, as long as it is open.
    private struct Program {
        let statements: ProgramStatements
        let connection: Connection
    }

    package init(_ configuration: StoreConfiguration) { self.configuration = configuration }

    /// Runs `updates` within a transaction of the program's, and records what it changed as one transaction; what was captured
    /// before it is recorded apart.
    ///
    /// - Parameter isUndone: whether the transaction is undone where this throws; else logsync's tables have to be as they were
    ///   by themselves, which costs SQLite a copy of each page that is written.
    /// - Returns: what `updates` returns.
    /// - Throws: what `updates` throws, and as ``record(on:_:author:context:isUndone:)``.
    package func record<Result>(
        on db: Database, _ expected: ExpectedStore, author: String?, context: String?, isUndone: Bool = false,
        _ updates: () throws -> Result
    ) throws -> Result {
        try record(on: db, expected, author: nil, context: nil, isUndone: isUndone)
        let result = try updates()
        try record(on: db, expected, author: author, context: context, isUndone: isUndone)
        return result
    }

    /// Records what was captured and is not recorded yet. Where it throws, nothing of logsync's tables is changed, and what
    /// was captured stays so.
    ///
    /// - Throws: `usage` where no transaction is open, or the connection is one to another file; `locked` where the file is
    ///   not the one that is expected, or an older state of it; `notReplicated`, `newerFormat`, `invalidStore`, `ioError`.
    package func record(
        on db: Database, _ expected: ExpectedStore, author: String?, context: String?, isUndone: Bool = false
    ) throws {
        guard db.sqliteConnection != nil else {
            throw LogSyncError(.invalidStore, "the program's connection is closed; nothing was recorded")
        }
        guard db.isInsideTransaction else {
            throw LogSyncError(
                .usage, "nothing was recorded: there is no transaction on the program's connection",
                help: "Call it within GRDB's write or inTransaction")
        }
        lock.lock()
        defer { lock.unlock() }
        let connection = try connection(of: db)
        defer { connection.resetStatements() }
        var hasBegun = false
        do {
            try record(on: connection, expected, author: author, context: context) {
                guard !isUndone else { return }
                try connection.run("SAVEPOINT logsync_recording")
                hasBegun = true
            }
            if hasBegun { try connection.run("RELEASE logsync_recording") }
        } catch {
            store = nil
            connection.resetStatements()
            // A full disk, or an I/O error, has undone the whole transaction.
            if hasBegun, connection.isInTransaction {
                try connection.execute("ROLLBACK TO logsync_recording; RELEASE logsync_recording")
            }
            throw error
        }
    }

    private func record(
        on connection: Connection, _ expected: ExpectedStore, author: String?, context: String?,
        _ begin: () throws -> Void
    ) throws {
        guard connection.inode == expected.inode else {
            throw LogSyncError(
                .usage,
                "the connection is one to \(connection.path), not to \(expected.path); nothing was recorded",
                help: "Record by the replicator of that file")
        }
        let facts = try ProgramFacts(connection)
        let store = try open(connection, facts)
        let before = connection.totalChanges
        let recorded = try RecordStep(store, author: author, context: context).runDeferringShownRows {
            guard expected.isThere(store) else {
                throw LogSyncError(
                    .locked,
                    "\(connection.path) has become another peer, or an older state of itself; nothing was recorded",
                    help: "What was captured is kept, and recorded by the next sync")
            }
            try begin()
        }
        guard connection.totalChanges != before else { return }
        // Others count generations by one: so none comes to the number of a transaction that was undone.
        generation = facts.generation &+ .random(in: 1 << 20..<1 << 40)
        try store.save(generation: generation)
        // What else was done is not worth keeping in memory.
        if recorded == nil { self.store = nil }
        if try !facts.isUnsynchronized && connection.integer("PRAGMA synchronous") ?? 2 < 2 {
            try store.facts.set(StoreFacts.unsynchronized, .integer(1))
        }
    }

    private func connection(of db: Database) throws -> Connection {
        programs.removeAll { $0.statements.database == nil }
        if let known = programs.first(where: { $0.statements.database === db }) { return known.connection }
        guard let handle = db.sqliteConnection else {
            throw LogSyncError(.invalidStore, "the program's connection is closed; nothing was recorded")
        }
        let statements = ProgramStatements(db)
        let program = Program(statements: statements, connection: Connection(handle, statements: statements))
        programs.append(program)
        return program.connection
    }

    private func open(_ connection: Connection, _ facts: ProgramFacts) throws -> OpenStore {
        // The sequence tells a database that was restored, where others have counted as far again since.
        if let store, facts.generation == generation, facts.sequence == store.peers.entries[store.own]?.sequence {
            store.connection = connection
            return store
        }
        let store = try OpenStore(connection, configuration: configuration)
        (self.store, generation) = (store, facts.generation)
        return store
    }
}

/// What a recording asks each time, by one statement: what no generation tells of, and the generation.
private struct ProgramFacts {
    let generation: Int64
    let isUnsynchronized: Bool
    /// Of the store's own peer.
    let sequence: UInt64

    /// - Throws: `notReplicated`, `newerFormat`.
    init(_ connection: Connection) throws {
        let row: LogSyncSQLite.Statement
        do {
            row = try connection.prepare(Self.sql)
            _ = try row.step()
        } catch {
            // There is no such table.
            guard try Store.isReplicated(connection) else { throw Self.notReplicated(connection) }
            throw error
        }
        defer { row.reset() }
        let format = row.integer(0)
        guard format != StoreSchema.unfinishedFormat else { throw Self.notReplicated(connection) }
        guard format == StoreSchema.formatVersion else {
            throw LogSyncError(
                .newerFormat,
                "\(connection.path) was written by another logsync (store format \(format)); nothing was recorded",
                help: "Use that version here too.")
        }
        generation = row.integer(1)
        isUnsynchronized = row.integer(2) == 1
        sequence = UInt64(clamping: row.integer(3))
    }

    private static func notReplicated(_ connection: Connection) -> LogSyncError {
        LogSyncError(
            .notReplicated, "\(connection.path) is no store any more; nothing was recorded",
            help: "Initialize or clone it")
    }

    private static let sql =
        "SELECT "
        + (["format", "generation", StoreFacts.unsynchronized].map(fact)
        + ["(SELECT sequence FROM logsync_peer WHERE id = \(fact("peer")))"]).joined(separator: ", ")

    private static func fact(_ key: String) -> String { "(SELECT value FROM logsync_store WHERE key = '\(key)')" }
}

extension Store {
    /// Sees to it that what was recorded survives a power cut, before it is published, or said outside the store: also what
    /// programs have recorded by connections of their own.
    package func synchronize() throws {
        if try database.read({ try $0.facts.value(StoreFacts.unsynchronized) == .integer(1) }) {
            // In a log, what makes this commit durable does so with all that stands before it.
            try database.write(repeats: true, isNews: false) {
                try $0.facts.set(StoreFacts.unsynchronized, .integer(0))
            }
        } else {
            try database.synchronize()
        }
    }
}
