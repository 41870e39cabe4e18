import GRDB

/// One group as it is taken back, and what could not be.
///
/// What others have written since is not only in the cells themselves: they may have deleted the row that a row which comes
/// back refers to, or inserted rows that refer to one which goes. Neither makes the whole group fail: what cannot be is left.
struct UndoReversal {
    /// What was written, and may have to be undone again.
    struct Written {
        var table: UndoTable
        var key: [DatabaseValue]
        /// What the columns held before; nil for a row that has come back.
        var columns: [String: DatabaseValue]?
    }

    var rows = 0
    private(set) var left: [UndoLog.Left] = []
    var written: [Written] = []
    /// The integers of the rows that come back, by their identities.
    private(set) var places: [DatabaseValue: Int64] = [:]
    private var taken: [String: Set<Int64>] = [:]
    /// Rows that are to go, and to which others refer: some of those may go yet.
    var referred: [(table: UndoTable, row: [DatabaseValue])] = []

    mutating func leave(_ table: UndoTable, _ key: [DatabaseValue], _ column: String? = nil) {
        let new = UndoLog.Left(table: table.name, key: key, column: column)
        if !left.contains(new) { left.append(new) }
    }

    /// Gives a row that comes back an integer that no other one gets.
    mutating func give(_ integer: Int64, to identity: DatabaseValue, of table: UndoTable) {
        var free = integer
        while taken[table.name, default: []].contains(free) { free += 1 }
        taken[table.name, default: []].insert(free)
        places[identity] = free
    }

    /// A row that was written goes by another key.
    mutating func follow(_ table: UndoTable, _ key: [DatabaseValue], to new: [DatabaseValue]) {
        for index in written.indices where written[index].table.name == table.name && written[index].key == key {
            written[index].key = new
        }
    }

    mutating func finish(_ db: Database) throws {
        var isNews = true
        while isNews {
            isNews = false
            let waiting = referred
            referred = []
            for (table, row) in waiting {
                if try table.removeUnlessReferred(row, db) {
                    (isNews, rows) = (true, rows + 1)
                } else {
                    referred.append((table, row))
                }
            }
        }
        for (table, row) in referred { leave(table, table.key(of: row)) }
        guard try Bool.fetchOne(db, sql: "PRAGMA foreign_keys") ?? false else { return }
        try giveUpDangling(db)
    }

    private mutating func giveUpDangling(_ db: Database) throws {
        var isNews = true
        while isNews {
            isNews = false
            for (index, one) in written.enumerated().reversed() {
                let dangling = try one.table.dangling(one.key, db)
                if let dangling, dangling.isEmpty { continue }
                isNews = true
                written.remove(at: index)
                rows -= 1
                guard let dangling else {
                    // It went with another one that was given up.
                    leave(one.table, one.key)
                    continue
                }
                guard let columns = one.columns else {
                    try one.table.delete(one.key, db)
                    leave(one.table, one.key)
                    continue
                }
                let back = columns.filter { dangling.contains($0.key) }
                _ = try one.table.set(back.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }, one.key, db)
                for column in back.keys.sorted() { leave(one.table, one.key, column) }
                if back.count < columns.count { rows += 1 }
            }
        }
    }
}

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

    private static func values(
        _ names: [String], _ row: [DatabaseValue], _ columns: [String]
    ) -> [DatabaseValue]? {
        let values = names.compactMap { name in
            columns.firstIndex { $0.lowercased() == name.lowercased() }.map { row[$0] }
        }
        return values.count == names.count && !values.contains(where: \.isNull) ? values : nil
    }

    private static func isThere(
        _ table: String, _ columns: [String], _ values: [DatabaseValue], _ db: Database
    ) throws -> Bool {
        let condition = columns.map { "\($0.quotedDatabaseIdentifier) = ?" }.joined(separator: " AND ")
        return try Int.fetchOne(
            db, sql: "SELECT 1 FROM main.\(table.quotedDatabaseIdentifier) WHERE \(condition)",
            arguments: StatementArguments(values)) != nil
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
    func areThere(to row: [DatabaseValue], _ columns: [String], _ db: Database) throws -> Bool {
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
    func dangling(_ row: [DatabaseValue], _ columns: [String], _ db: Database) throws -> Set<String> {
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
