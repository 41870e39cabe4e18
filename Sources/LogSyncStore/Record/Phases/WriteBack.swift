import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Phase `writeBack`: a row that has to show what its record's versions say, because values kept for a column came to
/// it, or a counter's sum is another number than the one that a program wrote.
struct WriteBack {
    var record: ClockRecord
    /// As it is in the table.
    var row: TableReader.Row
    var identity: RowIdentity
    var position: Int64

    /// The connection may be a program's, whose triggers would take the write for the program's doing.
    ///
    /// - Parameter followed: columns, by table and column id, whose references have been seen to (``FormerReferences``).
    func apply(_ store: OpenStore, _ table: TrackedTable, except followed: SchemaFindings.NamingChanges) throws {
        let shownRows = ShownRows(store)
        let full = try shownRows.expand(record, row, identity, at: position, in: table)
        var isShown = false
        try store.connection.withoutTriggers {
            isShown = try shownRows.updateUncontested(full, from: record, row, at: position, in: table)
            if isShown { return }
            // Whether it is shown is to be decided yet, with the rows whose references are replaced. Until then it
            // stays: the connection may be a program's, where its children would go with it and no trigger would record
            // that.
            var undecided = record
            undecided.isReplaced = true
            store.hasReplaced = true
            try ClockTable(table: table, connection: store.connection)
                .update(undecided, at: position, formerUniques: record.uniques)
            try store.facts.set(StoreFacts.unsettled, .integer(1))
        }
        if isShown { try cascade(store, table, except: followed) }
    }

    /// A key that the migration has made here gives way to the one that another peer's has made of the same row; rows that
    /// refer to it follow, as ON UPDATE CASCADE would let them, and are recorded next.
    private func cascade(_ store: OpenStore, _ table: TrackedTable, except followed: SchemaFindings.NamingChanges)
        throws
    {
        guard table.keepsIdentities, table.kind == .natural, table.key.count == 1, let key = table.key.first else {
            return
        }
        let column = table.columns[key.index]
        let former = row.values[key.index]
        var cell = record.state.cell(column.id)
        // What the row itself holds is not in its record.
        for index in cell.versions.indices where cell.versions[index].value == nil {
            cell.versions[index].value = former
        }
        guard let shown = store.shown(cell, table.name, column.name), shown != former else { return }
        for child in store.catalog.tables {
            for reference in child.schema.foreignKeys
            where reference.from.count == 1 && reference.parent.folded == table.schema.name.folded
                && reference.to.map(\.folded) == [column.local.folded]
            {
                if let place = child.localPositions[reference.from[0].folded], let columns = followed[child.id],
                    FormerReferences.changes(child.columns[place], Set(columns.keys))
                {
                    continue
                }
                let name = SQL.name(reference.from[0])
                try store.connection.withTriggers {
                    try store.connection.run(
                        "UPDATE \(child.quoted) SET \(name) = ?2 WHERE \(name) IS ?1", former, shown)
                }
            }
        }
    }
}
