import Dispatch
import LogSyncModel
import Synchronization

/// Something asynchronous that a replicator's own thread waits for, because it has the store's lock meanwhile; cancelled
/// with the task that waits.
final class CancellableAccess: Sendable {
    private struct State {
        var isCancelled = false
        var task: Task<Void, Never>?
    }

    private final class Outcome<Value: Sendable>: Sendable {
        let result = Mutex<Result<Value, any Error>?>(nil)
    }

    private let state = Mutex(State())

    func cancel() {
        let task = state.withLock { state in
            state.isCancelled = true
            return state.task
        }
        task?.cancel()
    }

    /// Runs `body` on Swift's pool, and blocks this thread until it has ended. Not to be called from that pool.
    ///
    /// - Throws: what `body` throws; `CancellationError` where that is an error of ours which the cancellation brought about.
    func run<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) throws -> Value {
        let (done, outcome) = (DispatchSemaphore(value: 0), Outcome<Value>())
        state.withLock { state in
            let task = Task {
                let result: Result<Value, any Error>
                do {
                    result = .success(try await body())
                } catch is LogSyncError where Task.isCancelled {
                    // A statement was interrupted; whatever it was, the caller wants it no more.
                    result = .failure(CancellationError())
                } catch {
                    result = .failure(error)
                }
                outcome.result.withLock { $0 = result }
                done.signal()
            }
            if state.isCancelled { task.cancel() }
            state.task = task
        }
        done.wait()
        guard let result = outcome.result.withLock({ $0 }) else { throw CancellationError() }
        return try result.get()
    }
}
