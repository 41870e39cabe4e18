import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Columns that a program drops and adds again under their names.
extension SchemaReconciliation {
    /// Notes columns in place of which others of their names have come: a program has dropped the one and added the other
    /// since the last look. The one goes on as the other, as where a look has come in between.
    ///
    /// - Parameter places: where columns stood at the last look, by the ids of table and column.
    func noteReplacedColumns(_ changes: inout [Int64: ColumnChanges], from places: [Int64: [Int64: Int]]) throws {
        for table in store.catalog.tables where try !isSingleStatement(on: table) {
            guard let own = changes[table.id] else { continue }
            let new = Set(own.added + own.decided)
            let known = Dictionary(
                try columns(of: table).filter { !new.contains(Int($0.id)) }.map { ($0.name.folded, $0) }
            ) { first, _ in first }
            let columns = table.schema.columns.compactMap { known[$0.name.folded] }
            let present = try columns.filter { try !isKey($0, of: table) }
            let (forgotten, unproven) = (ForgottenColumns(store), UnprovenColumns(connection))
            let found: [KnownColumn]
            if try Capture.isInstalled(table, on: connection) {
                found = try replacedInPlace(present, among: columns.map(\.id), places[table.id] ?? [:], in: table)
            } else {
                let left = try leftValues(of: present, in: table, except: writtenRecords(of: table), areMoved: true)
                found = try replaced(present, left, in: table)
                // The name of a column of which nothing is left may have gone to a new one.
                if !own.added.isEmpty {
                    for (id, values) in left where !values.isAnyThere { try unproven.note(Int(id), of: table) }
                }
            }
            for id in found.map({ Int($0.id) }) {
                try forgotten.add(forgotten.entries(of: [id], in: table))
                try unproven.note(id, of: table)
                changes[table.id]?.replaced.append(id)
            }
        }
    }

    /// Where columns stand, by the ids of table and column.
    func columnPlaces() throws -> [Int64: [Int64: Int]] {
        try connection.rows("SELECT table_id, id, ordinal FROM logsync_column WHERE NOT dropped")
            .reduce(into: [:]) { $0[$1[0].asInteger, default: [:]][$1[1].asInteger] = Int($1[2].asInteger) }
    }

    /// Where the triggers are there, ALTER TABLE has done it: new columns come after all others, and a row that has not been
    /// written since then holds what its record says, or the column is another one. Where all rows have been written, a column
    /// of which none holds that has been replaced if it has come to stand behind others: ALTER TABLE moves no column.
    ///
    /// - Parameters:
    ///   - columns: all known ones, in their order.
    ///   - places: where these stood.
    private func replacedInPlace(
        _ present: [KnownColumn], among columns: [Int64], _ places: [Int64: Int], in table: TrackedTable
    ) throws -> [KnownColumn] {
        let written = try writtenRecords(of: table)
        var replaced: [KnownColumn] = []
        for column in present.reversed() {
            guard var left = try leftValues(of: [column], in: table, except: written)[column.id], !left.isAnyThere
            else { break }
            if left.gone.isEmpty, Self.isBehind(column.id, columns, places, except: replaced.map(\.id)) {
                left = try leftValues(of: [column], in: table, except: [])[column.id] ?? left
                guard !left.isAnyThere else { break }
            }
            if !left.gone.isEmpty { replaced.append(column) }
        }
        return replaced
    }

    /// Whether a column has come to stand behind at least two others, which have kept their order: two columns alone may have
    /// exchanged their names.
    private static func isBehind(
        _ column: Int64, _ columns: [Int64], _ places: [Int64: Int], except replaced: [Int64]
    ) -> Bool {
        guard let former = places[column] else { return false }
        let others = columns.filter { $0 != column && !replaced.contains($0) }.compactMap { places[$0] }
        guard zip(others, others.dropFirst()).allSatisfy(<) else { return false }
        return columns.prefix { $0 != column }.compactMap { places[$0] }.count { $0 > former } >= 2
    }

    /// A rebuild can have written anything into its copy, as can a write after it; so there it takes values of which none is
    /// left in any row. Where its rows have another key, too, it is not known yet whose records are theirs: then it takes rows
    /// that hold the default.
    private func replaced(
        _ present: [KnownColumn], _ left: [Int64: LeftValues], in table: TrackedTable
    ) throws -> [KnownColumn] {
        try present.filter { column in
            guard let left = left[column.id], !left.isAnyThere, !hasComeToNameRows(column, in: table) else {
                return false
            }
            let gone = left.isAnyFound ? left.gone : left.unfound
            guard gone.count >= Self.few, try !hasRows(1, holding: gone, in: column, of: table) else { return false }
            return try left.isAnyFound || hasRows(Self.few, holding: [left.first], in: column, of: table)
        }
    }

    /// Whether a column names rows by their keys now, and did not before: a migration names none where it does not find a key
    /// for what was there.
    private func hasComeToNameRows(_ column: KnownColumn, in table: TrackedTable) -> Bool {
        guard let tracked = table.columns.first(where: { $0.id == Int(column.id) }),
            let type = table.schema.column(column.name)?.declaredType, Affinity(type) != Affinity(column.type)
        else { return false }
        return store.catalog.namedKey(tracked, in: table) != nil
    }

    /// What rows have of the values that their records say, but for defaults.
    private struct LeftValues {
        /// Whether a row holds what its record says.
        var isAnyThere = false
        /// The digests of values in place of which rows hold the column's default.
        var gone: Set<UInt32> = []
        /// Whether any record's row was found.
        var isAnyFound = false
        /// The digests of values whose rows were not.
        var unfound: Set<UInt32> = []
        /// The digest of the column's default.
        let first: UInt32
    }

    /// - Parameters:
    ///   - written: records that do not count.
    ///   - areMoved: whether rows may have other rowids than their records.
    /// - Returns: by column id.
    private func leftValues(
        of columns: [KnownColumn], in table: TrackedTable, except written: Set<Int64>, areMoved: Bool = false
    ) throws -> [Int64: LeftValues] {
        let positions = columns.compactMap { column in
            table.columns.firstIndex { $0.id == Int(column.id) }.map { (column.id, $0) }
        }
        var asked = positions.map { id, position in
            let first = store.defaultValue(of: table, position)
            return (id: id, position: position, first: UInt32(truncatingIfNeeded: table.valueDigest.of(first)))
        }
        var left = Dictionary(uniqueKeysWithValues: asked.map { ($0.id, LeftValues(first: $0.first)) })
        let (shownRows, clock) = (ShownRows(store), ClockTable(table: table, connection: connection))
        let goesByKey = !table.hasRowid || areMoved && table.hasMovableRows && !table.key.isEmpty
        func row(of record: Int64) throws -> TableReader.Row? {
            let reader = shownRows.reader(table)
            guard goesByKey else { return try reader.row(at: record) }
            return try clock.name(at: record).flatMap { try shownRows.shownKey($0, at: record, in: table) }
                .flatMap { try reader.row(withKey: $0) }
        }
        let records = try Statement("SELECT row, digests FROM \(table.clock) LIMIT \(Self.compared)", on: connection)
        while try !asked.isEmpty && records.step() {
            let (position, digests) = (records.integer(0), records.withBytes(1, ClockTable.digests))
            let told = asked.filter { column in
                digests.indices.contains(Int(column.id)) && digests[Int(column.id)] != column.first
            }
            guard !told.isEmpty, !written.contains(position) else { continue }
            guard let row = try row(of: position) else {
                for column in told { left[column.id]?.unfound.insert(digests[Int(column.id)]) }
                continue
            }
            for column in told {
                left[column.id]?.isAnyFound = true
                let (known, found) = (digests[Int(column.id)], UInt32(truncatingIfNeeded: row.digests[column.position]))
                if found == known { left[column.id]?.isAnyThere = true }
                if found == column.first { left[column.id]?.gone.insert(known) }
            }
            asked.removeAll { left[$0.id]?.isAnyThere == true }
        }
        return left
    }

    /// Whether so many rows hold one of some values, given by their digests.
    private func hasRows(
        _ least: Int, holding digests: Set<UInt32>, in column: KnownColumn, of table: TrackedTable
    ) throws -> Bool {
        let rows = try Statement(
            "SELECT \(SQL.name(column.name)) FROM \(SQL.name(table.schema.name)) LIMIT \(Self.compared)", on: connection
        )
        var count = 0
        while try count < least && rows.step() {
            if digests.contains(UInt32(truncatingIfNeeded: rows.digest(0, by: table.valueDigest))) { count += 1 }
        }
        return count >= least
    }

    /// A record knows the first columns of a table, as many as there were when it was written: those of which it has entries
    /// come before the others.
    ///
    /// - Parameter names: names in logs that are known, by lower-case name.
    func returnedFirst(
        _ added: [(offset: Int, element: TableSchema.Column)], called names: [String: String], in table: TrackedTable
    ) throws -> [(offset: Int, element: TableSchema.Column)] {
        let dropped = Set(
            try connection.rows(
                "SELECT log_name FROM logsync_column WHERE table_id = ? AND dropped", .integer(table.id)
            )
            .map { String(text: $0[0]).folded })
        let renames = Renames(connection)
        let areBack = try added.map { column in
            let name = column.element.name
            let called = try names[name.folded] ?? renames.logName(ofNewColumn: name, in: table.name, id: table.id)
            return dropped.contains(called.folded)
        }
        return zip(added, areBack).filter(\.1).map(\.0) + zip(added, areBack).filter { !$0.1 }.map(\.0)
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
    /// - Parameter returned: columns with what they were; with none where they still have their ids.
    /// - Returns: whether the row has another value by now, which is to be recorded.
    func takeBack(
        _ returned: [(id: Int, former: [Int])], in record: inout ClockRecord, _ present: TableReader.Row,
        _ reader: TableReader
    ) -> Bool {
        let table = reader.table
        var isChanged = false
        var digests = present.digests
        /// Lets the record say that a column holds what it begins with.
        func begin(_ id: Int) {
            guard let position = table.columns.firstIndex(where: { $0.id == id }) else { return }
            let first = store.defaultValue(of: table, position)
            isChanged = isChanged || present.values[position] != first
            digests[position] = table.valueDigest.of(first)
            record.digests[id] = UInt32(truncatingIfNeeded: digests[position])
        }
        for (id, former) in returned {
            guard let position = table.columns.firstIndex(where: { $0.id == id }) else { continue }
            var cell = record.state.cell(id)
            for id in former {
                let old = record.state.cell(id)
                cell.versions += old.versions
                cell.additions += old.additions
                record.state.setCell(id, CellState())
            }
            guard !cell.isEmpty || former.isEmpty && id < record.digests.count else { continue }
            if cell.versions.count > 1 {
                let first = store.defaultValue(of: table, position)
                for index in cell.versions.indices where cell.versions[index].value == nil {
                    cell.versions[index].value = first
                }
            }
            record.state.setCell(id, cell)
            // Columns that came before it, and that the record does not know yet.
            for missing in record.digests.count..<max(record.digests.count, id + 1) {
                record.digests.append(0)
                begin(missing)
            }
            begin(id)
        }
        record.digest = reader.digest(digests, columns: record.digests.count)
        return isChanged
    }
}
