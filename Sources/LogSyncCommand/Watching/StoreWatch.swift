import Foundation
import LogSync
import Logging

/// Keeps one store in step for as long as the daemon runs.
///
/// The replicator itself tries again where the store is missing or locked, or the container is not there; here is tried
/// again what keeps a replicator from being made at all, as a state directory that cannot be written. A replicator is one of
/// a file; where a link in the path that was given leads to another by now, another replicator takes over.
struct StoreWatch: Sendable {
    /// The store's absolute path, as it was given.
    let store: String
    /// Of the configuration that it was made by.
    let revision: Int
    let make: @Sendable () throws -> Replicator
    /// Called when the replicator has been made, and with nil when it has ended.
    let onChange: @Sendable (Replicator?) -> Void
    let onEvent: @Sendable (ReplicationEvent) -> Void
    /// Called with the content folder each time the store has become ready.
    let onReady: @Sendable (String) -> Void
    let subscriptions: SubscriptionServer
    let logger: Logger
    /// Notes what is worked on.
    let notes: WorkNotes
    /// For how long the store is left alone first.
    let setBack: StoreStatus.SetBack?
    /// Called when the store is left alone, and with nil when that has ended.
    let onSetBack: @Sendable (StoreStatus.SetBack?) -> Void

    private static let pause = Duration.seconds(5)
    /// How often it is looked where the path leads, and how long a database that programs write there all the time is taken
    /// for one that is still being copied.
    private static let linkPause = Duration.seconds(2)
    private static let linkPatience = Duration.seconds(10)

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
                if let place = try await relay(replicator) {
                    logger.notice("\(store) leads to \(place) now; that is watched from now on")
                    continue
                }
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

    /// Runs the replicator until the task is cancelled.
    ///
    /// - Returns: where the store's path leads now, if that has ended it.
    private func relay(_ replicator: Replicator) async throws -> String? {
        let events = replicator.events()
        let listener = Task {
            for await event in events {
                if case .ready = event {
                    notes.clear(store)
                    // The store may be busy, and the events that follow are not to wait for it.
                    Task { if let folder = await replicator.contentPath() { onReady(folder) } }
                }
                onEvent(event)
            }
        }
        let server = Task { await subscriptions.run(replicator) }
        let running = Task { try await replicator.run() }
        let link = Task {
            let place = await otherPlace(than: replicator.path)
            running.cancel()
            return place
        }
        let result = await withTaskCancellationHandler {
            await running.result
        } onCancel: {
            running.cancel()
        }
        for task in [listener, server] { await drain(task) }
        link.cancel()
        let place = await link.value
        await replicator.close()
        try result.get()
        return place
    }

    /// Waits until the store's path leads to a file at another place, and nothing changes there any more.
    ///
    /// - Parameter path: where it led when the replicator was made; where there was nothing, where it was to be.
    /// - Returns: nil where the task is cancelled before.
    private func otherPlace(than path: String) async -> String? {
        var last: LinkTarget?
        var start = ContinuousClock.now
        // A sleep fails when the task is cancelled, and only then.
        while (try? await Task.sleep(for: Self.linkPause)) != nil {
            let target = LinkTarget(store)
            defer { last = target }
            guard let target, target.path != path else { continue }
            if target == last { return target.path }
            if target.path != last?.path { start = .now }
            if start.duration(to: .now) >= Self.linkPatience { return target.path }
        }
        return nil
    }

    /// A stream that is cancelled still hands out what it holds.
    private func drain(_ task: Task<Void, Never>) async {
        task.cancel()
        await task.value
    }
}

/// Where a path leads, and what is seen of the files there without opening them.
private struct LinkTarget: Equatable {
    let path: String
    private let files: [[Int]]

    /// nil for what is missing: it leads nowhere.
    init?(_ link: String) {
        guard let resolved = realpath(link, nil) else { return nil }
        defer { free(resolved) }
        let path = String(cString: resolved)
        self.path = path
        files = ["", "-wal", "-journal"].map { end in
            var status = stat()
            guard stat(path + end, &status) == 0 else { return [] }
            return [Int(status.st_ino), Int(status.st_size), status.st_mtim.tv_sec, status.st_mtim.tv_nsec]
        }
    }
}
