import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Tables that were made anew and then given another name, with nobody looking in between.
extension SchemaReconciliation {
    /// The table that holds what the records of one have, where another bears its name by now.
    ///
    /// ALTER TABLE takes the triggers along, which say where a table has gone; a rebuild before it has dropped them. Without
    /// them the table of that name, which is new, would seem to have lost all its rows.
    ///
    /// - Parameter schema: what bears its name now; it has no triggers.
    /// - Returns: the name of a table that is not replicated yet, has its columns and a key, and alone holds a quarter of
    ///   the rows at least, as far as nobody has written them since; nil where they are under the former name, or nowhere.
    func archive(of id: Int64, _ schema: TableSchema, among declarations: TableDeclarations) throws -> String? {
        guard let table = store.catalog.tables.first(where: { $0.id == id }) else { return nil }
        let columns = try columns(of: table).sorted { $0.id < $1.id }
        let registered = Set(
            try connection.rows("SELECT name FROM logsync_table").map { String(text: $0[0]).folded })
        let candidates = try TableSchema.tableNames(on: connection).filter { name in
            guard !registered.contains(name.folded), !AppSchema.notesMigrations(name),
                let other = try TableSchema.read(name, on: connection, among: declarations)
            else { return false }
            let hasKey = other.integerKey != nil || !other.keyColumns.isEmpty
            return (hasKey || schema.integerKey == nil && schema.keyColumns.isEmpty)
                && columns.allSatisfy { other.column($0.name) != nil }
        }
        guard !columns.isEmpty, !candidates.isEmpty else { return nil }
        var records: [Int: [[UInt32]: Int]] = [:]
        var count = 0
        let clock = ClockTable(table: table, connection: connection)
        for row in try clock.allRows().prefix(Self.enough) {
            guard let digests = try clock.record(at: row)?.digests else { continue }
            let known = columns.map { Int($0.id) }.filter { $0 < digests.count }.map { digests[$0] }
            records[known.count, default: [:]][known, default: 0] += 1
            count += 1
        }
        func held(_ name: String) throws -> Int {
            let names = columns.map { SQL.name($0.name) }.joined(separator: ", ")
            let statement = try Statement(
                "SELECT \(names) FROM \(SQL.name(name)) LIMIT \(Self.enough)", on: connection)
            var (left, found) = (records, 0)
            while try statement.step() {
                let digests = columns.indices.map {
                    UInt32(truncatingIfNeeded: statement.digest($0, by: table.valueDigest))
                }
                for known in left.keys {
                    guard let times = left[known]?[Array(digests.prefix(known))], times > 0 else { continue }
                    left[known]?[Array(digests.prefix(known))] = times - 1
                    found += 1
                    break
                }
            }
            return found
        }
        guard columns.allSatisfy({ schema.column($0.name) != nil }) else { return nil }
        let here = try held(schema.name)
        let found = try candidates.map { ($0, try held($0)) }.filter { $0.1 * 4 >= count && here * 2 < $0.1 }
        return found.count == 1 ? found[0].0 : nil
    }

    /// So many rows tell.
    private static let enough = 100_000
}
