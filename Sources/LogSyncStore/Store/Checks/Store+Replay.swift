package import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// What one table of a store shows, in a form that two stores can compare.
package struct ShownTable: Hashable, Sendable {
    /// As logs have them.
    package var columns: Set<String>
    package var rows: Int
    /// Of all rows, references by identity, in any order.
    package var digest: UInt64
}

/// A store as one read transaction finds it: its rows are those of its vector.
package struct ComparableState: Sendable {
    package var vector: VersionVector
    package var digest: String
    /// What each table shows, by its name in logs. Tables whose rows programs have changed since the last recording are not
    /// among them: they show more than the vector says.
    package var shown: [String: ShownTable]
    /// Those tables, by their names in the database.
    package var unrecorded: [String]
    /// The columns of which the values have gone.
    package var lost: Set<ColumnName>
}

/// The key under which two stores' values are compared, made for one comparison: values that their author chose to
/// look the same under another do not look the same under it.
package struct ComparisonKey: Sendable {
    let digest = ValueDigest.random()

    package init() {}
}

/// Stores into which a history is replayed to see what comes out.
extension Store {
    /// Makes a new file that has recorded nothing of its own, so that its state is that of the transactions merged into
    /// it and nothing else. It is no peer; it is removed when it has been looked at.
    package static func createForReplay(
        _ path: String, schema: String, plan: InitializePlan, configuration: StoreConfiguration
    ) throws -> Store {
        let schema = try ForeignSchema(schema)
        var configuration = configuration
        configuration.raisesAllocators = false
        let database = try StoreConnection(path, configuration: configuration, mayCreate: true)
        do {
            try database.withConnection { connection in
                _ = try schema.make(on: connection)
                try connection.execute("PRAGMA journal_mode = WAL")
            }
            try database.writeRaw { connection in
                _ = try found(connection, plan: plan, configuration: configuration, records: false)
                // The settings that are to be known beforehand come again with the transactions that made them. What columns
                // mean has to be known before the first of their rows comes.
                try connection.execute(
                    """
                    INSERT INTO logsync_store(key, value)
                        SELECT '\(ReferenceHistory.known)' || target, value FROM logsync_setting WHERE kind = 'reference';
                    INSERT INTO logsync_store(key, value)
                        SELECT '\(KeyHistory.known)' || target, value FROM logsync_setting
                        WHERE kind = '\(KeyHistory.setting)';
                    DELETE FROM logsync_setting
                    """)
            }
            return Store(database)
        } catch {
            // The error that brought us here says more than one about closing; the file is removed anyway.
            try? database.close()
            throw error
        }
    }

    /// What every table shows, by its name in logs.
    ///
    /// - Parameter key: the same for both stores that are compared.
    package func shownTables(_ key: ComparisonKey) throws -> [String: ShownTable] {
        try database.read { store in try Self.shown(store.catalog.tables, store, key) }
    }

    /// What there is to compare with the transactions that have made this store, however much is written meanwhile.
    ///
    /// - Parameter key: the same for both stores that are compared.
    package func comparableState(_ key: ComparisonKey) throws -> ComparableState {
        try database.read { store in
            let pending = try PendingRows(store)
            // What a migration makes of the tables is recorded by the next step.
            let tables =
                try SchemaReconciliation.isNeeded(store) ? [] : store.catalog.tables.filter { !pending.has($0) }
            let compared = Set(tables.map(\.id))
            let unrecorded = store.catalog.programTables.filter { !compared.contains($0.id) }
            return ComparableState(
                vector: store.peers.vector, digest: store.digestText, shown: try Self.shown(tables, store, key),
                unrecorded: unrecorded.map(\.schema.name).sorted(),
                lost: try ForgottenColumns(store).all())
        }
    }

    private static func shown(
        _ tables: [TrackedTable], _ store: OpenStore, _ key: ComparisonKey
    ) throws -> [String: ShownTable] {
        var shown: [String: ShownTable] = [:]
        for table in tables where !table.holdsSettings {
            shown[table.name] = try Self.shown(table, store, key.digest)
        }
        return shown
    }

    /// Whether it is what a column holds by default, and names no row: nothing was recorded of it, so whether a row had that
    /// integer once is known where its rows were written then, and nowhere else.
    private static func isEmptyDefault(
        _ value: Value, _ place: Int, in table: TrackedTable, _ store: OpenStore
    ) throws -> Bool {
        guard case .integer(let integer) = value,
            let parent = table.columns[place].reference.flatMap({ store.catalog[$0] }),
            value == store.defaultValue(of: table, place)
        else { return false }
        return try ClockTable(table: parent, connection: store.connection).identity(at: integer) == nil
    }

    private static func shown(_ table: TrackedTable, _ store: OpenStore, _ digests: ValueDigest) throws -> ShownTable {
        let reader = TableReader(table: table, store: store)
        let shownRows = ShownRows(store)
        let clock = ClockTable(table: table, connection: store.connection)
        let columns = table.columns.isEmpty ? "" : ", " + table.columnList
        let statement = try Statement(
            "SELECT \(table.hasRowid ? table.rowid : "NULL")\(columns) FROM \(table.quoted)", on: store.connection)
        let names = table.columns.map { Digest.of($0.name) }
        let numbers = try clock.shownNumbers { try shownRows.meant($0, at: $1, in: table) != $0 }
        var rows = 0
        var digest: UInt64 = 0
        while try statement.step() {
            var values = try table.columns.indices.map { place in
                let value = statement.value(place + 1)
                return try isEmptyDefault(value, place, in: table, store)
                    ? value : shownRows.knownValue(value, place, in: table)
            }
            var position = statement.isNull(0) ? nil : statement.integer(0)
            if position == nil, !numbers.isEmpty {
                position = try reader.naturalIdentity { values[$0] }
                    .flatMap { try FoldedKeys(store: store, table: table).row(of: $0) }
            }
            let stored = try position.flatMap { try clock.identity(at: $0) }
            for place in position.flatMap({ numbers[$0] }) ?? [] { values[place] = statement.value(place + 1) }
            let identity = stored ?? reader.naturalIdentity { values[$0] }
            var row = identity.map { store.rowDigest(table, $0) } ?? 0
            for (value, name) in zip(values, names) { row &+= Digest.mix(digests.of(value.asNumber), name) }
            // Mixed once more, so that cells cannot change places between rows.
            digest &+= Digest.mix(row, UInt64(table.columns.count))
            rows += 1
        }
        return ShownTable(columns: Set(table.columns.map(\.name)), rows: rows, digest: digest)
    }
}

extension Value {
    /// The value, a number that is whole as an integer: which of the two a row holds is its column's type, or one that the
    /// column had before a migration.
    fileprivate var asNumber: Value {
        if case .real(let real) = self, let integer = Int64(exactly: real) { .integer(integer) } else { self }
    }
}
