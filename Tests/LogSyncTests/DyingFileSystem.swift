import LogSyncContainer
import Synchronization

/// A file system on which a process dies: from the nth change on, everything fails.
final class DyingFileSystem: ForwardingFileSystem {
    let base = PosixFileSystem()
    private let remaining: Mutex<Int>
    /// Whether the change at which it dies is still made.
    private let completesLast: Bool

    init(changes: Int, completesLast: Bool) {
        remaining = Mutex(changes)
        self.completesLast = completesLast
    }

    /// Whether the process lived to the end.
    var isAlive: Bool { remaining.withLock { $0 > 0 } }

    fileprivate func change<T>(_ path: String, _ body: () throws(FileSystemError) -> T) throws(FileSystemError) -> T {
        let left = remaining.withLock { remaining in
            remaining -= 1
            return remaining
        }
        if left > 0 { return try body() }
        if left == 0, completesLast { _ = try body() }
        throw FileSystemError("reach", path, number: 5)
    }

    private func look<T>(_ path: String, _ body: () throws(FileSystemError) -> T) throws(FileSystemError) -> T {
        guard isAlive else { throw FileSystemError("reach", path, number: 5) }
        return try body()
    }

    func list(_ directory: String, statuses: Bool) throws(FileSystemError) -> [DirectoryEntry] {
        try look(directory) { () throws(FileSystemError) in try base.list(directory, statuses: statuses) }
    }

    func status(_ path: String, followingLinks: Bool) throws(FileSystemError) -> FileStatus {
        try look(path) { () throws(FileSystemError) in try base.status(path, followingLinks: followingLinks) }
    }

    func open(_ path: String) throws(FileSystemError) -> any ReadableFile {
        try look(path) { () throws(FileSystemError) in try base.open(path) }
    }

    func create(_ path: String, permissions: FilePermissions) throws(FileSystemError) -> any WritableFile {
        try change(path) { () throws(FileSystemError) in
            DyingFile(file: try base.create(path, permissions: permissions), path: path, fileSystem: self)
        }
    }

    func rename(_ path: String, to newPath: String) throws(FileSystemError) {
        try change(path) { () throws(FileSystemError) in try base.rename(path, to: newPath) }
    }

    func remove(_ path: String) throws(FileSystemError) {
        try change(path) { () throws(FileSystemError) in try base.remove(path) }
    }

    func makeDirectory(_ path: String, permissions: FilePermissions) throws(FileSystemError) {
        try change(path) { () throws(FileSystemError) in try base.makeDirectory(path, permissions: permissions) }
    }

    func removeDirectory(_ path: String) throws(FileSystemError) {
        try change(path) { () throws(FileSystemError) in try base.removeDirectory(path) }
    }

    func synchronizeDirectory(_ path: String) throws(FileSystemError) {
        try change(path) { () throws(FileSystemError) in try base.synchronizeDirectory(path) }
    }

    func kind(_ path: String) throws(FileSystemError) -> FileSystemKind {
        try look(path) { () throws(FileSystemError) in try base.kind(path) }
    }

    func checkWritable(_ directory: String, room: UInt64) throws(FileSystemError) {
        try look(directory) { () throws(FileSystemError) in try base.checkWritable(directory, room: room) }
    }
}

private final class DyingFile: WritableFile {
    private let file: any WritableFile
    private let path: String
    private let fileSystem: DyingFileSystem

    init(file: any WritableFile, path: String, fileSystem: DyingFileSystem) {
        self.file = file
        self.path = path
        self.fileSystem = fileSystem
    }

    func write(_ bytes: [UInt8]) throws(FileSystemError) {
        try fileSystem.change(path) { () throws(FileSystemError) in try file.write(bytes) }
    }

    func synchronize() throws(FileSystemError) {
        try fileSystem.change(path) { () throws(FileSystemError) in try file.synchronize() }
    }

    func close() throws(FileSystemError) { try file.close() }
}
