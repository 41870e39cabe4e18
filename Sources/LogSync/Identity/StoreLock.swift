import Foundation
import LogSyncModel

/// The lock on one store that every step of every logsync process takes: `flock` on a file in the state directory.
///
/// The store itself is never opened for it: closing any descriptor of a database drops the POSIX locks that SQLite
/// holds on it in this process. Source: <https://www.sqlite.org/howtocorrupt.html>, section 2.2.
///
/// Processes take turns: one that finds the lock taken holds the file's *turn*, and any other that wants the lock waits for
/// the turn first. A daemon with one step after another lets go for microseconds in between, which a process that looks
/// each 50 ms would hardly ever meet. One whose turn it is may have been stopped: after ``patience`` the others go by the
/// lock alone.
final class StoreLock {
    private let path: String
    private let descriptor: CInt

    /// F_OFD_SETLK, which Glibc's module lacks: a lock of the open file, as flock's is, and apart from it.
    /// Source: fcntl(2).
    private static let setFileLock: CInt = 37
    private static let patience = Duration.seconds(2)

    /// - Throws: `cannotCreate` where the file cannot be made; `noPermission` where its disk may only be read and it is not there.
    init(path: String) throws(LogSyncError) {
        self.path = path
        let writable = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o666)
        let isReadOnly = writable < 0 && errno == EROFS
        // Who only looks at the store writes nothing there, and flock needs no file that can be written.
        descriptor = isReadOnly ? open(path, O_RDONLY | O_CLOEXEC) : writable
        guard descriptor >= 0 else {
            if isReadOnly { throw DurableFile.failure(path, "made", EROFS) }
            if errno == EMFILE || errno == ENFILE {
                throw LogSyncError(
                    .ioError, "the lock \(path) could not be opened: \(String(cString: strerror(errno)))",
                    help: "Raise the limit on open files (ulimit -n, or LimitNOFILE= of the unit)")
            }
            throw LogSyncError(
                .cannotCreate, "the lock \(path) could not be made: \(String(cString: strerror(errno)))",
                help: "Give this user write access to the state directory")
        }
    }

    deinit { close(descriptor) }

    /// Whether the path still leads to this lock; otherwise others take another one.
    var isInPlace: Bool {
        var (here, there) = (stat(), stat())
        return fstat(descriptor, &here) == 0 && stat(path, &there) == 0 && here.st_ino == there.st_ino
            && here.st_dev == there.st_dev
    }

    private func tryAcquire(_ kind: CInt) throws -> Bool {
        if flock(descriptor, kind | LOCK_NB) == 0 { return true }
        guard errno == EWOULDBLOCK || errno == EINTR else {
            throw LogSyncError(
                .ioError, "\(path) could not be locked: \(String(cString: strerror(errno))); nothing was changed",
                help: "Keep the state directory on a local disk (XDG_STATE_HOME)")
        }
        return false
    }

    /// Whether it is this process's turn now, or was given back. A file system without such locks gives turns to all.
    private func turn(_ kind: Int32) -> Bool {
        var lock = Glibc.flock()
        lock.l_type = Int16(kind)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_len = 1
        return fcntl(descriptor, Self.setFileLock, &lock) == 0 || (errno != EAGAIN && errno != EACCES)
    }

    /// Waits for the lock, letting others of this actor run meanwhile.
    ///
    /// - Throws: `locked` after `wait`; `CancellationError`.
    func acquire(wait: Duration, of store: String, isolation: isolated (any Actor)? = #isolation) async throws {
        let start = ContinuousClock.now
        let deadline = start + wait
        var pause = Duration.milliseconds(1)
        var hasTurn = false
        defer { if hasTurn { _ = turn(F_UNLCK) } }
        while true {
            hasTurn = hasTurn || turn(F_WRLCK)
            if hasTurn || start.duration(to: .now) > Self.patience, try tryAcquire(LOCK_EX) { return }
            guard ContinuousClock.now < deadline else {
                throw LogSyncError(
                    .locked, "\(store) is in use by another logsync process; nothing was changed",
                    help: "Try again when it has finished its step")
            }
            try await Task.sleep(for: pause)
            pause = min(pause * 2, .milliseconds(50))
        }
    }

    /// Takes the lock shared, blocking the thread while another has it alone.
    ///
    /// - Throws: `locked` after `wait`.
    func acquireShared(wait: Duration) throws {
        let deadline = ContinuousClock.now + wait
        while try !tryAcquire(LOCK_SH) {
            guard ContinuousClock.now < deadline else {
                throw LogSyncError(
                    .locked, "another logsync process needs the store for itself; nothing was changed",
                    help: "Try again when it has finished")
            }
            usleep(10_000)
        }
    }

    func release() {
        // Unlocking a descriptor that is open cannot fail.
        flock(descriptor, LOCK_UN)
    }
}
