import Dispatch
import LogSync
import LogSyncModel
import Logging
import ServiceLifecycle
import Synchronization

/// Runs the user's command after imports: one at a time, with all that has come meanwhile on its stdin, a line an
/// event. Imports never wait for it.
final class ImportHook: Service {
    /// How much may wait while a command runs; beyond it the oldest events are dropped, and said to be.
    private static let maximumBytes = 64 << 20
    /// How long a command may go on once the daemon has been told to end.
    private static let patience = DispatchTimeInterval.seconds(5)

    private struct Queue {
        var lines: [String] = []
        var bytes = 0
        var dropped = 0
    }

    fileprivate struct Run {
        let text: String
        let command: ShellCommand
        /// Whether it has taken long.
        var isLate = false
        /// Whether it is ended, because another command is to have its place.
        var isReplaced = false
    }

    fileprivate struct State {
        /// What is run next; nil where nobody wants to know.
        var command: String?
        var logger: Logger
        /// What runs now; another one may be next by the configuration.
        var running: Run?
        var isEnding = false
    }

    private let lateAfter: Duration
    private let onEnd: @Sendable (Bool) -> Void
    private let state: Mutex<State>
    private let queue = Mutex(Queue())
    private let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation

    /// - Parameters:
    ///   - command: nil where there is none for now.
    ///   - lateAfter: after how long it is said that a command has not ended.
    ///   - onEnd: called with true where the command ended with 0, with false where it did not, takes long or was not handed
    ///     events.
    init(
        _ command: String?, logger: Logger, lateAfter: Duration = ShellCommand.longRun,
        onEnd: @escaping @Sendable (Bool) -> Void = { _ in }
    ) {
        self.lateAfter = lateAfter
        self.onEnd = onEnd
        state = Mutex(State(command: command, logger: logger))
        (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Runs another command from now on. One that runs already comes to its end, unless it takes long: then it is ended, and
    /// what it was handed is handed to the other.
    func change(to command: String?, logger: Logger) {
        state.withLock { state in
            state.command = command
            state.logger = logger
            return state.replaceLate()
        }?.terminate()
    }

    /// The command that runs now has taken long.
    private func noteLate(_ command: ShellCommand) {
        let (logger, replaced) = state.withLock { state in
            if state.running?.command === command { state.running?.isLate = true }
            return (state.logger, state.replaceLate())
        }
        if let replaced { return replaced.terminate() }
        onEnd(false)
        logger.warning(
            """
            on-import: the command \(command.text.debugDescription) has run for \(lateAfter.components.seconds) seconds and \
            not ended; what is imported meanwhile waits for it. A reload of a configuration with another command ends it
            """)
    }

    /// Adds an event, as `watch --json` prints it.
    func add(_ line: String) {
        guard state.withLock({ $0.command != nil }) else { return }
        queue.withLock { queue in
            queue.lines.append(line)
            queue.bytes += line.utf8.count
            while queue.bytes > Self.maximumBytes, queue.lines.count > 1 {
                queue.bytes -= queue.lines.removeFirst().utf8.count
                queue.dropped += 1
            }
        }
        wake.yield()
    }

    /// Ends the command that runs now without any further grace, and lets none begin.
    func kill() { endRunning()?.kill() }

    /// Lets no further command begin. Returns the one that runs now.
    private func endRunning() -> ShellCommand? {
        state.withLock { state in
            state.isEnding = true
            return state.running?.command
        }
    }

    func run() async throws {
        await withGracefulShutdownHandler {
            for await _ in wakes { await handOver() }
            // What came after the last wake was taken.
            await handOver()
        } onGracefulShutdown: { [self] in
            wake.finish()
            DispatchQueue.global().asyncAfter(deadline: .now() + Self.patience) { [self] in
                endRunning()?.terminate()
            }
        }
    }

    private func handOver() async {
        let batch = queue.withLock { queue in
            defer { queue = Queue() }
            return queue
        }
        let logger = state.withLock { $0.logger }
        if batch.dropped > 0 {
            onEnd(false)
            logger.error(
                "\(batch.dropped.counted("event was", "events were")) dropped, because the command did not keep up")
        }
        guard !batch.lines.isEmpty else { return }
        let (command, isEnding) = state.withLock { state in
            let command = state.command.map { ShellCommand($0) }
            if !state.isEnding { state.running = command.map { Run(text: $0.text, command: $0) } }
            return (command, state.isEnding)
        }
        guard let command else { return }
        guard !isEnding else {
            onEnd(false)
            logger.error(
                "\(batch.lines.count.counted("event was", "events were")) not handed over, because the command had no time left"
            )
            return
        }
        let input = batch.lines.joined(separator: "\n") + "\n"
        let failure = await command.failure(input: input, lateAfter: lateAfter) { self.noteLate(command) }
        let run = state.withLock { state in
            defer { state.running = nil }
            return state.running
        }
        guard let failure else { return onEnd(true) }
        guard !(run?.isReplaced ?? false) else { return putBack(batch, logger) }
        // That it took long has been counted.
        if !(run?.isLate ?? false) { onEnd(false) }
        logger.error("on-import: \(failure.message)")
    }

    /// Has what was handed to a command that was ended handed to the one in its place.
    private func putBack(_ batch: Queue, _ logger: Logger) {
        logger.notice("on-import: the command that took long was ended, because the configuration has another now")
        guard state.withLock({ $0.command != nil }) else { return }
        queue.withLock { queue in
            queue.lines = batch.lines + queue.lines
            queue.bytes += batch.bytes
        }
        wake.yield()
    }
}

extension ImportHook.State {
    /// Returns the command that runs now, where it takes long and is not the one to run any more.
    fileprivate mutating func replaceLate() -> ShellCommand? {
        guard let running, running.isLate, running.text != command else { return nil }
        self.running?.isReplaced = true
        return running.command
    }
}
