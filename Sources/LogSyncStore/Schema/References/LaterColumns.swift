import LogSyncModel
import LogSyncSQLite

/// Columns that a program's migration has added since the store was made, as far as they may hold integers, and columns
/// that held nothing yet: at `init` each column that seems to refer to other rows is decided, and of these nobody was asked.
struct LaterColumns {
    private static let prefix = "later column "
    /// The kind of the settings that say that a column refers to nothing, by names in logs.
    static let declined = "no-reference"

    private let connection: Connection

    init(_ connection: Connection) { self.connection = connection }

    private func key(_ column: TrackedTable.Column, of table: TrackedTable) -> String { "\(table.id) \(column.id)" }

    /// - Parameters:
    ///   - columns: ids of new columns, by table id.
    ///   - tables: the ids of tables that are new as a whole.
    func note(_ columns: [Int64: Set<Int>], tables: Set<Int64>, in catalog: Catalog) throws {
        for table in catalog.tables {
            for column in table.columns
            where tables.contains(table.id) || columns[table.id]?.contains(column.id) ?? false {
                let affinity = table.schema.affinity(of: column.local)
                guard column.reference == nil, affinity != .text, affinity != .real else { continue }
                try StoreFacts(connection).set(Self.prefix + key(column, of: table), .integer(1))
            }
        }
    }

    /// - Parameter plan: what `init` was told.
    func noteUnanswered(in catalog: Catalog, _ plan: InitializePlan) throws {
        let search = UndeclaredReferences(catalog: catalog, connection: connection, hasRecipe: plan.knowsColumns)
        for (table, column) in try search.unanswered() {
            let isDeclined = plan.notReferences.contains {
                $0.table.folded == table.schema.name.folded && $0.column.folded == column.local.folded
            }
            if !isDeclined { try StoreFacts(connection).set(Self.prefix + key(column, of: table), .integer(1)) }
        }
    }

    /// The columns that seem to refer to other tables' rows, and of which it was not said whether they do.
    func undecided(in catalog: Catalog) throws -> [ReferenceReport] {
        let later = try noted()
        guard !later.isEmpty else { return [] }
        return try undeclared(in: catalog) { column, table in later.contains(key(column, of: table)) }
    }

    /// The columns of which it was said that they refer to nothing, by names in logs in lower case.
    func declined() throws -> Set<String> {
        Set(
            try connection.rows("SELECT target FROM logsync_setting WHERE kind = ?", .text(Self.declined))
                .map { String(text: $0[0]).folded })
    }

    private func noted() throws -> Set<String> {
        Set(try StoreFacts(connection).values(under: Self.prefix).map(\.name))
    }

    /// Whether a table has taken the name of one that is archived under another by now, and the column of that name there is
    /// known to refer to nothing: a program goes on writing the same to it.
    private func isKnownOfFormer(
        _ column: TrackedTable.Column, _ table: TrackedTable, in catalog: Catalog, _ later: Set<String>
    ) -> Bool {
        let former = catalog.tables.first { $0.id != table.id && $0.name.folded == table.schema.name.folded }
        guard let former, let position = former.position(named: column.local) else { return false }
        let known = former.columns[position]
        return known.reference == nil && !later.contains(key(known, of: former))
    }

    /// The columns that seem to refer to other tables' rows, but for those of which it was said that they do not.
    ///
    /// - Parameter isWanted: whether a column is looked at.
    func undeclared(
        in catalog: Catalog, where isWanted: (TrackedTable.Column, TrackedTable) -> Bool
    ) throws -> [ReferenceReport] {
        let declined = try declined()
        let later = try noted()
        return try UndeclaredReferences(catalog: catalog, connection: connection, hasRecipe: false)
            .found { column, table in
                isWanted(column, table) && !declined.contains("\(table.name).\(column.name)".folded)
                    && !isKnownOfFormer(column, table, in: catalog, later)
            }
    }
}
