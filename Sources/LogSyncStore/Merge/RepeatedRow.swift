import LogSyncModel
import LogSyncState

// A transaction has at most one change of a row: of two entries of one dot the state would count both and keep one, and no
// snapshot of it would add up any more.

extension TransactionMerge {
    func repeatedRow(in table: String) -> LogSyncError {
        LogSyncError(
            .malformedLog, "transaction \(header.dot) changes a row of \(table) twice; nothing of it was imported")
    }
}

extension IncomingRow {
    /// Whether an earlier group of the transaction has said of the row what this one says.
    func isRepetition(of full: RowState) -> Bool {
        func isOwn(_ other: Stamp) -> Bool { (other.peer, other.sequence) == (stamp.peer, stamp.sequence) }
        guard group.kind == .update else {
            return (full.state.inserts + full.state.deletes).contains(where: isOwn)
                || full.state.cellsByName.values.contains { $0.stamps.contains(where: isOwn) }
        }
        return group.columns.contains { column in
            // What is added takes the place of what the same transaction has added.
            column.operation != .add
                && full.state.cellsByName[name(of: column)]?.versions.contains { isOwn($0.stamp) } ?? false
        }
    }
}

extension GroupTarget {
    /// To its author they may be two rows, whose keys are one under a collation that came later.
    var repetition: (any Error)? {
        guard let table, table.kind == .natural, !table.keepsIdentities,
            table.key.contains(where: { $0.collation != .binary })
        else { return nil }
        return UnreadyTable(table: table.name, need: .identities)
    }
}
