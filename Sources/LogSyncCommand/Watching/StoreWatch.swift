import Foundation
import LogSync

/// Keeps one store in step for as long as the daemon runs.
///
/// The replicator itself tries again where the store is missing or locked, or the container is not there; here is tried
/// again what keeps a replicator from being made at all, as a state directory that cannot be written.
struct StoreWatch: Sendable {
    /// The store's absolute path, as it was given.
    let store: String
    /// Of the configuration that it was made by.
    let revision: Int
    let make: @Sendable () throws -> Replicator
    /// Called when the replicator has been made, and with nil when it has ended.
    let onChange: @Sendable (Replicator?) -> Void
    let onEvent: @Sendable (ReplicationEvent) -> Void
    let subscriptions: SubscriptionServer
    /// Notes what is worked on.
    let notes: WorkNotes
    /// For how long the store is left alone first.
    let setBack: SetBack?
    /// Called when the store is left alone, and with nil when that has ended.
    let onSetBack: @Sendable (SetBack?) -> Void

    private static let pause = Duration.seconds(5)

    /// Runs until the task is cancelled.
    func run() async {
        if let setBack {
            onSetBack(setBack)
            let pause = Double(setBack.until.milliseconds) / 1000 - Date().timeIntervalSince1970
            // Only cancellation ends this early, and the loop sees it.
            try? await Task.sleep(for: .seconds(max(0, pause)))
            onSetBack(nil)
        }
        await watch()
        // A daemon that ends in order.
        notes.clear(store)
    }

    private func watch() async {
        var reported: LogSyncError?
        while !Task.isCancelled {
            do {
                let replicator = try make()
                reported = nil
                onChange(replicator)
                defer { onChange(nil) }
                try await relay(replicator)
            } catch {
                // Cancellation comes in many forms, from SQLite's interrupt to an error of Swift's.
                guard !Task.isCancelled else { return }
                let error = LogSyncError(describing: error)
                // The same trouble is said once, not every time.
                if error != reported { onEvent(.error(store: store, error: error)) }
                reported = error
            }
            // Only cancellation ends this early, and the loop sees it.
            try? await Task.sleep(for: Self.pause)
        }
    }

    private func relay(_ replicator: Replicator) async throws {
        let events = replicator.events()
        let listener = Task {
            for await event in events {
                if case .ready = event { notes.clear(store) }
                onEvent(event)
            }
        }
        let server = Task { await subscriptions.run(replicator) }
        do {
            try await replicator.run()
        } catch {
            await drain(listener)
            await drain(server)
            throw error
        }
        await drain(listener)
        await drain(server)
    }

    /// A stream that is cancelled still hands out what it holds.
    private func drain(_ task: Task<Void, Never>) async {
        task.cancel()
        await task.value
    }
}
