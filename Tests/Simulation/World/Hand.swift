import LogSyncModel
import LogSyncStore

/// Somebody who settles conflicts and parked rows by hand.
enum Hand {
    /// - Parameter choice: picks what is settled, and how.
    static func settle(_ store: Store, _ schema: SchemaModel, choice: UInt64) throws {
        do {
            let parked = try store.parkedRows(table: nil).sorted { spell($0.table, $0.key) < spell($1.table, $1.key) }
            let conflicts = try store.conflicts(table: nil, all: true).filter { $0.shown != nil }
                .sorted { (spell($0.table, $0.key), $0.column) < (spell($1.table, $1.key), $1.column) }
            if !parked.isEmpty, choice & 1 == 0 || conflicts.isEmpty {
                try settle(parked[Int(choice >> 1) % parked.count], store, schema, choice >> 6)
            } else if !conflicts.isEmpty {
                let conflict = conflicts[Int(choice >> 1) % conflicts.count]
                let version = conflict.versions[Int(choice >> 6) % conflict.versions.count]
                try store.takeVersion(
                    table: conflict.table, key: conflict.key, column: conflict.column, dot: version.dot)
            }
        } catch let error as LogSyncError where error.code == .usage {
            // What is asked for may not be possible; then nothing was changed.
        }
    }

    /// Sets a policy, where there is what it is for by that name.
    static func set(_ target: String, _ policy: String, _ store: Store) throws {
        do {
            try store.setPolicy(target, policy)
        } catch let error as LogSyncError where error.code == .usage {
            // The program has renamed it, or has done away with it.
        }
    }

    /// Says of columns of which nothing tells whether a migration has renamed them what the program knows. Returns whether there
    /// was anything to say.
    ///
    /// - Parameter schema: the program's, in its own names.
    static func decideColumns(_ store: Store, _ schema: SchemaModel) throws -> Bool {
        let renamings = try store.summary().undecided.flatMap { table, columns in
            columns.compactMap { name, former -> Renaming? in
                guard let column = schema[table]?[name] else { return nil }
                // What ALTER TABLE has renamed has its name in logs from before; a rebuild renames nothing.
                let isRenamed = column.logName != name && name == "\(former)_new"
                return Renaming(table: table, column: isRenamed ? former : name, to: name)
            }
        }
        guard !renamings.isEmpty else { return false }
        _ = try store.migrate("", renamings: renamings)
        return true
    }

    private static func settle(_ row: ParkedRow, _ store: Store, _ schema: SchemaModel, _ choice: UInt64) throws {
        let columns = schema[row.table]?.replicated.filter { column in
            column.reference == nil && !(schema[row.table]?.key.contains(column.name) ?? true)
        }
        guard choice & 1 == 0, let columns, !columns.isEmpty else {
            return try store.dropParked(table: row.table, key: row.key)
        }
        let column = columns[Int(choice >> 1) % columns.count]
        let value: Value = column.domain == .integers ? .integer(Int64(choice % 50)) : .text("by hand \(choice % 50)")
        try store.setParked(table: row.table, key: row.key, column: column.name, value: value)
    }

    private static func spell(_ table: String, _ key: [Value]) -> String { "\(table) \(key)" }
}
