import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// What tells which column is which.
extension SchemaReconciliation {
    /// Whether the schema has changed by one statement, which left the table's rows as they are: it cannot have dropped a
    /// column and added another.
    func isSingleStatement(on table: TrackedTable) throws -> Bool {
        try connection.integer("PRAGMA schema_version") == store.schemaVersion + 1
            && Capture.isInstalled(table, on: connection)
    }

    /// How well the values of a column agree with what the records have of a known one.
    struct Agreement {
        /// How many values are the same, in any order. That both have no value in a row says nothing.
        var same = 0
        /// How many different ones of these there are.
        var distinct = 0
        /// How many values there are, in rows and in records.
        var rows = 0
        var records = 0
        /// Whether the table has no rows.
        var isEmpty = true

        /// Whether most of what the records have is there.
        var isMost: Bool { same > 0 && same * 2 > records }
    }

    /// - Parameters:
    ///   - countsWritten: whether records of rows that were written since count as well. That they differ says nothing; that
    ///     they agree does.
    ///   - countsConverted: whether a value counts that is the same as another type, as where a migration changes a column's.
    ///   - limit: how many rows and records are looked at.
    func agreement(
        of column: KnownColumn, with name: String, in table: TrackedTable, _ schema: TableSchema,
        countsWritten: Bool = false, countsConverted: Bool = false, limit: Int = 100_000
    ) throws -> Agreement {
        var former: [UInt32: Int] = [:]
        let none = UInt32(truncatingIfNeeded: table.valueDigest.of(.null))
        let written = countsWritten ? [] : try writtenRecords(of: table)
        var agreement = Agreement()
        for digest in try heldDigests(of: [column], in: table)[column.id]?.values.map(\.self) ?? [] where digest != none
        {
            former[digest, default: 0] += 1
            agreement.records += 1
        }
        let records = try Statement("SELECT row, digests FROM \(table.clock) LIMIT \(limit)", on: connection)
        while try !column.isUndecided && records.step() {
            let digests = records.withBytes(1, ClockTable.digests)
            guard digests.indices.contains(Int(column.id)), !written.contains(records.integer(0)) else { continue }
            let digest = digests[Int(column.id)]
            guard digest != none else { continue }
            former[digest, default: 0] += 1
            agreement.records += 1
        }
        var found: Set<UInt32> = []
        let statement = try Statement(
            "SELECT \(SQL.name(name)) FROM \(SQL.name(schema.name)) LIMIT \(limit)", on: connection)
        while try statement.step() {
            agreement.isEmpty = false
            guard !statement.isNull(0) else { continue }
            agreement.rows += 1
            var digests = [UInt32(truncatingIfNeeded: statement.digest(0, by: table.valueDigest))]
            if countsConverted {
                digests += statement.value(0).otherTypes.map { UInt32(truncatingIfNeeded: table.valueDigest.of($0)) }
            }
            guard let digest = digests.first(where: { former[$0] ?? 0 > 0 }) else { continue }
            former[digest, default: 0] -= 1
            agreement.same += 1
            found.insert(digest)
        }
        agreement.distinct = found.count
        return agreement
    }

    /// Whether a migration that has written all rows of a table, of which ALTER TABLE changed the columns, has made other values
    /// of what a column held for a new one at its place. Such a column is a new one, even if it was renamed before: what others
    /// write as the former value, their migrations have to convert.
    ///
    /// - Returns: false where the new column holds what the other did; nil where that cannot be told, as a program may have
    ///   written so few rows.
    func isFilled(
        _ name: String, otherwiseThan column: KnownColumn, in table: TrackedTable, _ schema: TableSchema
    ) throws -> Bool? {
        guard try Capture.isInstalled(table, on: connection), try !isKey(column, of: table),
            try agreement(of: column, with: name, in: table, schema).records == 0,
            case let found = try agreement(of: column, with: name, in: table, schema, countsWritten: true)
        else { return nil }
        let isPass = try !CapturedPasses(
            over: table.clock, in: table.pending, after: table.recorded, on: connection
        ).isEmpty
        guard found.rows > 0, found.records >= (isPass ? Self.few : Self.fewRows) else { return nil }
        return found.isMost ? found.distinct < Self.few ? nil : false : true
    }

    /// Whether other peers have written to a column of this name in logs that never was here: a new one of that name is theirs,
    /// where nothing else tells, for what was renamed keeps its name in logs.
    func isOfOthers(_ name: String, in table: TrackedTable) throws -> Bool {
        let isKnown = try connection.integer(
            "SELECT 1 FROM logsync_column WHERE table_id = ? AND log_name = ? COLLATE NOCASE", .integer(table.id),
            .text(name))
        guard isKnown == nil else { return false }
        return try ClockTable(table: table, connection: connection).haveCells(named: name, notOf: store.own)
    }

    /// Whether a new column has the type of a known one. A rebuild may spell it in another way that comes to the same (`INT` and
    /// `INTEGER`), but for keys: `INTEGER PRIMARY KEY` is the rowid.
    func isSameType(
        _ new: TableSchema.Column, _ column: KnownColumn, in table: TrackedTable, _ schema: TableSchema
    ) throws -> Bool {
        if new.declaredType == column.type { return true }
        return try Affinity(new.declaredType) == Affinity(column.type)
            && !Capture.isInstalled(table, on: connection) && !isKey(column, of: table)
            && !schema.keyColumns.contains { $0.name.folded == new.name.folded }
    }

    /// A column that a rebuild has put at another place under another name, or ALTER TABLE, where it has dropped others and added
    /// them again (``ColumnPlaces/canBeAsNamed``): the one among the new ones that holds most of
    /// what the records have of it, and refers to no other rows (``refersToOthers(_:than:among:in:_:)``). One that holds its
    /// default alone may be it at its own place, and may be a new one.
    ///
    /// - Returns: its index, and whether these are too few values to tell it from one that holds the like by chance.
    func moved(
        _ column: KnownColumn, among added: Present, _ known: [KnownColumn], _ places: ColumnPlaces?,
        in table: TrackedTable, _ schema: TableSchema
    ) throws -> (index: Int, isDoubtful: Bool)? {
        guard !(places?.canBeAsNamed ?? false) else { return nil }
        var found: [(index: Int, isDoubtful: Bool)] = []
        for (index, new) in added.enumerated() where try isSameType(new.element, column, in: table, schema) {
            guard try Renames(connection).told(new.element.name, in: table.name) == nil,
                try !refersToOthers(new.element, than: column, among: known, in: table, schema),
                try holdsValues(new.element, schema) || new.offset == column.ordinal,
                case let agreement = try agreement(
                    of: column, with: new.element.name, in: table, schema, countsWritten: true), agreement.same > 0
            else { continue }
            let isDoubtful = !agreement.isMost || agreement.distinct < Self.few
            if try isDoubtful && isOfOthers(new.element.name, in: table) { continue }
            found.append((index, isDoubtful))
        }
        let certain = found.filter { !$0.isDoubtful }
        return certain.count == 1 ? certain[0] : found.count == 1 ? found[0] : nil
    }

    /// So many different values are none that another column has by chance, as flags have.
    static let few = 3

    /// So many rows a program may well have written, all of them, between two looks.
    static let fewRows = 8

    /// Whether a column holds something else than its default anywhere.
    func holdsValues(_ column: TableSchema.Column, _ schema: TableSchema) throws -> Bool {
        try connection.integer(
            """
            SELECT EXISTS(
                SELECT 1 FROM \(SQL.name(schema.name)) WHERE \(SQL.name(column.name)) IS NOT (\(column.defaultSQL ?? "NULL")))
            """) == 1
    }

    /// The records of rows that are captured as written and have not been recorded since.
    func writtenRecords(of table: TrackedTable) throws -> Set<Int64> {
        let captured = "FROM \(table.pending) WHERE number > \(table.recorded)"
        let names = try connection.rows("SELECT name FROM pragma_table_info(?)", .text(table.pending))
        let keys = names.map { String(text: $0[0]) }.filter { $0.first == "k" && $0 != "kind" }.sorted()
        if table.hasRowid {
            let rows = try connection.rows("SELECT DISTINCT row \(captured) AND row IS NOT NULL")
            return Set(rows.map { $0[0].asInteger })
        }
        guard !keys.isEmpty, keys.count == table.key.count else { return [] }
        let folded = FoldedKeys(store: store, table: table)
        var written: Set<Int64> = []
        for row in try connection.rows("SELECT DISTINCT \(keys.joined(separator: ", ")) \(captured)") {
            let parts = zip(row, table.key).compactMap { KeyPart($0, collation: $1.collation) }
            guard parts.count == keys.count else { continue }
            if let record = try folded.row(of: RowIdentity(natural: parts)) { written.insert(record) }
        }
        return written
    }
}
