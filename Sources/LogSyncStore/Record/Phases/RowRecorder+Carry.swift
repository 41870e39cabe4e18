import LogSyncModel
import LogSyncState

/// What an insert says beside what its row holds.
extension RowRecorder {
    /// Whether it is a row of a table that has just come, which a migration has put there: where it holds nothing, it says
    /// nothing against what another peer's migration has put into the same row.
    func isOfMigration(_ row: Row) -> Bool {
        recorder.findings.newTables.contains(table.id) && row.touched.milliseconds == 0
    }

    func isDefault(_ value: Value, _ position: Int) -> Bool {
        value == store.defaultValue(of: table, position)
    }

    /// Lets an insert say what is known of the row's other columns: of columns unknown here, and of columns that have
    /// come meanwhile and in which the program has written nothing.
    ///
    /// Of what a migration has put into a new table, and of what others have written there, the last that a program has
    /// written counts.
    ///
    /// - Parameter carried: what was known of the row that it was before.
    /// - Returns: whether the row has to show some of it.
    func carry(
        _ carried: RowClock?, into state: inout RowClock, _ cells: inout [TransactionWriter.Cell], of row: Row,
        _ stamp: Stamp
    ) throws -> Bool {
        let moved = try movedValues(of: row)
        let isOfMigration = isOfMigration(row)
        if isOfMigration && carried != nil { fill(&state, &cells, stamp) }
        note(moved, unless: carried, in: &state, &cells, stamp)
        var isShown = false
        for (name, cell) in (carried?.cellsByName ?? [:]).sorted(by: { $0.key < $1.key }) {
            guard let value = cell.versions.max(by: { store.precedes($0.stamp, $1.stamp) })?.value else { continue }
            // It stays an edit, at its time, for a third peer that comes with its own migration, and for a column here that turns
            // out to be this one.
            let time = isOfMigration ? Self.time(ofEdit: cell, in: carried) ?? .zero : nil
            var version = Version(stamp: stamp, value: value)
            version.stamp.time = time ?? stamp.time
            guard let position = table.positions[name.folded] else {
                state.cellsByName[name] = CellState(versions: [version])
                cells.append(TransactionWriter.Cell(column: name, value: value, time: time))
                continue
            }
            // Of what a migration has made of nothing that is known to have been edited, programs' edits count.
            let isWritten = try Self.isLater(
                cell,
                than: moved[position] ?? (isOfMigration ? recorder.moved.time(ofAny: row, in: position) : nil),
                of: carried)
            guard isDefault(row[position], position) || isWritten else { continue }
            let column = table.columns[position]
            state.setCell(column.id, CellState(versions: [version]))
            for index in cells.indices where cells[index].column == column.name {
                cells[index].value = value
                cells[index].time = time
            }
            isShown = true
        }
        return isShown
    }

    /// When what a migration has put into a row of a new table was written, where it has come from a column or a table that
    /// went. A migration that was stopped in between may have put it into a table that was there by then.
    ///
    /// - Returns: by position, in Unix milliseconds; 0 for what no program has edited.
    private func movedValues(of row: Row) throws -> [Int: Int64] {
        let isOfMigration = isOfMigration(row)
        guard try isOfMigration || recorder.moved.isFormer(row, of: table) else { return [:] }
        let keys = Set(table.key.map(\.index))
        var times: [Int: Int64] = [:]
        for position in table.columns.indices where !keys.contains(position) {
            if isDefault(row[position], position) {
                if !isOfMigration { times[position] = 0 }
            } else {
                times[position] =
                    try isOfMigration
                    ? recorder.moved.time(of: row, in: position, of: table)
                    : recorder.moved.time(ofFormer: row, in: position, of: table)
            }
        }
        return times
    }

    /// Whether a program has written what is known of a cell, and later than `moved`.
    ///
    /// - Parameter moved: in Unix milliseconds; asked for where a program has.
    private static func isLater(
        _ cell: CellState, than moved: @autoclosure () throws -> Int64?, of row: RowClock?
    ) rethrows -> Bool {
        guard let edited = time(ofEdit: cell, in: row), let moved = try moved() else { return false }
        return edited.milliseconds >= moved
    }

    /// When a program last wrote what is known of a cell; nil where none has.
    private static func time(ofEdit cell: CellState, in row: RowClock?) -> HybridTime? {
        guard let row, !cell.isInserted(row), !cell.isFilled(row) else { return nil }
        return cell.stamps.map(\.time).max()
    }

    /// Lets what a migration has put into a row that others have be fills: it was written by nobody, whatever the row covers.
    private func fill(_ state: inout RowClock, _ cells: inout [TransactionWriter.Cell], _ stamp: Stamp) {
        let filled = Stamp(peer: stamp.peer, sequence: stamp.sequence, time: .zero)
        for column in table.columns {
            state.setCell(column.id, CellState(versions: [Version(stamp: filled, value: nil)]))
        }
        for index in cells.indices { cells[index].time = .zero }
    }

    /// Gives cells the times at which programs have written them before a migration put them here.
    private func note(
        _ moved: [Int: Int64], unless given: RowClock?, in state: inout RowClock,
        _ cells: inout [TransactionWriter.Cell], _ stamp: Stamp
    ) {
        for (position, milliseconds) in moved.sorted(by: { $0.key < $1.key })
        where milliseconds > 0 || stamp.time != .zero {
            let column = table.columns[position]
            let known = given?.cellsByName.first { $0.key.folded == column.name.folded }?.value
            if let known, Self.isLater(known, than: milliseconds, of: given) { continue }
            var own = stamp
            own.time =
                milliseconds > 0 ? recorder.time(captured: milliseconds, above: known?.stamps ?? []) : .zero
            state.setCell(column.id, CellState(versions: [Version(stamp: own, value: nil)]))
            for index in cells.indices where cells[index].column == column.name { cells[index].time = own.time }
        }
    }

    /// Lets a row that an undo brings back show what others have edited after it was deleted.
    ///
    /// - Parameter lost: the edits that were lost to the delete.
    /// - Returns: whether the row has to show some of it.
    func takeUp(
        _ lost: RowClock, into state: inout RowClock, _ cells: inout [TransactionWriter.Cell], of row: Row,
        _ stamp: Stamp
    ) -> Bool {
        var isShown = false
        for position in table.columns.indices {
            let column = table.columns[position]
            let versions = lost.cellsByName[column.name]?.versions ?? []
            guard let value = versions.max(by: { store.precedes($0.stamp, $1.stamp) })?.value, value != row[position]
            else { continue }
            state.setCell(column.id, CellState(versions: [Version(stamp: stamp, value: value)]))
            for index in cells.indices where cells[index].column == column.name { cells[index].value = value }
            isShown = true
        }
        return isShown
    }

    /// When what a row holds in columns was written that were here under names of their own until now, or undecided: an older
    /// value that is said once more, under the other name, is no later for that, and neither is one that is said at last.
    ///
    /// - Returns: by position, in Unix milliseconds.
    func writtenLate(_ changed: [Int], of row: Row, _ former: ClockRecord) -> [Int: Int64] {
        let undecided = recorder.findings.undecidedWrites[table.id]
        let names = recorder.findings.lateNames[table.id] ?? [:]
        guard undecided != nil || !names.isEmpty else { return [:] }
        return changed.reduce(into: [:]) { times, position in
            times[position] = undecided?.time(
                of: table.columns[position].id, in: row.identity,
                at: RowKey(rowid: row.touched.rowid ?? row.key.rowid, natural: row.key.natural))
            guard let name = names[table.columns[position].id],
                let cell = former.state.cellsByName.first(where: { $0.key.folded == name.folded })?.value,
                let last = cell.versions.max(by: { store.precedes($0.stamp, $1.stamp) }),
                last.value.map({ table.valueDigest.of($0) }) == row.values.digests[position]
            else { return }
            times[position] = last.stamp.time.milliseconds
        }
    }
}
