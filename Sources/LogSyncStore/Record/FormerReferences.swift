import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Lets rows that named others by their integers, and name them by keys since a migration, name them by the keys that
/// those are going to show (Documentation/model.md, keys that change).
///
/// Each peer's migration gives a row a key of its own making, be it the integer that the row had there. Where another
/// peer's is known, that one stays. Two rows may get each other's keys by that, so that what refers to them is changed in
/// one go, beforehand, and not as one row after the other gets its key.
struct FormerReferences {
    private let table: TrackedTable
    private let store: OpenStore
    /// The keys that are going to be shown, by the keys that rows have, by column position; where these differ.
    private var keys: [Int: [Value: Value]] = [:]

    /// - Parameter columns: by id.
    init(of table: TrackedTable, columns: Set<Int>, in store: OpenStore) throws {
        self.table = table
        self.store = store
        for (place, column) in table.columns.enumerated() where Self.changes(column, columns) {
            guard let (parent, position) = store.catalog.namedKey(column, in: table) else { continue }
            let clock = ClockTable(table: parent, connection: store.connection)
            let shownRows = ShownRows(store)
            for row in try clock.allRows() {
                guard let record = try clock.record(at: row), let known = Self.key(parent, position, record, in: store),
                    let present = try shownRows.currentRow(ofRecord: record.identity, at: row, in: parent),
                    known != present.values[position]
                else { continue }
                keys[place, default: [:]][present.values[position]] = known
            }
        }
    }

    /// Whether references in a column are changed in this way. Where they are part of their own row's key, it is done row by row.
    static func changes(_ column: TrackedTable.Column, _ columns: Set<Int>) -> Bool {
        columns.contains(column.id) && !column.isKey
    }

    /// The key that a record knows of a row, whatever the row holds; nil where none is known.
    static func key(
        _ table: TrackedTable, _ position: Int, _ record: ClockRecord, in store: OpenStore
    ) -> Value? {
        let column = table.columns[position]
        let kept = record.state.cellsByName.first { $0.key.folded == column.name.folded }?.value
        let cell = kept ?? record.state.cell(column.id)
        return store.shown(cell, table.name, column.name).flatMap { $0.isNull ? nil : $0 }
    }

    func follow(_ row: TableReader.Row, _ key: RowKey, rowid: Int64?) throws {
        for (place, keys) in keys {
            guard let shown = keys[row.values[place]] else { continue }
            let condition = table.hasRowid ? rowid.map { [.integer($0)] } ?? [] : key.values
            try store.connection.withoutTriggers {
                let statement = try store.connection.prepare(table.update([place]))
                for (index, value) in ([shown] + condition).enumerated() { statement.bind(value, at: index + 1) }
                try statement.run()
            }
        }
    }
}
