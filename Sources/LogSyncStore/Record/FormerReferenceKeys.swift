import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// By what rows were named at the last recording, before a migration that has others name them by another key.
///
/// A reference is in its row's record as the digest of the integer or the key by which it named a row. Whether it names the same
/// row now, by another key, or a program has written it, only that row's former key tells; and the layout of its table's
/// records, or the column, is gone after the migration.
struct FormerReferenceKeys: Sendable, Equatable {
    /// By table id.
    private var integers: [Int64: [RowIdentity: Int64]] = [:]
    /// The digests of keys, by the table and the column, by id, that named rows by them.
    private var digests: [Int64: [Int: [RowIdentity: UInt32]]] = [:]

    init() {}

    /// Reads the integers, before records are laid out anew.
    ///
    /// - Parameter former: the columns whose rows name others by another key than before.
    init(integersOf former: SchemaFindings.NamingChanges, in store: OpenStore) throws {
        for table in store.catalog.programTables {
            for column in table.columns where former[table.id]?[column.id] == .some(nil) {
                guard let parent = store.catalog.namedKey(column, in: table)?.parent, integers[parent.id] == nil else {
                    continue
                }
                var read: [RowIdentity: Int64] = [:]
                let records = try Statement(
                    "SELECT row, identity FROM \(parent.clock) WHERE identity IS NOT NULL", on: store.connection)
                while try records.step() {
                    if case .blob(let bytes) = records.value(1) {
                        read[RowIdentity(unchecked: bytes)] = records.integer(0)
                    }
                }
                integers[parent.id] = read
            }
        }
    }

    /// Reads the keys, when all records are laid out, and as they were recorded last.
    mutating func read(_ former: SchemaFindings.NamingChanges, in store: OpenStore) throws {
        for table in store.catalog.programTables {
            for column in table.columns {
                guard let name = former[table.id]?[column.id], let key = try PresentKey(column, in: table, store) else {
                    continue
                }
                let digest = try self.digest(of: name, of: key.parent, in: store)
                var read: [RowIdentity: UInt32] = [:]
                try key.forEachRow { row in read[row.identity] = digest(row) }
                digests[table.id, default: [:]][column.id] = read
            }
        }
    }

    /// What says of a row by which digest it was named.
    ///
    /// - Parameter name: the column of the table, by its name in logs, be it there or not; nil for the integers.
    func digest(
        of name: String?, of parent: TrackedTable, in store: OpenStore
    ) throws -> (PresentKey.Row) -> UInt32? {
        guard let name else {
            let integers = integers[parent.id] ?? [:]
            return { row in
                integers[row.identity].map { UInt32(truncatingIfNeeded: parent.valueDigest.of(.integer($0))) }
            }
        }
        let known = parent.columns.first { $0.name.folded == name.folded }?.id
        let id = try known ?? Self.goneColumn(name, of: parent, on: store.connection)
        return { row in id.flatMap { $0 < row.record.digests.count ? row.record.digests[$0] : nil } }
    }

    private static func goneColumn(_ name: String, of table: TrackedTable, on connection: Connection) throws -> Int? {
        try connection.integer(
            """
            SELECT max(id) FROM logsync_column WHERE table_id = ? AND log_name = ? COLLATE NOCASE AND dropped
            """, .integer(table.id), .text(name)
        ).map { Int($0) }
    }

    /// The integer by which a row was named.
    func integer(of identity: RowIdentity, in table: TrackedTable) -> Int64? { integers[table.id]?[identity] }

    /// The digests of the keys by which a column named rows, by the identities of these; nil where it named none.
    func keys(of column: TrackedTable.Column, in table: TrackedTable) -> [RowIdentity: UInt32]? {
        digests[table.id]?[column.id]
    }

    mutating func formUnion(_ other: Self) {
        integers.merge(other.integers) { first, _ in first }
        digests.merge(other.digests) { $0.merging($1) { first, _ in first } }
    }
}

/// By what a column names rows of another table now: by their integers, or by the values of a column.
struct PresentKey {
    struct Row {
        var key: Value
        var identity: RowIdentity
        var record: ClockRecord
        var values: [Value]
    }

    let parent: TrackedTable
    /// Of the column; nil for the integers.
    let position: Int?
    private let store: OpenStore

    /// - Returns: nil where the column names no rows.
    init?(_ column: TrackedTable.Column, in table: TrackedTable, _ store: OpenStore) throws {
        self.store = store
        if let parent = store.catalog.numbered(column.reference) {
            (self.parent, position) = (parent, nil)
        } else if let named = store.catalog.namedKey(column, in: table) {
            (parent, position) = named
        } else {
            return nil
        }
    }

    /// The rows that are shown.
    func forEachRow(_ body: (Row) throws -> Void) throws {
        let clock = ClockTable(table: parent, connection: store.connection)
        let shownRows = ShownRows(store)
        for row in try clock.allRows() {
            guard let record = try clock.record(at: row),
                let present = try shownRows.currentRow(ofRecord: record.identity, at: row, in: parent),
                let identity = try record.named ?? shownRows.spelledIdentity(present, in: parent)
            else { continue }
            let key = position.map { present.values[$0] } ?? .integer(row)
            try body(Row(key: key, identity: identity, record: record, values: present.values))
        }
    }
}
