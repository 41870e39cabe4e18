import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Tables that were made anew and then given another name, with nobody looking in between.
extension SchemaReconciliation {
    /// The tables that hold what the records of others have, whose names are borne by tables that do not.
    ///
    /// ALTER TABLE takes the triggers along, which say where a table has gone; a rebuild before it has dropped them. Without
    /// them a table of that name would seem to have lost all its rows, and several that have taken each other's names to
    /// have exchanged them.
    ///
    /// - Parameter lost: what bears the names of tables now that have no triggers, by table id.
    /// - Returns: names by table id. Where a name is another such table's, that one has a new one, too.
    func archives(of lost: [Int64: TableSchema], among declarations: TableDeclarations) throws -> [Int64: String] {
        var found: [Int64: String] = [:]
        for (id, schema) in lost {
            let others = Set(lost.filter { $0.key != id }.map(\.value.name.folded))
            found[id] = try archive(of: id, schema, besides: others, among: declarations)
        }
        let times = Dictionary(grouping: found.values, by: \.folded)
        found = found.filter { times[$0.value.folded]?.count == 1 }
        while let taken = found.first(where: { _, name in
            lost.contains { $0.value.name.folded == name.folded && found[$0.key] == nil }
        }) {
            found[taken.key] = nil
        }
        return found
    }

    /// - Parameters:
    ///   - schema: what bears its name now; it has no triggers.
    ///   - others: replicated tables that have lost their triggers, too.
    /// - Returns: the name of one of these, or of a table that is not replicated yet, which has a key, and alone
    ///   holds a quarter of the rows at least (``FormerRows``); nil where they are under the former name, or nowhere.
    private func archive(
        of id: Int64, _ schema: TableSchema, besides others: Set<String>, among declarations: TableDeclarations
    ) throws -> String? {
        guard let table = store.catalog.tables.first(where: { $0.id == id }) else { return nil }
        let columns = try columns(of: table).sorted { $0.id < $1.id }
        let registered = Set(
            try connection.rows("SELECT name FROM logsync_table").map { String(text: $0[0]).folded }
        ).subtracting(others)
        let candidates = try TableSchema.tableNames(on: connection).compactMap { name -> TableSchema? in
            guard !registered.contains(name.folded), !AppSchema.notesMigrations(name),
                let other = try TableSchema.read(name, on: connection, among: declarations)
            else { return nil }
            let hasKey = other.integerKey != nil || !other.keyColumns.isEmpty
            return hasKey || schema.integerKey == nil && schema.keyColumns.isEmpty ? other : nil
        }
        guard !columns.isEmpty, !candidates.isEmpty else { return nil }
        let records = try FormerRows(table, columns.map { Int($0.id) }, atMost: Self.enough, on: connection)
        let count = records.count
        func held(_ schema: TableSchema, isLenient: Bool = false) throws -> Int {
            try records.held(
                in: schema, columns.map(\.name), isLenient: isLenient, atMost: Self.enough, on: connection)
        }
        // Rows that may be here are in no archive.
        let here = try held(schema, isLenient: true)
        guard here * 2 < count else { return nil }
        let found = try candidates.map { ($0.name, try held($0)) }.filter { $0.1 * 4 >= count && here * 2 < $0.1 }
        return found.count == 1 ? found[0].0 : nil
    }

    /// So many rows tell.
    private static let enough = 100_000
}
