import LogSyncModel
import LogSyncSQLite

/// Tables that were made anew under another name, or made anew and renamed, with nobody looking in between.
///
/// ALTER TABLE takes the triggers along, which say where a table has gone; a rebuild before or after it has dropped them. Then
/// one table has gone and another come, which has its columns and its rows. As two tables its rows would be there twice at
/// every peer that has not migrated, and what refers to them would lose them.
extension SchemaReconciliation {
    /// A table that has come, as the successor of one that has gone.
    private struct Successor {
        var id: Int64
        var logName: String
        var former: String
        var name: String
        /// Whether rows say so, or another peer; otherwise only the columns do.
        var isCertain: Bool
        /// Whether another peer says so.
        var isTold: Bool
        /// How many rows the former table had, and how many of these the new one holds.
        var rows: (former: Int, held: Int)

        /// Whether the former table was divided, and the rest of its rows went to another new one.
        func isPart(besides other: Successor) -> Bool {
            let left = rows.former - rows.held
            return !isTold && other.id == id && other.name != name && left > 0
                && 1...left ~= other.rows.held && other.rows.held * 2 >= left
        }
    }

    /// Gives tables that have gone the names of the new ones in their place.
    ///
    /// - Parameter copies: tables that are left alone for the time being, by lower-case names.
    /// - Returns: whether there is such a table.
    func reconcileRebuiltTables(except copies: Set<String>) throws -> Bool {
        let gone = try Catalog.absentTables(on: connection).filter { try !Capture.hasTriggers($0.id, on: connection) }
        guard !gone.isEmpty else { return false }
        let candidates = try newTables(except: copies)
        guard !candidates.isEmpty else { return false }
        let found = try gone.flatMap { table in
            try candidates.compactMap { try successor(of: table, $0) }
        }
        let certain = found.filter(\.isCertain)
        func isAlone(_ successor: Successor) -> Bool {
            let others = found.filter { $0.name == successor.name && $0.id != successor.id }
            // One without rows may have become part of it, but where rows say what has become of that.
            return certain.count { $0.id == successor.id } == 1 && !found.contains(where: successor.isPart)
                && others.allSatisfy { other in !other.isCertain && certain.contains { $0.id == other.id } }
        }
        let successors = certain.filter(isAlone)
        for successor in successors {
            try FormerNames(connection).note(successor.former, of: successor.id)
            try connection.run(
                "UPDATE logsync_table SET name = ?2 WHERE id = ?1", .integer(successor.id), .text(successor.name))
            try Settings(store).set("rename", successor.name, successor.logName)
        }
        return !successors.isEmpty
    }

    /// The tables that may be replicated and are not yet.
    private func newTables(except copies: Set<String>) throws -> [TableSchema] {
        let registered = try connection.rows("SELECT name FROM logsync_table").map { String(text: $0[0]).folded }
        let left = try AppSchema.leftTables(on: connection).map(\.name.folded)
        let known = copies.union(registered).union(left)
        let declarations = try TableDeclarations(on: connection)
        return try TableSchema.tableNames(on: connection).compactMap { name in
            guard !known.contains(name.folded), !AppSchema.notesMigrations(name) else { return nil }
            return try TableSchema.read(name, on: connection, among: declarations)
        }
    }

    /// - Parameter schema: of a table that has come.
    /// - Returns: nil where it lacks more than a quarter of the columns, or others know it as a table of its own.
    private func successor(of table: TrackedTable, _ schema: TableSchema) throws -> Successor? {
        let (former, name) = (table.schema.name, schema.name)
        let isKeyless = table.kind == .natural && table.orderedKeyNames.isEmpty
        guard isKeyless || schema.integerKey != nil || !schema.keyColumns.isEmpty, !CopyName.isCopy(name, of: former)
        else { return nil }
        let columns = try connection.rows(
            "SELECT name FROM logsync_column WHERE table_id = ? AND NOT dropped", .integer(table.id)
        ).map { String(text: $0[0]) }
        guard !columns.isEmpty, columns.count(where: { schema.column($0) != nil }) * 4 >= columns.count * 3 else {
            return nil
        }
        let told = try Renames(connection).toldLogName(ofTable: name)
        let isOthers = try told.map { $0.folded != table.name.folded } ?? HiddenRows.isAbsent(name, on: connection)
        guard !isOthers else { return nil }
        // What a program has deleted before is nowhere, whatever has become of the table.
        let deleted = try table.hasRowid ? Capture.deletedRows(of: table, on: connection) : []
        let rows = try FormerRows(of: table, except: deleted, on: connection)
        let held = try rows.held(in: schema, isLenient: true)
        return Successor(
            id: table.id, logName: table.name, former: former, name: name,
            isCertain: try told != nil || areRows(of: table, (rows.count, held), in: schema), isTold: told != nil,
            rows: (rows.count, held))
    }

    /// Whether a new table holds the rows of one that has gone, and not those of one that is there besides: then a migration that
    /// goes on puts two tables into one.
    private func areRows(
        of table: TrackedTable, _ rows: (former: Int, held: Int), in schema: TableSchema
    ) throws -> Bool {
        guard rows.former > 0, rows.held * 2 >= rows.former else { return false }
        let all = try connection.integer("SELECT count(*) FROM \(SQL.name(schema.name))") ?? 0
        let others = Int(all) - rows.held
        guard others > 0 else { return true }
        return try !store.catalog.programTables.contains { other in
            guard other.id != table.id else { return false }
            let theirs = try FormerRows(of: other, on: connection)
            return try theirs.count > 0 && others * 2 >= theirs.count
                && theirs.held(in: schema) * 2 >= theirs.count
        }
    }
}
