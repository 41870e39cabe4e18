package import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Compares everything that is derived with what it is derived from: rows with clock records, digests with values.
struct Audit {
    let store: OpenStore
    private(set) var problems: [String] = []
    /// table → identity → column → value, references as identities; what a peer shows, free of local integers.
    private(set) var shown: [String: [String: [String: Value]]] = [:]

    private var connection: Connection { store.connection }

    init(_ store: OpenStore) throws {
        self.store = store
        var digest: UInt64 = 0
        swap(&digest, &store.stateDigest)
        let kept = digest
        store.stateDigest = 0
        for table in store.catalog.tables { try check(table) }
        for state in HiddenRows.State.allCases {
            for row in try HiddenRows(store).rows(state) { store.countHidden(1, row) }
        }
        if store.stateDigest != kept { problems.append("the state digest is not the sum of the entries") }
        store.stateDigest = kept
    }

    private mutating func check(_ table: TrackedTable) throws {
        let clock = ClockTable(table: table, connection: connection)
        let shownRows = ShownRows(store)
        let reader = shownRows.reader(table)
        var records = 0
        for row in try connection.rows("SELECT row FROM \(table.clock)") {
            records += 1
            let position = row[0].asInteger
            guard let record = try clock.record(at: position) else { continue }
            let place = "\(table.name) \(position)"
            let stored = record.identity ?? (table.findsByKeyDigest ? record.key : nil)
            guard
                let present = try stored.map({ try shownRows.currentRow($0, at: position, in: table) })
                    ?? (table.hasRowid ? reader.row(at: position) : nil)
            else {
                problems.append("\(place): a clock record without a row")
                continue
            }
            var logical: [String: Value] = [:]
            for (index, column) in table.columns.enumerated() {
                logical[column.name] = try known(present.values[index], column.reference)
            }
            let natural = reader.naturalIdentity { logical[table.columns[$0].name] ?? .null }
            for index in table.columns.indices
            where try saysNone(record, present.values[index], index, table)
                || record.showsNumber(present.values, index, in: table)
                    && shownRows.meant(present.values[index], at: index, in: table) == present.values[index]
            {
                logical[table.columns[index].name] = present.values[index]
            }
            guard let identity = stored ?? natural else {
                problems.append("\(place): no identity")
                continue
            }
            let spelled =
                try table.mapsKeys
                ? FoldedKeys(store: store, table: table).identity(of: identity, at: position) : identity
            if !identity.isSurrogate, spelled != natural, !record.isReplaced, !table.keepsIdentities || table.mapsKeys {
                problems.append("\(place): its key is \(natural?.description ?? "none"), its identity \(identity)")
            }
            if reader.digest(present.digests, columns: record.digests.count) != record.digest {
                problems.append("\(place): another row digest")
            }
            if reader.columnDigests(present.digests).prefix(record.digests.count) != record.digests[...] {
                problems.append("\(place): other column digests")
            }
            let uniques =
                table.findsByKeyDigest
                ? (identity.isSurrogate ? [] : [table.keyDigest(identity)])
                : table.uniqueDigests { present.values[$0] }
            if !table.findsByKeyDigest, record.uniques != uniques {
                problems.append("\(place): other digests of unique keys")
            }
            for digest in uniques where digest != 0 {
                if try !clock.rows(withUnique: digest).contains(position) {
                    problems.append("\(place): a unique key without digest")
                }
            }
            store.count(1, record.state, row: store.rowDigest(table, identity), table: table)
            shown[table.name, default: [:]][identity.description] = logical
        }
        if table.localInteger != nil {
            let reserved = try connection.rows(
                "SELECT integer FROM logsync_reserved WHERE table_id = ? AND integer IN (SELECT row FROM \(table.clock))",
                .integer(table.id))
            for row in reserved {
                problems.append("\(table.name) \(row[0].asInteger): its integer is reserved to another")
            }
        }
        let rows = try connection.integer("SELECT count(*) FROM \(table.quoted)") ?? 0
        if Int(rows) != records {
            problems.append("\(table.name): \(rows.counted("row")), \(records.counted("clock record"))")
        }
    }

    /// Whether a row shows 0 or less in a column of references because its version says just that: a row that has the integer
    /// here is not meant.
    private func saysNone(_ record: ClockRecord, _ shown: Value, _ position: Int, _ table: TrackedTable) -> Bool {
        guard case .integer(...0) = shown, table.columns[position].reference != nil else { return false }
        // What a version spells out is not what the integer means here.
        return store.shown(record.state.cell(table.columns[position].id), table.name, table.columns[position].name)
            == shown
    }

    private func known(_ value: Value, _ reference: String?) throws -> Value {
        guard case .integer(let integer) = value, let reference, let parent = store.catalog[reference] else {
            return value
        }
        return try IdentityMap(store: store).knownIdentity(of: integer, in: parent).map { .reference($0) } ?? value
    }
}

extension Store {
    /// What is wrong inside the store, as far as comparing shows; empty where all is well. Nothing may be pending.
    package func audit() throws -> (problems: [String], shown: [String: [String: [String: Value]]]) {
        try database.read { store in
            let audit = try Audit(store)
            return (audit.problems, audit.shown)
        }
    }
}
