import LogSyncModel

/// Rows of a transaction that were merged before the others.
struct MergedRows {
    private struct Name: Hashable {
        var table: String
        var identity: RowIdentity
    }

    private var names: Set<Name> = []

    mutating func add(_ row: IncomingRow) { names.insert(Name(table: row.group.table, identity: row.identity)) }

    func contain(_ row: IncomingRow) -> Bool {
        names.contains(Name(table: row.group.table, identity: row.identity))
    }
}
