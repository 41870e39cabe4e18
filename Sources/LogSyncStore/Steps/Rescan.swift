package import LogSyncModel
import LogSyncSQLite

/// Compares all rows with all clock records, whether or not anything was captured.
struct Rescan {
    let store: OpenStore

    private var connection: Connection { store.connection }

    /// Puts triggers back and brings clock records to where their rows are now.
    ///
    /// - Parameter compared: what was found of tables before this. Those of which it says no longer which records are their
    ///   rows' leave it; of the others nothing else is read, however many rows they have.
    /// - Returns: what the recording after it needs to know.
    func matchRecords(_ compared: inout [Int64: Portion]) throws -> SchemaFindings {
        let reconciliation = SchemaReconciliation(store: store)
        if try SchemaReconciliation.isNeeded(store) { return try reconciliation.reconcile() }
        var findings = SchemaFindings()
        for table in store.catalog.tables {
            let isCaptured = try Capture.isInstalled(table, on: connection)
            if !isCaptured { try Capture.install(table, on: connection) }
            if let found = compared[table.id] {
                if try isCaptured && reconciliation.areInPlace(found.differing, of: table) { continue }
                compared[table.id] = nil
            }
            if try reconciliation.matchRowids(table)?.isInDoubt ?? false { findings.orphanScans.insert(table.id) }
        }
        try store.acceptSchemaVersion()
        return findings
    }

    /// Lets the next recording compare the rows that were found to differ, and look for the row of every record.
    ///
    /// - Parameter compared: what was found of each table; of one that is not among them every row is compared.
    /// - Returns: what that recording needs to know.
    func note(_ compared: [Int64: Portion]) throws -> SchemaFindings {
        var findings = SchemaFindings()
        for table in store.catalog.tables {
            if let found = compared[table.id] {
                if findsOrphans(table) { findings.orphans[table.id] = found.orphans }
                for row in found.differing { try Capture.note(at: row, identity: nil, in: table, store) }
            } else {
                try Capture.noteEverything(table, on: connection)
            }
            findings.orphanScans.insert(table.id)
        }
        return findings
    }

    // MARK: Rows that differ from their records

    /// Where a comparison goes on: the rows after this one.
    struct Portion {
        var table: Int64
        var last: Int64?
        /// The rows that have no record, or another than they are.
        var differing: [Int64] = []
        /// The records whose rows are gone, and may be more, where a comparison finds them.
        var orphans: [Int64] = []
        var isLast = false
    }

    /// How many rows are compared on one state of the store: programs write between two of them, whatever the journal.
    private static let portion: Int64 = 20_000

    /// The tables whose rows can be compared portion by portion, whether or not their records are brought to their rows first.
    func comparable(beforeMatching isEarly: Bool) -> [Int64] {
        store.catalog.tables.filter { $0.hasRowid && (!isEarly || $0.hasMovableRows && findsOrphans($0)) }.map(\.id)
    }

    /// Whether a comparison finds the records whose rows may be gone: a row that agrees with the record at its place has that
    /// record's key. It has not where its key holds an integer that means another row by now, nor where it is no key that
    /// tells rows apart.
    private func findsOrphans(_ table: TrackedTable) -> Bool {
        table.hasRowid && (!table.hasMovableRows || !table.key.isEmpty && !table.keyHasReference)
    }

    /// Compares the next rows of a table with their records by the digests of both.
    func compare(after former: Portion) throws -> Portion {
        var next = Portion(table: former.table, last: former.last)
        guard let table = store.catalog.tables.first(where: { $0.id == former.table }) else {
            next.isLast = true
            return next
        }
        let reader = TableReader(table: table, store: store)
        let clock = ClockTable(table: table, connection: connection)
        let statement = try Statement(
            """
            SELECT \(table.rowid)\(table.columns.isEmpty ? "" : ", " + table.columnList) FROM \(table.quoted)
            \(former.last == nil ? "" : "WHERE \(table.rowid) > ?2") ORDER BY \(table.rowid) LIMIT ?1
            """, on: connection)
        statement.bind(Self.portion, at: 1)
        if let last = former.last { statement.bind(last, at: 2) }
        var count: Int64 = 0
        while try statement.step() {
            count += 1
            let row = statement.integer(0)
            let digests = table.columns.indices.map { statement.digest($0 + 1, by: table.valueDigest) }
            let record = try clock.record(at: row)
            // A record that does not know all columns says nothing of the others.
            let agrees = record.map {
                $0.digests.count >= table.columnCount && reader.digest(digests) == $0.digest
            }
            if agrees != true { next.differing.append(row) }
            next.last = row
        }
        next.isLast = count < Self.portion
        if findsOrphans(table) {
            next.orphans = try orphans(of: table, above: former.last, to: next)
            if table.hasMovableRows { next.orphans += next.differing }
        }
        return next
    }

    private func orphans(of table: TrackedTable, above first: Int64?, to portion: Portion) throws -> [Int64] {
        let statement = try Statement(
            """
            SELECT c.row FROM \(table.clock) AS c WHERE (?1 IS NULL OR c.row > ?1) AND (?2 IS NULL OR c.row <= ?2)
            AND NOT EXISTS (SELECT 1 FROM \(table.quoted) AS t WHERE t.\(table.rowid) = c.row)
            """, on: connection)
        statement.bind(first.map { .integer($0) } ?? .null, at: 1)
        statement.bind(portion.isLast ? .null : portion.last.map { .integer($0) } ?? .null, at: 2)
        var orphans: [Int64] = []
        while try statement.step() { orphans.append(statement.integer(0)) }
        return orphans
    }

    // MARK: Rows whose keys are not kept

    /// The records without a row of which only a digest says which row it was.
    ///
    /// - Parameter compared: what was found of tables; of one that is not among them every record is looked at.
    func unidentified(_ compared: [Int64: Portion]) throws -> [UnidentifiedRows] {
        var found: [UnidentifiedRows] = []
        for table in store.catalog.tables where table.findsByKeyDigest {
            let digests = try OrphanRecords(table: table, store: store)
                .all(among: compared[table.id]?.orphans, unidentifiedOnly: true).map(\.digest)
            if !digests.isEmpty { found.append(UnidentifiedRows(table: table.name, digests: Set(digests))) }
        }
        return found
    }

    /// Notes the deletion of the rows that are gone and whose identities are among `names`, by table.
    func noteDeletions(_ names: [String: Set<RowIdentity>]) throws {
        for table in store.catalog.tables where table.findsByKeyDigest {
            guard let names = names[table.name], !names.isEmpty else { continue }
            let records = OrphanRecords(table: table, store: store)
            let orphans = Dictionary(
                try records.all().map { ($0.digest, $0.row) }, uniquingKeysWith: { first, _ in first })
            guard !orphans.isEmpty else { continue }
            for identity in names.sorted() {
                guard let row = orphans[table.keyDigest(identity)], try records.agrees(identity, row) else {
                    continue
                }
                try noteDeletion(of: identity, in: table)
            }
        }
    }

    private func noteDeletion(of identity: RowIdentity, in table: TrackedTable) throws {
        guard let key = try ShownRows(store).localKey(identity, in: table) else { return }
        let columns = key.indices.map { ", k\($0)" }.joined()
        let statement = try connection.prepare(
            """
            INSERT INTO \(table.pending)(kind, row, ms\(columns))
            VALUES(\(Capture.Kind.delete.rawValue), NULL, \(SQL.milliseconds), \(SQL.placeholders(key.count)))
            """)
        for (index, value) in key.enumerated() { statement.bind(value, at: index + 1) }
        try statement.run()
    }
}

extension UnidentifiedRows {
    /// Whether a row of this identity may be among them.
    package func mayContain(_ identity: RowIdentity) -> Bool { digests.contains(TrackedTable.keyDigest(identity)) }
}
