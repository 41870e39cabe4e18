import CLogSyncInotifyTools
import Foundation
import LogSyncModel
import Synchronization

/// Commands for the thread that serves the watches, and the means to wake it.
///
/// The library can only wait for file events, so a file wakes it: one without a name, watched like any other, to which
/// each command adds a byte.
final class CommandInbox: Sendable {
    typealias Command = @Sendable (WatchTable) -> Void

    private struct State {
        var commands: [Command] = []
        var identifier = 0
        /// The waking file's descriptor once the thread runs.
        var control: CInt?
        var failure: LogSyncError?
    }

    private let state = Mutex(State())

    func nextIdentifier() -> Int {
        state.withLock {
            $0.identifier += 1
            return $0.identifier
        }
    }

    /// Queues a command. Does nothing before ``start()``.
    func send(_ command: @escaping Command) {
        state.withLock {
            guard let control = $0.control else { return }
            $0.commands.append(command)
            // Rewriting the first byte keeps the file small; a full disk cannot stop the waking after the first time.
            _ = pwrite(control, "!", 1, 0)
        }
    }

    func takeCommands() -> [Command] {
        state.withLock { state in
            defer { state.commands.removeAll() }
            return state.commands
        }
    }

    /// Starts the thread, the first time that it is asked to.
    ///
    /// - Throws: ``LogSyncError/Code/ioError`` where inotify cannot be had; every later call throws the same.
    func start() throws(LogSyncError) {
        let failure: LogSyncError? = state.withLock { state in
            if state.control != nil || state.failure != nil { return state.failure }
            do throws(LogSyncError) {
                try checkDescriptors()
                let control = try ControlFile()
                state.control = control.descriptor
                let watches = UncheckedTransfer(value: try WatchTable(control: control))
                Thread.detachNewThread {
                    logsync_name_this_thread("logsync-inotify")
                    watches.value.serve(self)
                }
                return nil
            } catch {
                state.control = nil
                state.failure = error
                return error
            }
        }
        if let failure { throw failure }
    }

    /// The library waits with select(), which aborts the process on descriptors from 1024 up.
    private func checkDescriptors() throws(LogSyncError) {
        let probe = open("/dev/null", O_RDONLY | O_CLOEXEC)
        defer { if probe >= 0 { close(probe) } }
        guard probe >= 0, probe < 1000 else {
            throw LogSyncError(
                .ioError, "cannot watch folders: too many files are open in this process; they can be polled",
                help: "Watch the first folder before the process opens its thousandth file")
        }
    }

    /// Hands a value over to the thread that will own it.
    ///
    /// NB: `@unchecked` because the giver keeps no reference, which the compiler cannot see through `Thread`.
    private struct UncheckedTransfer<Value>: @unchecked Sendable {
        let value: Value
    }
}

/// The file that wakes the thread. It has a name only until it is watched.
struct ControlFile {
    let descriptor: CInt
    let path: String

    init() throws(LogSyncError) {
        var template = Array("\(NSTemporaryDirectory())/logsync-wake-XXXXXX".utf8CString)
        descriptor = mkstemp(&template)
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        // Written to now, so that its block is there when the disk is full.
        guard descriptor >= 0, pwrite(descriptor, "!", 1, 0) == 1 else {
            let reason = String(cString: strerror(errno))
            if descriptor >= 0 {
                unlink(path)
                close(descriptor)
            }
            throw LogSyncError(
                .ioError, "cannot watch folders: could not create \(path): \(reason); they can be polled",
                help: "Give TMPDIR a directory that can be written to")
        }
    }
}
