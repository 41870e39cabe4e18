import CLogSyncFileSystem
import Glibc

/// Where a path leads, for calls that take a directory and a name in it.
///
/// A symbolic link that takes a directory's place after it was looked at is not followed: each directory on the way from the
/// root is opened by its name in the one before, and only if it is one. `openat2(2)` would do so in one call, where the
/// kernel has it and a container's system call filter lets it through; this is done everywhere.
struct PosixPlace: ~Copyable {
    /// `AT_FDCWD` where `name` is a whole path.
    let directory: CInt
    let name: String
    private let path: String

    /// - Parameters:
    ///   - root: may itself be a symbolic link, as all before it may; nothing beneath it may. Paths that do not begin with
    ///     it, and those without one, are taken as they are.
    ///   - operation: as it reads after "could not".
    init(_ path: String, beneath root: String?, _ operation: String) throws(FileSystemError) {
        self.path = path
        guard let root, let names = Self.names(of: path, beneath: root), let last = names.last else {
            (directory, name) = (AT_FDCWD, path)
            return
        }
        var descriptor = try Self.open(AT_FDCWD, root, LOGSYNC_O_PATH | O_DIRECTORY, operation, path)
        for component in names.dropLast() {
            let above = descriptor
            defer { _ = close(above) }
            descriptor = try Self.open(above, component, LOGSYNC_O_PATH | O_DIRECTORY | O_NOFOLLOW, operation, path)
        }
        (directory, name) = (descriptor, last)
    }

    deinit {
        if directory >= 0 { _ = close(directory) }
    }

    /// - Parameter mode: of a file that is made.
    func open(_ flags: CInt, _ operation: String, mode: mode_t = 0) throws(FileSystemError) -> CInt {
        try Self.open(directory, name, flags, operation, path, mode: mode)
    }

    /// The names on the way, or nil where the path does not lead beneath the root.
    private static func names(of path: String, beneath root: String) -> [String]? {
        let prefix = root.hasSuffix("/") ? root : root + "/"
        guard path.hasPrefix(prefix) else { return nil }
        return path.dropFirst(prefix.count).split(separator: "/").map(String.init)
    }

    private static func open(
        _ directory: CInt, _ name: String, _ flags: CInt, _ operation: String, _ path: String, mode: mode_t = 0
    ) throws(FileSystemError) -> CInt {
        while true {
            let descriptor = openat(directory, name, flags | O_CLOEXEC, mode)
            if descriptor >= 0 { return descriptor }
            if errno != EINTR { throw FileSystemError(operation, path, number: errno) }
        }
    }
}

enum Posix {
    /// Opens what there is for its place alone, and needs no permission for what is in it.
    static let justThePlace: CInt = LOGSYNC_O_PATH

    static let nameOffset = MemoryLayout<dirent>.offset(of: \.d_name) ?? 19

    static func isDotOrDotDot(_ name: UnsafePointer<CChar>) -> Bool {
        let dot = CChar(UInt8(ascii: "."))
        return name[0] == dot && (name[1] == 0 || (name[1] == dot && name[2] == 0))
    }

    /// With less than this left, the next log file or receipt will hardly fit, nor the shared memory of a database's log,
    /// without which that is not even read: 32 KiB.
    private static let leastRoom: UInt64 = 40 << 10

    /// - Parameters:
    ///   - countsFiles: whether the file system's count of free files is to be believed.
    ///   - wanted: for how many bytes there is to be room.
    static func isFull(_ raw: statvfs, countsFiles: Bool, for wanted: UInt64 = 0) -> Bool {
        !hasRoom(raw, for: wanted) || countsFiles && !hasFiles(raw)
    }

    private static func hasRoom(_ raw: statvfs, for wanted: UInt64 = 0) -> Bool {
        // Some blocks are kept for the superuser.
        let isRoot = geteuid() == 0
        // And ext4 keeps a fiftieth, and no more than 4096 of them, for itself.
        let (free, forEveryone) = (UInt64(raw.f_bfree), UInt64(raw.f_bavail))
        let blocks = isRoot ? max(forEveryone, free - min(free, UInt64(raw.f_blocks) / 50, 4096)) : forEveryone
        let (room, isHuge) = blocks.multipliedReportingOverflow(by: UInt64(raw.f_frsize))
        // A file system that has none at all does not count them.
        return raw.f_blocks == 0 || isHuge || room >= max(leastRoom, wanted)
    }

    /// A file system that has none at all does not count them.
    private static func hasFiles(_ raw: statvfs) -> Bool {
        raw.f_files == 0 || (geteuid() == 0 ? raw.f_ffree : raw.f_favail) > 0
    }

    /// Whether a file system that is said to be full has room, and takes no further file.
    ///
    /// - Parameter path: a file or directory there, or one that is to be made.
    static func lacksFiles(_ path: String) -> Bool {
        var raw = statvfs()
        var place = path[...]
        while statvfs(String(place), &raw) != 0 {
            guard errno == ENOENT, let end = place.lastIndex(of: "/"), end > place.startIndex else { return false }
            place = place[..<end]
        }
        return hasRoom(raw) && !hasFiles(raw)
    }

    static func check(_ operation: String, _ path: String, _ call: () -> CInt) throws(FileSystemError) {
        while call() != 0 {
            if errno != EINTR { throw FileSystemError(operation, path, number: errno) }
        }
    }
}
