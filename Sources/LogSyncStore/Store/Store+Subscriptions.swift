import LogSyncModel
import LogSyncSQLite

/// Conditions that are told of, see ``Subscriptions``.
extension Store {
    /// Keeps a subscription. One of the same name that says the same stays as it is, with what it has to tell.
    ///
    /// - Returns: how many rows are within its condition.
    /// - Throws: `usage` where the table or the condition cannot be used, or the name is taken by one that is told elsewhere.
    package func subscribe(_ subscription: StoredSubscription) throws -> Int {
        try database.write { store in
            let subscriptions = Subscriptions(store: store)
            let tables = try store.tables(named: subscription.table)
            guard let table = tables.first else {
                throw LogSyncError(
                    .usage, "the table \(subscription.table) is not in this store; nothing was changed",
                    subject: .table(subscription.table))
            }
            var wanted = subscription
            wanted.table = table.name
            if let former = try subscriptions.all().first(where: { $0.name == wanted.name }) {
                guard former.isOfProgram == wanted.isOfProgram else {
                    throw LogSyncError(
                        .usage,
                        "\(wanted.name.debugDescription) is a subscription that "
                            + (former.isOfProgram ? "a program listens to" : "logsync watch serves")
                            + "; nothing was changed",
                        help:
                            "Choose another name, or remove it first: logsync subscribe \(path.asShellArgument) --remove \(wanted.name.asShellArgument)"
                    )
                }
                if former.saysTheSame(as: wanted) { return try subscriptions.count(of: wanted.name) }
            }
            // What was written before is no news.
            _ = try RecordStep(store).run()
            return try subscriptions.add(wanted, on: table)
        }
    }

    /// - Returns: whether there was one.
    package func unsubscribe(_ name: String) throws -> Bool {
        try database.write { store in
            let isThere = try Subscriptions(store: store).remove(name)
            store.hasSubscriptions = try Subscriptions.areThere(store)
            return isThere
        }
    }

    package func subscriptions() throws -> [StoredSubscription] {
        try database.read { try Subscriptions(store: $0).all() }
    }

    package func nextFiring(isOfProgram: Bool, of name: String?) throws -> SubscriptionNotice? {
        try database.read { try Subscriptions(store: $0).nextFiring(isOfProgram: isOfProgram, of: name) }
    }

    /// The number of the last firing that waits; nil where none does.
    package func lastFiring() throws -> Int64? {
        try database.read { store in
            guard store.hasSubscriptions else { return nil }
            return try store.connection.integer("SELECT max(id) FROM logsync_firing")
        }
    }

    package func removeFiring(_ id: Int64) throws {
        try database.write { try $0.connection.run("DELETE FROM logsync_firing WHERE id = ?", .integer(id)) }
    }

    /// What tables are called here, by their names in logs.
    package func tableNames() throws -> [String: String] {
        try database.read { store in
            Dictionary(store.catalog.tables.map { ($0.name, $0.schema.name) }) { first, _ in first }
        }
    }
}

extension StoredSubscription {
    fileprivate func saysTheSame(as other: StoredSubscription) -> Bool {
        name == other.name && table == other.table && condition == other.condition && events == other.events
            && includesLocal == other.includesLocal && command == other.command
    }
}
