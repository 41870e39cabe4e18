import LogSyncModel

/// Changes by the integers that this store gives to rows: its programs are told of them, and other peers are not.
struct UntoldChanges {
    /// By table.
    private(set) var changes: [String: TableChanges] = [:]

    /// Notes that a row has another integer.
    mutating func noteMove(of table: TrackedTable, from former: Int64, to integer: Int64) {
        changes[table.name, default: TableChanges()].note(.delete, [.integer(former)])
        changes[table.name, default: TableChanges()].note(.insert, [.integer(integer)])
    }

    /// Notes that a row goes on under another key, which holds the integer of such a row: what it was has gone. What it is
    /// now is written.
    mutating func noteFormerKey(_ key: [Value], of table: TrackedTable) {
        changes[table.name, default: TableChanges()].note(.delete, key)
    }

    /// The same, where nothing of it is written.
    mutating func noteKey(_ key: [Value], of table: TrackedTable) {
        changes[table.name, default: TableChanges()].note(.insert, key)
    }

    /// Notes that a row refers to such rows, as it did before.
    ///
    /// - Parameter positions: of the columns that do.
    mutating func noteOtherIntegers(at positions: [Int], key: [Value], in table: TrackedTable) {
        guard !positions.isEmpty else { return }
        changes[table.name, default: TableChanges()].note(
            .update, key, columns: positions.map { table.columns[$0].local })
    }
}
