import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// How far a migration here has put into a new column what another peer's has put there.
///
/// A column that is made of what rows hold, of other tables, too, is the same in most rows on each peer: where a row's differs, and
/// other tables have been written meanwhile, the later one is made of that, too. One that is drawn by lot, or is the time, is
/// another in each row, and the first one is known to others.
struct RepeatedFills {
    /// Rows in which both are the same, of which some hold what no two columns would by chance; and others.
    private var (same, telling, other) = (0, 0, 0)

    /// - Parameters:
    ///   - position: of a column that has just appeared.
    ///   - recording: before anything is recorded of rows for which another peer's value is known.
    init(at position: Int, of recording: TableRecording) throws {
        let (table, store) = (recording.table, recording.store)
        let name = table.columns[position].name
        for row in try store.connection.rows("SELECT row FROM \(table.clock) WHERE extra IS NOT NULL") {
            let place = row[0].asInteger
            guard let record = try recording.clock.record(at: place),
                let cell = record.state.cellsByName.first(where: { $0.key.folded == name.folded })?.value,
                cell.isFilled(record.state), let known = store.shown(cell, table.name, name),
                let identity = try recording.clock.identity(at: place),
                let present = try ShownRows(store).currentRow(ofRecord: identity, at: place, in: table)
            else { continue }
            if try recording.recorder.translated(present.values[position], position, in: table) == known {
                same += 1
                telling += known.tellsRows ? 1 : 0
            } else {
                other += 1
            }
        }
    }

    var areMost: Bool { telling > 0 || same > other }
}

extension TableRecording {
    /// Whether the migration here makes of the same rows what another peer's has made, and has seen writes to other tables which
    /// that one had not.
    ///
    /// - Parameter filled: what that one has put into a new column; asked of each row as it is met.
    func isMadeOfMore(than filled: CellState, at position: Int) throws -> Bool {
        guard let fill = filled.versions.first?.stamp, try isMadeAlike(at: position) else { return false }
        return try recorder.fills.isMadeOfLess(fill, in: table)
    }

    private func isMadeAlike(at position: Int) throws -> Bool {
        if let known = repeatedFills[position] { return known }
        let areMost = try RepeatedFills(at: position, of: self).areMost
        repeatedFills[position] = areMost
        return areMost
    }
}
