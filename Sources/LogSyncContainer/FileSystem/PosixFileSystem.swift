import CLogSyncFileSystem
import Glibc

/// The machine's own file system, by plain POSIX calls. A call that a signal interrupts is made again.
package struct PosixFileSystem: FileSystem {
    private let root: String?

    package init() { root = nil }

    private init(root: String) { self.root = root }

    package func beneath(_ root: String) -> any FileSystem { PosixFileSystem(root: root) }

    private func place(of path: String, _ operation: String) throws(FileSystemError) -> PosixPlace {
        try PosixPlace(path, beneath: root, operation)
    }

    package func list(_ directory: String, statuses: Bool) throws(FileSystemError) -> [DirectoryEntry] {
        let descriptor = try place(of: directory, "list").open(O_RDONLY | O_DIRECTORY | O_NOFOLLOW, "list")
        guard let stream = fdopendir(descriptor) else {
            let number = errno
            _ = close(descriptor)
            throw FileSystemError("list", directory, number: number)
        }
        defer { closedir(stream) }
        var entries: [DirectoryEntry] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                if errno == 0 { return entries }
                throw FileSystemError("list", directory, number: errno)
            }
            let name = UnsafeRawPointer(entry).advanced(by: Posix.nameOffset).assumingMemoryBound(to: CChar.self)
            if Posix.isDotOrDotDot(name) { continue }
            var status: FileStatus?
            if statuses {
                var raw = stat()
                if fstatat(descriptor, name, &raw, AT_SYMLINK_NOFOLLOW) == 0 {
                    status = FileStatus(raw)
                } else if errno == ENOENT {
                    continue
                }
            }
            entries.append(DirectoryEntry(name: String(cString: name), status: status))
        }
    }

    package func status(_ path: String, followingLinks: Bool) throws(FileSystemError) -> FileStatus {
        // By the path, which is a fifth of the work: nothing is done by what a look finds but what finds its way anew.
        var raw = stat()
        guard (followingLinks ? stat(path, &raw) : lstat(path, &raw)) == 0 else {
            throw FileSystemError("look at", path, number: errno)
        }
        return FileStatus(raw)
    }

    package func open(_ path: String) throws(FileSystemError) -> any ReadableFile {
        let file = PosixFile(try place(of: path, "read").open(O_RDONLY | O_NOFOLLOW | O_NONBLOCK, "read"), path)
        let kind = try file.status().kind
        guard kind == .file else {
            throw FileSystemError("read", path, number: EINVAL, found: "\(kind.name) is in its place")
        }
        return file
    }

    package func create(_ path: String, permissions: FilePermissions) throws(FileSystemError) -> any WritableFile {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW
        return PosixFile(try place(of: path, "create").open(flags, "create", mode: permissions.file), path)
    }

    package func rename(_ path: String, to newPath: String) throws(FileSystemError) {
        let operation = "rename \(path) to"
        let old = try place(of: path, operation)
        let new = try place(of: newPath, operation)
        try Posix.check(operation, newPath) { renameat(old.directory, old.name, new.directory, new.name) }
    }

    package func remove(_ path: String) throws(FileSystemError) {
        let place = try place(of: path, "remove")
        try Posix.check("remove", path) { unlinkat(place.directory, place.name, 0) }
    }

    package func makeDirectory(_ path: String, permissions: FilePermissions) throws(FileSystemError) {
        let place = try place(of: path, "create")
        try Posix.check("create", path) { mkdirat(place.directory, place.name, permissions.directory) }
    }

    package func removeDirectory(_ path: String) throws(FileSystemError) {
        let place = try place(of: path, "remove")
        try Posix.check("remove", path) { unlinkat(place.directory, place.name, AT_REMOVEDIR) }
    }

    package func synchronizeDirectory(_ path: String) throws(FileSystemError) {
        let descriptor = try place(of: path, "synchronize").open(O_RDONLY | O_DIRECTORY, "synchronize")
        defer { _ = close(descriptor) }
        do throws(FileSystemError) {
            try Posix.check("synchronize", path) { fsync(descriptor) }
        } catch let error where [EINVAL, ENOTSUP, ENOSYS].contains(error.number) {
            // NB: some FUSE and SMB mounts do not know fsync on a directory; there is nothing stronger to ask of them.
        }
    }

    package func kind(_ path: String) throws(FileSystemError) -> FileSystemKind {
        let operation = "look at the file system of"
        let descriptor = try place(of: path, operation).open(Posix.justThePlace, operation)
        defer { _ = close(descriptor) }
        var raw = statfs()
        try Posix.check(operation, path) { fstatfs(descriptor, &raw) }
        return FileSystemKind(magic: UInt64(UInt32(truncatingIfNeeded: raw.f_type)))
    }

    package func checkWritable(_ directory: String, room: UInt64) throws(FileSystemError) {
        let operation = "look at the file system of"
        let place = try place(of: directory, operation)
        let descriptor = try place.open(Posix.justThePlace, operation)
        defer { _ = close(descriptor) }
        var raw = statvfs()
        try Posix.check(operation, directory) { fstatvfs(descriptor, &raw) }
        let status = try status(directory, followingLinks: true)
        guard status.isDirectory else {
            throw FileSystemError("write to", directory, number: EEXIST, found: "\(status.kind.name) is in its place")
        }
        // Some FUSE mounts let access(2) allow everything.
        if raw.f_flag & UInt(ST_RDONLY) != 0 { throw FileSystemError("write to", directory, number: EROFS) }
        try Posix.check("write to", directory) { faccessat(place.directory, place.name, W_OK | X_OK, AT_EACCESS) }
        // rclone and other FUSE mounts say that they have no file free, and make one all the same.
        let countsFiles = (try? kind(directory))?.reportsRemoteChanges ?? true
        guard !Posix.isFull(raw, countsFiles: countsFiles, for: room) else {
            throw FileSystemError("write to", directory, number: ENOSPC)
        }
    }
}

/// A descriptor and the path to name it by in errors; closed at the latest when let go of.
private final class PosixFile: ReadableFile, WritableFile {
    private var descriptor: CInt
    private let path: String
    /// How many bytes were written, and how many of these are on the disk.
    private var written: Int64 = 0
    private var flushed: Int64 = 0

    /// Programs that commit wait for what the file system has to write first: it never has more of ours than this.
    private static let burst: Int64 = 8 << 20

    init(_ descriptor: CInt, _ path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    deinit {
        if descriptor >= 0 { _ = Glibc.close(descriptor) }
    }

    func status() throws(FileSystemError) -> FileStatus {
        var raw = stat()
        guard fstat(descriptor, &raw) == 0 else { throw FileSystemError("look at", path, number: errno) }
        return FileStatus(raw)
    }

    func read(at offset: UInt64, count: Int) throws(FileSystemError) -> [UInt8] {
        guard let offset = Int(exactly: offset) else { throw FileSystemError("read", path, number: EINVAL) }
        var failure: CInt?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                let got = pread(
                    descriptor, buffer.baseAddress.map { $0 + filled }, count - filled, off_t(offset + filled))
                if got > 0 {
                    filled += got
                } else if got == 0 {
                    return
                } else if errno != EINTR {
                    failure = errno
                    return
                }
            }
        }
        if let failure { throw FileSystemError("read", path, number: failure) }
        return bytes
    }

    func write(_ bytes: [UInt8]) throws(FileSystemError) {
        var count = 0
        while count < bytes.count {
            let put = bytes.withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress.map { $0 + count }, $0.count - count)
            }
            if put >= 0 {
                count += put
            } else if errno != EINTR {
                throw FileSystemError("write to", path, number: errno)
            }
        }
        written += Int64(bytes.count)
        if written - flushed >= Self.burst { flush() }
    }

    /// Lets what was written go to the disk. Where that fails, ``synchronize()`` does, too, and says so.
    private func flush() {
        _ = fdatasync(descriptor)
        flushed = written
    }

    func synchronize() throws(FileSystemError) {
        try Posix.check("synchronize", path) { fsync(descriptor) }
    }

    func close() throws(FileSystemError) {
        guard descriptor >= 0 else { return }
        let result = Glibc.close(descriptor)
        descriptor = -1
        // On Linux the descriptor is gone even when close was interrupted, so it is not closed again.
        if result != 0, errno != EINTR { throw FileSystemError("close", path, number: errno) }
    }
}

extension FileStatus {
    fileprivate init(_ raw: stat) {
        let kind: Kind =
            switch raw.st_mode & S_IFMT {
            case S_IFREG: .file
            case S_IFDIR: .directory
            case S_IFLNK: .symbolicLink
            default: .other
            }
        self.init(
            kind: kind, size: UInt64(max(0, raw.st_size)),
            modified: Self.nanoseconds(raw.st_mtim), changed: Self.nanoseconds(raw.st_ctim),
            inode: UInt64(raw.st_ino), device: UInt64(raw.st_dev), linkCount: UInt64(raw.st_nlink))
    }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}
