import LogSyncContainer

/// A file system that refuses with one errno: every change, or every look as well.
struct RefusingFileSystem: ForwardingFileSystem {
    let number: CInt
    /// Below here.
    let path: String
    var refusesLooks = false
    /// For how many bytes there is room; then nothing else is refused.
    var room: UInt64?
    let base = PosixFileSystem()

    init(_ number: CInt, below path: String, refusesLooks: Bool = false, room: UInt64? = nil) {
        self.room = room
        self.number = number
        self.path = path
        self.refusesLooks = refusesLooks
    }

    private func change(_ operation: String, _ path: String) throws(FileSystemError) {
        if room == nil, path.hasPrefix(self.path) { throw FileSystemError(operation, path, number: number) }
    }

    private func look(_ operation: String, _ path: String) throws(FileSystemError) {
        if refusesLooks { try change(operation, path) }
    }

    func list(_ directory: String, statuses: Bool) throws(FileSystemError) -> [DirectoryEntry] {
        try look("list", directory)
        return try base.list(directory, statuses: statuses)
    }

    func status(_ path: String, followingLinks: Bool) throws(FileSystemError) -> FileStatus {
        try look("look at", path)
        return try base.status(path, followingLinks: followingLinks)
    }

    func open(_ path: String) throws(FileSystemError) -> any ReadableFile {
        try look("open", path)
        return try base.open(path)
    }

    func create(_ path: String, permissions: FilePermissions) throws(FileSystemError) -> any WritableFile {
        try change("create", path)
        return try base.create(path, permissions: permissions)
    }

    func rename(_ path: String, to newPath: String) throws(FileSystemError) {
        try change("rename", newPath)
        try base.rename(path, to: newPath)
    }

    func remove(_ path: String) throws(FileSystemError) {
        try change("remove", path)
        try base.remove(path)
    }

    func makeDirectory(_ path: String, permissions: FilePermissions) throws(FileSystemError) {
        try change("make", path)
        try base.makeDirectory(path, permissions: permissions)
    }

    func removeDirectory(_ path: String) throws(FileSystemError) {
        try change("remove", path)
        try base.removeDirectory(path)
    }

    func synchronizeDirectory(_ path: String) throws(FileSystemError) {
        try change("synchronize", path)
        try base.synchronizeDirectory(path)
    }

    func checkWritable(_ directory: String, room: UInt64) throws(FileSystemError) {
        try change("write to", directory)
        if let left = self.room, room > left, directory.hasPrefix(path) {
            throw FileSystemError("write to", directory, number: number)
        }
        try base.checkWritable(directory, room: room)
    }
}
