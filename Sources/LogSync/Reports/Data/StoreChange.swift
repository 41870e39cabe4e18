public import LogSyncModel

/// Says that rows of a store changed which the program did not write itself.
///
/// It is sent after SQLite's commit, so a read that begins now sees the changes.
public struct StoreChange: Sendable {
    /// What changed the rows.
    public struct Cause: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A program wrote them in this store, of which ``Replicator/history(_:)`` tells and ``Replicator/changes`` does not.
        public static let recorded = Self(rawValue: "recorded")
        /// What other peers did was merged.
        public static let imported = Self(rawValue: "imported")
        /// A snapshot of another peer was merged.
        public static let joinedSnapshot = Self(rawValue: "joinedSnapshot")
        /// Something else than an import, on this machine: a parked row has room now, a policy was set, a conflict was
        /// settled, a packaged database was seeded.
        public static let settled = Self(rawValue: "settled")
    }

    public var cause: Cause
    /// Whether another process at this store did it.
    public var isElsewhere: Bool
    /// The store's path.
    public var store: String
    /// The rows changed, by the table's name in the database. Where ``TableChanges/isTruncated`` some are missing, and the table has to be read.
    public var tables: [String: TableChanges]
    /// What was imported, in the order in which it was merged; empty for other causes.
    public var transactions: [DidImport.Transaction]
    /// Of what is no transaction.
    var settledToken: HistoryToken?

    /// The place in the store's history of the last of it; nil where this process has just settled it, and has given it
    /// none yet.
    public var token: HistoryToken? { transactions.last?.token ?? settledToken }
}

extension StoreChange {
    init(_ event: DidImport, _ cause: Cause) {
        self.init(
            cause: cause, isElsewhere: false, store: event.store,
            tables: event.transactions.reduce(into: [:]) { tables, transaction in
                tables.merge(transaction.tables) { $0.adding($1) }
            }, transactions: event.transactions)
    }
}
