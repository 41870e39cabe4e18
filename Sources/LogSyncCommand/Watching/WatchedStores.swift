import LogSync
import ServiceLifecycle

/// Runs all stores side by side until the daemon is told to end.
struct WatchedStores: Service {
    let watches: [StoreWatch]
    let onEnd: @Sendable () -> Void

    func run() async throws {
        await withTaskGroup(of: Void.self) { group in
            for watch in watches {
                group.addTask { await watch.run() }
            }
            let isEnding = AsyncStream.makeStream(of: Void.self)
            await withTaskCancellationOrGracefulShutdownHandler {
                // Nothing is ever sent: this waits for the end.
                for await _ in isEnding.stream {}
            } onCancelOrGracefulShutdown: {
                isEnding.continuation.finish()
            }
            onEnd()
            group.cancelAll()
        }
    }
}
