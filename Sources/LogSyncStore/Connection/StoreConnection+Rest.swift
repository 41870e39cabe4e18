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

    /// The same, of files whose log has been copied: where nobody else has the database open, the log goes, as it does with
    /// the last program that closes it.
    ///
    /// - Parameter files: what they were after that, and before it was last looked whether anything is to be done.
    /// - Returns: whether nobody has written meanwhile, as far as the files show.
    func restAsOneFile(_ files: RestingFiles) throws -> Bool {
        box.lock.lock()
        defer { box.lock.unlock() }
        guard box.queue != nil, box.store?.settled.isEmpty ?? true else { return true }
        try closeQueue { leaveDisplacedFilesAlone() }
        let now = RestingFiles(path)
        let isUnchanged = now == files || now.isWithoutLog && now.isDatabaseUnchanged(since: files)
        box.rest = isUnchanged ? now : files
        return isUnchanged
    }
}
