import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Columns that a program drops and adds again under their names.
extension SchemaReconciliation {
    /// The columns whose names others bear by now: a program has dropped them and added these since the last look.
    ///
    /// Where the triggers are there, ALTER TABLE has done it: new columns come after all others, and a row that has not been
    /// written since then holds what its record says, or the column is another one. A rebuild can have written anything into
    /// its copy, as can a write after it; so there it takes values of which none is left in any row.
    func replaced(
        _ known: [KnownColumn], _ present: [(offset: Int, element: TableSchema.Column)], in table: TrackedTable
    ) throws -> [KnownColumn] {
        guard try !isSingleStatement(on: table) else { return [] }
        let written = try writtenRecords(of: table)
        let names = Dictionary(known.map { ($0.name.folded, $0) }) { first, _ in first }
        let kept = try present.compactMap { names[$0.element.name.folded] }.filter { try !isKey($0, of: table) }
        guard try Capture.isInstalled(table, on: connection) else {
            let left = try leftValues(of: kept, in: table, except: written)
            return try kept.filter { column in
                guard let left = left[column.id], !left.isAnyThere, left.gone.count >= Self.few else { return false }
                return try !isAny(of: left.gone, in: column, of: table)
            }
        }
        var replaced: [KnownColumn] = []
        for column in kept.reversed() {
            guard let left = try leftValues(of: [column], in: table, except: written)[column.id], !left.isAnyThere
            else { break }
            if !left.gone.isEmpty { replaced.append(column) }
        }
        return replaced
    }

    /// What rows have of the values that their records say, but for defaults.
    private struct LeftValues {
        /// Whether a row holds what its record says.
        var isAnyThere = false
        /// The digests of values in place of which rows hold the column's default.
        var gone: Set<UInt32> = []
    }

    /// - Parameter written: records that do not count.
    /// - Returns: by column id.
    private func leftValues(
        of columns: [KnownColumn], in table: TrackedTable, except written: Set<Int64>
    ) throws -> [Int64: LeftValues] {
        let positions = columns.compactMap { column in
            table.columns.firstIndex { $0.id == Int(column.id) }.map { (column.id, $0) }
        }
        var left = Dictionary(uniqueKeysWithValues: positions.map { ($0.0, LeftValues()) })
        var asked = positions.map { id, position in
            let first = store.defaultValue(of: table, position)
            return (id: id, position: position, first: UInt32(truncatingIfNeeded: table.valueDigest.of(first)))
        }
        let (shownRows, clock) = (ShownRows(store), ClockTable(table: table, connection: connection))
        let records = try Statement("SELECT row, digests FROM \(table.clock) LIMIT \(Self.compared)", on: connection)
        while try !asked.isEmpty && records.step() {
            let (position, digests) = (records.integer(0), records.withBytes(1, ClockTable.digests))
            let told = asked.filter { column in
                digests.indices.contains(Int(column.id)) && digests[Int(column.id)] != column.first
            }
            guard !told.isEmpty, !written.contains(position), let record = try clock.record(at: position),
                let row = try table.hasRowid
                    ? shownRows.reader(table).row(at: position)
                    : shownRows.currentRow(ofRecord: record.identity, at: position, in: table)
            else { continue }
            for column in told {
                let (known, found) = (digests[Int(column.id)], UInt32(truncatingIfNeeded: row.digests[column.position]))
                if found == known { left[column.id]?.isAnyThere = true }
                if found == column.first { left[column.id]?.gone.insert(known) }
            }
            asked.removeAll { left[$0.id]?.isAnyThere == true }
        }
        return left
    }

    /// Whether a row holds one of these values.
    private func isAny(of digests: Set<UInt32>, in column: KnownColumn, of table: TrackedTable) throws -> Bool {
        let rows = try Statement(
            "SELECT \(SQL.name(column.name)) FROM \(SQL.name(table.schema.name)) LIMIT \(Self.compared)", on: connection
        )
        while try rows.step() {
            if digests.contains(UInt32(truncatingIfNeeded: rows.digest(0, by: table.valueDigest))) { return true }
        }
        return false
    }

    /// New columns that bear the name of columns which were dropped, with these.
    func returned(_ added: [Int], in table: TrackedTable) -> [(id: Int, former: [Int])] {
        added.compactMap { id in
            let name = table.columnNames[id].folded
            let former = table.droppedColumns.filter { table.columnNames[$0].folded == name }
            return former.isEmpty ? nil : (id, former)
        }
    }

    /// Gives a column that comes back the entries that it had: who writes it supersedes them, here as everywhere. Their
    /// values are lost, so they are what the column begins with.
    ///
    /// - Returns: whether the row has another value by now, which is to be recorded.
    func takeBack(
        _ returned: [(id: Int, former: [Int])], in record: inout ClockRecord, _ present: TableReader.Row,
        _ reader: TableReader
    ) -> Bool {
        let table = reader.table
        var isChanged = false
        var digests = present.digests
        for (id, former) in returned {
            guard let position = table.columns.firstIndex(where: { $0.id == id }) else { continue }
            let first = store.defaultValue(of: table, position)
            var cell = record.state.cell(id)
            for id in former {
                let old = record.state.cell(id)
                cell.versions += old.versions
                cell.additions += old.additions
                record.state.setCell(id, CellState())
            }
            guard !cell.isEmpty else { continue }
            if cell.versions.count > 1 {
                for index in cell.versions.indices where cell.versions[index].value == nil {
                    cell.versions[index].value = first
                }
            }
            record.state.setCell(id, cell)
            record.digests += Array(repeating: 0, count: max(0, id + 1 - record.digests.count))
            isChanged = isChanged || present.values[position] != first
            digests[position] = table.valueDigest.of(first)
            record.digests[id] = UInt32(truncatingIfNeeded: digests[position])
        }
        record.digest = reader.digest(digests, columns: record.digests.count)
        return isChanged
    }
}
