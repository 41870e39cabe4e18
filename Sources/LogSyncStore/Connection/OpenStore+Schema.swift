import LogSyncModel
import LogSyncSQLite
import LogSyncState

extension OpenStore {
    /// Names the app's schema as it is now.
    func schemaFingerprint() throws -> SchemaFingerprint? {
        let version = try connection.integer("PRAGMA schema_version") ?? 0
        if let fingerprint, fingerprint.version == version { return fingerprint.of }
        let current = try settledSchema() ?? settleSchema().fingerprint
        fingerprint = (version, current)
        return current
    }

    /// The schema that stands for the one that the store has, by the fact of its name: with the rows of local tables as
    /// they were when it was settled. nil where it has to be settled anew.
    func settledSchema() throws -> SchemaFingerprint? {
        guard let settled = try facts.text(StoreFacts.schema),
            case let parts = settled.split(separator: " "), parts.count == 2,
            try AppSchema.hasSettledRows(on: connection), try parts[0] == changingSchema()
        else { return nil }
        return Hex.decode(parts[1]).flatMap { SchemaFingerprint(bytes: $0) }
    }

    /// Names the schema as it is now, with the rows that local tables have now.
    func settleSchema() throws -> (text: String, fingerprint: SchemaFingerprint) {
        let text = try AppSchema.text(on: connection)
        guard let fingerprint = AppSchema.fingerprint(text) else {
            throw LogSyncError(.invalidStore, "the store's schema has no fingerprint")
        }
        if try AppSchema.hasSettledRows(on: connection) {
            let settled = "\(try changingSchema()) \(fingerprint)"
            if try facts.text(StoreFacts.schema) != settled { try facts.set(StoreFacts.schema, .text(settled)) }
        }
        return (text, fingerprint)
    }

    /// What makes it another schema when it changes, as a digest.
    private func changingSchema() throws -> String {
        let text = try AppSchema.text(on: connection, rowsOf: AppSchema.saysVersion)
        return AppSchema.fingerprint(text).map(\.description) ?? ""
    }

    func uniqueKeys(of table: TrackedTable) throws -> [UniqueKey] {
        if let keys = cached.uniqueKeys[table.id] { return keys }
        let keys = try UniqueKey.read(table, on: connection)
        cached.uniqueKeys[table.id] = keys
        return keys
    }

    /// How a table's rows may be recorded and merged in batches, but for what the rows at hand say
    /// (``isContested(_:)``). Nothing where batches are off.
    func batching(of table: TrackedTable) -> Batching {
        guard configuration.batches else { return [] }
        if let known = cached.batchings[table.id] { return known }
        let batching = Batching(table, hasCounters: !counters(of: table).isEmpty, referenceRules)
        cached.batchings[table.id] = batching
        return batching
    }
}

extension OpenStore {
    /// The positions of a table's counters. Their versions keep their values, because the table shows sums.
    func counters(of table: TrackedTable) -> [Int] {
        guard policies.hasCounters else { return [] }
        return table.columns.indices.filter { policies.isCounter(table.name, table.columns[$0].name) }
    }

    /// Whether a column's versions keep the values that the table shows.
    func keepsVersions(_ table: TrackedTable, _ position: Int) -> Bool {
        policies.isCounter(table.name, table.columns[position].name)
            || cached.awaitedFills[table.id]?[table.columns[position].id] != nil
    }

    /// Spells out the values of counters' versions in a record whose table shows just them.
    func spellOutCounters(_ state: inout RowClock, shown row: [Value], in table: TrackedTable) {
        for position in counters(of: table) {
            let id = table.columns[position].id
            var cell = state.cell(id)
            for index in cell.versions.indices where cell.versions[index].value == nil {
                cell.versions[index].value = row[position]
            }
            state.setCell(id, cell)
        }
    }
}

extension OpenStore {
    /// What a column shows where it has no entry: the same on every peer (``FixedDefault``).
    func defaultValue(of table: TrackedTable, _ position: Int) -> Value {
        let key = "\(table.id).\(table.columns[position].id)"
        if let known = cached.defaults[key] { return known }
        var value = Value.null
        if let sql = table.schema.column(table.columns[position].local)?.defaultSQL,
            let read = try? connection.scalar("SELECT \(FixedDefault(sql).sql)")
        {
            // The default's SQL was accepted by SQLite when the column was declared; one that needs a row's context
            // cannot be evaluated alone, and no column that was added later may have such a default.
            value = table.schema.affinity(of: table.columns[position].local).apply(to: read)
        }
        cached.defaults[key] = value
        return value
    }

    /// What a column shows where it has no entry, if SQLite itself would put something else there at each time.
    func momentaryDefault(of table: TrackedTable, _ position: Int) -> Value? {
        let positions =
            cached.momentaryDefaults[table.id]
            ?? Set(
                table.columns.indices.filter { position in
                    table.schema.column(table.columns[position].local)?.defaultSQL.map { FixedDefault($0).isMomentary }
                        ?? false
                })
        cached.momentaryDefaults[table.id] = positions
        return positions.contains(position) ? defaultValue(of: table, position) : nil
    }
}
