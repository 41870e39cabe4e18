import Glibc
import LogContainer
import SimulationVFS
import Synchronization

/// A peer's file system, on which its process can die: with it dies what it does to its store.
///
/// Files have the times of the peer's own clock, because peers compare them with what others say.
final class SimulatedFileSystem: FileSystem {
    private let clock: SimulatedClock
    private let base = PosixFileSystem()
    private let plan = Mutex(Plan())

    private struct Plan {
        var made = 0
        var allowed: Int?
        var completesLast = false
    }

    init(clock: SimulatedClock) { self.clock = clock }

    /// Dies at the change of this number, from now on and from 1; nil only counts.
    func arm(_ change: Int?, completesLast: Bool) {
        plan.withLock { $0 = Plan(allowed: change, completesLast: completesLast) }
    }

    /// How many changes were made since it was armed.
    var changes: Int { plan.withLock(\.made) }

    private static func dead(_ path: String) -> FileSystemError { FileSystemError("reach", path, number: 5) }

    fileprivate func change<T>(_ path: String, _ body: () throws(FileSystemError) -> T) throws(FileSystemError) -> T {
        guard simulation_vfs_is_dead() == 0 else { throw Self.dead(path) }
        let (dies, completes) = plan.withLock { plan in
            plan.made += 1
            return (plan.made == plan.allowed, plan.completesLast)
        }
        guard dies else { return try body() }
        if completes { _ = try body() }
        simulation_vfs_kill()
        throw Self.dead(path)
    }

    private func look<T>(_ path: String, _ body: () throws(FileSystemError) -> T) throws(FileSystemError) -> T {
        guard simulation_vfs_is_dead() == 0 else { throw Self.dead(path) }
        return try body()
    }

    fileprivate func date(_ path: String) {
        guard simulation_vfs_is_dead() == 0 else { return }
        FileTimes.set(path, milliseconds: clock.now())
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

    func create(_ path: String) throws(FileSystemError) -> any WritableFile {
        try change(path) { () throws(FileSystemError) in
            SimulatedFile(file: try base.create(path), path: path, fileSystem: self)
        }
    }

    func rename(_ path: String, to newPath: String) throws(FileSystemError) {
        try change(path) { () throws(FileSystemError) in try base.rename(path, to: newPath) }
    }

    func remove(_ path: String) throws(FileSystemError) {
        try change(path) { () throws(FileSystemError) in try base.remove(path) }
    }

    func makeDirectory(_ path: String) throws(FileSystemError) {
        try change(path) { () throws(FileSystemError) in try base.makeDirectory(path) }
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
}

private final class SimulatedFile: WritableFile {
    private let file: any WritableFile
    private let path: String
    private let fileSystem: SimulatedFileSystem

    init(file: any WritableFile, path: String, fileSystem: SimulatedFileSystem) {
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

    func close() throws(FileSystemError) {
        try file.close()
        fileSystem.date(path)
    }
}

/// Times of files, each a little later than the last, as those of a real file system are.
enum FileTimes {
    private static let count = Mutex(0)

    static func set(_ path: String, milliseconds: Int64) {
        let count = count.withLock { count in
            count += 1
            return count
        }
        let time = timespec(
            tv_sec: Int(milliseconds / 1000), tv_nsec: Int(milliseconds % 1000) * 1_000_000 + count % 1_000_000)
        // A file that has gone already needs no time.
        _ = utimensat(AT_FDCWD, path, [time, time], 0)
    }
}
