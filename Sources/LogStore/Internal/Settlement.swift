import LogModel

/// Settles a conflict or a parked row by hand: a transaction of this peer that has seen every version.
///
/// It is recorded directly, not captured: a write of the value that is shown already would be no change, and a parked
/// row has no row to write.
struct Settlement {
    let session: Session

    init(_ session: Session) { self.session = session }

    private var connection: Connection { session.connection }

    func set(_ column: String, _ value: Value, of key: [Value], in tableName: String) throws {
        _ = try Store.record(session, author: nil, context: nil)
        guard let table = session.catalog[tableName], let place = table.positions[column.lowercased()] else {
            throw noSuchRow(tableName, key)
        }
        let standing = Standing(session)
        let conflicts = Conflicts(session: session, table: table)
        for row in try connection.rows("SELECT row FROM \(table.clock) WHERE conflict IS NOT NULL") {
            let position = row[0].asInteger
            guard let (full, record, present) = try standing.full(at: position, in: table),
                try conflicts.key(full.identity, integer: position) == key
            else { continue }
            let value = try standing.identityValue(value, place, in: table)
            var changed = full
            try write(full, column: table.columns[place], value, in: table) { stamp in
                changed.set(table.columns[place].name, value, stamp, .everything)
            }
            session.countFull(-1, full)
            session.countFull(1, changed)
            guard try standing.rewrite(changed, from: record, present, at: position, in: table) else {
                throw LogSyncError(
                    .usage, "that value breaks a constraint of \(table.name); nothing was changed",
                    help: "Write another value to the row.")
            }
            // Others may have referred to it by what it showed.
            try settle(table, standing, gone: [GoneRow(table: table, integer: position, values: present.values)])
            return
        }
        throw noSuchRow(tableName, key)
    }

    func setParked(_ column: String, _ value: Value, of key: [Value], in tableName: String) throws {
        _ = try Store.record(session, author: nil, context: nil)
        let (table, row) = try parked(key, in: tableName)
        guard let place = table.positions[column.lowercased()] else {
            throw LogSyncError(.usage, "\(table.name) has no column \(column); nothing was changed")
        }
        let standing = Standing(session)
        let value = try standing.identityValue(value, place, in: table)
        let full = FullRow(table: table.name, identity: row.identity, state: row.clock, integer: row.integer)
        var changed = full
        try write(full, column: table.columns[place], value, in: table) { stamp in
            changed.set(table.columns[place].name, value, stamp, .everything)
        }
        _ = try KeptRows(session).remove(row.table, row.identity)
        session.countFull(1, changed)
        try Settling(session, standing: standing).settle([FloatingRow(full: changed)]) { _, _, _, _ in }
    }

    func dropParked(_ key: [Value], in tableName: String) throws {
        _ = try Store.record(session, author: nil, context: nil)
        let (table, row) = try parked(key, in: tableName)
        let writer = try transaction()
        let time = session.time(above: row.clock.allStamps)
        try writer.append(table, .delete, row.identity, time: time, integer: nil, cells: [])
        _ = try KeptRows(session).remove(row.table, row.identity)
        _ = try writer.finish()
        try settle(table, Standing(session))
    }

    /// What was written may have made room for parked rows.
    private func settle(_ table: TrackedTable, _ standing: Standing, gone: [GoneRow] = []) throws {
        try Settling(session, standing: standing).settle([], gone: gone, touching: [table.id]) { _, _, _, _ in }
    }

    private func transaction() throws -> TransactionWriter {
        try TransactionWriter(
            session, milliseconds: session.configuration.clock.now(), schema: try session.schemaFingerprint(),
            author: nil, context: nil)
    }

    private func write(
        _ full: FullRow, column: TrackedTable.Column, _ value: Value, in table: TrackedTable,
        _ change: (Stamp) -> Void
    ) throws {
        let writer = try transaction()
        let time = session.time(above: full.state.unknown[column.name]?.stamps ?? [])
        change(Stamp(peer: writer.stamp.peer, sequence: writer.stamp.sequence, time: time))
        let cell = TransactionWriter.Cell(column: column.name, reference: column.reference, value: value)
        try writer.append(
            table, .update, full.identity, time: time, integer: table.localInteger == nil ? nil : full.integer ?? 0,
            cells: [cell])
        _ = try writer.finish()
    }

    private func parked(_ key: [Value], in tableName: String) throws -> (TrackedTable, KeptRows.Row) {
        guard let table = session.catalog[tableName] else { throw noSuchRow(tableName, key) }
        let conflicts = Conflicts(session: session, table: table)
        for row in try KeptRows(session).rows(.parked, of: table.name)
        where try conflicts.key(row.identity, integer: row.integer) == key {
            return (table, row)
        }
        throw noSuchRow(tableName, key)
    }

    private func noSuchRow(_ table: String, _ key: [Value]) -> LogSyncError {
        LogSyncError(
            .usage, "\(table) has no such cell in conflict and no such parked row; nothing was changed",
            help: "`logsync conflicts list` shows the keys.")
    }
}

extension Session {
    /// Now, raised above what is superseded.
    func time(above stamps: [Stamp]) -> HybridTime {
        var time = now
        for stamp in stamps where stamp.time >= time { time = stamp.time.successor }
        return time
    }
}

extension Standing {
    /// A standing row by its clock row, with all its entries.
    func full(
        at position: Int64, in table: TrackedTable
    ) throws -> (full: FullRow, record: ClockRecord, row: TableReader.Row)? {
        guard let record = try ClockTable(table: table, connection: session.connection).record(at: position) else {
            return nil
        }
        let reader = reader(table)
        let present =
            try record.identity.map { try currentRow($0, at: position, in: table) } ?? reader.row(at: position)
        guard let present else { return nil }
        let identity =
            try record.identity
            ?? reader.naturalIdentity { try identityValue(present.values[$0], $0, in: table) }
        guard let identity else { return nil }
        return (try expand(record, present, identity, at: position, in: table), record, present)
    }
}
