import LogSyncFormat
import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Turns what a snapshot says into this store's terms: peers by their local numbers.
struct SnapshotTerms {
    /// By place in the manifest.
    let numbers: [Int64]

    /// Peers that are new here get their numbers.
    init(_ manifest: SnapshotManifest, _ store: OpenStore) throws {
        numbers = try manifest.peers.map { try store.peers.number(of: $0.id, on: store.connection) }
    }

    func stamp(_ stamp: EntryStamp) -> Stamp {
        Stamp(peer: numbers[stamp.peer], sequence: stamp.sequence, time: stamp.time)
    }

    /// Spells rows out one by one, with their indexes.
    func forEachRow(of rows: SnapshotRows, _ body: (Int, RowState) throws -> Void) throws {
        switch rows {
        case .plain(let rows):
            var cursors = SimpleCursors(rows)
            for index in rows.identities.indices { try body(index, row(index, of: rows, &cursors)) }
        case .spelled(let rows):
            for (index, row) in rows.rows.enumerated() { try body(index, full(row, of: rows.table)) }
        }
    }

    private func row(_ index: Int, of rows: PlainRows, _ cursors: inout SimpleCursors) -> RowState {
        var full = RowState(
            table: rows.table, identity: rows.identities[index],
            integer: rows.integers.isEmpty ? nil : rows.integers[index])
        let insert = stamp(rows.stamps[index])
        full.state.inserts = [insert]
        for (place, column) in rows.columns.enumerated() {
            let own = cursors.exception(of: place, at: index).map(stamp) ?? insert
            full.state.cellsByName[column.name] = CellState(versions: [
                Version(stamp: own, value: column.values?[index])
            ])
        }
        return full
    }

    private func full(_ row: SpelledRows.Row, of table: String) -> RowState {
        var full = RowState(table: table, identity: row.identity, integer: row.integer)
        full.state.inserts = row.inserts.map(stamp)
        full.state.deletes = row.deletes.map(stamp)
        for cell in row.cells {
            full.state.cellsByName[cell.column] = CellState(
                versions: cell.versions.map { Version(stamp: stamp($0.stamp), value: $0.value) },
                additions: cell.additions.map {
                    Addition(
                        basePeer: numbers[$0.basePeer], baseSequence: $0.baseSequence, peer: numbers[$0.stamp.peer],
                        stamp: stamp($0.stamp), cumulative: $0.cumulative)
                })
        }
        return full
    }
}

/// Goes along with plain rows by ascending index and finds the cells that were set after the insert.
struct SimpleCursors {
    private let columns: [PlainRows.Column]
    private var next: [Int]

    init(_ rows: PlainRows) {
        columns = rows.columns
        next = [Int](repeating: 0, count: rows.columns.count)
    }

    /// - Parameter row: no lower than at the call before.
    mutating func exception(of column: Int, at row: Int) -> EntryStamp? {
        let exceptions = columns[column].exceptions
        while next[column] < exceptions.count, exceptions[next[column]].row < row { next[column] += 1 }
        guard next[column] < exceptions.count, exceptions[next[column]].row == row else { return nil }
        return exceptions[next[column]].stamp
    }
}
