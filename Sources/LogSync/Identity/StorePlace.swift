import Foundation
import LogSyncContainer
import LogSyncModel

/// Where a store's file is, and which file it is.
struct StorePlace: Equatable {
    /// Absolute, symbolic links resolved.
    var path: String
    var inode: UInt64

    /// - Throws: `noStore` where there is no file; `noPermission` where that may not be looked for.
    init(_ path: String) throws(LogSyncError) {
        var status = stat()
        guard let resolved = realpath(HomeDirectory.expand(path), nil) else { throw Self.missing(path) }
        defer { free(resolved) }
        self.path = String(cString: resolved)
        // `stat` opens nothing, so SQLite's locks are safe from it.
        guard stat(self.path, &status) == 0 else { throw Self.missing(path) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw LogSyncError(
                .invalidStore, "\(path) is not a file; nothing was done", help: "Give the path of a SQLite database")
        }
        inode = UInt64(status.st_ino)
    }

    /// What is published of the store may be read and written by those who may read and write the store, and by nobody else.
    var permissions: FilePermissions {
        var status = stat()
        return stat(path, &status) == 0 ? FilePermissions(mode: UInt32(status.st_mode)) : FilePermissions(mode: 0o600)
    }

    private static func missing(_ path: String) -> LogSyncError {
        let (number, reason) = (errno, String(cString: strerror(errno)))
        guard number != EACCES, number != EPERM else {
            return LogSyncError(
                .noPermission, "\(path) may not be looked at: \(reason); nothing was done",
                help: "Let this user read and write the database and its folder")
        }
        return LogSyncError(
            .noStore, "there is no store at \(path): \(reason)",
            help: "logsync init makes an existing database a store, logsync clone makes a new one")
    }

    /// The absolute path, symbolic links resolved in all of it that exists.
    static func absolute(_ path: String) -> String {
        // `URL` would ask the user database where home is.
        let url = URL(fileURLWithPath: HomeDirectory.expand(path)).standardizedFileURL
        let directory = url.deletingLastPathComponent().resolvingSymlinksInPath().path
        return (directory == "/" ? "" : directory) + "/" + url.lastPathComponent
    }

    /// The absolute path of a container, as ``absolute(_:)``.
    ///
    /// The folder is looked at first: of a mount that hangs that is noted, so that it is said. What resolves its path would
    /// wait unnoticed.
    static func absolute(container: String, _ fileSystem: any FileSystem) -> String {
        _ = try? fileSystem.status(HomeDirectory.expand(container), followingLinks: true)
        return absolute(container)
    }

    /// Refuses a place where a store would be corrupted: within a shared folder, or on a network file system.
    ///
    /// - Parameters:
    ///   - path: the store's absolute path; the file need not be there.
    ///   - container: the absolute path of the container it is to be used with.
    /// - Throws: `configuration`.
    static func checkSuitable(_ path: String, container: String, fileSystem: any FileSystem) throws {
        let parent = URL(fileURLWithPath: path).deletingLastPathComponent()
        let shared = URL(fileURLWithPath: container).resolvingSymlinksInPath().path
        var directory = parent.resolvingSymlinksInPath()
        while true {
            if directory.path == shared || holdsContent(directory, fileSystem) {
                throw LogSyncError(
                    .configuration,
                    "\(path) lies within the shared folder \(directory.path): a sync engine would corrupt it; "
                        + "nothing was done", help: "Move the store to a folder that is not shared")
            }
            if directory.path == "/" { break }
            directory.deleteLastPathComponent()
        }
        // A file system that does not say what it is has no name to be refused by.
        guard let kind = try? fileSystem.kind(parent.path), let name = kind.remoteName, kind != .fuse else { return }
        throw LogSyncError(
            .configuration, "\(path) is on a network file system (\(name)): SQLite would corrupt it; nothing was done",
            help: "Move the store to a local disk; only the container may be shared")
    }

    /// Whether a directory is a content folder, or one that holds content folders.
    private static func holdsContent(_ directory: URL, _ fileSystem: any FileSystem) -> Bool {
        func isContent(_ path: String) -> Bool {
            // What is not there, or may not be looked at, makes no content folder.
            (try? fileSystem.status(path + "/logsync.json", followingLinks: false))?.isFile ?? false
                && (try? fileSystem.status(path + "/peers", followingLinks: false))?.isDirectory ?? false
        }
        if isContent(directory.path) { return true }
        // A directory that may not be listed cannot be seen to be a container.
        guard let entries = try? fileSystem.list(directory.path, statuses: false) else { return false }
        return entries.prefix(4096).contains { entry in
            ContentName(entry.name) != nil && isContent("\(directory.path)/\(entry.name)")
        }
    }
}
