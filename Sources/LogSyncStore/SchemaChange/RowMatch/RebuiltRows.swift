import LogSyncModel
import LogSyncSQLite

/// The rows of a table that has lost its triggers to a rebuild, as far as they may be others than their records say.
///
/// What a program wrote after it was captured by nobody, so rows are compared with their records. Most rebuilds only copy them:
/// a table of a million rows is noted as changed in the few that are, and nothing else is recorded under the lock.
struct RebuiltRows {
    let store: OpenStore
    let table: TrackedTable

    private var connection: Connection { store.connection }

    /// Notes the rows that may be others, and which rows have moved.
    ///
    /// - Parameter isAsBefore: whether columns, keys and references of the table mean what they did: a row that holds what its
    ///   record says is that one then, and nothing is to be recorded of it.
    /// - Returns: whether the rows are others than they were; and the records whose rows may have gone, nil for any.
    func note(isAsBefore: Bool = false) throws -> (areOthers: Bool, orphans: [Int64]?) {
        let wasWritten = try hasPendingRows()
        let moves = try RenumberedRows(store: store, table: table).note()
        let areOthers = try RemadeRows(store: store, table: table).note(besides: moves)
        // What was captured before may say of a row that it went, though it is there as it was.
        let isComparable =
            try isAsBefore && !areOthers && !wasWritten && RowComparison.isPossible(of: table)
            && (!table.hasMovableRows || areNamed())
        guard isComparable, var differing = try differingRows() else {
            try Capture.noteEverything(
                table, on: connection, milliseconds: areOthers ? "0" : SQL.milliseconds)
            return (areOthers, nil)
        }
        // One that has moved may hold what the row did that was there.
        differing.rows = Set(differing.rows).union(moves.map(\.to)).sorted()
        try differing.note(in: table, on: connection)
        // Records follow their rows to other places later on.
        return (false, table.hasMovableRows ? nil : differing.orphans)
    }

    /// Nil where there are too many to be remembered.
    private func differingRows() throws -> DifferingRows? {
        let comparison = RowComparison(table: table, store: store)
        var differing = DifferingRows()
        var place: RowComparison.Place? = .rows(after: [])
        while let from = place, differing.keys.count <= DifferingRows.mostKeys {
            place = try comparison.compare(from: from, &differing)
        }
        return place == nil ? differing : nil
    }

    private func hasPendingRows() throws -> Bool {
        try connection.integer(
            "SELECT EXISTS(SELECT 1 FROM \(table.pending) WHERE number > ?)", .integer(table.recorded)) == 1
    }

    /// Whether a key tells each row apart, wherever it stands.
    private func areNamed() throws -> Bool {
        let keys = table.keyColumnNames.map { "\(SQL.name($0)) IS NULL" }
        guard !keys.isEmpty else { return false }
        return try connection.integer(
            "SELECT EXISTS(SELECT 1 FROM \(table.quoted) WHERE \(keys.joined(separator: " OR ")))") == 0
    }
}

extension SchemaReconciliation {
    /// Notes what a rebuild that left no triggers may have changed in a table, while its records are laid out as before.
    ///
    /// - Parameters:
    ///   - changes: nil for none.
    ///   - hasNewReferences: whether a column has come to refer to other rows.
    /// - Returns: whether the rows are others than they were.
    func noteRebuilt(
        _ table: TrackedTable, _ changes: ColumnChanges?, hasNewReferences: Bool, _ findings: inout SchemaFindings
    ) throws -> Bool {
        let isAsBefore =
            try changes?.areNone ?? true && !hasNewReferences && findings.areValuesAsBefore(in: table.id)
            && UndecidedColumns(connection).of(table.id).isEmpty
        let found = try RebuiltRows(store: store, table: table).note(isAsBefore: isAsBefore)
        findings.orphanScans.insert(table.id)
        findings.orphans[table.id] = found.orphans
        return found.areOthers
    }
}
