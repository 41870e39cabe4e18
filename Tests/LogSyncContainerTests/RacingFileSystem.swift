import LogSyncContainer
import Testing

/// The machine's file system, on which somebody else does something just before a file gets its name.
struct RacingFileSystem: FileSystem {
    let hasRaced = LockedValue(false)
    private let target: String
    private let race: @Sendable () throws -> Void
    private let base = PosixFileSystem()

    init(before target: String, _ race: @escaping @Sendable () throws -> Void) {
        self.target = target
        self.race = race
    }

    func rename(_ path: String, to newPath: String) throws(FileSystemError) {
        if newPath == target, !hasRaced.get() {
            hasRaced.update { $0 = true }
            #expect(throws: Never.self) { try race() }
        }
        try base.rename(path, to: newPath)
    }

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
