import LogSyncContainer

/// A file system that is POSIX's but for what it says itself.
protocol ForwardingFileSystem: FileSystem {
    var base: PosixFileSystem { get }
}

extension ForwardingFileSystem {
    func beneath(_ root: String) -> any FileSystem { self }
    func list(_ directory: String, statuses: Bool) throws(FileSystemError) -> [DirectoryEntry] {
        try base.list(directory, statuses: statuses)
    }
    func status(_ path: String, followingLinks: Bool) throws(FileSystemError) -> FileStatus {
        try base.status(path, followingLinks: followingLinks)
    }
    func open(_ path: String) throws(FileSystemError) -> any ReadableFile { try base.open(path) }
    func create(_ path: String, permissions: FilePermissions) throws(FileSystemError) -> any WritableFile {
        try base.create(path, permissions: permissions)
    }
    func rename(_ path: String, to newPath: String) throws(FileSystemError) { try base.rename(path, to: newPath) }
    func remove(_ path: String) throws(FileSystemError) { try base.remove(path) }
    func makeDirectory(_ path: String, permissions: FilePermissions) throws(FileSystemError) {
        try base.makeDirectory(path, permissions: permissions)
    }
    func removeDirectory(_ path: String) throws(FileSystemError) { try base.removeDirectory(path) }
    func synchronizeDirectory(_ path: String) throws(FileSystemError) { try base.synchronizeDirectory(path) }
    func kind(_ path: String) throws(FileSystemError) -> FileSystemKind { try base.kind(path) }
    func checkWritable(_ directory: String, room: UInt64) throws(FileSystemError) {
        try base.checkWritable(directory, room: room)
    }
}
