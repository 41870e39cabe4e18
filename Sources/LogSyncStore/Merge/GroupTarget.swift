import LogSyncModel
import LogSyncSQLite

/// Where a group's columns go in this store's table.
struct GroupTarget {
    let table: TrackedTable?
    /// By the group's columns: the position in the table, nil for a column that is not here.
    let positions: [Int?]
    /// By the group's columns: the table that its references name.
    let references: [String?]
    /// Whether every column of the group is here.
    let isKnown: Bool
    /// Whether the group gives every column of the table a value and no other.
    let isComplete: Bool
    let hasNoKey: Bool
    let hasWholeKey: Bool
    let hasReferences: Bool

    init(_ group: RowGroup, _ table: TrackedTable?) {
        self.table = table
        let positions = group.columns.map { table?.positions[$0.name.lowercased()] }
        self.positions = positions
        references = zip(group.columns, positions).map { column, position in
            column.referencedTable ?? position.flatMap { table?.columns[$0].reference }
        }
        isKnown = positions.allSatisfy { $0 != nil }
        hasReferences = references.contains { $0 != nil }
        let given = Set(positions.compactMap { $0 })
        let keys = Set(table?.key.map(\.index) ?? [])
        isComplete = isKnown && table.map { given.union(keys).count == $0.columns.count } ?? false
        hasNoKey = given.isDisjoint(with: keys)
        hasWholeKey = given.isSuperset(of: keys)
    }

    func reference(of column: RowGroup.Column, at position: Int) -> String? {
        column.referencedTable ?? table?.columns[position].reference
    }
}
