import Foundation
import LogSyncModel

/// The lock on one store that every step of every logsync process takes: `flock` on a file in the state directory.
///
/// The store itself is never opened for it: closing any descriptor of a database drops the POSIX locks that SQLite
/// holds on it in this process. Source: <https://www.sqlite.org/howtocorrupt.html>, section 2.2.
final class StoreLock {
    private let path: String
    private let descriptor: CInt

    /// - Throws: `cannotCreate` where the file cannot be made.
    init(path: String) throws(LogSyncError) {
        self.path = path
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else {
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

    private func tryAcquire(_ kind: CInt) throws -> Bool {
        if flock(descriptor, kind | LOCK_NB) == 0 { return true }
        guard errno == EWOULDBLOCK || errno == EINTR else {
            throw LogSyncError(
                .ioError, "\(path) could not be locked: \(String(cString: strerror(errno))); nothing was changed",
                help: "Keep the state directory on a local disk (XDG_STATE_HOME)")
        }
        return false
    }

    /// Waits for the lock, letting others of this actor run meanwhile.
    ///
    /// - Throws: `locked` after `wait`; `CancellationError`.
    func acquire(wait: Duration, of store: String, isolation: isolated (any Actor)? = #isolation) async throws {
        let deadline = ContinuousClock.now + wait
        var pause = Duration.milliseconds(1)
        while try !tryAcquire(LOCK_EX) {
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
