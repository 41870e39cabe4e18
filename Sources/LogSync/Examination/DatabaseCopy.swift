import GRDB
import LogSyncModel

/// A copy of a database, to try on it what is not to be done to the database.
enum DatabaseCopy {
    /// Copies a database as SQLite sees it, with what is still in its write-ahead log.
    /// - Throws: `noStore` where there is no such file; `invalidStore` where it is no database; `locked`; `noPermission`; `ioError`.
    static func make(of file: String, at copy: String) throws {
        let source = try place(of: file).path
        do {
            var configuration = GRDB.Configuration()
            configuration.readonly = true
            configuration.busyMode = .timeout(5)
            let from = try DatabaseQueue(path: source, configuration: configuration)
            let to = try DatabaseQueue(path: copy)
            try from.backup(to: to)
            try from.close()
            try to.close()
        } catch let error as DatabaseError {
            let code: LogSyncError.Code =
                switch error.resultCode {
                case .SQLITE_NOTADB, .SQLITE_CORRUPT: .invalidStore
                case .SQLITE_BUSY: .locked
                case .SQLITE_CANTOPEN, .SQLITE_READONLY, .SQLITE_PERM: .noPermission
                default: .ioError
                }
            if [.SQLITE_FULL, .SQLITE_IOERR].contains(error.resultCode) {
                // What SQLite says of it is said of whichever of the two it was asked for last.
                let reason = error.extendedResultCode.description
                throw LogSyncError(
                    code, "\(file) could not be copied to \(copy): \(reason); nothing was changed",
                    help: "Set TMPDIR to a folder that this user may write, with room for all of it")
            }
            throw LogSyncError(
                code,
                "\(file) could not be read: \(error.message ?? error.resultCode.description); nothing was changed",
                help: "Give the path of a SQLite database")
        }
    }

    private static func place(of file: String) throws -> StorePlace {
        do {
            return try StorePlace(file)
        } catch {
            guard error.code == .noStore else { throw error }
            throw LogSyncError(
                .noStore, "there is no database at \(file); nothing was changed",
                help: "Give the path of a SQLite database")
        }
    }
}
