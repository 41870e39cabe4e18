import LogModel

/// Cells with several versions of different values.
struct Conflicts {
    let session: Session

    init(_ session: Session) { self.session = session }

    /// How many cells of a table are in conflict: concurrent equal values are none.
    func count(in table: TrackedTable) throws -> Int {
        let rows = try session.connection.rows("SELECT row FROM \(table.clock) WHERE conflict IS NOT NULL")
        let clock = ClockTable(table: table, connection: session.connection)
        let standing = Standing(session)
        var count = 0
        for row in rows {
            let position = row[0].asInteger
            guard let record = try clock.record(at: position) else { continue }
            let present = table.hasRowid ? try standing.reader(table).row(at: position) : nil
            let identity = record.identity ?? RowIdentity(natural: [])
            let full = try standing.expand(record, present, identity, at: position, in: table)
            count += full.state.unknown.values.count { Set($0.versions.map(\.value)).count > 1 }
        }
        return count
    }
}
