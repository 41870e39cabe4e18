import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Columns, by position, whose type a migration has changed, and in which a row holds the same as another type.
struct ConvertedColumns {
    /// What they held. That is no write, and says nothing against one that another peer makes.
    var former: [Int: Value] = [:]
    var all: Set<Int> { Set(former.keys) }
    /// Those of them in which the new type alone would not make the one of the other.
    var recast: [Int] = []
}

extension RowRecorder {
    /// The columns of a row that a migration has made another type of.
    func converted(of row: Row, _ former: ClockRecord) -> ConvertedColumns {
        var found = ConvertedColumns()
        guard let retyped = recorder.findings.retypedColumns[table.id] else { return found }
        for (position, column) in table.columns.enumerated() {
            guard retyped.contains(column.id), column.id < former.digests.count, differs(position, of: row, former)
            else { continue }
            let values = row[position].otherTypes.filter {
                UInt32(truncatingIfNeeded: table.valueDigest.of($0)) == former.digests[column.id]
            }
            guard let first = values.first else { continue }
            found.former[position] = first
            let affinity = table.schema.affinity(of: column.local)
            if !values.contains(where: { affinity.makes(row[position], of: $0) }) { found.recast.append(position) }
        }
        return found
    }

    /// Lets a record say what a row held in converted columns, where it has said only that this is what the row shows, and where
    /// it is compared with other values, of other peers: it stays what was written.
    func spellOut(_ converted: ConvertedColumns, except said: [Int], in record: inout ClockRecord) {
        for (position, value) in converted.former where !said.contains(position) {
            let column = table.columns[position]
            var cell = record.state.cell(column.id)
            guard cell.versions.count > 1 || store.policies.comparesValues(table.name, column.name) else { continue }
            for index in cell.versions.indices where cell.versions[index].value == nil {
                cell.versions[index].value = value
            }
            record.state.setCell(column.id, cell)
        }
    }

    /// What columns say, by position, that no program has written, where that is not what the row shows: a value of which the
    /// column's type has made another one, or a reference to a row that is not shown.
    ///
    /// - Parameter former: the row's record.
    func unwrittenValues(
        _ positions: some Sequence<Int>, of row: Row, _ former: ClockRecord
    ) throws -> [Int: Value] {
        var values: [Int: Value] = [:]
        for position in positions where !table.key.contains(where: { $0.index == position }) {
            let column = table.columns[position]
            guard column.id < former.digests.count, !differs(position, of: row, former) else { continue }
            var cell = former.state.cell(column.id)
            guard cell.additions.isEmpty, cell.versions.contains(where: { $0.value != nil }) else { continue }
            let shown = try recorder.translated(row[position], position, in: table)
            for index in cell.versions.indices where cell.versions[index].value == nil {
                cell.versions[index].value = shown
            }
            values[position] = store.shown(cell, table.name, column.name).flatMap { $0 == shown ? nil : $0 }
        }
        return values
    }

    /// Whether a migration has made of a value in its new type another one than a peer had written, which the former type
    /// could not hold: `'5'` was shown as 5.0, and is `'5.0'` now.
    func showsOther(_ converted: ConvertedColumns, of row: Row, _ record: ClockRecord) -> Bool {
        converted.all.contains { position in
            let column = table.columns[position]
            return store.shown(record.state.cell(column.id), table.name, column.name).map { $0 != row[position] }
                ?? false
        }
    }
}
