import LogSyncModel
import LogSyncStore

/// Hearing of rows that enter a condition, leave it, or change within it.
extension Replicator {
    /// Keeps a subscription in the store, and tells what it fires: what waits from before, then what comes, while this
    /// replicator runs or syncs. One of the same name that says the same goes on where it was, another is replaced; then rows
    /// that are within the condition already are not told of.
    ///
    /// ```swift
    /// let urgent = Subscription(name: "urgent", table: "item", condition: "done = 0 AND priority >= 3", events: .enters)
    /// for await event in try await replicator.subscribe(urgent) { notify(event.rows) }
    /// ```
    ///
    /// Which rows are inside is noted, and what is told of them put aside, in the transaction that changes the rows: whatever
    /// process imports them, and wherever it is killed, each firing is there once. It is taken away when the next one is asked
    /// for, so that one whose program ends while it acts on it is told again at the next start, under the same
    /// ``SubscriptionEvent/id``. A subscription is for one loop of one process.
    ///
    /// - Throws: `usage` where the condition is none, or wants more than it may; where the store has no such table, or the name
    ///   is one that `logsync watch` serves.
    public func subscribe(_ subscription: Subscription) async throws -> AsyncStream<SubscriptionEvent> {
        try await register(subscription, isOfProgram: true)
        return firings(of: subscription.name, isOfProgram: true)
    }

    /// Forgets a subscription, and what it had still to tell.
    ///
    /// - Parameter dryRun: whether to only see whether there is one.
    /// - Throws: `usage` where there is none of that name.
    public func unsubscribe(_ name: String, dryRun: Bool = false) async throws {
        let isThere =
            if dryRun {
                try subscriptions().contains { $0.name == name }
            } else {
                try await settledStep { try $0.store.unsubscribe(name) }
            }
        guard isThere else {
            throw LogSyncError(
                .usage, "\(path) has no subscription \(name.debugDescription); nothing was changed",
                help: "logsync subscribe \(path.asShellArgument) --list names them")
        }
    }

    /// All subscriptions of the store, by name: this program's, others', and what `logsync watch` serves.
    public func subscriptions() throws -> [Subscription] {
        try inspect { store in
            let tables = try store.store.tableNames()
            return try store.store.subscriptions().map { kept in
                var subscription = Subscription(
                    name: kept.name, table: tables[kept.table] ?? kept.table, condition: kept.condition,
                    events: Subscription.Events(rawValue: kept.events), includesLocal: kept.includesLocal,
                    command: kept.command)
                subscription.trouble = kept.trouble
                return subscription
            }
        }
    }

    /// Keeps a subscription that `logsync watch` serves.
    ///
    /// - Returns: how many rows are within its condition.
    @discardableResult
    package func register(_ subscription: Subscription, isOfProgram: Bool = false) async throws -> Int {
        guard !subscription.name.isEmpty, !subscription.name.hasPrefix("-") else {
            throw LogSyncError(.usage, "a subscription needs a name that is not empty and does not begin with -")
        }
        guard !subscription.events.isEmpty else {
            throw LogSyncError(
                .usage, "the subscription \(subscription.name) is to hear of nothing; nothing was changed",
                help: "Name enters, leaves or changes")
        }
        return try await settledStep { store in
            try store.store.subscribe(
                StoredSubscription(
                    name: subscription.name, table: subscription.table, condition: subscription.condition,
                    events: subscription.events.rawValue, includesLocal: subscription.includesLocal,
                    command: subscription.command, isOfProgram: isOfProgram))
        }
    }

    /// Takes an event away, so that it is not told again, before the next one is asked for.
    public func markTold(_ event: SubscriptionEvent) async throws {
        try await forget(event.id)
    }

    /// Which peer the store is may not be known yet: what it has told is its own business.
    private func forget(_ firing: Int64) async throws {
        try await step(settles: true) { try $0.store.removeFiring(firing) }
    }

    /// What waits to be told by `logsync watch`, and then what comes; each is taken away when the next one is asked for.
    package nonisolated func firings() -> AsyncStream<SubscriptionEvent> { firings(of: nil, isOfProgram: false) }

    private nonisolated func firings(of name: String?, isOfProgram: Bool) -> AsyncStream<SubscriptionEvent> {
        let wakes = FiringWakes(firingHub.stream(limit: 1))
        return AsyncStream {
            while !Task.isCancelled {
                // What cannot be asked now is asked at the next step.
                if let event = try? await self.nextFiring(of: name, isOfProgram: isOfProgram, after: wakes.told) {
                    wakes.told = event.id
                    return event
                }
                guard await wakes.next() else { return nil }
            }
            return nil
        }
    }

    /// Takes away what was told, and gives what waits next; nil where nothing does.
    private func nextFiring(
        of name: String?, isOfProgram: Bool, after told: Int64?
    ) async throws -> SubscriptionEvent? {
        if let told { try await forget(told) }
        // A store that is missing is told of by the rounds.
        return try inspect { store in
            guard let firing = try store.store.nextFiring(isOfProgram: isOfProgram, of: name) else { return nil }
            let keys = try store.store.primaryKeyColumns()[firing.table] ?? []
            return SubscriptionEvent(
                store: store.place.path, id: firing.id, subscription: firing.subscription,
                kind: SubscriptionEvent.Kind(rawValue: firing.kind.rawValue) ?? .changes,
                table: try store.store.tableNames()[firing.table] ?? firing.table,
                rows: firing.keys.map { RowKey(columns: keys, values: $0) }, isTruncated: firing.isTruncated,
                token: store.token(firing.token), command: firing.command)
        }
    }
}

/// What one loop over firings remembers.
///
/// Unchecked because the closure of one `AsyncStream` alone touches it, which is called by one consumer at a time.
private final class FiringWakes: @unchecked Sendable {
    private var wakes: AsyncStream<Void>.Iterator
    /// What was handed out last.
    var told: Int64?

    init(_ stream: AsyncStream<Void>) { wakes = stream.makeAsyncIterator() }

    /// False where nothing comes any more.
    func next() async -> Bool { await wakes.next() != nil }
}
