/// The seam through which the container reaches its folder, so that a simulator can own every byte of it.
///
/// The calls are those of POSIX, one to one, because their failures are what the simulator has to produce: each may
/// fail with any errno, at any time, and a process may die before or after each.
package protocol FileSystem: Sendable {
    /// The same file system, which follows no symbolic link on the way of a path that begins with `root`, whenever it came to
    /// be there, but for a status; `root` itself may be one.
    func beneath(_ root: String) -> any FileSystem
    /// Lists a directory, without `.` and `..`, in no particular order. Never follows a symbolic link.
    ///
    /// - Parameter statuses: whether to fetch each entry's status too; an entry that vanished meanwhile has none.
    func list(_ directory: String, statuses: Bool) throws(FileSystemError) -> [DirectoryEntry]
    func status(_ path: String, followingLinks: Bool) throws(FileSystemError) -> FileStatus
    /// Opens a regular file for reading. Never follows a symbolic link, never waits for a FIFO or a device.
    func open(_ path: String) throws(FileSystemError) -> any ReadableFile
    /// Creates a file with these permissions, as far as the umask allows. Fails with `EEXIST` where anything has that name.
    func create(_ path: String, permissions: FilePermissions) throws(FileSystemError) -> any WritableFile
    /// Renames over whatever file has the new name, atomically.
    func rename(_ path: String, to newPath: String) throws(FileSystemError)
    /// Removes a file or symbolic link.
    func remove(_ path: String) throws(FileSystemError)
    /// Makes a directory for files with these permissions, as far as the umask allows.
    func makeDirectory(_ path: String, permissions: FilePermissions) throws(FileSystemError)
    /// Removes an empty directory.
    func removeDirectory(_ path: String) throws(FileSystemError)
    /// Makes renames and removals within a directory survive a power loss.
    func synchronizeDirectory(_ path: String) throws(FileSystemError)
    func kind(_ path: String) throws(FileSystemError) -> FileSystemKind
    /// Asks whether files could be made in a directory, and makes none.
    ///
    /// - Parameter room: for how many bytes there is to be room, beyond what any file needs.
    /// - Throws: what making one would fail with, as far as it can be told: `EROFS`, `EACCES`, `ENOSPC`.
    func checkWritable(_ directory: String, room: UInt64) throws(FileSystemError)
}

extension FileSystem {
    package func checkWritable(_ directory: String) throws(FileSystemError) { try checkWritable(directory, room: 0) }
}

/// Who may read and write what is published.
package struct FilePermissions: Hashable, Sendable {
    /// Of a file, as in `st_mode`: reading and writing, for the owner, the group and others.
    package let file: UInt32

    /// - Parameter mode: any file's; what is neither reading nor writing does not matter. The owner may do both.
    package init(mode: UInt32) { file = mode & 0o666 | 0o600 }

    /// Whatever the umask allows.
    package static let all = FilePermissions(mode: 0o666)

    /// Of a directory: a user who may read a file may look for it.
    package var directory: UInt32 { file | (file & 0o444) >> 2 }
}

/// A file opened for reading. It is closed when let go of.
package protocol ReadableFile: AnyObject {
    func status() throws(FileSystemError) -> FileStatus
    /// Reads up to `count` bytes from `offset`; fewer only at the file's end.
    func read(at offset: UInt64, count: Int) throws(FileSystemError) -> [UInt8]
}

/// A file being written from its start.
package protocol WritableFile: AnyObject {
    /// Appends all of `bytes`, or fails.
    func write(_ bytes: [UInt8]) throws(FileSystemError)
    /// Makes what was written survive a power loss.
    func synchronize() throws(FileSystemError)
    /// Closes the file; a delayed write error may come only now. Closing again does nothing.
    func close() throws(FileSystemError)
}

/// What `stat` says of a file, as far as the container asks.
package struct FileStatus: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case file, directory, symbolicLink, other

        /// As errors call it.
        var name: String {
            switch self {
            case .file: "a file"
            case .directory: "a directory"
            case .symbolicLink: "a symbolic link"
            case .other: "something that is neither a file nor a directory"
            }
        }
    }

    package var kind: Kind
    /// Bytes.
    package var size: UInt64
    /// Unix time in nanoseconds.
    package var modified: Int64
    /// When anything about the file last changed, by this machine's kernel and nobody's wish: Unix time in nanoseconds.
    package var changed: Int64
    package var inode: UInt64
    package var device: UInt64
    package var linkCount: UInt64

    package init(
        kind: Kind, size: UInt64 = 0, modified: Int64 = 0, changed: Int64 = 0, inode: UInt64 = 0, device: UInt64 = 0,
        linkCount: UInt64 = 1
    ) {
        self.kind = kind
        self.size = size
        self.modified = modified
        self.changed = changed
        self.inode = inode
        self.device = device
        self.linkCount = linkCount
    }

    package var isDirectory: Bool { kind == .directory }
    package var isFile: Bool { kind == .file }
}

/// One name in a directory.
package struct DirectoryEntry: Hashable, Sendable {
    /// The name, with U+FFFD where it is not UTF-8. Such a name cannot be opened, only reported.
    package var name: String
    /// nil where it was not asked for, or the file system does not tell, or the entry has vanished.
    package var status: FileStatus?

    package init(name: String, status: FileStatus? = nil) {
        self.name = name
        self.status = status
    }
}

/// What carries a folder, told by the magic number that `statfs` gives.
package struct FileSystemKind: Hashable, Sendable {
    package let magic: UInt64

    package init(magic: UInt64) {
        self.magic = magic
    }

    /// An ordinary local file system.
    package static let local = FileSystemKind(magic: 0xEF53)
    package static let nfs = FileSystemKind(magic: 0x6969)
    package static let fuse = FileSystemKind(magic: 0x6573_5546)

    /// The name of a file system that other machines or processes may change without the kernel's noticing, else nil.
    /// FUSE is among them: it may be rclone, sshfs or virtiofs, and its numbers do not say.
    package var remoteName: String? { Self.remote[magic] }

    /// Whether inotify hears of every change. Where it does not, only polling finds what others wrote, and a
    /// directory's modification time is not to be relied on.
    package var reportsRemoteChanges: Bool { remoteName == nil }

    /// Source: `statfs(2)` and the kernel's `include/uapi/linux/magic.h`.
    private static let remote: [UInt64: String] = [
        0x6969: "NFS", 0x517B: "SMB", 0xFF53_4D42: "CIFS", 0xFE53_4D42: "SMB2", 0x6573_5546: "FUSE",
        0x0102_1997: "9p", 0x00C3_6400: "Ceph", 0x5346_414F: "AFS", 0x6B41_4653: "AFS", 0x7375_7245: "Coda",
        0x564C: "NCP", 0x7461_636F: "OCFS2", 0x0116_1970: "GFS2", 0x0BD0_0BD0: "Lustre", 0x786F_4256: "vboxsf",
        0xBACB_ACBC: "vmhgfs", 0x4750_4653: "GPFS", 0x1983_0326: "BeeGFS", 0x2003_0528: "OrangeFS",
        0x7C7C_6673: "prl_fs",
    ]
}
