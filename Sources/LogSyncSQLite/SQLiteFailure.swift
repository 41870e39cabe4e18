import Foundation
import GRDBSQLite
package import LogSyncModel

/// SQLite's result codes as ``LogSyncError``. Source: <https://www.sqlite.org/rescode.html>.
package enum SQLiteFailure {
    /// SQLITE_READONLY_DIRECTORY, which is a macro that Swift does not see.
    private static let readOnlyFolder = SQLITE_READONLY | (6 << 8)

    /// What stands between SQLite's own words and what logsync adds to them.
    static let codeWords = " (SQLite code "

    /// SQLITE_IOERR_READ, likewise.
    private static let readError = SQLITE_IOERR | (1 << 8)

    /// What SQLite makes beside a database, it makes in pieces of 32 KiB.
    private static let leastSpace: UInt64 = 64 << 10

    /// What the disk that holds a file lacks for what SQLite makes beside it.
    private enum Lack {
        case nothing, space, files

        init(_ file: String) {
            var status = statvfs()
            guard !file.isEmpty, statvfs(file, &status) == 0 else {
                self = .nothing
                return
            }
            // A file system that has no files at all does not count them.
            let lacksFiles = status.f_files > 0 && (geteuid() == 0 ? status.f_ffree : status.f_favail) == 0
            let (room, isHuge) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
            self = !isHuge && room < leastSpace ? .space : lacksFiles ? .files : .nothing
        }
    }

    private static func diskFull(_ store: String, _ lack: Lack = .space) -> LogSyncError {
        lack == .files
            ? LogSyncError(
                .ioError,
                "the disk that holds \(store) has no inodes left for further files; what had not been committed was undone",
                help: "Delete files there that nobody needs, and run the command again.")
            : LogSyncError(
                .ioError, "the disk that holds \(store) is full; what had not been committed was undone",
                help: "Free some space and run the command again.")
    }

    package static func error(code: Int32, message: String, file: String, sql: String) -> LogSyncError {
        let store = file.isEmpty ? "the store" : file
        switch code & 0xFF {
        case SQLITE_BUSY, SQLITE_LOCKED:
            return .locked(store)
        case SQLITE_NOTADB, SQLITE_CORRUPT:
            return LogSyncError(
                .invalidStore, "\(store) is not a sound SQLite database: \(message)",
                help: "Check it with: sqlite3 \(store.asShellArgument) 'PRAGMA integrity_check'")
        case SQLITE_FULL: return diskFull(store)
        // Where it cannot make the -wal or the -shm it does not say why.
        case SQLITE_IOERR where code != readError && Lack(file) != .nothing, SQLITE_CANTOPEN where Lack(file) == .files:
            return diskFull(store, Lack(file))
        case SQLITE_IOERR:
            return LogSyncError(
                .ioError, "\(store) could not be read or written: \(message); what had not been committed was undone",
                help: "Look at the disk, then run the command again.")
        // Said where the folder may not be written; where it is mounted read-only, it is SQLITE_CANTOPEN.
        case SQLITE_READONLY where code == readOnlyFolder: return OpenFailure.error(store, message: message)
        case SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH: return OpenFailure.readOnly(store, message: message)
        case SQLITE_CANTOPEN:
            return OpenFailure.error(store, message: message)
        default:
            return LogSyncError(
                .invalidStore,
                "\(store): \(message)\(codeWords)\(code), in: \(sql.prefix(200))); what had not been committed was undone",
                help: ProgramDefinition(lackedBy: message).map { lacking in
                    "The \(lacking.words) is the program's own: \(LoadableExtension.remedy). logsync doctor names that."
                } ?? "logsync doctor looks the store over.")
        }
    }
}
