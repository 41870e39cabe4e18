import Foundation
import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// The columns of which entries may be here whose values are not: their app dropped them, or the table, or they came in
/// a snapshot whose author had lost them.
///
/// It is remembered as a fact of the store: what is lost once and written again later stays on the list, which costs no more
/// than that another peer takes the snapshots. Only where all rows of a dropped table have come back as they were
/// (``DroppedRows``) nothing of it was lost.
struct ForgottenColumns {
    private let store: OpenStore
    private var connection: Connection { store.connection }

    init(_ store: OpenStore) { self.store = store }

    private static let key = "lost_columns"

    func all() throws -> Set<ColumnName> { try remembered() ?? derived() }

    /// In a write transaction.
    func add(_ columns: some Sequence<ColumnName>) throws {
        let known = try remembered()
        for column in columns { try store.facts.remove(Self.fact(of: column)) }
        let all = try (known ?? derived()).union(columns)
        if all != known { try Self.set(all, store.facts) }
    }

    /// Columns that a program has dropped. In a write transaction.
    ///
    /// - Parameter ids: in the table.
    func drop(_ ids: [Int], of table: TrackedTable) throws {
        let lost = try entries(of: ids, in: table)
        let known = try all()
        try add(lost)
        for column in lost where !known.contains(column) { try store.facts.set(Self.fact(of: column), .integer(1)) }
    }

    /// A column has come back that was only renamed: nothing was lost of it when it went. In a write transaction.
    func takeBack(_ column: String, of table: TrackedTable) throws {
        let name = ColumnName(table.name, column)
        guard try store.facts.value(Self.fact(of: name)) != nil else { return }
        try store.facts.remove(Self.fact(of: name))
        try remove([name])
    }

    /// A column has come back without its values, which are lost for good. In a write transaction.
    func giveUp(_ column: String, of table: TrackedTable) throws {
        try store.facts.remove(Self.fact(of: ColumnName(table.name, column)))
    }

    private static func fact(of column: ColumnName) -> String {
        "lost with \(column.table.folded).\(column.column.folded)"
    }

    /// Their values are here again. In a write transaction.
    func remove(_ columns: some Sequence<ColumnName>) throws {
        guard let known = try remembered() else { return }
        let left = known.subtracting(columns)
        if left != known { try Self.set(left, store.facts) }
    }

    /// Remembers from now on what a store has lost that was made before it did so: what shows it goes with its rows. In a
    /// write transaction.
    func begin() throws {
        guard !store.remembersLost else { return }
        try add([])
        store.remembersLost = true
    }

    /// For a new store, which has lost nothing.
    static func begin(_ facts: StoreFacts) throws { try set([], facts) }

    private static func set(_ columns: Set<ColumnName>, _ facts: StoreFacts) throws {
        let names = columns.sorted().map { [$0.table, $0.column] }
        try facts.set(key, .text(String(decoding: try JSONEncoder().encode(names), as: UTF8.self)))
    }

    private func remembered() throws -> Set<ColumnName>? {
        try store.facts.text(Self.key).map { text in
            Set(try JSONDecoder().decode([[String]].self, from: Data(text.utf8)).map { ColumnName($0[0], $0[1]) })
        }
    }

    /// What a store has lost that was made before this was remembered.
    private func derived() throws -> Set<ColumnName> {
        var lost: Set<ColumnName> = []
        for table in store.catalog.tables { lost.formUnion(try entries(of: table.droppedColumns, in: table)) }
        guard store.hasHidden else { return lost }
        let rows = try connection.prepare("SELECT table_name, clock FROM logsync_kept")
        defer { rows.reset() }
        while try rows.step() {
            let table = rows.string(0)
            let cells = try ClockCodec.decodeHidden(rows.bytes(1)).cellsByName
            lost.formUnion(cells.lostColumns.map { ColumnName(table, $0) })
        }
        return lost
    }

    /// Those of a table's columns of which some row that stands has, or had, a cell.
    func entries(of ids: [Int], in table: TrackedTable) throws -> [ColumnName] {
        try ids.filter { id in
            try connection.integer(
                "SELECT 1 FROM \(table.clock) WHERE length(digests) > ? LIMIT 1", .integer(Int64(4 * id))) != nil
        }.map { ColumnName(table.name, table.columnNames[$0]) }
    }
}

extension [String: CellState] {
    /// The columns with versions whose values are not known. Only of cells that no table shows.
    var lostColumns: [String] { filter { $0.value.versions.contains { $0.value == nil } }.map(\.key) }
}
