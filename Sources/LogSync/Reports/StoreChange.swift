public import LogSyncModel

/// Says that rows of a store changed which the program did not write itself.
///
/// It is sent after SQLite's commit, so a read that begins now sees the changes.
public struct StoreChange: Sendable {
    /// What changed the rows.
    public struct Cause: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// What other peers did was merged.
        public static let imported = Self(rawValue: "imported")
        /// Something else than an import, on this machine: a parked row has room now, a policy was set, a conflict was
        /// settled, a packaged database was seeded.
        public static let settled = Self(rawValue: "settled")
    }

    public var cause: Cause
    /// Whether another process at this store imported them. Their keys are not listed then.
    public var isElsewhere: Bool
    /// The store's path.
    public var store: String
    /// The rows changed, by table. Where ``TableChanges/isTruncated`` some are missing, and the table has to be read.
    public var tables: [String: TableChanges]
    /// What was imported, in the order in which it was merged; empty for other causes.
    public var transactions: [DidImport.Transaction]
}

extension StoreChange {
    /// - Parameter isElsewhere: whether another process at the store imported it.
    init(_ event: DidImport, isElsewhere: Bool = false) {
        self.init(
            cause: .imported, isElsewhere: isElsewhere, store: event.store,
            tables: event.transactions.reduce(into: [:]) { tables, transaction in
                tables.merge(transaction.tables) { $0.adding($1) }
            }, transactions: event.transactions)
    }
}
