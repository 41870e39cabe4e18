import LogSync
import ServiceLifecycle

/// Runs all stores side by side until the daemon is told to end; which these are may change meanwhile.
final class WatchedStores: Service {
    private let plans: AsyncStream<[StoreWatch]>
    private let plan: AsyncStream<[StoreWatch]>.Continuation
    private let onEnd: @Sendable () -> Void

    /// - Parameter onEnd: called when the daemon is told to end, before the stores are.
    init(onEnd: @escaping @Sendable () -> Void) {
        (plans, plan) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        self.onEnd = onEnd
    }

    /// Watches these from now on, and no others. What is watched already in the same way goes on.
    func watch(_ watches: [StoreWatch]) { plan.yield(watches) }

    private struct Watcher {
        var revision: Int
        var task: Task<Void, Never>
    }

    func run() async throws {
        var running: [String: Watcher] = [:]
        var ending: [Task<Void, Never>] = []
        await withTaskCancellationOrGracefulShutdownHandler {
            for await watches in plans {
                let wanted = Dictionary(watches.map { ($0.store, $0) }) { first, _ in first }
                for (store, former) in running where wanted[store]?.revision != former.revision {
                    former.task.cancel()
                    guard wanted[store] == nil else { continue }
                    running[store] = nil
                    ending.append(former.task)
                }
                for watch in watches where running[watch.store]?.revision != watch.revision {
                    let former = running[watch.store]?.task
                    let task = Task {
                        await former?.value
                        await watch.run()
                    }
                    running[watch.store] = Watcher(revision: watch.revision, task: task)
                }
            }
        } onCancelOrGracefulShutdown: { [plan] in
            plan.finish()
        }
        onEnd()
        let tasks = running.values.map(\.task) + ending
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }
}
