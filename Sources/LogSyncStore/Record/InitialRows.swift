import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Records the rows that tables hold when a store begins: one insert each, at time 0, in the order of keys, which is
/// how inserts merge best.
///
/// In two passes, so that nothing is held in memory: first every row gets its clock record and identity, parents first;
/// then the rows are written down, when every reference can be translated.
struct InitialRows {
    let store: OpenStore
    let recorder: Recorder

    private var connection: Connection { store.connection }

    /// Records all rows of `tables`, parents first, none of which have clock records yet.
    func record(_ tables: [TrackedTable]) throws {
        let transaction = try recorder.transaction()
        let stamp = Stamp(peer: transaction.stamp.peer, sequence: transaction.stamp.sequence, time: .zero)
        // Rows whose identity needs no other row's come first, so that keys made of references find theirs.
        for table in tables where !table.keyHasReference { try number(table, stamp: stamp) }
        for table in tables where table.keyHasReference { try number(table, stamp: stamp) }
        for table in tables {
            try write(table, to: transaction)
            try transaction.flush()
        }
    }

    private func number(_ table: TrackedTable, stamp: Stamp) throws {
        let clock = ClockTable(table: table, connection: connection)
        let reader = TableReader(table: table, store: store)
        let inserted = RowClock(insertedBy: stamp, in: table)
        try reader.forEachRow(inOrder: true) { rowid, values in
            let row = TableReader.Row(values: values)
            var state = inserted
            store.spellOutCounters(&state, shown: row.values, in: table)
            let identity = try identity(of: row, rowid, table, reader: reader)
            _ = try clock.insert(ClockRecord(state, of: identity, shownAs: row, reader), at: rowid)
            store.count(1, state, row: store.rowDigest(table, identity), table: table)
            if let rowid, table.localInteger != nil { table.high = max(table.high, rowid) }
        }
        try connection.run(
            "UPDATE logsync_table SET high = ?2 WHERE id = ?1", .integer(table.id), .integer(table.high))
    }

    private func identity(
        of row: TableReader.Row, _ rowid: Int64?, _ table: TrackedTable, reader: TableReader
    ) throws -> RowIdentity {
        if table.kind != .surrogate,
            let natural = try reader.naturalIdentity({ try recorder.translated(row.values[$0], $0, in: table) })
        {
            return natural
        }
        return Self.identity(of: row, rowid, table)
    }

    /// The identity of a row that was there before anything was recorded: two founders with the same row have it once.
    static func identity(of row: TableReader.Row, _ rowid: Int64?, _ table: TrackedTable) -> RowIdentity {
        var hash = IdentityHash("found")
        hash.combine(table.name)
        hash.combine(UInt64(bitPattern: rowid ?? 0))
        for value in row.values { hash.combine(value) }
        return hash.identity(prefix: UInt64(bitPattern: rowid ?? 0))
    }

    private func write(_ table: TrackedTable, to transaction: TransactionWriter) throws {
        let clock = ClockTable(table: table, connection: connection)
        let reader = TableReader(table: table, store: store)
        try reader.forEachRow(inOrder: true) { rowid, values in
            let row = TableReader.Row(values: values)
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
