import Foundation
import LogSyncSQLite

/// Files that are let go of between transactions.
extension StoreConnection {
    /// Whether the connection was let go of and nobody has written since.
    var isUntouchedAtRest: Bool {
        box.lock.lock()
        defer { box.lock.unlock() }
        return box.rest.map { $0 == RestingFiles(path) } ?? false
    }

    /// Whether the connection was let go of.
    var isResting: Bool {
        box.lock.lock()
        defer { box.lock.unlock() }
        return box.rest != nil
    }

    /// How often the database was opened: what connections count begins anew each time.
    var openings: Int64 {
        box.lock.lock()
        defer { box.lock.unlock() }
        return box.openings
    }

    /// Lets go of the files until they are needed, and leaves them as they are.
    ///
    /// - Parameter files: what they were before it was last looked whether anything is to be done.
    func rest(_ files: RestingFiles) throws {
        box.lock.lock()
        defer { box.lock.unlock() }
        guard box.queue != nil, box.store?.settled.isEmpty ?? true else { return }
        try closeQueue { try box.connection?.disableCheckpointOnClose() }
        box.rest = files
    }

    /// Copies the log into the database and empties it, where nobody reads or writes it, and waits for nobody.
    ///
    /// It is emptied and not removed: who removes a log has the database alone meanwhile, and who opens it then is told that it
    /// is locked.
    ///
    /// - Returns: whether it is empty.
    func emptyLog() throws -> Bool {
        try withConnection { connection in
            guard try isInPlace(connection) else { return false }
            return try box.wait.inhibited { try connection.emptyLog() }
        }
    }
}
