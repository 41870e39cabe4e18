import Foundation
import LogSync
import ServiceLifecycle
import Synchronization

/// The program that reads what the daemon prints. When the reader has ended, so does the daemon, though it may have nothing
/// to print for days.
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
        // Kept until the process ends, where the reader does not end before.
        Thread.detachNewThread { [self] in
            if Terminal.awaitEndOfReader(timeout: -1) { leave(Terminal.noReader) }
        }
        await withTaskCancellationOrGracefulShutdownHandler {
            // Nothing is ever sent: this waits for the end.
            for await _ in ends {}
        } onCancelOrGracefulShutdown: { [end] in
            end.finish()
        }
    }
}
