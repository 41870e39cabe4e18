import Synchronization

/// Knows which calls of a file system have begun and not returned, so that a mount that hangs can be told of: the thread that
/// waits for it cannot.
package final class PendingCalls: Sendable {
    /// A call that has not returned.
    package struct Call: Sendable {
        /// As it reads after "could not".
        package let operation: String
        package let path: String
        package let start: ContinuousClock.Instant
    }

    private struct State {
        var next: UInt64 = 0
        var calls: [UInt64: Call] = [:]
    }

    private let state = Mutex(State())

    package init() {}

    /// The call that has been waited for longest.
    package var oldest: Call? {
        state.withLock { $0.calls.values.min { $0.start < $1.start } }
    }

    fileprivate func during<Result>(
        _ operation: String, _ path: String, _ body: () throws(FileSystemError) -> Result
    ) throws(FileSystemError) -> Result {
        let key = state.withLock { state in
            state.next += 1
            state.calls[state.next] = Call(operation: operation, path: path, start: .now)
            return state.next
        }
        defer { state.withLock { _ = $0.calls.removeValue(forKey: key) } }
        return try body()
    }
}

/// Another file system, with its calls noted while they last, and files that came to be in place or went told of.
package struct TimedFileSystem: FileSystem {
    private let base: any FileSystem
    private let calls: PendingCalls
    private let onChange: (@Sendable (String) -> Void)?

    /// - Parameter onChange: is given the path of each file that was renamed into place or removed.
    package init(_ base: any FileSystem, calls: PendingCalls, onChange: (@Sendable (String) -> Void)? = nil) {
        self.base = base
        self.calls = calls
        self.onChange = onChange
    }

    package func beneath(_ root: String) -> any FileSystem {
        TimedFileSystem(base.beneath(root), calls: calls, onChange: onChange)
    }

    package func list(_ directory: String, statuses: Bool) throws(FileSystemError) -> [DirectoryEntry] {
        try calls.during("list", directory) { () throws(FileSystemError) in
            try base.list(directory, statuses: statuses)
        }
    }

    package func status(_ path: String, followingLinks: Bool) throws(FileSystemError) -> FileStatus {
        try calls.during("look at", path) { () throws(FileSystemError) in
            try base.status(path, followingLinks: followingLinks)
        }
    }

    package func open(_ path: String) throws(FileSystemError) -> any ReadableFile {
        let file = try calls.during("read", path) { () throws(FileSystemError) in try base.open(path) }
        return TimedReadableFile(base: file, path: path, calls: calls)
    }

    package func create(_ path: String, permissions: FilePermissions) throws(FileSystemError) -> any WritableFile {
        let file = try calls.during("create", path) { () throws(FileSystemError) in
            try base.create(path, permissions: permissions)
        }
        return TimedWritableFile(base: file, path: path, calls: calls)
    }

    package func rename(_ path: String, to newPath: String) throws(FileSystemError) {
        try calls.during("rename \(path) to", newPath) { () throws(FileSystemError) in
            try base.rename(path, to: newPath)
        }
        onChange?(newPath)
    }

    package func remove(_ path: String) throws(FileSystemError) {
        try calls.during("remove", path) { () throws(FileSystemError) in try base.remove(path) }
        onChange?(path)
    }

    package func makeDirectory(_ path: String, permissions: FilePermissions) throws(FileSystemError) {
        try calls.during("create", path) { () throws(FileSystemError) in
            try base.makeDirectory(path, permissions: permissions)
        }
    }

    package func removeDirectory(_ path: String) throws(FileSystemError) {
        try calls.during("remove", path) { () throws(FileSystemError) in try base.removeDirectory(path) }
    }

    package func synchronizeDirectory(_ path: String) throws(FileSystemError) {
        try calls.during("synchronize", path) { () throws(FileSystemError) in try base.synchronizeDirectory(path) }
    }

    package func kind(_ path: String) throws(FileSystemError) -> FileSystemKind {
        try calls.during("look at the file system of", path) { () throws(FileSystemError) in try base.kind(path) }
    }

    package func checkWritable(_ directory: String, room: UInt64) throws(FileSystemError) {
        try calls.during("look at", directory) { () throws(FileSystemError) in
            try base.checkWritable(directory, room: room)
        }
    }
}

private final class TimedReadableFile: ReadableFile {
    private let base: any ReadableFile
    private let path: String
    private let calls: PendingCalls

    init(base: any ReadableFile, path: String, calls: PendingCalls) {
        self.base = base
        self.path = path
        self.calls = calls
    }

    func status() throws(FileSystemError) -> FileStatus {
        try calls.during("look at", path) { () throws(FileSystemError) in try base.status() }
    }

    func read(at offset: UInt64, count: Int) throws(FileSystemError) -> [UInt8] {
        try calls.during("read", path) { () throws(FileSystemError) in try base.read(at: offset, count: count) }
    }
}

private final class TimedWritableFile: WritableFile {
    private let base: any WritableFile
    private let path: String
    private let calls: PendingCalls

    init(base: any WritableFile, path: String, calls: PendingCalls) {
        self.base = base
        self.path = path
        self.calls = calls
    }

    func write(_ bytes: [UInt8]) throws(FileSystemError) {
        try calls.during("write to", path) { () throws(FileSystemError) in try base.write(bytes) }
    }

    func synchronize() throws(FileSystemError) {
        try calls.during("synchronize", path) { () throws(FileSystemError) in try base.synchronize() }
    }

    func close() throws(FileSystemError) {
        try calls.during("close", path) { () throws(FileSystemError) in try base.close() }
    }
}
