package import LogSyncModel
import LogSyncSQLite

extension Store {
    /// The cells in conflict. Concurrent equal values are none.
    ///
    /// - Parameters:
    ///   - table: only this one's.
    ///   - all: also cells whose policy makes one value of all versions (`max`, `min`, `sum`, `union`).
    /// - Throws: `usage` for a table that this store does not know.
    package func conflicts(table: String?, all: Bool) throws -> [StoreConflict] {
        try database.read { store in
            try store.tables(named: table).flatMap { tracked in
                let conflicts = Conflicts(store: store, table: tracked)
                return try conflicts.shown(all: all) + conflicts.withinParked(all: all) + conflicts.lost()
            }
        }
    }

    /// The rows that cannot stand, and rows that stand though a CHECK constraint does not hold (reason `check`).
    ///
    /// - Parameter all: also rows that were folded into others (reason `merged`).
    /// - Throws: `usage` for a table that this store does not know.
    package func parkedRows(table: String?, all: Bool = false) throws -> [ParkedRow] {
        try database.read { store in
            let tables = try store.tables(named: table)
            let broken = try tables.flatMap { try Conflicts(store: store, table: $0).breakingChecks() }
            return try broken
                + tables.flatMap { tracked in
                    let conflicts = Conflicts(store: store, table: tracked)
                    return try HiddenRows(store).rows(.parked, of: tracked.name)
                        .filter { all || $0.folded == nil }.map(conflicts.parked)
                }
        }
    }

    /// The cells of values that are lost, as this store's program calls them; keys as far as they are known.
    package func cells(of lost: [LostValue]) throws -> [(table: String, key: [Value], column: String)] {
        try database.read { store in
            try lost.map { value in
                guard let table = store.catalog[value.table] else { return (value.table, [], value.column) }
                let column = table.positions[value.column.folded].map { table.columns[$0].local } ?? value.column
                return (table.schema.name, try Conflicts(store: store, table: table).key(of: value.identity), column)
            }
        }
    }

    /// Settles a cell by an ordinary write of one of its versions.
    ///
    /// - Parameters:
    ///   - identity: which row it is, in hex, where several have this key; the version may say so as well.
    ///   - isDry: whether to undo it, and only see that it can be done.
    /// - Throws: `usage` where there is no such row, column or version, or where several rows have it.
    package func takeVersion(
        table: String, key: [Value], identity: String? = nil, column: String, dot: Dot, isDry: Bool = false
    ) throws {
        let name = ListedName(key: key, identity: identity)
        try settle(isDry) { try $0.take(dot, of: name, column: column, in: table) }
    }

    /// Gives a parked row another value, upon which it may stand, or a row that stands though it breaks a CHECK one that
    /// keeps it.
    ///
    /// - Parameters:
    ///   - identity: which row it is, in hex, where several have this key.
    ///   - isDry: whether to undo it, and only see that it can be done.
    /// - Throws: `usage` where there is no such row or column, or several rows, or where the value breaks a constraint.
    package func setParked(
        table: String, key: [Value], identity: String? = nil, column: String, value: Value, isDry: Bool = false
    ) throws {
        let name = ListedName(key: key, identity: identity)
        try settle(isDry) { try $0.setParked(column, value, of: name, in: table) }
    }

    private func settle(_ isDry: Bool, by body: (ConflictResolution) throws -> Void) throws {
        struct Undo: Error {}
        do {
            try database.write { store in
                try body(ConflictResolution(store))
                if isDry { throw Undo() }
            }
        } catch is Undo {}
    }

    /// Deletes a parked row, or one that stands though it breaks a CHECK; or says of a row that is deleted already that the
    /// edits which were lost to that are known of.
    ///
    /// - Parameter identity: which row it is, in hex, where several have this key.
    /// - Throws: `usage` where there is no such row, or several.
    package func dropParked(table: String, key: [Value], identity: String? = nil) throws {
        let name = ListedName(key: key, identity: identity)
        try database.write { try ConflictResolution($0).dropParked(name, in: table) }
    }

    /// Whether there is what ``dropParked(table:key:identity:)`` would delete; throws as it does where there is not.
    package func findParked(table: String, key: [Value], identity: String? = nil) throws {
        try database.read { try ConflictResolution($0).findParked(ListedName(key: key, identity: identity), in: table) }
    }
}
