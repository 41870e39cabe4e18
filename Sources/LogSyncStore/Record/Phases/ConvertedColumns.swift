import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Columns, by position, whose type a migration has changed, and in which a row holds the same as another type.
struct ConvertedColumns {
    /// That is no write, and says nothing against one that another peer makes.
    var all: Set<Int> = []
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
            if values.isEmpty { continue }
            found.all.insert(position)
            let affinity = table.schema.affinity(of: column.local)
            if !values.contains(where: { affinity.makes(row[position], of: $0) }) { found.recast.append(position) }
        }
        return found
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
