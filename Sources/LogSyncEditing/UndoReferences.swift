import GRDB

/// The foreign keys that go out from a table, and the ones that come to it.
struct UndoReferences: Sendable {
    private struct Reference: Sendable {
        var child: String
        var parent: String
        var columns: [String]
        /// Empty for the parent's primary key.
        var parentColumns: [String]
    }

    private var outgoing: [Reference] = []
    private var incoming: [Reference] = []

    init(_ table: String, _ db: Database) throws {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT m.name, f.id, f."table", f."from", f."to" FROM main.sqlite_master AS m
                JOIN pragma_foreign_key_list(m.name, 'main') AS f
                WHERE m.type = 'table' AND (m.name = ?1 COLLATE NOCASE OR f."table" = ?1 COLLATE NOCASE)
                ORDER BY m.name, f.id, f.seq
                """, arguments: [table])
        var found: [(id: Int, reference: Reference)] = []
        for row in rows {
            let (child, id, parent, from, to): (String, Int, String, String, String?) = (
                row[0], row[1], row[2], row[3], row[4]
            )
            if found.last?.id != id || found.last?.reference.child != child {
                found.append((id, Reference(child: child, parent: parent, columns: [], parentColumns: [])))
            }
            found[found.count - 1].reference.columns.append(from)
            if let to { found[found.count - 1].reference.parentColumns.append(to) }
        }
        for var reference in found.map(\.reference) {
            if reference.parentColumns.isEmpty, try db.tableExists(reference.parent) {
                reference.parentColumns = try db.primaryKey(reference.parent).columns
            }
            // What refers to nothing that could be there is the program's affair.
            guard reference.parentColumns.count == reference.columns.count else { continue }
            if reference.child.lowercased() == table.lowercased() { outgoing.append(reference) }
            if reference.parent.lowercased() == table.lowercased() { incoming.append(reference) }
        }
    }

    /// The columns that refer to rows, in lower case.
    var columns: Set<String> { Set(outgoing.flatMap(\.columns).map { $0.lowercased() }) }

    private static func values(
        _ names: [String], _ row: [UndoValue], _ columns: [String]
    ) -> [UndoValue]? {
        let values = names.compactMap { name in
            columns.firstIndex { $0.lowercased() == name.lowercased() }.map { row[$0] }
        }
        return values.count == names.count && !values.contains(where: \.isNull) ? values : nil
    }

    private static func isThere(
        _ table: String, _ columns: [String], _ values: [UndoValue], _ db: Database
    ) throws -> Bool {
        let condition = zip(columns, values).map { "\($0.quotedName) = \($1.parameter)" }
            .joined(separator: " AND ")
        return try Int.fetchOne(
            db, sql: "SELECT 1 FROM main.\(table.quotedName) WHERE \(condition)",
            arguments: values.arguments) != nil
    }

    /// The columns that hold an integer key, and of which table.
    func pointers(_ db: Database) throws -> [(column: String, parent: String)] {
        try outgoing.filter { reference in
            guard reference.columns.count == 1, try db.tableExists(reference.parent),
                let integer = try db.primaryKey(reference.parent).rowIDColumn
            else { return false }
            return reference.parentColumns[0].lowercased() == integer.lowercased()
        }.map { ($0.columns[0], $0.parent) }
    }

    /// Whether rows refer to one.
    func areThere(to row: [UndoValue], _ columns: [String], _ db: Database) throws -> Bool {
        try incoming.contains { reference in
            guard let values = Self.values(reference.parentColumns, row, columns) else { return false }
            // A row may refer to itself.
            if reference.child.lowercased() == reference.parent.lowercased(),
                Self.values(reference.columns, row, columns) == values
            {
                return false
            }
            return try Self.isThere(reference.child, reference.columns, values, db)
        }
    }

    /// The columns by which a row refers to what is not there.
    func dangling(_ row: [UndoValue], _ columns: [String], _ db: Database) throws -> Set<String> {
        var found: Set<String> = []
        for reference in outgoing {
            guard let values = Self.values(reference.columns, row, columns),
                try !Self.isThere(reference.parent, reference.parentColumns, values, db)
            else { continue }
            found.formUnion(
                columns.filter { column in
                    reference.columns.contains { $0.lowercased() == column.lowercased() }
                })
        }
        return found
    }
}
