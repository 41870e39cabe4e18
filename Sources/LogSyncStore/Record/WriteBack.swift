import LogSyncModel
import LogSyncSQLite

/// Phase `writeBack`: a row that has to show what its record's versions say, because values kept for a column came to
/// it, or a counter's sum is another number than the one that a program wrote.
struct WriteBack {
    var record: ClockRecord
    /// As it is in the table.
    var row: TableReader.Row
    var identity: RowIdentity
    var position: Int64

    /// The connection may be a program's, whose triggers would take the write for the program's doing.
    func apply(_ store: OpenStore, _ table: TrackedTable) throws {
        let shownRows = ShownRows(store)
        let full = try shownRows.expand(record, row, identity, at: position, in: table)
        try store.connection.withoutTriggers {
            if try shownRows.updateUncontested(full, from: record, row, at: position, in: table) { return }
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
    }
}
