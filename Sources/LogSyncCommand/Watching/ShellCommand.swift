import Dispatch
import Foundation
import LogSync
import Synchronization

/// A command of the user's, run by `sh -c` in a process group of its own.
final class ShellCommand: Sendable {
    /// How long what was told to end may take to do so.
    private static let patience = 2.0

    private struct State {
        /// The group of the command that runs now.
        var running: pid_t?
        /// When what still runs is killed; nil before it was told to end.
        var deadline: Date?
    }

    /// After how long it is said that a command has not ended: what waits for it waits long by then.
    static let longRun = Duration.seconds(30)

    let text: String
    private let state = Mutex(State())
    /// Whether the command was told to end; it is not to be run again.
    var isEnding: Bool { state.withLock { $0.deadline != nil } }

    init(_ text: String) {
        self.text = text
    }

    /// Runs the command as ``run(input:)`` does, and tells where it takes long.
    ///
    /// - Parameter onLate: called where it has not ended after `lateAfter`, and never after this has returned.
    /// - Returns: why it could not be run, or did not end with 0; nil where it did.
    func failure(
        input: String, lateAfter: Duration = ShellCommand.longRun, onLate: @escaping @Sendable () -> Void
    ) async -> LogSyncError? {
        let late = Task {
            // Cancelled where the command was faster.
            if (try? await Task.sleep(for: lateAfter)) != nil { onLate() }
        }
        var failure: LogSyncError?
        do { try await run(input: input) } catch { failure = LogSyncError(describing: error) }
        late.cancel()
        await late.value
        return failure
    }

    /// Runs the command to its end with `input` on its stdin and its stdout on our stderr.
    ///
    /// - Throws: `ioError` where it could not be run, or did not end with 0.
    func run(input: String) async throws {
        let status = try await blocking { try self.wait(for: self.start(input)) }
        // The layout of a wait status: <https://sourceware.org/glibc/manual/latest/html_node/Process-Completion-Status.html>.
        if status & 0x7F != 0 { throw failure("was ended by signal \(status & 0x7F)") }
        if status != 0 { throw failure("ended with \(status >> 8)") }
    }

    /// Ends the command that runs now, and what it started; kills what does not end.
    func terminate() {
        signal(SIGTERM, deadline: Date(timeIntervalSinceNow: Self.patience))
        DispatchQueue.global().asyncAfter(deadline: .now() + Self.patience) { self.kill() }
    }

    /// Kills the command that runs now, and what it started.
    func kill() { signal(SIGKILL, deadline: Date()) }

    private func signal(_ number: CInt, deadline: Date) {
        // Under the lock, so that the id cannot have gone to another process.
        state.withLock { state in
            state.deadline = deadline
            if let group = state.running { _ = Foundation.kill(-group, number) }
        }
    }

    private func failure(_ what: String) -> LogSyncError {
        LogSyncError(.ioError, "the command \(text.debugDescription) \(what)")
    }

    private func wait(for process: pid_t) throws -> CInt {
        // Wait without reaping, so that the id stays ours until the state forgets it.
        var information = siginfo_t()
        while waitid(P_PID, id_t(process), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        // What it started has as long as it had itself; until it is reaped, the group's id is nobody else's.
        if let deadline = state.withLock({ $0.deadline }) {
            Thread.sleep(until: deadline)
            _ = Foundation.kill(-process, SIGKILL)
        }
        state.withLock { $0.running = nil }
        var status: CInt = 0
        while waitpid(process, &status, 0) < 0 {
            guard errno == EINTR else { throw failure("was lost: \(String(cString: strerror(errno)))") }
        }
        return status
    }

    private func start(_ input: String) throws -> pid_t {
        let stdin = try Self.file(holding: input)
        defer { close(stdin) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, stdin, STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        posix_spawnattr_setpgroup(&attributes, 0)
        attributes.resetSignals(and: POSIX_SPAWN_SETPGROUP)

        // What systemd tells this daemon alone is not the command's business.
        var environment = ProcessInfo.processInfo.environment
        environment["NOTIFY_SOCKET"] = nil
        let arguments = CStrings(["sh", "-c", Descriptors.restoringLimit + text])
        let variables = CStrings(environment.map { "\($0.key)=\($0.value)" })
        return try state.withLock { state in
            guard state.deadline == nil else { throw failure("was not run, because the daemon ends") }
            var process: pid_t = 0
            let error = posix_spawn(&process, "/bin/sh", &actions, &attributes, arguments.pointers, variables.pointers)
            guard error == 0 else { throw failure("could not be started: \(String(cString: strerror(error)))") }
            state.running = process
            return process
        }
    }

    /// A file without a name: unlike a pipe it neither blocks us nor breaks where the command does not read.
    private static func file(holding text: String) throws -> CInt {
        guard let file = tmpfile() else {
            throw LogSyncError(.ioError, "no temporary file could be made: \(String(cString: strerror(errno)))")
        }
        defer { fclose(file) }
        let bytes = Array(text.utf8)
        guard fwrite(bytes, 1, bytes.count, file) == bytes.count, fflush(file) == 0 else {
            throw LogSyncError(.ioError, "a temporary file could not be written: \(String(cString: strerror(errno)))")
        }
        rewind(file)
        let descriptor = fcntl(fileno(file), F_DUPFD_CLOEXEC, 0)
        guard descriptor >= 0 else {
            throw LogSyncError(.ioError, "a temporary file was lost: \(String(cString: strerror(errno)))")
        }
        return descriptor
    }
}
