import Foundation
package import GRDB
package import LogSyncModel
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

    package init(_ configuration: StoreConfiguration) { self.configuration = configuration }

    /// Which store it has to be that the program's connection is open on.
    package struct Expected: Sendable {
        package var peer: PeerID
        package var inode: UInt64
        /// How far that peer is known to have recorded.
        package var sequence: UInt64

        package init(peer: PeerID, inode: UInt64, sequence: UInt64) {
            (self.peer, self.inode, self.sequence) = (peer, inode, sequence)
        }
    }

    /// Records what was captured and is not recorded yet. Where it throws, nothing of logsync's tables is changed, and what
    /// was captured stays so.
    ///
    /// - Throws: `usage` where no transaction is open, or the connection is one to another file; `locked` where the file is
    ///   not the one that is expected, or an older state of it; `notReplicated`, `newerFormat`, `invalidStore`, `ioError`.
    package func record(on db: Database, _ expected: Expected, author: String?, context: String?) throws {
        guard let handle = db.sqliteConnection else {
            throw LogSyncError(.invalidStore, "the program's connection is closed; nothing was recorded")
        }
        guard db.isInsideTransaction else {
            throw LogSyncError(
                .usage, "nothing was recorded: there is no transaction on the program's connection",
                help: "Call it within GRDB's write or inTransaction")
        }
        lock.lock()
        defer { lock.unlock() }
        let connection = Connection(handle)
        defer { connection.finalizeStatements() }
        try connection.execute("SAVEPOINT logsync_recording")
        do {
            try record(on: connection, expected, author: author, context: context)
            connection.finalizeStatements()
            try connection.execute("RELEASE logsync_recording")
        } catch {
            store = nil
            connection.finalizeStatements()
            // A full disk, or an I/O error, has undone the whole transaction.
            if connection.isInTransaction {
                try connection.execute("ROLLBACK TO logsync_recording; RELEASE logsync_recording")
            }
            throw error
        }
    }

    private func record(on connection: Connection, _ expected: Expected, author: String?, context: String?) throws {
        try check(connection, expected.inode)
        let facts = StoreFacts(connection)
        let generation = try facts.value("generation")?.asInteger ?? 0
        let store = try open(connection, generation)
        guard store.ownID == expected.peer, store.peers.vector[expected.peer] >= expected.sequence else {
            throw LogSyncError(
                .locked,
                "\(connection.path) has become another peer, or an older state of itself; nothing was recorded",
                help: "What was captured is kept, and recorded by the next sync")
        }
        guard try RecordStep.isNeeded(store) else { return }
        let recorded = try RecordStep(store, author: author, context: context).runDeferringShownRows()
        guard recorded != nil else {
            // What else was done is not worth keeping in memory.
            return self.store = nil
        }
        self.generation = generation &+ Self.stride
        try facts.set("generation", .integer(self.generation))
        try store.saveDigest()
        if try connection.integer("PRAGMA synchronous") ?? 2 < 2 {
            try facts.set(StoreFacts.unsynchronized, .integer(1))
        }
    }

    /// Others count generations by one: so none comes to the number of a transaction that was undone.
    private static var stride: Int64 { .random(in: 1 << 20..<1 << 40) }

    private func check(_ connection: Connection, _ inode: UInt64) throws {
        var status = stat()
        // `stat` opens nothing.
        guard stat(connection.path, &status) == 0, UInt64(status.st_ino) == inode else {
            throw LogSyncError(
                .usage,
                "the connection is one to \(connection.path), not to the replicator's store; nothing was recorded",
                help: "Record by the replicator of that file")
        }
        guard try Store.isReplicated(connection) else {
            throw LogSyncError(
                .notReplicated, "\(connection.path) is no store any more; nothing was recorded",
                help: "Initialize or clone it")
        }
    }

    private func open(_ connection: Connection, _ generation: Int64) throws -> OpenStore {
        if let store, generation == self.generation {
            store.connection = connection
            return store
        }
        let format = try StoreFacts(connection).value("format")?.asInteger ?? 0
        guard format == StoreSchema.formatVersion else {
            throw LogSyncError(
                .newerFormat,
                "\(connection.path) was written by another logsync (store format \(format)); nothing was recorded",
                help: "Use that version here too.")
        }
        let store = try OpenStore(connection, configuration: configuration)
        (self.store, self.generation) = (store, generation)
        return store
    }
}

extension Store {
    /// Sees to it that what was recorded survives a power cut, before it is published, or said outside the store: also what
    /// programs have recorded by connections of their own.
    package func synchronize() throws {
        if try database.read({ try $0.facts.value(StoreFacts.unsynchronized) == .integer(1) }) {
            // In a log, what makes this commit durable does so with all that stands before it.
            try database.write(repeats: true) { try $0.facts.set(StoreFacts.unsynchronized, .integer(0)) }
        } else {
            try database.synchronize()
        }
    }
}
