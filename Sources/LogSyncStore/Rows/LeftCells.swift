import LogSyncModel
import LogSyncSQLite
import LogSyncState

// What rows hold in columns that are left alone, while they are not in their tables.
//
// The problem. A column is left alone until it is known what it is: whether it refers to other rows, or what it was called. What
// programs write there no log has, and nothing is known of it but what the row holds. A row that is parked is not in its
// table; some are only for a moment, as rows are that exchange a UNIQUE value.
//
// The rule. What a row holds there is kept when it goes, and comes back with it. Where it is known by then what the column is,
// it is a write, as it is for rows that have stayed, unless another peer has said something of the cell.

/// The cells of parked rows that no log has.
struct LeftCells {
    private let store: OpenStore
    private let table: TrackedTable
    private var connection: Connection { store.connection }

    init(_ table: TrackedTable, in store: OpenStore) {
        self.table = table
        self.store = store
    }

    /// The columns of a table that are left alone, as it has them.
    private var columns: [String] {
        table.schema.columns.filter {
            !$0.isGenerated && table.localPositions[$0.name.folded] == nil
                && $0.name.folded != table.localInteger?.folded
        }.map(\.name)
    }

    /// Keeps what a row holds, before it goes.
    ///
    func keep(_ full: RowState, at position: Int64) throws {
        let columns = columns
        guard !columns.isEmpty,
            let place = try ShownRows(store).place(full.identity, at: position, in: table)
        else { return }
        if try !isAny() {
            try connection.execute(StoreSchema.left)
            try store.acceptSchemaVersion()
            store.cached.hasLeftCells = true
        }
        let statement = try connection.prepare("SELECT \(SQL.list(columns)) FROM \(table.quoted) WHERE \(condition)")
        for (index, value) in place.enumerated() { statement.bind(value, at: index + 1) }
        defer { statement.reset() }
        guard try statement.step() else { return }
        for (index, column) in columns.enumerated() {
            try keep(statement.value(index), column, of: full)
        }
    }

    /// Lets a row that has come back hold what it held.
    ///
    /// - Parameter place: the row's rowid, or its key in a table without.
    func giveBack(_ full: RowState, at place: [Value]) throws {
        guard try isAny() else { return }
        let left = Set(columns.map(\.folded))
        let kept = try connection.rows(
            "SELECT column, value, inserts FROM logsync_left WHERE table_id = ? AND identity = ?", .integer(table.id),
            .blob(full.identity.bytes))
        var isWritten = false
        var refused: [[Value]] = []
        let inserts = Self.inserts(full)
        for cell in kept where !inserts.isDisjoint(with: String(text: cell[2]).split(separator: " ").map(String.init)) {
            let name = String(text: cell[0])
            guard let column = table.schema.column(name)?.name else { continue }
            if !left.contains(name) {
                // It is known by now what the column is.
                guard let position = table.localPositions[name], !isSaid(table.columns[position].name, of: full) else {
                    continue
                }
                isWritten = true
            }
            let statement = try RowStatement(table, on: connection) {
                "UPDATE \($0)\(table.quoted) SET \(SQL.name(column)) = ? WHERE \(condition)"
            }
            // What a constraint refuses for now is not lost.
            if try statement.write([cell[1]] + place) == .refused { refused.append(cell) }
        }
        if isWritten { try table.noteFound(at: place, on: connection) }
        if !kept.isEmpty { try forget(full.identity) }
        for cell in refused { try keep(cell[1], String(text: cell[0]), of: full) }
    }

    private func keep(_ value: Value, _ column: String, of full: RowState) throws {
        // NULL is what a row shows whose value a constraint has refused.
        try connection.run(
            "INSERT OR \(value.isNull ? "IGNORE" : "REPLACE") INTO logsync_left(table_id, identity, column, value, inserts) VALUES(?, ?, ?, ?, ?)",
            .integer(table.id), .blob(full.identity.bytes), .text(column.folded), value,
            .text(Self.inserts(full).sorted().joined(separator: " ")))
    }

    /// By which inserts a row is there: one that was deleted meanwhile and inserted again is another.
    private static func inserts(_ full: RowState) -> Set<String> {
        Set(full.state.inserts.map { "\($0.peer):\($0.sequence)" })
    }

    private var condition: String { table.hasRowid ? "\(table.rowid) = ?" : table.keyCondition }

    private func isAny() throws -> Bool {
        if let known = store.cached.hasLeftCells { return known }
        let isAny = try TableSchema.read("logsync_left", on: connection) != nil
        store.cached.hasLeftCells = isAny
        return isAny
    }

    private func isSaid(_ column: String, of full: RowState) -> Bool {
        full.state.cellsByName.contains { $0.key.folded == column.folded && !$0.value.versions.isEmpty }
    }

    private func forget(_ identity: RowIdentity) throws {
        try connection.run(
            "DELETE FROM logsync_left WHERE table_id = ? AND identity = ?", .integer(table.id), .blob(identity.bytes))
    }

    /// Forgets what is kept of a table that is not here any more.
    static func forget(_ table: Int64, on connection: Connection) throws {
        guard try TableSchema.read("logsync_left", on: connection) != nil else { return }
        try connection.run("DELETE FROM logsync_left WHERE table_id = ?", .integer(table))
    }
}
