import Foundation
package import LogSyncModel

/// Why a database file cannot be opened. SQLite says that it cannot, and no more.
package enum OpenFailure {
    private static let nothingChanged = "nothing was changed"
    private static let permissionHelp = "Let this user read and write the database and its folder."

    /// What stands in the way of opening or making `path`, as the file system has it now.
    ///
    /// - Parameter message: what SQLite said, for where the file system has nothing to add.
    package static func error(_ path: String, message: String) -> LogSyncError {
        var status = stat()
        guard stat(path, &status) == 0 else { return absence(path, errno) }
        for file in [path, path + "-wal", path + "-shm", path + "-journal"] where stat(file, &status) == 0 {
            if let reason = refusal(file, R_OK) {
                return LogSyncError(
                    .noPermission, "\(file) may not be read: \(reason); \(nothingChanged)", help: permissionHelp)
            }
        }
        let folder = folder(of: path)
        if let reason = refusal(folder, W_OK | X_OK) {
            return LogSyncError(
                .noPermission,
                "\(path) cannot be opened, for its folder may not be written: \(reason); \(nothingChanged)",
                help: "SQLite keeps files of its own beside the database: let this user write \(folder).")
        }
        return LogSyncError(
            .ioError, "\(path) cannot be opened: \(message); \(nothingChanged)",
            help: "Look at the disk and at how many files may be open (ulimit -n), then run the command again.")
    }

    /// What keeps a database that is open from being written: one of its files, or what SQLite said. The files beside it have
    /// the mode that the database had when they were made.
    static func readOnly(_ path: String, message: String) -> LogSyncError {
        for file in [path + "-wal", path + "-shm"] where access(file, F_OK) == 0 {
            guard refusal(path, W_OK) == nil, let reason = refusal(file, W_OK) else { continue }
            return LogSyncError(
                .noPermission, "\(file) may not be written: \(reason)",
                help: "SQLite keeps it beside the database, which may be written: let this user write it, too.")
        }
        return LogSyncError(
            .noPermission, "\(path) may not be written: \(message)",
            help: "logsync needs to write the database and its folder.")
    }

    /// Nothing is at a path that is to be opened: said by its errno.
    package static func missing(_ path: String, _ number: CInt) -> LogSyncError {
        let reason = String(cString: strerror(number))
        switch number {
        case EACCES, EPERM:
            return LogSyncError(
                .noPermission, "\(path) may not be looked at: \(reason); \(nothingChanged)", help: permissionHelp)
        case EIO:
            return LogSyncError(
                .ioError, "\(path) could not be looked at: \(reason); \(nothingChanged)",
                help: "Look at the disk, then run the command again.")
        case ENAMETOOLONG:
            return LogSyncError(
                .cannotCreate, "\(path) cannot be there: \(reason); \(nothingChanged)",
                help: "Choose a shorter name: files lie beside a database whose names begin with its own.")
        default:
            return LogSyncError(
                .noStore, "there is no database at \(path)",
                help: "Make one with its own program, or with `logsync clone`.")
        }
    }

    /// A file that was to be made.
    private static func absence(_ path: String, _ number: CInt) -> LogSyncError {
        guard number == ENOENT || number == ENOTDIR else { return missing(path, number) }
        let folder = folder(of: path)
        if number == ENOENT, access(folder, F_OK) == 0, let reason = refusal(folder, W_OK | X_OK) {
            return LogSyncError(
                .noPermission, "\(path) could not be made: \(reason); \(nothingChanged)",
                help: "Choose a folder that this user may write.")
        }
        return LogSyncError(
            .cannotCreate, "\(path) could not be made: \(String(cString: strerror(number))); \(nothingChanged)",
            help: "Make the folder \(folder) first, or choose another.")
    }

    /// The reason why this process may not use a file so; nil where it may.
    private static func refusal(_ path: String, _ mode: CInt) -> String? {
        faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0 ? nil : String(cString: strerror(errno))
    }

    private static func folder(of path: String) -> String {
        let folder = (path as NSString).deletingLastPathComponent
        return folder.isEmpty ? "." : folder
    }
}
