import LogSync
import ServiceLifecycle
import Synchronization

/// The program that reads what the daemon prints. When the reader has ended, so does the daemon.
final class Audience: Service {
    private let failure = Mutex<LogSyncError?>(nil)
    private let ends: AsyncStream<Void>
    private let end: AsyncStream<Void>.Continuation

    init() {
        (ends, end) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Why no program reads any more; nil where one may.
    var error: LogSyncError? { failure.withLock { $0 } }

    /// Nobody reads any more.
    func leave(_ error: LogSyncError) {
        failure.withLock { $0 = $0 ?? error }
        end.finish()
    }

    /// Returns when the reader has ended, or the daemon is told to.
    func run() async throws {
        await withTaskCancellationOrGracefulShutdownHandler {
            // Nothing is ever sent: this waits for the end.
            for await _ in ends {}
        } onCancelOrGracefulShutdown: { [end] in
            end.finish()
        }
    }
}
