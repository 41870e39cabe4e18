import Foundation
import LogSyncModel
import LogSyncSQLite

// The integers that programs give to rows by themselves (``ProgramAllocator``).
//
// A row that comes from another peer gets an integer above those of its table. A program that takes the next one from a
// table of its own would give it once more. So at the end of each write transaction, whatever it did, the program's note
// is raised to the greatest integer that there is. Where the table that has the note refuses that, `doctor` says so.
//
// The setting `allocator` names such places, and is passed over where this schema does not have them: anybody may write
// settings. For a table that is not replicated, and so is nobody else's to write, only those count that were there when the
// store was made, or that this store finds by itself. Core Data's are known by the shape of its tables, and others are found
// where the store is made (`ProgramCounters`).

extension ProgramAllocator {
    static let setting = "allocator"

    /// As the setting has it.
    func text() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }

    /// nil where this version does not understand it.
    init?(text: String) {
        guard let read = try? JSONDecoder().decode(Self.self, from: Data(text.utf8)) else { return nil }
        self = read
    }
}

extension StoreFacts {
    /// The prefix of the keys of allocators that may write tables of this store's own; alone, the key of the fact that it is
    /// known which do.
    private static let allocators = "own_allocator "

    var knowsOwnAllocators: Bool {
        get throws { try value(Self.allocators) != nil }
    }

    /// Whatever settings say by now: one that is written over by anybody goes on counting.
    func ownAllocators() throws -> [ProgramAllocator] {
        try values(under: Self.allocators).compactMap { ProgramAllocator(text: $0.name) }
    }

    func addOwn(_ allocators: [ProgramAllocator]) throws {
        try set(Self.allocators, .integer(1))
        for allocator in allocators { try set(Self.allocators + allocator.text(), .integer(1)) }
    }
}

extension SettingTable {
    /// The places that settings name, as far as this version understands them.
    func allocators() throws -> [ProgramAllocator] {
        try connection.rows(
            "SELECT value FROM logsync_setting WHERE kind = ? ORDER BY target", .text(ProgramAllocator.setting)
        ).compactMap { ProgramAllocator(text: String(text: $0[0])) }
    }
}

/// A note of the program's that is too low.
package struct LaggingCounter: Sendable {
    /// `TABLE.COLUMN` of the note.
    package var note: String
    /// What it is to be at least.
    package var wanted: Int64
    /// `TABLE.COLUMN` of the integers that it counts.
    package var counted: String
}

extension OpenStore {
    /// The places that are kept up to date, with what is in them.
    private func allocatorNotes() throws -> [AllocatorNotes] {
        let own = Set(try facts.ownAllocators())
        let said = try SettingTable(connection).allocators().filter { !own.contains($0) }
        var found = try own.sorted { $0.target < $1.target }.compactMap { try notes(of: $0, isOwn: true) }
        found += try said.compactMap { try notes(of: $0) }
        guard catalog.tables.contains(where: { $0.schema.integerKey == EntityTables.key }) else { return found }
        for (number, entity) in try EntityTables(connection).entities {
            guard let table = catalog.tables.first(where: { $0.schema.name == entity.table }) else { continue }
            let allocator = ProgramAllocator(
                table: EntityTables.table, column: "Z_MAX", key: ["Z_ENT": .integer(number)], countedTable: table.name,
                countedColumn: EntityTables.key)
            if let notes = try notes(of: allocator, isOwn: true) { found.append(notes) }
        }
        return found
    }

    /// Raises what the program notes of the integers that it has given, where rows have greater ones.
    ///
    /// - Returns: whether that was captured, so that it is to be recorded.
    @discardableResult
    func raiseAllocators() throws -> Bool {
        guard configuration.raisesAllocators else { return false }
        if try !isBeingFilled && !facts.knowsOwnAllocators {
            try facts.addOwn(SettingTable(connection).allocators())
        }
        var isCaptured = false
        for notes in try allocatorNotes() {
            guard notes.isReplicated else {
                try notes.raise()
                continue
            }
            // Other peers hear of it as of any write.
            let before = connection.totalChanges
            try connection.withTriggers(notes.raise)
            if connection.totalChanges != before { isCaptured = true }
        }
        return isCaptured
    }

    /// The notes that are too low, because something has kept them from being raised: what nobody has recorded yet has kept
    /// none.
    func laggingCounters() throws -> [LaggingCounter] {
        try allocatorNotes().filter { notes in
            let last = try connection.integer("SELECT max(number) FROM \(notes.counted.pending)") ?? 0
            return try last <= notes.counted.recorded && notes.isTooLow()
        }.map { notes in
            LaggingCounter(
                note: "\(notes.table).\(notes.column)", wanted: notes.wanted,
                counted: "\(notes.counted.schema.name).\(notes.countedColumn)")
        }
    }

    /// nil where the place is not here, is left alone, or is none that this store follows.
    ///
    /// - Parameter isOwn: whether it may write a table that is not replicated; otherwise where this store finds the same.
    private func notes(of allocator: ProgramAllocator, isOwn: Bool = false) throws -> AllocatorNotes? {
        guard let counted = catalog[allocator.countedTable],
            let countedColumn = countedColumn(allocator.countedColumn, in: counted),
            let greatest = try connection.integer("SELECT max(\(SQL.name(countedColumn))) FROM \(counted.quoted)"),
            greatest > 0
        else { return nil }
        let (wanted, isTooLarge) = greatest.addingReportingOverflow(max(0, allocator.ahead))
        let tracked = catalog[allocator.table]
        let name = tracked?.schema.name ?? allocator.table
        guard !isTooLarge, try !AppSchema.Left.skip.tables(on: connection).contains(name),
            try TableSchema.tableNames(on: connection).contains(where: { $0.folded == name.folded }),
            let schema = try TableSchema.read(name, on: connection)
        else { return nil }
        // A migration may have renamed those of a replicated table.
        func column(_ name: String) -> TableSchema.Column? {
            schema.column(tracked?.columns.first { $0.name.folded == name.folded }?.local ?? name)
        }
        let key = allocator.key.compactMap { name, value in column(name).map { ($0.name, value) } }
        guard let noted = column(allocator.column), noted.keyIndex == 0, !noted.isGenerated,
            key.count == allocator.key.count, try tracked != nil || isOwn || isFound(allocator, in: schema)
        else { return nil }
        return AllocatorNotes(
            connection: connection, table: schema.name, column: noted.name,
            key: Dictionary(key, uniquingKeysWith: { first, _ in first }),
            isReplicated: tracked != nil, wanted: wanted, counted: counted, countedColumn: countedColumn)
    }

    /// Whether this store finds the same by itself; a clone that is being filled takes what it is told.
    private func isFound(_ allocator: ProgramAllocator, in schema: TableSchema) throws -> Bool {
        if isBeingFilled { return true }
        if let isFound = examinedAllocators[allocator] { return isFound }
        let isFound = try ProgramCounters(catalog, on: connection).found(in: [schema.name]).contains(allocator)
        examinedAllocators[allocator] = isFound
        return isFound
    }

    /// The column that is counted, by its name here; nil where its greatest value cannot be told at a glance.
    private func countedColumn(_ name: String, in table: TrackedTable) -> String? {
        let column = table.columns.first { $0.name.folded == name.folded }?.local
        // An integer key that a migration has renamed is no column of the name any more.
        if let key = table.schema.integerKey, key.folded == name.folded || column == nil { return key }
        guard let column,
            table.schema.uniqueIndexes.contains(where: { $0.columns?.first?.name.folded == column.folded })
        else { return nil }
        return column
    }
}

/// The rows in which a program notes an integer.
private struct AllocatorNotes {
    let connection: Connection
    let table: String
    let column: String
    let key: [String: ProgramAllocator.Key]
    let isReplicated: Bool
    /// What they are to say at least.
    let wanted: Int64
    let counted: TrackedTable
    let countedColumn: String

    /// The rows that say less; takes ``wanted``, then what the columns of the key hold.
    private var condition: String {
        let columns = key.keys.sorted()
        let conditions = columns.indices.map { " AND \(SQL.name(columns[$0])) = ?\($0 + 2)" }.joined()
        let name = SQL.name(column)
        return "\(ProgramAllocator.isInteger(name)) AND CAST(\(name) AS INTEGER) < ?1\(conditions)"
    }

    private func prepare(_ sql: String) throws -> Statement {
        let statement = try connection.prepare(sql)
        statement.bind(.integer(wanted), at: 1)
        for (index, part) in key.sorted(by: { $0.key < $1.key }).enumerated() {
            switch part.value {
            case .integer(let integer): statement.bind(.integer(integer), at: index + 2)
            case .text(let text): statement.bind(.text(text), at: index + 2)
            }
        }
        return statement
    }

    func isTooLow() throws -> Bool {
        let statement = try prepare("SELECT 1 FROM \(SQL.name(table)) WHERE \(condition)")
        defer { statement.reset() }
        return try statement.step()
    }

    /// Raises them, unless a constraint or a trigger of the program's refuses it, or needs what only its program has.
    func raise() throws {
        guard try isTooLow() else { return }
        let name = SQL.name(column)
        do {
            _ = try prepare(
                """
                UPDATE \(SQL.name(table)) SET \(name) = CASE typeof(\(name)) WHEN 'real' THEN CAST(?1 AS REAL)
                WHEN 'text' THEN CAST(?1 AS TEXT) ELSE ?1 END WHERE \(condition)
                """
            ).writeOrRefuse()
        } catch let error as LogSyncError where ProgramDefinition(lackedBy: error.message) != nil {
            return
        }
    }
}
