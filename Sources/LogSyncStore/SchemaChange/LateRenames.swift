import LogSyncModel
import LogSyncSQLite

/// Columns of which another peer has said, after they came here, that they are others which went.
///
/// A program that skips a release makes the changes of several at once. Where its rows hold nothing that tells, as in an empty
/// table, a column that was renamed goes here, and another comes, while a peer that has had each release knows better. What it
/// says may arrive after this store has looked at the schema.
struct LateRenames {
    private let connection: Connection

    init(_ connection: Connection) { self.connection = connection }

    func areTold(in catalog: Catalog) throws -> Bool {
        let isAny = try connection.integer("SELECT EXISTS(SELECT 1 FROM logsync_setting WHERE kind = 'rename')") == 1
        return try isAny && catalog.tables.contains { try !columns(of: $0).isEmpty }
    }

    /// The columns of a table, as they would be noted had this peer not decided what they are.
    func columns(of table: TrackedTable) throws -> [UndecidedColumns.Column] {
        // Those of which that has been decided: a column whose name is missing now may only have been renamed.
        let gone = Set(
            try connection.rows(
                "SELECT log_name FROM logsync_column WHERE table_id = ? AND dropped", .integer(table.id)
            )
            .map { String(text: $0[0]).folded })
        guard !gone.isEmpty, try UndecidedColumns(connection).of(table.id).isEmpty else { return [] }
        let present = Set(table.columns.map { $0.name.folded })
        let keys = Set(table.orderedKeyNames.map { $0.folded })
        var taken: Set<String> = []
        return try table.columns.compactMap { column in
            guard !keys.contains(column.name.folded),
                let told = try Renames(connection).told(column.local, in: table.name),
                gone.contains(told.folded), !present.contains(told.folded), taken.insert(told.folded).inserted
            else { return nil }
            return UndecidedColumns.Column(
                name: column.local, former: column.local, place: told, named: column.name)
        }
    }
}
