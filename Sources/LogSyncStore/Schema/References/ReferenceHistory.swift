import LogSyncModel
import LogSyncSQLite

/// What each column of a store's tables refers to, as the clock records of its rows mean it.
///
/// A record leaves out what the row shows. Where a column comes to be a reference, an integer that is left out would turn
/// from a number into the row that has it here, so a store notes what its records mean, and a declaration counts from when
/// `ReferenceChange` has seen to them (Documentation/model.md, references that are declared later).
struct ReferenceHistory {
    private static let prefix = "refers "
    /// Before the column of which a setting of the kind `reference` is known before it comes with the transaction that
    /// made it.
    static let known = "reference "

    /// Before a column whose foreign key was dropped here.
    static let dropped = "dropped key "

    /// By table and column id; empty for a column that is no reference.
    private let parents: [Int64: [String]]

    init(_ connection: Connection) throws {
        var parents: [Int64: [String]] = [:]
        for (table, columns) in try StoreFacts(connection).values(under: Self.prefix) {
            guard let table = Int64(table) else { continue }
            parents[table] = try KeyList.decode(String(text: columns))
        }
        self.parents = parents
    }

    /// Whether nothing was noted yet, as in a store that an earlier version made.
    var isEmpty: Bool { parents.isEmpty }

    /// Whether the column's records mean what is noted here; else they were made under what is declared now.
    func contains(_ column: Int, of table: Int64) -> Bool { column < parents[table]?.count ?? 0 }

    /// By the name in logs; nil where the column is no reference.
    func parent(of column: Int, in table: Int64) -> String? {
        guard contains(column, of: table), let parent = parents[table]?[column], !parent.isEmpty else { return nil }
        return parent
    }

    /// Notes what the tables' columns refer to. What referred to a table that is gone means its rows still, as long as
    /// something says so: many a migration drops a table and makes it anew.
    static func note(_ catalog: Catalog, on connection: Connection) throws {
        let history = try ReferenceHistory(connection)
        let noted = history.parents
        for table in catalog.tables {
            var parents = noted[table.id] ?? []
            // A column that is not here for a while is what it was.
            while parents.count < table.columnCount { parents.append("") }
            for column in table.columns {
                let former = history.parent(of: column.id, in: table.id)
                let gone = try former.flatMap {
                    try catalog[$0] == nil && isSaid(column, of: table, on: connection) ? $0 : nil
                }
                parents[column.id] = column.reference ?? gone ?? ""
            }
            if parents != noted[table.id] { try set(parents, of: table.id, on: connection) }
        }
    }

    private static func isSaid(
        _ column: TrackedTable.Column, of table: TrackedTable, on connection: Connection
    ) throws -> Bool {
        try table.schema.foreignKeys.contains { $0.from.contains { $0.folded == column.local.folded } }
            || connection.integer(
                "SELECT 1 FROM logsync_setting WHERE kind = 'reference' AND target = ? COLLATE NOCASE",
                .text("\(table.name).\(column.name)")) != nil
    }

    /// Notes what columns of a table refer to from now on.
    ///
    /// - Parameter references: by column id; nil for what is no reference any more.
    static func note(_ references: [Int: String?], of table: Int64, on connection: Connection) throws {
        var parents = try ReferenceHistory(connection).parents[table] ?? []
        for (column, parent) in references where column < parents.count { parents[column] = parent ?? "" }
        try set(parents, of: table, on: connection)
    }

    static func forget(_ table: Int64, on connection: Connection) throws {
        try StoreFacts(connection).remove(prefix + String(table))
    }

    private static func set(_ parents: [String], of table: Int64, on connection: Connection) throws {
        try StoreFacts(connection).set(prefix + String(table), .text(try KeyList.encode(parents)))
    }
}
