import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Finds the standing rows that have to do with a row: parents, children, and those with the same unique key.
struct Neighbours {
    private let store: OpenStore
    private let shownRows: ShownRows
    private var connection: Connection { store.connection }

    init(_ store: OpenStore, shownRows: ShownRows) {
        self.store = store
        self.shownRows = shownRows
    }

    // MARK: Parents

    /// Whether the row that a reference names stands in its table.
    func hasParent(_ reference: [Value], _ rule: ReferenceRule, besides candidates: Candidates? = nil) throws -> Bool {
        if rule.isByInteger, case .reference(let identity) = reference[0] {
            return try ClockTable(table: rule.parent, connection: connection).row(of: identity) != nil
        }
        // Without rowids nothing tells which row answered; a candidate of that name was asked before.
        guard rule.parent.hasRowid else { return try !parents(reference, rule).isEmpty }
        return try !parents(reference, rule).allSatisfy { position in
            candidates?.contains(rule.parent, at: position) ?? false
        }
    }

    /// Where the rows that a reference names stand.
    func shownParents(_ reference: [Value], _ rule: ReferenceRule) throws -> [Int64] {
        if rule.isByInteger {
            guard case .reference(let identity) = reference[0] else { return [] }
            return try ClockTable(table: rule.parent, connection: connection).row(of: identity).map { [$0] } ?? []
        }
        if rule.parent.hasRowid { return try parents(reference, rule) }
        return try answers(reference, rule, selecting: SQL.list(rule.parent.keyColumnNames)) { statement in
            (0..<statement.columnCount).map(statement.value)
        }.compactMap { try position(of: $0, in: rule.parent, besides: Candidates()) }
    }

    /// What a reference shows by default where its row does not stand, as logs have it; nil where that is NULL. An integer
    /// names the row that has had it from the beginning, on every peer; one that came later has another integer elsewhere.
    ///
    /// - Parameter also: those of the candidates that count, by the integer that they had.
    func defaults(
        _ rule: ReferenceRule, besides candidates: Candidates = Candidates(),
        or also: (TrackedTable, Int64) -> [RowIdentity] = { _, _ in [] }
    ) throws -> [Value]? {
        guard rule.replacesByDefault else { return nil }
        let values = try rule.columns.map { position in
            let value = store.defaultValue(of: rule.child, position)
            guard case .integer(let integer) = value, rule.child.columns[position].reference != nil else {
                return value
            }
            let standing = try IdentityMap(store: store).firstIdentity(of: integer, in: rule.parent) { identity in
                candidates[RowName(rule.parent, identity)] != nil
            }
            let found = also(rule.parent, integer) + (standing.map { [$0] } ?? [])
            return found.min { $0.bytes.lexicographicallyPrecedes($1.bytes) }.map { .reference($0) } ?? .null
        }
        return values.contains(.null) ? nil : values
    }

    /// What a reference shows to a row of which another shows in the place; nil where that one is not here.
    ///
    /// - Parameter winner: stands, as does the candidate of its name where there is one.
    func redirected(_ rule: ReferenceRule, to winner: RowIdentity, among candidates: Candidates) throws -> [Value]? {
        if rule.isByInteger { return [.reference(winner)] }
        var shown = candidates[RowName(rule.parent, winner)]?.intact
        if shown == nil, let place = try shownRows.locate(winner, in: rule.parent) {
            shown = try shownRows.currentRow(winner, at: place, in: rule.parent)?.values
        }
        return shown.map { shown in rule.parentColumns.map { shown[$0] } }
    }

    /// Their rowids; as many numbers as there are rows, where they have none.
    private func parents(_ reference: [Value], _ rule: ReferenceRule) throws -> [Int64] {
        try answers(reference, rule, selecting: rule.parent.hasRowid ? rule.parent.rowid : "1") { $0.integer(0) }
    }

    private func answers<Answer>(
        _ reference: [Value], _ rule: ReferenceRule, selecting columns: String, _ answer: (Statement) -> Answer
    ) throws -> [Answer] {
        var arguments: [Value] = []
        for (value, position) in zip(reference, rule.columns) {
            guard let local = try shownRows.local(value, rule.child.columns[position].reference) else { return [] }
            arguments.append(local)
        }
        let statement = try connection.prepare(rule.selectParent(columns))
        for (index, argument) in arguments.enumerated() { statement.bind(argument, at: index + 1) }
        defer { statement.reset() }
        var found: [Answer] = []
        while try statement.step() { found.append(answer(statement)) }
        return found
    }

    /// Whether every row that a row depends on stands, and no row that it refers to was folded.
    ///
    /// - Parameter value: by column position, as logs have it; nil where it stays as it is.
    /// - Returns: nil where that cannot be told from the values given.
    func satisfiesRules(_ table: TrackedTable, _ value: (Int) throws -> Value?) throws -> Bool? {
        var isSatisfied: Bool? = true
        for rule in store.referenceRules.of(table) {
            if rule.strength == .unenforced && !store.hasFolded { continue }
            let given = try rule.columns.map(value)
            if given.allSatisfy({ $0 == nil }) { continue }
            let reference = given.compactMap { $0 }
            guard reference.count == given.count else {
                isSatisfied = nil
                continue
            }
            if reference.contains(.null) || rule.isUntranslated(reference) { continue }
            if store.hasFolded, let identity = rule.named(by: reference),
                try HiddenRows(store).winner(of: identity, in: rule.parent) != nil
            {
                return false
            }
            if rule.strength != .unenforced, try !hasParent(reference, rule) { return false }
        }
        return isSatisfied
    }

    // MARK: Rows with the same key

    /// The standing rows that share a unique key, as they are.
    func sharers(
        of key: [KeyPart], _ index: Int, in table: TrackedTable, besides candidates: Candidates
    ) throws -> [(full: RowState, position: Int64)] {
        let unique = try store.uniqueKeys(of: table)[index]
        let columns = table.hasRowid ? table.rowid : SQL.list(table.keyColumnNames)
        let statement = try connection.prepare("SELECT \(columns) FROM \(table.quoted) WHERE \(unique.sharing)")
        for (index, part) in key.enumerated() { statement.bind(part.value, at: index + 1) }
        var rows: [[Value]] = []
        while try statement.step() { rows.append((0..<statement.columnCount).map(statement.value)) }
        statement.reset()
        var found: [(full: RowState, position: Int64)] = []
        for row in rows {
            guard let position = try position(of: row, in: table, besides: candidates),
                let full = try shownRows.full(at: position, in: table)?.full
            else { continue }
            found.append((full, position))
        }
        return found
    }

    private func position(of row: [Value], in table: TrackedTable, besides candidates: Candidates) throws -> Int64? {
        if table.hasRowid {
            let position = row[0].asInteger
            return candidates.contains(table, at: position) ? nil : position
        }
        var parts: [KeyPart] = []
        for (value, key) in zip(row, table.key) {
            guard let part = KeyPart(try shownRows.identityValue(value, key.index, in: table), collation: key.collation)
            else { return nil }
            parts.append(part)
        }
        let identity = RowIdentity(natural: parts)
        guard let position = try FoldedKeys(store: store, table: table).row(of: identity) else { return nil }
        return candidates.contains(table, at: position) || candidates[RowName(table, identity)]?.position == position
            ? nil : position
    }

    // MARK: Children

    /// The standing rows that refer to rows as they were.
    ///
    /// - Parameter isMeant: by which references; nil for all but the unenforced ones that mean nothing.
    func children(
        of formerRows: [FormerRow], by isMeant: ((ReferenceRule) -> Bool)? = nil
    ) throws -> [(table: TrackedTable, position: Int64)] {
        var found: [(table: TrackedTable, position: Int64)] = []
        for (_, rows) in Dictionary(grouping: formerRows, by: { $0.table.id }).sorted(by: { $0.key < $1.key }) {
            for rule in store.referenceRules.to(rows[0].table)
            where isMeant?(rule) ?? (rule.strength != .unenforced || store.hasFolded) {
                found += try children(of: rows, rule)
            }
        }
        return found
    }

    private func children(of formerRows: [FormerRow], _ rule: ReferenceRule) throws -> [(
        table: TrackedTable, position: Int64
    )] {
        let width = rule.columns.count
        // They have the parent's affinity, where the child's is none.
        let types = rule.parts.map { part in
            switch part {
            case .integer: Affinity.integer
            case .column(let position): rule.parent.schema.affinity(of: rule.parent.columns[position].local)
            }
        }
        let scratch = "logsync_gone_\(types.map(\.name).joined(separator: "_"))"
        let columns = (0..<width).map { "v\($0)" }.joined(separator: ", ")
        let declared = types.enumerated().map { "v\($0) \($1.name)" }.joined(separator: ", ")
        try connection.execute("CREATE TEMP TABLE IF NOT EXISTS \(scratch)(\(declared))")
        try connection.run("DELETE FROM temp.\(scratch)")
        for row in formerRows {
            let values = rule.parts.map { part in
                switch part {
                case .integer: Value.integer(row.integer)
                case .column(let position): row.values[position]
                }
            }
            let statement = try connection.prepare(
                "INSERT INTO temp.\(scratch) VALUES(\(SQL.placeholders(width)))")
            for (index, value) in values.enumerated() { statement.bind(value, at: index + 1) }
            try statement.run()
        }
        let child = rule.child
        let collated = zip(rule.columns, zip(types, rule.parts)).map { index, named in
            let name = SQL.name(child.columns[index].local)
            guard case .column(let position) = named.1 else { return name }
            // Between two columns a text's affinity counts for nothing.
            let isPlain = named.0 == .text && child.schema.affinity(of: child.columns[index].local) == .blob
            return "\(isPlain ? "+" : "")\(name) COLLATE \(rule.parent.columns[position].collation.rawValue)"
        }
        let selected = child.hasRowid ? child.rowid : SQL.list(child.keyColumnNames)
        let rows = try connection.rows(
            """
            SELECT \(selected) FROM \(child.quoted)
            WHERE (\(collated.joined(separator: ", "))) IN (SELECT \(columns) FROM temp.\(scratch))
            """)
        let none = Candidates()
        return try rows.compactMap { row in
            try position(of: row, in: child, besides: none).map { (child, $0) }
        }
    }
}
