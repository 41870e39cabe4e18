import Foundation
import LogSyncModel
import LogSyncSQLite

// The integers that programs give to rows by themselves (``ProgramAllocator``).
//
// A row that comes from another peer gets an integer above those of its table. A program that takes the next one from a
// table of its own would give it once more. So at the end of each write transaction, whatever it did, the program's note
// is raised to the greatest integer that there is.
//
// The setting `allocator` names such places, and is passed over where this schema does not have them: anybody may write
// settings. Core Data's are known by the shape of its tables, and others are found where the store is made
// (`ProgramCounters`).

extension ProgramAllocator {
    static let setting = "allocator"

    /// As the setting has it.
    func text() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
}

extension OpenStore {
    /// The places that settings name, as far as this version understands them.
    func allocators() throws -> [ProgramAllocator] {
        try connection.rows(
            "SELECT value FROM logsync_setting WHERE kind = ? ORDER BY target", .text(ProgramAllocator.setting)
        ).compactMap { row in
            try? JSONDecoder().decode(ProgramAllocator.self, from: Data(String(text: row[0]).utf8))
        }
    }

    /// Raises what the program notes of the integers that it has given, where rows have greater ones.
    ///
    /// - Returns: whether that was captured, so that it is to be recorded.
    @discardableResult
    func raiseAllocators() throws -> Bool {
        guard configuration.raisesAllocators else { return false }
        var isCaptured = false
        for allocator in try allocators() {
            guard let table = catalog[allocator.countedTable] else { continue }
            if try raise(allocator, table) { isCaptured = true }
        }
        guard catalog.tables.contains(where: { $0.schema.integerKey == EntityTables.key }) else { return isCaptured }
        for (number, entity) in try EntityTables(connection).entities {
            guard let table = catalog.tables.first(where: { $0.schema.name == entity.table }) else { continue }
            let allocator = ProgramAllocator(
                table: EntityTables.table, column: "Z_MAX", key: ["Z_ENT": .integer(number)], countedTable: table.name,
                countedColumn: EntityTables.key)
            if try raise(allocator, table) { isCaptured = true }
        }
        return isCaptured
    }

    /// - Returns: whether a table that is replicated was written.
    private func raise(_ allocator: ProgramAllocator, _ counted: TrackedTable) throws -> Bool {
        guard let column = countedColumn(allocator.countedColumn, in: counted),
            let greatest = try connection.integer("SELECT max(\(SQL.name(column))) FROM \(counted.quoted)"),
            greatest > 0
        else { return false }
        let (wanted, isTooLarge) = greatest.addingReportingOverflow(max(0, allocator.ahead))
        guard !isTooLarge else { return false }
        let tracked = catalog[allocator.table]
        guard let noted = try notes(of: allocator, in: tracked?.schema.name ?? allocator.table) else { return false }
        guard tracked != nil else {
            try noted.raise(to: wanted)
            return false
        }
        // Other peers hear of it as of any write.
        let before = connection.totalChanges
        try connection.withTriggers { try noted.raise(to: wanted) }
        return connection.totalChanges != before
    }

    /// The column that is counted, by its name here; nil where its greatest value cannot be told at a glance.
    private func countedColumn(_ name: String, in table: TrackedTable) -> String? {
        if let key = table.schema.integerKey, key.folded == name.folded { return key }
        guard let column = table.columns.first(where: { $0.name.folded == name.folded })?.local,
            table.schema.uniqueIndexes.contains(where: { $0.columns?.first?.name.folded == column.folded })
        else { return nil }
        return column
    }

    /// nil where the table is not here, or left alone.
    private func notes(of allocator: ProgramAllocator, in table: String) throws -> AllocatorNotes? {
        guard try !AppSchema.Left.skip.tables(on: connection).contains(table.folded),
            try TableSchema.tableNames(on: connection).contains(where: { $0.folded == table.folded }),
            let schema = try TableSchema.read(table, on: connection), let column = schema.column(allocator.column),
            column.keyIndex == 0, allocator.key.keys.allSatisfy({ schema.column($0) != nil })
        else { return nil }
        return AllocatorNotes(connection: connection, table: schema.name, column: column.name, key: allocator.key)
    }
}

/// The rows in which a program notes an integer.
private struct AllocatorNotes {
    let connection: Connection
    let table: String
    let column: String
    let key: [String: ProgramAllocator.Key]

    func raise(to wanted: Int64) throws {
        let key = key.sorted { $0.key < $1.key }
        let conditions = key.indices.map { " AND \(SQL.name(key[$0].key)) = ?\($0 + 2)" }.joined()
        let name = SQL.name(column)
        let statement = try connection.prepare(
            """
            UPDATE \(SQL.name(table)) SET \(name) = CASE typeof(\(name)) WHEN 'real' THEN CAST(?1 AS REAL)
            WHEN 'text' THEN CAST(?1 AS TEXT) ELSE ?1 END
            WHERE \(ProgramAllocator.isInteger(name)) AND CAST(\(name) AS INTEGER) < ?1\(conditions)
            """)
        statement.bind(.integer(wanted), at: 1)
        for (index, part) in key.enumerated() {
            switch part.value {
            case .integer(let integer): statement.bind(.integer(integer), at: index + 2)
            case .text(let text): statement.bind(.text(text), at: index + 2)
            }
        }
        while try statement.step() {}
        statement.reset()
    }
}
