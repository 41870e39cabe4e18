import LogSyncFormat
import LogSyncModel

/// The rows of a transaction that nothing contests, group by group.
struct TransactionBatches {
    private unowned let transaction: TransactionMerge
    /// Has rows of the groups before; the groups of one table share it.
    private var inserter: BatchInserter?

    init(_ transaction: TransactionMerge) {
        self.transaction = transaction
    }

    /// Applies the changes of a group that nothing contests.
    ///
    /// - Returns: the others, by index; they see all rows of the groups before.
    mutating func apply(_ group: RowGroup, _ target: GroupTarget) throws -> [Int] {
        guard let inserts = try BatchInsertMerge(group, target, transaction), let table = target.table else {
            try flush()
            return try BatchChangeMerge(group, target, transaction)?.apply() ?? Array(0..<group.rowCount)
        }
        let inserter = try inserter(for: table, without: target.missing)
        let left = try inserts.insert(with: inserter)
        if !left.isEmpty { try flush() }
        return left
    }

    private mutating func inserter(for table: TrackedTable, without missing: [Int]) throws -> BatchInserter {
        if let inserter, inserter.table === table, inserter.missing == missing { return inserter }
        try flush()
        let new = try BatchInserter(
            table, without: missing, transaction.store, transaction.shownRows, transaction.stamp)
        inserter = new
        return new
    }

    /// Writes what is left to be written: the rows that follow may look for rows that were inserted.
    mutating func flush() throws {
        try inserter?.flush()
        inserter = nil
    }
}
