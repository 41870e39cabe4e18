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

    private struct State {
        /// What runs now, or next; nil where nobody wants to know.
        var command: ShellCommand?
        var logger: Logger
        /// What runs now; another one may be next by the configuration.
        var running: ShellCommand?
        var isEnding = false
    }

    private let onEnd: @Sendable (Bool) -> Void
    private let state: Mutex<State>
    private let queue = Mutex(Queue())
    private let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation

    /// - Parameters:
    ///   - command: nil where there is none for now.
    ///   - onEnd: called with true where the command ended with 0, with false where it did not or was not handed events.
    init(_ command: String?, logger: Logger, onEnd: @escaping @Sendable (Bool) -> Void = { _ in }) {
        self.onEnd = onEnd
        state = Mutex(State(command: command.map { ShellCommand($0) }, logger: logger))
        (wakes, wake) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Runs another command from now on; one that runs already comes to its end.
    func change(to command: String?, logger: Logger) {
        state.withLock { state in
            state.command = command.map { ShellCommand($0) }
            state.logger = logger
        }
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
            return state.running
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
            if !state.isEnding { state.running = state.command }
            return (state.command, state.isEnding)
        }
        guard let command else { return }
        defer { state.withLock { $0.running = nil } }
        guard !isEnding else {
            onEnd(false)
            logger.error(
                "\(batch.lines.count.counted("event was", "events were")) not handed over, because the command had no time left"
            )
            return
        }
        do {
            try await command.run(input: batch.lines.joined(separator: "\n") + "\n")
            onEnd(true)
        } catch {
            onEnd(false)
            logger.error("\(LogSyncError(describing: error).description)")
        }
    }
}
