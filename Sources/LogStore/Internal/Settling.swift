import LogModel

/// Decides which of the rows that a constraint refused stand: the older one stands, the younger is parked.
///
/// Rows come in the order of their age. One that is refused takes out the younger rows that share its unique keys, which
/// then try in their turn; where an older one is in its way it is parked. Parked rows try again whenever something in
/// their table may have made room.
struct Settling {
    let session: Session
    let standing: Standing

    init(_ session: Session, standing: Standing) {
        self.session = session
        self.standing = standing
    }

    private var connection: Connection { session.connection }

    typealias Note = (_ table: String, _ kind: RowGroup.Kind, _ key: [Value]?, _ row: FullRow?) -> Void

    /// Settles the given rows and every parked one.
    func settle(_ rows: [FullRow], noting note: Note) throws {
        let kept = KeptRows(session)
        var queue = rows
        var parkedBefore: Set<FullRowName> = []
        for row in try kept.rows(.parked) {
            guard session.catalog[row.table] != nil else { continue }
            // Its entries go on counting: only the place where they are kept changes.
            try kept.take(row.table, row.identity)
            parkedBefore.insert(FullRowName(table: row.table, identity: row.identity))
            queue.append(FullRow(table: row.table, identity: row.identity, state: row.clock, integer: row.integer))
        }
        queue.sort(by: session.isOlder)
        while !queue.isEmpty {
            let row = queue.removeFirst()
            guard let table = session.catalog[row.table] else { continue }
            let name = FullRowName(table: row.table, identity: row.identity)
            if try standing.stand(row, in: table) {
                if parkedBefore.contains(name) { note(table.name, .insert, nil, row) }
                continue
            }
            let blockers = try blockers(of: row, in: table)
            if !blockers.isEmpty, blockers.allSatisfy({ session.isOlder(row, $0.full) }) {
                for blocker in blockers {
                    try standing.float(blocker.full, at: blocker.position, uniques: blocker.uniques, in: table)
                    note(table.name, .delete, nil, blocker.full)
                    queue.append(blocker.full)
                }
                queue.sort(by: session.isOlder)
                if try standing.stand(row, in: table) { continue }
            }
            try kept.put(
                KeptRows.Row(
                    table: row.table, identity: row.identity, state: .parked,
                    reason: blockers.isEmpty ? "constraint" : "unique", clock: row.state, integer: row.integer))
        }
    }

    private struct FullRowName: Hashable {
        var table: String
        var identity: RowIdentity
    }

    private struct Blocker {
        var full: FullRow
        var position: Int64
        var uniques: [Int32]
    }

    /// The standing rows that share a unique key with a row.
    private func blockers(of row: FullRow, in table: TrackedTable) throws -> [Blocker] {
        let values = try standing.shownValues(row, in: table)
        var found: [Int64: Blocker] = [:]
        for index in table.schema.uniqueIndexes {
            guard let columns = index.columns else { continue }
            var arguments: [Value] = []
            for column in columns {
                if let position = table.localPositions[column.name.lowercased()],
                    let value = values[position] ?? session.defaultValue(of: table, position) as Value?, !value.isNull
                {
                    arguments.append(value)
                }
            }
            guard arguments.count == columns.count, table.hasRowid else { continue }
            let condition = columns.map { "\(SQL.name($0.name)) = ? COLLATE \($0.collation.rawValue)" }
            let statement = try connection.prepare(
                "SELECT \(table.rowid) FROM \(table.quoted) WHERE \(condition.joined(separator: " AND "))")
            for (index, argument) in arguments.enumerated() { statement.bind(argument, at: index + 1) }
            var positions: [Int64] = []
            while try statement.step() { positions.append(statement.integer(0)) }
            statement.reset()
            for position in positions where found[position] == nil {
                found[position] = try blocker(at: position, in: table)
            }
        }
        return found.values.sorted { $0.position < $1.position }
    }

    private func blocker(at position: Int64, in table: TrackedTable) throws -> Blocker? {
        guard let record = try ClockTable(table: table, connection: connection).record(at: position),
            let row = try standing.reader(table).row(at: position)
        else { return nil }
        let reader = standing.reader(table)
        let identity =
            try record.identity
            ?? reader.naturalIdentity { try standing.identityValue(row.values[$0], $0, in: table) }
        guard let identity else { return nil }
        return Blocker(
            full: try standing.expand(record, row, identity, at: position, in: table), position: position,
            uniques: record.uniques)
    }
}
