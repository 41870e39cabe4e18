import LogSyncFormat
package import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// A large value whose bytes nobody has any more, and that its transaction was merged without, because a person said so.
///
/// What its cell showed before stands in its place, and in a new row the column's default, as if its author had written that
/// at that time. In the same write transaction this peer says it anew, as an edit of its own that has seen the lost one: a
/// peer that does have the bytes comes to show what the others do. Where nothing is shown of the row, that is not needed.
package struct LostValue: Hashable, Sendable {
    /// The transaction that names it.
    package var dot: Dot
    package var blob: BlobID
    /// As logs have them.
    package var table: String
    package var column: String
    package var identity: RowIdentity

    /// Puts something in the place of what is lost in a row.
    ///
    /// - Parameters:
    ///   - blobs: which are lost. Of a table or a column that is not here, nothing can take their place.
    ///   - present: the row as it is, where it is beside its table for the time being.
    static func replace(
        in row: inout IncomingRow, _ blobs: Set<BlobID>, _ present: RowState?, _ shownRows: ShownRows
    ) throws -> [LostValue] {
        guard let table = row.table else { return [] }
        var lost: [LostValue] = []
        let index = row.index
        for (place, column) in row.group.columns.enumerated() {
            guard case .external(let reference) = column.values[index], blobs.contains(reference.id),
                let position = row.target.positions[place]
            else { continue }
            let name = table.columns[position].name
            let former = try present ?? Self.present(row, in: table, shownRows)
            let shown = former?.state.cellsByName[name].flatMap { shownRows.store.shown($0, table.name, name) }
            row.group.columns[place].values[index] = shown ?? Self.empty(reference, table, position, shownRows.store)
            lost.append(
                LostValue(
                    dot: Dot(shownRows.store.peers.id(row.stamp.peer), row.stamp.sequence), blob: reference.id,
                    table: table.name, column: name, identity: row.identity))
        }
        return lost
    }

    private static func present(
        _ row: IncomingRow, in table: TrackedTable, _ shownRows: ShownRows
    ) throws -> RowState? {
        guard row.group.kind == .update else { return nil }
        if let position = try shownRows.locate(row.identity, in: table) {
            return try shownRows.full(at: position, in: table)?.full
        }
        return try HiddenRows(shownRows.store).row(table.name, row.identity).map {
            RowState(table: table.name, identity: row.identity, state: $0.clock, integer: $0.integer)
        }
    }

    /// What a column of a new row holds that has to hold something.
    private static func empty(
        _ reference: BlobReference, _ table: TrackedTable, _ position: Int, _ store: OpenStore
    ) -> Value {
        let value = store.defaultValue(of: table, position)
        let isNeeded = table.schema.column(table.columns[position].local)?.isNotNull ?? false
        return value == .null && isNeeded ? reference.value([]) : value
    }
}
