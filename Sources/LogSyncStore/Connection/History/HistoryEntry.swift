package import LogSyncModel

/// One transaction in the store's history.
package struct HistoryEntry: Sendable {
    /// Grows with each transaction recorded or imported here.
    package var token: Int64
    package var dot: Dot
    package var time: HybridTime
    package var author: String?
    package var context: String?
    package var counts: [String: ChangeCounts]
    /// The rows that it changed, by table; nil where they were not asked for, or are not kept.
    package var rows: [String: TableChanges]?
    package var cause = HistoryCause.transaction
}

/// What an entry of the history is.
package enum HistoryCause: String, Sendable {
    case transaction
    /// A snapshot was joined, up to this transaction of its author.
    case snapshot
    /// Rows changed on this machine without one, as a parked row that has room now.
    case settled
    /// A program at this store gave rows other integers, of which other peers hear nothing.
    case moved

    /// Whether a program at this store did it, where it is nobody's transaction.
    var isOwn: Bool { self == .moved }
}
