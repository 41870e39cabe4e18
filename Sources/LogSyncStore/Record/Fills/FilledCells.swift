import LogSyncModel
import LogSyncState

// What migrations, or inserts, alone have put into cells.

extension RowClock {
    /// Whether nothing of a row was written that the transaction of a fill had not seen.
    func isUnchanged(since filled: CellState, _ recorder: Recorder) throws -> Bool {
        guard filled.versions.count == 1, let fill = filled.versions.first?.stamp,
            let seen = try recorder.fills.coverage(of: fill)
        else { return false }
        return allStamps.allSatisfy { $0.time == .zero || seen.covers($0) }
    }
}

extension CellState {
    /// Whether the row's inserts alone have given the cell what it holds, and not an edit that a migration has brought there.
    func isInserted(_ row: RowClock) -> Bool {
        let inserts = row.insertEntries
        return additions.isEmpty && versions.allSatisfy { inserts.contains($0.stamp) }
    }

    /// Whether migrations alone have given the cell what it holds, and no program's insert or update.
    func isFilled(_ row: RowClock) -> Bool {
        let inserts = row.insertEntries
        return additions.isEmpty && versions.allSatisfy { $0.stamp.time == .zero && !inserts.contains($0.stamp) }
    }
}
