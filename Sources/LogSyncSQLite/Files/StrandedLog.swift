import Foundation

/// A write-ahead log that has stayed at the path of a database which is another by now.
///
/// The problem. A program that closes its database as the last one leaves one file, and people put another in its place. A
/// replicator that has the database open keeps the log there, and the program that opens the new one next takes the log for its own:
/// what it has left of that is malformed.
///
/// The rule. The log goes where it is still the one that was open here, nobody has the new database open, and that is no copy
/// of the file as it stood without its log: to such a copy the log belongs. A log that was copied over it, into the same
/// file, is told by its salt, which the index of the one before does not have.
/// Sources: <https://www.sqlite.org/howtocorrupt.html>, section 2.4; <https://www.sqlite.org/walformat.html>.
package final class StrandedLog {
    /// Linux's F_OFD_SETLK, which only GNU's headers have: a lock of the descriptor, not of the process.
    /// Source: <https://man7.org/linux/man-pages/man2/fcntl_locking.2.html>.
    private static let setOwnLock: CInt = 37

    private let path: String
    private let files: OpenFiles
    /// The database that was open, which has no name any more.
    private let former: Int32

    /// - Parameter files: those of a connection that is still open.
    /// - Returns: nil where they have not been replaced so, and where the former database cannot be read any more.
    init?(_ path: String, _ files: OpenFiles) {
        guard files.leavesLog(), let former = files.openFormer() else { return nil }
        self.path = path
        self.files = files
        self.former = former
    }

    deinit { close(former) }

    /// Removes the log and its index. Call it when the connection is closed, and no other of this process has the database
    /// or its log open: it would lose its locks.
    ///
    /// - Returns: whether they are gone.
    package func remove() -> Bool {
        let file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        guard file >= 0 else { return false }
        defer { close(file) }
        // All that SQLite locks of a database: who opens it next waits, and who has it open has locked some of it, a connection
        // of this process, too.
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_start = 0x4000_0000
        lock.l_len = 512
        // Comparing takes a while, in which another log may be put into place.
        guard fcntl(file, Self.setOwnLock, &lock) == 0, !isSame(file), isOfIndex, files.leavesLog(),
            unlink(path + "-wal") == 0
        else { return false }
        unlink(path + "-shm")
        return true
    }

    /// Whether the index is of this log.
    private var isOfIndex: Bool {
        guard let one = salt(path + "-wal", at: 16), let other = salt(path + "-shm", at: 32) else { return false }
        return one == other
    }

    private func salt(_ file: String, at offset: off_t) -> UInt64? {
        let descriptor = open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var salt: UInt64 = 0
        return pread(descriptor, &salt, 8, offset) == 8 ? salt : nil
    }

    /// Whether a file holds what the former database holds.
    private func isSame(_ file: Int32) -> Bool {
        let size = 1 << 16
        var (one, other) = ([UInt8](repeating: 0, count: size), [UInt8](repeating: 0, count: size))
        var offset: off_t = 0
        while true {
            let count = pread(file, &one, size, offset)
            guard count == pread(former, &other, size, offset), count >= 0 else { return false }
            guard one.prefix(count) == other.prefix(count) else { return false }
            if count == 0 { return true }
            offset += off_t(count)
        }
    }
}
