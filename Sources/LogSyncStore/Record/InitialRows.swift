import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Records the rows that tables hold when a store begins: one insert each, at time 0, in the order of keys, which is
/// how inserts merge best.
///
/// In two passes, so that little is held in memory: first every row gets its clock record and identity, parents first
/// (``FoundIdentities``); then the rows are written down, when every reference can be translated.
struct InitialRows {
    let store: OpenStore
    let recorder: Recorder
    /// On which the program's rows are read, as they were when its triggers were made.
    let source: Connection
    /// nil where no other may write before all is recorded.
    let portions: WritePortions?

    private var connection: Connection { store.connection }

    /// Records all rows of `tables`, parents first, none of which have clock records yet.
    func record(_ tables: [TrackedTable]) throws {
        let transaction = try recorder.transaction()
        let stamp = Stamp(peer: transaction.stamp.peer, sequence: transaction.stamp.sequence, time: .zero)
        let identities = FoundIdentities(
            store, recorder, byValues: try LaterRows(store).known(), byKey: try LaterRows(store).known(LaterRows.byKey),
            reading: source,
            known: { [connection] integer, table in
                try ClockTable(table: table, connection: connection).identity(at: integer)
            },
            assign: { table, rowid, row, identity in try number(row, rowid, identity, table, stamp: stamp) })
        for table in tables {
            let reader = reader(table)
            try reader.forEachRow(inOrder: true) { rowid, values in
                try pause(reader)
                let row = TableReader.Row(values: values, of: table)
                guard let identity = try identities.identity(of: row, rowid, table) else { return }
                try number(row, rowid, identity, table, stamp: stamp)
            }
            try table.keepExtent(on: connection)
        }
        for table in tables {
            try write(table, to: transaction)
            try transaction.flush()
        }
    }

    /// Settings were not there yet when rows were pinned, and are nobody's but logsync's to write.
    private func reader(_ table: TrackedTable) -> TableReader {
        TableReader(table: table, store: store, on: table.holdsSettings ? nil : source)
    }

    /// Lets others write, but not where rows are read on the connection that writes: a statement that has begun would hold
    /// on to a state of the database that is no more by then.
    private func pause(_ reader: TableReader) throws {
        if reader.connection !== connection { try portions?.pause() }
    }

    private func number(
        _ row: TableReader.Row, _ rowid: Int64?, _ identity: RowIdentity, _ table: TrackedTable, stamp: Stamp
    ) throws {
        var state = RowClock(insertedBy: stamp, in: table)
        store.spellOutCounters(&state, shown: row.values, in: table)
        let reader = reader(table)
        let record = ClockRecord(state, of: identity, shownAs: row, reader)
        _ = try ClockTable(table: table, connection: connection).insert(record, at: rowid)
        store.count(1, state, row: store.rowDigest(table, identity), table: table)
        if let rowid, table.localInteger != nil { table.high = max(table.high, rowid) }
    }

    private func write(_ table: TrackedTable, to transaction: TransactionWriter) throws {
        let clock = ClockTable(table: table, connection: connection)
        let reader = reader(table)
        try reader.forEachRow(inOrder: true) { rowid, values in
            try pause(reader)
            let row = TableReader.Row(values: values, of: table)
            let stored = try rowid.flatMap { try clock.identity(at: $0) }
            let identity =
                try stored
                ?? reader.naturalIdentity { try recorder.translated(row.values[$0], $0, in: table) }
            guard let identity else { return }
            let cells = try recorder.cells(
                of: row, identity, at: table.columns.indices, leavesOutKey: store.configuration.leavesOutKeys,
                in: table)
            try transaction.append(
                table, .insert, identity, time: .zero, integer: table.localInteger == nil ? nil : rowid, cells: cells)
        }
    }
}
