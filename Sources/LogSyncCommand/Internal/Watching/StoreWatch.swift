import LogSync

/// Keeps one store in step; where it is missing, locked or broken, tries again for as long as it takes.
struct StoreWatch: Sendable {
    /// The store's absolute path, as it was given.
    let store: String
    let open: @Sendable () async throws -> Replicator
    /// Called whenever the store has been opened, and with nil when it has been let go.
    let onOpen: @Sendable (Replicator?) -> Void
    let onEvent: @Sendable (ReplicationEvent) -> Void

    private static let shortestPause = Duration.seconds(1)
    private static let longestPause = Duration.seconds(30)

    /// Runs until the task is cancelled.
    func run() async {
        var reported: LogSyncError?
        var pause = Self.shortestPause
        while !Task.isCancelled {
            do {
                let replicator = try await open()
                reported = nil
                pause = Self.shortestPause
                onOpen(replicator)
                defer { onOpen(nil) }
                try await relay(replicator)
            } catch {
                // Cancellation comes in many forms, from SQLite's interrupt to an error of Swift's.
                guard !Task.isCancelled else { return }
                let error = LogSyncError(describing: error)
                // The same trouble is said once, not once a second.
                if error != reported { onEvent(event(error)) }
                reported = error
                pause = isCheap(error) ? Self.shortestPause : min(pause * 2, Self.longestPause)
            }
            // Only cancellation ends this early, and the loop sees it.
            try? await Task.sleep(for: pause)
        }
    }

    private func relay(_ replicator: Replicator) async throws {
        let events = replicator.events()
        let listener = Task {
            for await event in events { onEvent(event) }
        }
        defer { listener.cancel() }
        do {
            try await replicator.run()
        } catch {
            await drain(listener)
            throw error
        }
        await drain(listener)
    }

    /// A stream that is cancelled still hands out what it holds.
    private func drain(_ listener: Task<Void, Never>) async {
        listener.cancel()
        await listener.value
    }

    private func event(_ error: LogSyncError) -> ReplicationEvent {
        error.code == .containerUnavailable
            ? .unavailable(store: store, error: error) : .error(store: store, error: error)
    }

    /// Whether looking again costs next to nothing.
    private func isCheap(_ error: LogSyncError) -> Bool {
        error.code == .noStore || error.code == .notReplicated || error.code == .locked
    }
}
