import LogSyncModel
import LogSyncSQLite

/// Finds references that this store's own data leave dangling. Such a key is not enforced any more, for the content,
/// once and for all (MODEL.md, particular rules): most programs never turn `foreign_keys` on.
struct Enforcement {
    let store: OpenStore

    private var connection: Connection { store.connection }

    /// The keys that rows found at the beginning break.
    func brokenByAnything() throws -> [ReferenceRule] {
        try enforced(store.catalog.tables).filter { try isBroken($0, where: "1") }
    }

    /// The keys that were broken since the last recording.
    ///
    /// - Parameters:
    ///   - events: what was captured, by table id.
    ///   - plain: the rows that were not played through, by table id.
    func broken(
        by events: [Int64: CapturedChanges], plain: [Int64: SimpleChanges]
    ) throws -> [ReferenceRule] {
        try enforced(store.catalog.tables).filter { rule in
            let isTouched =
                !(events[rule.child.id]?.lives.isEmpty ?? true) || !(plain[rule.child.id]?.isEmpty ?? true)
            if isTouched, try isBrokenWhereWritten(rule) { return true }
            guard let events = events[rule.parent.id],
                !events.lives.isEmpty || !events.deaths.isEmpty || !(plain[rule.parent.id]?.isEmpty ?? true)
            else { return false }
            return try parentsWent(rule, events)
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

    /// Whether rows still refer to parents that went or are called something else now.
    private func parentsWent(_ rule: ReferenceRule, _ events: CapturedChanges) throws -> Bool {
        guard rule.isByInteger else {
            let isMoved =
                try connection.integer(
                    "SELECT EXISTS(SELECT 1 FROM \(rule.parent.pending) WHERE number > ? AND kind <> ?)",
                    .integer(rule.parent.recorded), .integer(Capture.Kind.insert.rawValue)) == 1
            // REPLACE says of a row that it was inserted, though it was there and may have been called something else.
            let isReplaced = events.lives.values.contains { $0.origin != nil || $0.former != nil }
            guard isMoved || isReplaced || !events.deaths.isEmpty else { return false }
            return try isBroken(rule, where: "1")
        }
        try connection.execute("CREATE TEMP TABLE IF NOT EXISTS logsync_gone(integer INTEGER PRIMARY KEY)")
        try connection.run("DELETE FROM temp.logsync_gone")
        // A row that REPLACE put in another's place has its identity, and leaves its integer.
        let left = events.lives.compactMap { place, life in life.origin == life.rowid ?? place.rowid ? nil : life.origin
        }
        for death in Array(events.deaths.keys) + left {
            try connection.run("INSERT OR IGNORE INTO temp.logsync_gone(integer) VALUES(?)", .integer(death))
        }
        try connection.run(
            "INSERT OR IGNORE INTO temp.logsync_gone(integer) SELECT row FROM \(rule.parent.pending) WHERE number > ? AND kind IN (?, ?)",
            .integer(rule.parent.recorded), .integer(Capture.Kind.rekeyedFrom.rawValue),
            .integer(Capture.Kind.delete.rawValue))
        return try isBroken(rule, where: "child.\(rule.childNames[0]) IN (SELECT integer FROM temp.logsync_gone)")
    }

    /// The parent's collation and affinity compare, whatever the child's are; `+` takes the child's away. Source:
    /// <https://www.sqlite.org/foreignkeys.html#fk_indexes>.
    ///
    /// - Parameter rows: the child's, as `child`; all of them where nothing is given.
    private func isBroken(_ rule: ReferenceRule, among rows: String? = nil, where condition: String) throws -> Bool {
        let isThere = zip(rule.parentNames, zip(rule.childNames, rule.parts)).map { parent, pair in
            let collation =
                if case .column(let position) = pair.1 {
                    " COLLATE \(rule.parent.columns[position].collation.rawValue)"
                } else { "" }
            return "parent.\(parent)\(collation) = +child.\(pair.0)"
        }
        let named = rule.childNames.map { "child.\($0) IS NOT NULL" }
        return try connection.integer(
            """
            SELECT EXISTS(SELECT 1 FROM \(rows ?? "\(rule.child.quoted) AS child") WHERE \(condition) AND \(named.joined(separator: " AND "))
            AND NOT EXISTS(SELECT 1 FROM \(rule.parent.quoted) AS parent WHERE \(isThere.joined(separator: " AND "))))
            """) == 1
    }
}

extension Recorder {
    /// Gives up the keys that this store's own data broke, in the transaction that says so to the others.
    func giveUpBrokenKeys() throws {
        let broken = try Enforcement(store: store).broken(by: events, plain: plain)
        guard !broken.isEmpty, let settings = store.catalog["logsync_setting"] else { return }
        for rule in broken { try Settings(store).set(ReferenceRule.setting, rule.target, ReferenceRule.unenforced) }
        events[settings.id] = try collect(settings)
    }
}
