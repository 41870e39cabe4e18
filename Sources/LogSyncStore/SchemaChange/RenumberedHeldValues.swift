// What is noted of columns that are left alone, where the rows that they name are given other integers.
//
// The problem. Whether a program has written a column since it was left alone is told by what the row held then
// (`HeldValues`). Where a migration numbers the rows that the column names anew, it changes the column with them: the
// integer is another one, and the row that it names is the same.
//
// The rule. Which row an integer named before is known from when the rows are matched with their records until these follow
// them. What a row holds now is compared with what was noted by the former integer, and noted by the present one. To do
// that again finds nothing else. The look that finds the integers may also decide what a column is, by a foreign key that
// came with them: so columns that were left alone before it count, too.

import LogSyncModel
import LogSyncSQLite

struct RenumberedHeldValues {
    private let store: OpenStore
    private let formerReferences: [Int64: [HeldReferences.Column]]
    private let formerUndecided: [Int64: [UndecidedColumns.Column]]

    private var connection: Connection { store.connection }

    /// Notes which columns are left alone, before it is looked what has been decided.
    init(_ store: OpenStore) throws {
        self.store = store
        formerReferences = try Self.references(store)
        formerUndecided = try Self.undecided(store)
    }

    private static func references(_ store: OpenStore) throws -> [Int64: [HeldReferences.Column]] {
        guard store.cached.hasHeldReferences != false else { return [:] }
        return try Dictionary(
            store.catalog.tables.map { ($0.id, try HeldReferences(store.connection).of($0.id)) }, uniquingKeysWith: +)
    }

    private static func undecided(_ store: OpenStore) throws -> [Int64: [UndecidedColumns.Column]] {
        guard store.cached.hasUndecided != false else { return [:] }
        return try UndecidedColumns(store.connection).all()
    }

    /// Columns of a table in any of which a row may hold what was noted under any of some names.
    private struct Group {
        var table: TrackedTable
        /// Lower-case, as in logs.
        var names: Set<String>
        /// As the database has them, each with the tables whose rows it may name.
        var columns: [(name: String, parents: [TrackedTable])]
    }

    /// Notes what rows hold now where they hold the same as when the columns were left alone.
    func note() throws {
        let groups = try heldReferences() + undecided()
        guard !groups.isEmpty else { return }
        var parents: [Int64: ContinuedRows] = [:]
        for parent in groups.flatMap({ $0.columns.flatMap(\.parents) }) where parents[parent.id] == nil {
            guard try isAnyRenumbered(parent) else { continue }
            parents[parent.id] = try ContinuedRows(of: parent, in: store)
        }
        guard !parents.isEmpty else { return }
        for group in groups { try note(group, parents) }
    }

    private func note(_ group: Group, _ parents: [Int64: ContinuedRows]) throws {
        let columns = group.columns.map { column in column.parents.compactMap { parents[$0.id] } }
        guard columns.contains(where: { !$0.isEmpty }) else { return }
        let table = group.table
        let heldValues = HeldValues(of: table, on: connection)
        try heldValues.makeTable()
        let cells = HeldCells(columns: group.columns.map(\.name), table: table, connection: connection)
        let clock = ClockTable(table: table, connection: connection)
        let continued = try ContinuedRows(of: table, in: store)
        let shownRows = ShownRows(store)
        for position in try clock.allRows() {
            guard let record = try clock.record(at: position),
                let (row, rowid) = try continued.row(of: record, at: position),
                let identity = try record.named ?? shownRows.spelledIdentity(row, in: table)
            else { continue }
            let values = try cells.values(row, rowid)
            for name in group.names {
                guard let noted = try heldValues.digest(of: name, in: identity),
                    let same = values.indices.first(where: { index in
                        columns[index].contains { parent in
                            let former = parent.former(values[index])
                            return former != values[index] && cells.digest(former) == noted
                        }
                    })
                else { continue }
                try heldValues.note(cells.digest(values[same]), of: name, in: identity)
            }
        }
    }

    /// Whether a program or a rebuild has put a row under another integer since the last recording.
    private func isAnyRenumbered(_ table: TrackedTable) throws -> Bool {
        guard table.localInteger != nil else { return false }
        return try connection.integer(
            "SELECT EXISTS(SELECT 1 FROM \(table.pending) WHERE number > ? AND kind = ?)", .integer(table.recorded),
            .integer(Capture.Kind.rekeyedFrom.rawValue)) == 1
    }

    private func heldReferences() throws -> [Group] {
        let now = try Self.references(store)
        return store.catalog.tables.flatMap { table in
            let columns = merged(now[table.id], formerReferences[table.id], in: table) { $0.column }
            return columns.map { column in
                let parents = column.parents.compactMap { store.catalog[local: $0] }
                return Group(
                    table: table, names: [column.logName(in: table).folded], columns: [(column.column, parents)])
            }
        }
    }

    private func undecided() throws -> [Group] {
        let now = try Self.undecided(store)
        return try store.catalog.tables.compactMap { table in
            let columns = merged(now[table.id], formerUndecided[table.id], in: table) { $0.name }
            guard !columns.isEmpty else { return nil }
            let names = Set(columns.flatMap { [$0.place, $0.named] }.compactMap { $0?.folded })
            return Group(
                table: table, names: names,
                columns: try columns.map { ($0.name, try parents(of: $0, in: table)) })
        }
    }

    /// The columns that are left alone, and the former ones that are there still.
    private func merged<Column>(
        _ now: [Column]?, _ former: [Column]?, in table: TrackedTable, _ name: (Column) -> String
    ) -> [Column] {
        let names = Set((now ?? []).map { name($0).folded })
        return (now ?? [])
            + (former ?? []).filter { !names.contains(name($0).folded) && table.schema.column(name($0)) != nil }
    }

    private func parents(of column: UndecidedColumns.Column, in table: TrackedTable) throws -> [TrackedTable] {
        let declared = table.schema.foreignKeys.filter { $0.from.map(\.folded) == [column.name.folded] }
            .compactMap { store.catalog[local: $0.parent] }
        let told = try [column.place, column.named].compactMap { $0 }.compactMap { name in
            try connection.scalar(
                "SELECT value FROM logsync_setting WHERE kind = 'reference' AND target = ? COLLATE NOCASE",
                .text("\(table.name).\(name)"))
        }
        return declared + told.compactMap { store.catalog[String(text: $0)] }
    }
}
