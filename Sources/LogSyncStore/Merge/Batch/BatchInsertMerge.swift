import LogSyncFormat
import LogSyncModel
import LogSyncState

/// The shortest way of merging: new rows that nothing contests go in one after the other.
///
/// A group's rows are taken here where they are inserts that give columns of the table values at one time, as this
/// store's schema takes them. Columns that came to the table later, of
/// which they say nothing, show what they begin with. Such a row, if no row here has its identity,
/// is what ``RowMerge`` inserts: it covers nothing, its clock record is its base, and SQLite itself says whether a
/// constraint refuses it. Rows that are refused are left, and go the ways that all others go.
struct BatchInsertMerge {
    private let transaction: TransactionMerge
    private let group: RowGroup
    private let target: GroupTarget

    /// nil where the group is of another kind.
    init?(_ group: RowGroup, _ target: GroupTarget, _ transaction: TransactionMerge) throws {
        guard group.kind == .insert, target.keepsValues, let table = target.table,
            target.isKnown, target.saysKey, target.missing.allSatisfy({ table.columns[$0].reference == nil }),
            target.hasNoKey || target.hasWholeKey,
            transaction.undecided.isEmpty,
            group.columns.allSatisfy({ $0.operation == .set && $0.times.isEmpty })
        else { return nil }
        for (column, position) in zip(group.columns, target.positions) {
            guard let position, column.referencedTable == table.columns[position].reference else { return nil }
        }
        guard BatchInserter.suits(table, transaction.store),
            !transaction.store.awaitsFills(table, in: target.positions.compactMap(\.self))
        else { return nil }
        self.transaction = transaction
        self.group = group
        self.target = target
    }

    /// Returns the rows that are left, by index.
    func insert(with inserter: BatchInserter) throws -> [Int] {
        let table = inserter.table
        var places = [Int](repeating: 0, count: table.columns.count)
        for (place, position) in target.positions.enumerated() {
            if let position { places[position] = place }
        }
        try inserter.expect(group.integers)
        // All that is asked of the group, once a row.
        let (group, columns) = (group, group.columns)
        let listed = transaction.notes.tables[table.name]?.inserted.count ?? 0
        var left: [Int] = []
        var stamp = transaction.stamp
        // Whether a row is in is known once it is written: until then its key is kept.
        var keys: [(index: Int, key: [Value])] = []
        for index in 0..<group.rowCount {
            stamp.time = group.times[index]
            let identity = group.identities[index]
            guard
                let rowid = try inserter.insert(
                    identity, index, hint: group.integers.isEmpty ? nil : group.integers[index], stamp,
                    omitsKey: target.hasNoKey, value: { columns[places[$0]].values[index] })
            else {
                left.append(index)
                continue
            }
            if listed + keys.count < TableChanges.maximumKeys {
                keys.append((index, inserter.primaryKey(at: rowid)))
            }
        }
        left = (left + (try inserter.write())).sorted()
        keys.removeAll { left.contains($0.index) }
        transaction.notes.withChanges(of: table.name) { changes in
            for place in 0..<group.rowCount - left.count {
                changes.note(.insert, place < keys.count ? keys[place].key : nil)
            }
        }
        return left
    }
}
