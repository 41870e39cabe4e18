import Glibc
import LogSyncContainer

/// The machine's file system, except that one call fails, or that everything fails from one call on as if the process
/// had died there.
struct FailingFileSystem: FileSystem {
    enum Plan: Sendable {
        /// The call fails with an errno and the others do not.
        case fail(CInt)
        /// Half of a write is done, then it fails with an errno.
        case tear(CInt)
        /// Neither the call nor any after it happens.
        case die
    }

    struct State: Sendable {
        var calls: [String] = []
        var hasDied = false
    }

    let base = PosixFileSystem()
    var plan = Plan.die
    /// Which call fails, from 1; 0 for none.
    var failing = 0
    /// Other calls always succeed and are not counted; nil for all calls.
    var onlyOperations: Set<String>?
    let state = LockedValue(State())

    /// What was called, in order.
    var calls: [String] { state.get().calls }

    func step(_ operation: String, _ path: String) throws(FileSystemError) -> Bool {
        if let onlyOperations, !onlyOperations.contains(operation) { return false }
        let (isTurn, hasDied) = state.update { state in
            state.calls.append(operation)
            let isTurn = state.calls.count == failing
            if isTurn, case .die = plan { state.hasDied = true }
            return (isTurn, state.hasDied)
        }
        if hasDied { throw FileSystemError(operation, path, number: ECANCELED) }
        guard isTurn else { return false }
        if case .fail(let number) = plan { throw FileSystemError(operation, path, number: number) }
        return true
    }

    func beneath(_ root: String) -> any FileSystem { self }
    func list(_ directory: String, statuses: Bool) throws(FileSystemError) -> [DirectoryEntry] {
        _ = try step("list", directory)
        return try base.list(directory, statuses: statuses)
    }

    func status(_ path: String, followingLinks: Bool) throws(FileSystemError) -> FileStatus {
        _ = try step("status", path)
        return try base.status(path, followingLinks: followingLinks)
    }

    func open(_ path: String) throws(FileSystemError) -> any ReadableFile {
        _ = try step("open", path)
        return FailingFile(self, path, reading: try base.open(path))
    }

    func create(_ path: String, permissions: FilePermissions) throws(FileSystemError) -> any WritableFile {
        _ = try step("create", path)
        return FailingFile(self, path, writing: try base.create(path, permissions: permissions))
    }

    func rename(_ path: String, to newPath: String) throws(FileSystemError) {
        _ = try step("rename", newPath)
        try base.rename(path, to: newPath)
    }

    func remove(_ path: String) throws(FileSystemError) {
        _ = try step("remove", path)
        try base.remove(path)
    }

    func makeDirectory(_ path: String, permissions: FilePermissions) throws(FileSystemError) {
        _ = try step("makeDirectory", path)
        try base.makeDirectory(path, permissions: permissions)
    }

    func removeDirectory(_ path: String) throws(FileSystemError) {
        _ = try step("removeDirectory", path)
        try base.removeDirectory(path)
    }

    func synchronizeDirectory(_ path: String) throws(FileSystemError) {
        _ = try step("synchronizeDirectory", path)
        try base.synchronizeDirectory(path)
    }

    func kind(_ path: String) throws(FileSystemError) -> FileSystemKind {
        _ = try step("kind", path)
        return try base.kind(path)
    }

    func checkWritable(_ directory: String, room: UInt64) throws(FileSystemError) {
        _ = try step("checkWritable", directory)
        try base.checkWritable(directory, room: room)
    }
}

private final class FailingFile: ReadableFile, WritableFile {
    let fileSystem: FailingFileSystem
    let path: String
    let reading: (any ReadableFile)?
    let writing: (any WritableFile)?

    init(
        _ fileSystem: FailingFileSystem, _ path: String, reading: (any ReadableFile)? = nil,
        writing: (any WritableFile)? = nil
    ) {
        self.fileSystem = fileSystem
        self.path = path
        self.reading = reading
        self.writing = writing
    }

    func status() throws(FileSystemError) -> FileStatus {
        _ = try fileSystem.step("fileStatus", path)
        guard let reading else { throw FileSystemError("look at", path, number: EBADF) }
        return try reading.status()
    }

    func read(at offset: UInt64, count: Int) throws(FileSystemError) -> [UInt8] {
        _ = try fileSystem.step("read", path)
        guard let reading else { throw FileSystemError("read", path, number: EBADF) }
        return try reading.read(at: offset, count: count)
    }

    func write(_ bytes: [UInt8]) throws(FileSystemError) {
        let isTorn = try fileSystem.step("write", path)
        try writing?.write(isTorn ? Array(bytes.prefix(bytes.count / 2)) : bytes)
        if isTorn, case .tear(let number) = fileSystem.plan {
            throw FileSystemError("write to", path, number: number)
        }
    }

    func synchronize() throws(FileSystemError) {
        _ = try fileSystem.step("synchronize", path)
        try writing?.synchronize()
    }

    func close() throws(FileSystemError) {
        _ = try fileSystem.step("close", path)
        try writing?.close()
    }
}
