import LogSyncModel
import LogSyncSQLite

/// Phase `stopEnforcing`: finds references that this store's own data leave dangling. Such a reference
/// is not enforced any more, for the content, once and for all (Documentation/model.md, particular rules): most
/// programs never turn `foreign_keys` on.
struct BrokenReferences {
    let store: OpenStore

    private var connection: Connection { store.connection }

    /// The references that any row breaks.
    ///
    /// - Parameter source: on which rows are read.
    func all(reading source: Connection) throws -> [ReferenceRule] {
        try enforced(store.catalog.tables).filter { try isBroken($0, where: "1", reading: source) }
    }

    /// Gives up the references that this store's own data broke, in the transaction that tells other peers so.
    func stopEnforcing(_ tables: [TableRecording], _ recorder: Recorder) throws {
        let broken = try since(tables)
        guard !broken.isEmpty, let settings = store.catalog[SettingTable.name] else { return }
        for rule in broken { try Settings(store).set(ReferenceRule.setting, rule.target, ReferenceRule.unenforced) }
        try recorder.recording(of: settings)?.readPendingRows()
    }

    /// The references that were broken since the last recording.
    private func since(_ recordings: [TableRecording]) throws -> [ReferenceRule] {
        let captured = Dictionary(uniqueKeysWithValues: recordings.map { ($0.table.id, $0) })
        return try enforced(store.catalog.tables).filter { rule in
            if let child = captured[rule.child.id], child.hasWrites, try isBrokenWhereWritten(rule) { return true }
            guard let parent = captured[rule.parent.id], !parent.isEmpty else { return false }
            return try areParentsGone(rule, parent.captured)
        }
    }

    private func enforced(_ tables: [TrackedTable]) -> [ReferenceRule] {
        tables.flatMap(store.referenceRules.of).filter { $0.strength != .unenforced }
    }

    /// Whether rows of the child that were written break it.
    private func isBrokenWhereWritten(_ rule: ReferenceRule) throws -> Bool {
        let child = rule.child
        if child.hasRowid {
            // Row by row as they were written; a list of them would have to be made first.
            let rows = """
                \(child.pending) AS written CROSS JOIN \(child.quoted) AS child ON child.\(child.rowid) = written.row
                """
            return try isBroken(rule, among: rows, where: "written.number > \(child.recorded)")
        }
        let keys = child.keyColumnNames.map { "child.\(SQL.name($0))" }.joined(separator: ", ")
        let captured = child.key.indices.map { "k\($0)" }.joined(separator: ", ")
        let written = "SELECT \(captured) FROM \(child.pending) WHERE number > \(child.recorded)"
        return try isBroken(rule, where: "(\(keys)) IN (\(written))")
    }

    /// Whether rows still refer to parents that are gone or have another key now.
    private func areParentsGone(_ rule: ReferenceRule, _ parents: CapturedChanges) throws -> Bool {
        guard rule.isByInteger else {
            let isMoved =
                try connection.integer(
                    "SELECT EXISTS(SELECT 1 FROM \(rule.parent.pending) WHERE number > ? AND kind <> ?)",
                    .integer(rule.parent.recorded), .integer(Capture.Kind.insert.rawValue)) == 1
            // REPLACE says of a row that it was inserted, though it was there and may have had another key.
            let isReplaced = parents.touched.values.contains { $0.origin != nil || $0.formerRecord != nil }
            guard isMoved || isReplaced || !parents.deleted.isEmpty else { return false }
            return try isBroken(rule, where: "1")
        }
        try connection.execute("CREATE TEMP TABLE IF NOT EXISTS logsync_gone(integer INTEGER PRIMARY KEY)")
        try connection.run("DELETE FROM temp.logsync_gone")
        // A row that REPLACE put in another's place has its identity, and leaves its integer.
        let left = parents.touched.compactMap { key, row in row.origin == row.rowid ?? key.rowid ? nil : row.origin }
        for integer in Array(parents.deleted.keys) + left {
            try connection.run("INSERT OR IGNORE INTO temp.logsync_gone(integer) VALUES(?)", .integer(integer))
        }
        try connection.run(
            """
            INSERT OR IGNORE INTO temp.logsync_gone(integer)
            SELECT row FROM \(rule.parent.pending) WHERE number > ? AND kind IN (?, ?)
            """, .integer(rule.parent.recorded), .integer(Capture.Kind.rekeyedFrom.rawValue),
            .integer(Capture.Kind.delete.rawValue))
        return try isBroken(rule, where: "child.\(rule.childNames[0]) IN (SELECT integer FROM temp.logsync_gone)")
    }

    /// The parent's collation and affinity compare, whatever the child's are; `+` takes the child's away. Source:
    /// <https://www.sqlite.org/foreignkeys.html#fk_indexes>.
    ///
    /// - Parameter rows: the child's, as `child`; all of them where nothing is given.
    private func isBroken(
        _ rule: ReferenceRule, among rows: String? = nil, where condition: String, reading source: Connection? = nil
    ) throws -> Bool {
        let isThere = zip(rule.parentNames, zip(rule.childNames, rule.parts)).map { parent, pair in
            let collation =
                if case .column(let position) = pair.1 {
                    " COLLATE \(rule.parent.columns[position].collation.rawValue)"
                } else { "" }
            return "parent.\(parent)\(collation) = +child.\(pair.0)"
        }
        let named = rule.childNames.map { "child.\($0) IS NOT NULL" }
        let broken = """
            FROM \(rows ?? "\(rule.child.quoted) AS child")
            WHERE \(condition) AND \(named.joined(separator: " AND "))
            AND NOT EXISTS(SELECT 1 FROM \(rule.parent.quoted) AS parent WHERE \(isThere.joined(separator: " AND ")))
            """
        guard try (source ?? connection).integer("SELECT EXISTS(SELECT 1 \(broken))") == 1 else { return false }
        guard source == nil, rule.columns.contains(where: { rule.child.columns[$0].reference != nil }) else {
            return true
        }
        // A number that another peer wrote before it was a reference names no row yet.
        let child = rule.child
        let place = child.hasRowid ? "child.\(child.rowid)" : "NULL"
        let columns = ([place] + child.columns.map { "child.\(SQL.name($0.local))" }).joined(separator: ", ")
        let statement = try Statement("SELECT \(columns) \(broken)", on: connection)
        while try statement.step() {
            let row = child.columns.indices.map { statement.value($0 + 1) }
            let position =
                try statement.isNull(0) ? position(of: row, in: child) : statement.integer(0)
            let record = try position.flatMap { try ClockTable(table: child, connection: connection).record(at: $0) }
            guard let record, rule.columns.contains(where: { record.showsNumber(row, $0, in: child) }) else {
                return true
            }
        }
        return false
    }

    /// The record of a row that is found by its key.
    private func position(of row: [Value], in table: TrackedTable) throws -> Int64? {
        let shownRows = ShownRows(store)
        // Nothing is promised to integers yet: what they meant is still to be found out.
        return try shownRows.reader(table).naturalIdentity { try shownRows.knownValue(row[$0], $0, in: table) }
            .flatMap { try FoldedKeys(store: store, table: table).row(of: $0) }
    }
}
