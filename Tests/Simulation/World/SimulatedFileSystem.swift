import Glibc
import LogSyncContainer
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
        var made: [ChangeKind] = []
        var allowed: Int?
        var extent = Death.Extent.none
        /// What a power cut would undo, where there may be one.
        var unsynced: UnsyncedFiles?
    }

    init(clock: SimulatedClock) { self.clock = clock }

    /// Dies at the change of this number, from now on and from 1; nil only counts.
    ///
    /// - Parameter mayLosePower: whether what is not synchronized is to be known.
    func arm(_ change: Int?, _ extent: Death.Extent, mayLosePower: Bool) {
        plan.withLock { $0 = Plan(allowed: change, extent: extent, unsynced: mayLosePower ? UnsyncedFiles() : nil) }
    }

    /// The changes that were made since it was armed.
    var changes: [ChangeKind] { plan.withLock(\.made) }

    /// Undoes what no synchronization made lasting.
    func cutPower() { plan.withLock { $0.unsynced?.undo() } }

    private static func dead(_ path: String) -> FileSystemError { FileSystemError("reach", path, number: 5) }

    /// Makes a change, if the process lives to see it.
    ///
    /// - Parameters:
    ///   - half: makes a part of it, where it can be made in part.
    ///   - note: tells what a power cut would undo.
    fileprivate func change<T>(
        _ path: String, _ kind: ChangeKind = .whole, half: () throws(FileSystemError) -> Void = {},
        note: (inout UnsyncedFiles) -> Void, _ body: () throws(FileSystemError) -> T
    ) throws(FileSystemError) -> T {
        guard simulation_vfs_is_dead() == 0 else { throw Self.dead(path) }
        let extent: Death.Extent? = plan.withLock { plan in
            plan.made.append(kind)
            let dies = plan.made.count == plan.allowed
            if !dies || plan.extent == .whole || plan.extent == .half && kind == .divisible {
                if var unsynced = plan.unsynced {
                    note(&unsynced)
                    plan.unsynced = unsynced
                }
            }
            return dies ? plan.extent : nil
        }
        guard let extent else { return try body() }
        switch extent {
        case .none: break
        case .half: try half()
        case .whole: _ = try body()
        }
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

    func beneath(_ root: String) -> any FileSystem { self }

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
        try change(path, note: { $0.created(path) }) { () throws(FileSystemError) in
            SimulatedFile(file: try base.create(path, permissions: permissions), path: path, fileSystem: self)
        }
    }

    func rename(_ path: String, to newPath: String) throws(FileSystemError) {
        try change(path, note: { $0.renaming(path, to: newPath) }) { () throws(FileSystemError) in
            try base.rename(path, to: newPath)
        }
    }

    func remove(_ path: String) throws(FileSystemError) {
        try change(path, note: { $0.removing(path) }) { () throws(FileSystemError) in try base.remove(path) }
    }

    func makeDirectory(_ path: String, permissions: FilePermissions) throws(FileSystemError) {
        try change(path, note: { _ in }) { () throws(FileSystemError) in
            try base.makeDirectory(path, permissions: permissions)
        }
    }

    func removeDirectory(_ path: String) throws(FileSystemError) {
        try change(path, note: { _ in }) { () throws(FileSystemError) in try base.removeDirectory(path) }
    }

    func synchronizeDirectory(_ path: String) throws(FileSystemError) {
        try change(path, note: { $0.synchronized(directory: path) }) { () throws(FileSystemError) in
            try base.synchronizeDirectory(path)
        }
    }

    func kind(_ path: String) throws(FileSystemError) -> FileSystemKind {
        try look(path) { () throws(FileSystemError) in try base.kind(path) }
    }

    func checkWritable(_ directory: String, room: UInt64) throws(FileSystemError) {
        try look(directory) { () throws(FileSystemError) in try base.checkWritable(directory, room: room) }
    }
}

/// What a change is, to one who wants to die in the middle of it.
enum ChangeKind: Sendable {
    /// Made or not.
    case whole
    /// A write of several bytes.
    case divisible
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
        try fileSystem.change(
            path, bytes.count > 1 ? .divisible : .whole,
            half: { () throws(FileSystemError) in try file.write(Array(bytes.prefix(bytes.count / 2))) }, note: { _ in }
        ) { () throws(FileSystemError) in try file.write(bytes) }
    }

    func synchronize() throws(FileSystemError) {
        let path = path
        try fileSystem.change(path, note: { $0.synchronized(file: path) }) { () throws(FileSystemError) in
            try file.synchronize()
        }
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
