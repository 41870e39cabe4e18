import LogSyncModel
import LogSyncSQLite

/// What is said of columns that came with a migration: which refer to other rows, and which do not; and of tables, whose
/// integers are numbers of rows. Names are those in the database.
package struct ReferenceDecisions: Sendable {
    package var references: [(table: String, column: String, parent: String)] = []
    package var notReferences: [(table: String, column: String)] = []
    /// Tables whose integers mean nothing but rows.
    package var surrogates: [String] = []

    package init() {}

    /// Whether nothing is said of any column.
    var isEmpty: Bool { references.isEmpty && notReferences.isEmpty }

    /// Makes them settings of the content, for a recording that reconciles to take up.
    ///
    /// - Throws: `usage` where there is no such table or column, or a column cannot refer to the table's rows.
    func settle(in store: OpenStore) throws {
        guard !references.isEmpty || !notReferences.isEmpty || !surrogates.isEmpty else { return }
        // What the migration has added is not known yet.
        if try SchemaReconciliation.isNeeded(store) { _ = try RecordStep(store, context: "migration").run() }
        for name in surrogates {
            let table = try self.table(name, in: store)
            guard table.localInteger != nil else {
                throw LogSyncError(
                    .usage,
                    "the rows of \(name) have no integers that each machine gives by itself; nothing was changed",
                    help:
                        "logsync migrate --identity TABLE=surrogate says so of a table that has an INTEGER PRIMARY KEY")
            }
            try Settings(store).set(LaterKeys.declined, table.name, "1")
        }
        for (table, column) in try notReferences.map({ try reading($0.table, $0.column, in: store) }) {
            if let held = try held(column, of: table, in: store) {
                try Settings(store).set(LaterColumns.declined, held.target, "1")
                continue
            }
            let found = try self.column(column, of: table, in: store)
            try Settings(store).set(LaterColumns.declined, "\(found.table.name).\(found.column.name)", "1")
        }
        for (table, column, parent) in references {
            let (table, column) = try reading(table, column, in: store)
            if let held = try held(column, of: table, in: store) {
                try settle(held, refersTo: parent, in: store)
                continue
            }
            let found = try self.column(column, of: table, in: store)
            let parent = try self.table(parent, in: store)
            guard found.table.mayRefer(found.column, to: parent) else {
                throw refused(table, column, parent.schema.name)
            }
            try checkNumbers(of: found.column.local, in: found.table.schema.name, are: parent, store)
            try Settings(store).set("reference", "\(found.table.name).\(found.column.name)", parent.name)
        }
    }

    /// What is meant where dots stand in the column's name or its table's.
    private func reading(
        _ table: String, _ column: String, in store: OpenStore
    ) throws -> (table: String, column: String) {
        let name = ColumnName(table, column)
        let found =
            try name.reading {
                if try held($0.column, of: $0.table, in: store) != nil { return true }
                return store.catalog[local: $0.table]?.localPositions[$0.column.folded] != nil
            } ?? name.reading { store.catalog[local: $0.table] != nil } ?? name
        return (found.table, found.column)
    }

    /// A column that is left alone until this is said.
    private func held(
        _ column: String, of table: String, in store: OpenStore
    ) throws -> HeldReferences.Column? {
        try HeldReferences(store.connection).all().first {
            $0.table.folded == table.folded && $0.column.folded == column.folded
        }
    }

    private func settle(_ held: HeldReferences.Column, refersTo parent: String, in store: OpenStore) throws {
        // It may refer to a table that is left alone, too.
        if let name = try HeldReferences(store.connection).tables()[parent.folded]?.first?.table {
            return try Settings(store).set("reference", held.target, name)
        }
        let parent = try table(parent, in: store)
        guard parent.localInteger != nil else {
            throw refused(held.table, held.column, parent.schema.name)
        }
        try checkNumbers(of: held.column, in: held.table, are: parent, store)
        try Settings(store).set("reference", held.target, parent.name)
    }

    /// Numbers of which none is a row's are something else: each peer would show others in their place.
    private func checkNumbers(
        of column: String, in table: String, are parent: TrackedTable, _ store: OpenStore
    ) throws {
        guard parent.localInteger != nil else { return }
        let name = "t.\(SQL.name(column))"
        let counts = try store.connection.rows(
            """
            SELECT count(*), count(p.\(parent.rowid)) FROM \(SQL.name(table)) AS t
            LEFT JOIN \(parent.quoted) AS p ON p.\(parent.rowid) = \(name) WHERE typeof(\(name)) = 'integer' AND \(name) <> 0
            """)[0].map(\.asInteger)
        guard counts[0] > 0, counts[1] == 0 else { return }
        throw LogSyncError(
            .usage,
            "\(table).\(column) has \(Int(counts[0]).counted("number")), and no row of \(parent.schema.name) has one of them: "
                + "it seems to refer to something else; nothing was changed",
            help: "Name the table that it refers to, or say --no-reference \(table).\(column); a column whose rows are "
                + "all gone can be emptied first")
    }

    private func refused(_ table: String, _ column: String, _ parent: String) -> LogSyncError {
        LogSyncError(
            .usage, "\(table).\(column) cannot refer to \(parent); nothing was changed",
            help: "A reference is to a table whose rows have integers of their own, and in no identity's column")
    }

    private func column(
        _ column: String, of table: String, in store: OpenStore
    ) throws -> (table: TrackedTable, column: TrackedTable.Column) {
        let tracked = try self.table(table, in: store)
        guard let position = tracked.localPositions[column.folded] else {
            throw LogSyncError(
                .usage, "the table \(table) has no column \(column); nothing was changed",
                help: "Its columns are: \(tracked.columns.map(\.local).joined(separator: ", ")).")
        }
        return (tracked, tracked.columns[position])
    }

    private func table(_ name: String, in store: OpenStore) throws -> TrackedTable {
        guard let table = store.catalog.tables.first(where: { $0.schema.name.folded == name.folded }) else {
            throw LogSyncError(
                .usage, "\(name) is no replicated table; nothing was changed",
                help:
                    "Write --reference CHILD.COLUMN=PARENT, --no-reference TABLE.COLUMN and --identity TABLE=surrogate. "
                    + "It replicates \(store.catalog.programTables.map(\.schema.name).prefix(20).joined(separator: ", "))"
            )
        }
        return table
    }
}
