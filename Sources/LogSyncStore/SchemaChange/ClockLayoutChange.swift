import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Lays a table's clock and pending records out anew, where an index came or went, or a rebuild made it another kind of
/// table: how a record is found, and its number, depend on both.
struct ClockLayoutChange {
    let store: OpenStore
    let table: TrackedTable
    /// How records were found until now, where the key was another.
    var former: FormerKey?
    var findings = SchemaFindings()

    private var connection: Connection { store.connection }
    private var old: String { "logsync_old_clock" }
    private var oldUnique: String { "logsync_old_unique" }
    private var oldPending: String { "logsync_old_pending" }

    /// Pending rows stay where their layout does: they alone say that a row was deleted before another one got its integer.
    /// Where triggers went with a rebuild, every row is noted as possibly changed besides.
    ///
    /// - Returns: nil where the layout is what it was; else whether the rows are others than they were.
    func applyIfNeeded() throws -> Bool? {
        let shape = try connection.scalar("SELECT shape FROM logsync_table WHERE id = ?", .integer(table.id))
        guard case .text? = shape, let shape, String(text: shape) != table.shape || former != nil else { return nil }
        let formerly = FormerRecords(table: table, name: old, shape: TrackedTable.Shape(String(text: shape)))
        connection.finalizeStatements()
        let wasCaptured = try Capture.isInstalled(table, on: connection)
        for name in Capture.triggerNames {
            try connection.execute("DROP TRIGGER IF EXISTS logsync_\(name)_\(table.id)")
        }
        try renameOldTables(hasUnique: try TableSchema.read(table.unique, on: connection) != nil)
        try connection.execute(StoreSchema.clockTable(table.id, hasUniqueDigests: table.hasUniqueDigests))
        try connection.execute(Capture.pendingTable(table))
        let keepsPending = try former == nil && formerly.shape.hasRowid == table.hasRowid && hasPendingLayout()
        try movePending(keepsPending)
        let times = keepsPending ? nil : try capturedTimes()
        try moveRecords(formerly, times)
        connection.finalizeStatements()
        for name in [old, oldUnique, oldPending] { try connection.execute("DROP TABLE IF EXISTS \(name)") }
        try Capture.install(table, on: connection)
        var areOthers = false
        if !wasCaptured && former == nil {
            areOthers = try RebuiltRows(store: store, table: table).note().areOthers
        } else if !(keepsPending && wasCaptured) {
            try Capture.noteEverything(table, on: connection)
        }
        try table.noteShape(on: connection)
        return areOthers
    }

    /// Whether pending rows have the columns that they had.
    private func hasPendingLayout() throws -> Bool {
        func columns(_ name: String) throws -> [String] {
            try connection.rows("SELECT name FROM pragma_table_info(?)", .text(name)).map { String(text: $0[0]) }
        }
        return try columns(oldPending) == columns(table.pending)
    }

    /// - Parameter keeps: whether all of them, and not the newest number alone, above which theirs go on.
    private func movePending(_ keeps: Bool) throws {
        try connection.execute(
            keeps
                ? "INSERT INTO \(table.pending) SELECT * FROM \(oldPending)"
                : """
                INSERT INTO \(table.pending)(number, kind, row, ms)
                SELECT max(number), \(Capture.Kind.found.rawValue), NULL, 0 FROM \(oldPending) HAVING max(number) IS NOT NULL
                """)
    }

    private func capturedTimes() throws -> CapturedTimes? {
        let times = try CapturedTimes(
            in: oldPending, after: table.recorded, former?.collations ?? table.key.map(\.collation), migrating: old,
            on: connection)
        return times.isEmpty ? nil : times
    }

    /// Notes when a row was written that was captured under another key.
    ///
    /// - Parameter origin: the number of its former record; nil where it has none.
    private func note(
        _ times: CapturedTimes, of row: TableReader.Row, _ parts: FormerKeyParts?, rowid: Int64?, origin: Int64?
    ) throws {
        let names = former?.names ?? table.key.map { table.columns[$0.index].name }
        let own = FormerKey(
            kind: .natural, names: names, collations: former?.collations ?? table.key.map(\.collation), isInteger: false
        )
        let keys = own.identities { name in
            table.positions[name.folded].map { parts?.local(row.values[$0], at: $0) ?? row.values[$0] }
        }
        var former = origin
        if former == nil { former = table.localInteger == nil ? nil : rowid }
        guard let milliseconds = times[keys: keys, rowid: former] else { return }
        let captured = table.capturesKey ? table.key.map { row.values[$0.index] } : []
        let statement = try connection.prepare(
            """
            INSERT INTO \(table.pending)(kind, row, ms\(captured.indices.map { ", k\($0)" }.joined()))
            VALUES (\(Capture.Kind.update.rawValue), ?, ?\(captured.map { _ in ", ?" }.joined()))
            """)
        statement.bind(rowid.map(Value.integer) ?? .null, at: 1)
        statement.bind(milliseconds, at: 2)
        for (index, value) in captured.enumerated() { statement.bind(value, at: index + 3) }
        try statement.run()
    }

    private func renameOldTables(hasUnique: Bool) throws {
        try rename(table.clock, to: old)
        try connection.execute("CREATE INDEX \(old)_identity ON \(old)(identity) WHERE identity IS NOT NULL")
        try rename(table.pending, to: oldPending)
        if hasUnique {
            try rename(table.unique, to: oldUnique)
        } else {
            try connection.execute("CREATE TABLE \(oldUnique)(digest INTEGER, row INTEGER)")
        }
    }

    /// Gives a table of logsync's own another name, without its indexes. ALTER TABLE would read the whole schema of the program,
    /// and fails where that names a table that is gone, or a collation that only the program has.
    private func rename(_ name: String, to other: String) throws {
        let declaration = try connection.scalar(
            "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?", .text(name))
        try connection.execute(String(text: declaration ?? .null).replacing(name, with: other, maxReplacements: 1))
        try connection.execute("INSERT INTO \(other) SELECT * FROM \(name); DROP TABLE \(name)")
    }

    /// - Parameter times: when rows were written, as it was captured under another key; nil where there is none.
    private func moveRecords(_ formerly: FormerRecords, _ times: CapturedTimes?) throws {
        let byRowid = formerly.shape.hasRowid
        let clock = ClockTable(table: table, connection: connection)
        let shownRows = ShownRows(store)
        let reader = shownRows.reader(table)
        let spelledBefore = try keysBefore()
        // They lead to places in which other records are from now on.
        try connection.run("DELETE FROM logsync_shown WHERE table_id = ?", .integer(table.id))
        var moved: Set<Int64> = []
        /// Rows whose former keys lead to no record.
        var left: [(rowid: Int64?, row: TableReader.Row)] = []
        let parts = try former.map { _ in
            try FormerKeyParts(
                of: table, findings.namingChanges[table.id] ?? [:], findings.formerReferenceKeys, in: store)
        }
        func spelled(_ row: TableReader.Row) throws -> RowIdentity? {
            guard table.kind != .surrogate else { return nil }
            return try reader.naturalIdentity { position in
                isNumber(position)
                    ? try shownRows.identityValue(row.values[position], position, in: table)
                    : try shownRows.knownValue(row.values[position], position, in: table)
            }
        }
        func move(
            _ origin: Int64, _ given: RowIdentity?, _ row: TableReader.Row, _ natural: RowIdentity?, _ rowid: Int64?
        ) throws {
            guard var record = try formerly.record(at: origin, connection) else { return }
            let identity = record.named ?? given
            let isStored = table.storesIdentity || identity?.isSurrogate ?? false
            record.identity = isStored ? identity : nil
            record.key = !isStored && table.findsByKeyDigest ? identity : nil
            record.uniques = identity.map { table.uniques(of: $0) { row.values[$0] } } ?? []
            let place = try clock.insert(record, at: rowid)
            if let identity { try FoldedKeys(store: store, table: table).keep(identity, at: place, spelled: natural) }
        }
        let deleted = try deletedRecords(byRowid: byRowid, spelledBefore)
        let equal = try EqualRows(of: table, after: former, formerly, spelledBefore, except: deleted, in: store)
        try reader.forEachRow { rowid, values in
            let row = TableReader.Row(values: values, of: table)
            let natural = try spelled(row)
            let found =
                try former == nil
                ? record(of: natural, rowid: rowid, formerly.shape, spelledBefore)
                : origin(of: row, parts, rowid: rowid, formerly.shape, spelledBefore, shownRows)
            guard let found, case let origin = equal.heir(of: found.0), moved.insert(origin).inserted else {
                return left.append((rowid, row))
            }
            try move(origin, origin == found.0 ? found.1 : nil, row, natural, rowid)
            if let times { try note(times, of: row, parts, rowid: rowid, origin: byRowid ? found.0 : nil) }
        }
        var origins: [Int: Int64] = [:]
        if former != nil {
            for (index, origin) in try matchByContent(left.map(\.row), parts, except: moved, formerly) {
                moved.insert(origin)
                origins[index] = origin
                let row = left[index].row
                let natural = try spelled(row)
                try move(origin, nil, row, natural, left[index].rowid)
            }
        }
        if let times {
            for (index, row) in left.enumerated() {
                try note(times, of: row.row, parts, rowid: row.rowid, origin: byRowid ? origins[index] : nil)
            }
        }
        try moveOrphans(
            except: moved, formerly, clock, RowsOfNextKey(table, after: former, except: deleted, in: store))
    }

    /// Whether a column of the key held numbers until now, and references from now on.
    private func isNumber(_ position: Int) -> Bool {
        former?.numbers.contains(table.columns[position].name.folded) ?? false
    }

    /// The records of rows whose keys spelled something else than their identities, by what they spelled.
    private func keysBefore() throws -> [RowIdentity: Int64] {
        // What is kept of a record that shows its own key again counts for nothing.
        guard former != nil || table.mapsKeys else { return [:] }
        var records: [RowIdentity: Int64] = [:]
        for found in try connection.rows(
            "SELECT identity, row FROM logsync_shown WHERE table_id = ?", .integer(table.id))
        {
            if case .blob(let bytes) = found[0] { records[RowIdentity(unchecked: bytes)] = found[1].asInteger }
        }
        return records
    }

    /// The record of a row by its former key, with the identity that this spells.
    private func origin(
        of row: TableReader.Row, _ parts: FormerKeyParts?, rowid: Int64?, _ shape: TrackedTable.Shape,
        _ spelledBefore: [RowIdentity: Int64], _ shownRows: ShownRows
    ) throws -> (Int64, RowIdentity?)? {
        guard let former else { return nil }
        func exists(_ record: Int64) throws -> Bool {
            try connection.integer("SELECT 1 FROM \(old) WHERE row = ?", .integer(record)) != nil
        }
        let names = try former.identities { name -> Value? in
            guard let position = table.positions[name.folded], parts?.isOther(position) != true else { return nil }
            let value = row.values[position]
            return try isNumber(position) ? value : shownRows.knownValue(value, position, in: table)
        }
        for identity in names {
            if let record = spelledBefore[identity], try exists(record) { return (record, nil) }
            if let record = try connection.integer("SELECT row FROM \(old) WHERE identity = ?", .blob(identity.bytes)) {
                return (record, identity)
            }
            guard shape.findsByKeyDigest else { continue }
            let digest = Int64(TrackedTable.keyDigest(identity))
            for found in try connection.rows("SELECT row FROM \(oldUnique) WHERE digest = ?", .integer(digest)) {
                if try exists(found[0].asInteger) { return (found[0].asInteger, identity) }
            }
        }
        guard former.kind != .natural || former.isInteger else { return nil }
        // Records stood under the integers of their rows, which may be texts by now.
        var integer = rowid
        if former.kind == .natural, let position = former.names.first.flatMap({ table.positions[$0.folded] }) {
            integer = FormerKey.integer(row.values[position])
        } else if table.localInteger == nil {
            guard table.key.count == 1, let key = table.key.first else { return nil }
            integer = FormerKey.integer(row.values[key.index])
        }
        guard let integer, try exists(integer) else { return nil }
        return (integer, former.kind == .natural ? RowIdentity(natural: [.integer(integer)]) : nil)
    }

    /// Matches rows to records where both say the same, once: of the former key, where what it named rows by is another now, of
    /// the present key, where its columns were there before, of all columns beside the keys, of the ones among these that
    /// refer to nothing, since rows that are referred to may have other keys, too, or of columns that are UNIQUE. Rows that
    /// hold the same several times are matched in order.
    ///
    /// - Returns: rows' indexes with their records.
    private func matchByContent(
        _ rows: [TableReader.Row], _ parts: FormerKeyParts?, except moved: Set<Int64>, _ formerly: FormerRecords
    ) throws -> [(Int, Int64)] {
        guard !rows.isEmpty, let former else { return [] }
        let names = Set(former.names.map { $0.folded } + table.orderedKeyNames.map { $0.folded })
        let others = table.columns.indices.filter { !names.contains(table.columns[$0].name.folded) }
        var records: [Int64: [UInt32]] = [:]
        for found in try connection.rows("SELECT row FROM \(old)") where !moved.contains(found[0].asInteger) {
            let record = try formerly.record(at: found[0].asInteger, connection)
            // One of which nothing says what its row is called to other peers goes on as no other row.
            if record?.named != nil { records[found[0].asInteger] = record?.digests }
        }
        var left = Dictionary(uniqueKeysWithValues: rows.enumerated().map { ($0, $1.digests) })
        var found: [(Int, Int64)] = []
        let match = ContentMatch(table: table)
        let unique = [table.key.map(\.index)] + table.uniqueSlots.map { $0.map(\.index) }
        let referring = Set(table.schema.foreignKeys.flatMap(\.from).map { $0.folded })
        let plain = others.filter {
            table.columns[$0].reference == nil && !referring.contains(table.columns[$0].local.folded)
        }
        let contents = [(unique[0], true), (others, false), (plain, false)]
        // Of these the digests are other ones than what was recorded.
        let retyped = findings.retypedColumns[table.id] ?? []
        let untouched = others.filter { !retyped.contains(table.columns[$0].id) }
        if let parts, !parts.isEmpty {
            let formerly = Dictionary(uniqueKeysWithValues: rows.enumerated().map { ($0, parts.digests(of: $1)) })
            for (index, record) in match.pairs(formerly, records, by: unique[0], isUnique: true) {
                left[index] = nil
                records[record] = nil
                found.append((index, record))
            }
        }
        for (columns, isUnique) in contents + unique.dropFirst().map({ ($0, true) }) where !columns.isEmpty {
            for (index, record) in match.pairs(left, records, by: columns, isUnique: isUnique) {
                left[index] = nil
                records[record] = nil
                found.append((index, record))
            }
        }
        if untouched.count < others.count, !untouched.isEmpty {
            for (index, record) in match.pairs(left, records, by: untouched, isUnique: false) {
                left[index] = nil
                records[record] = nil
                found.append((index, record))
            }
        }
        return untouched.isEmpty ? found : found + match.alike(left, records, by: untouched)
    }

    /// The record of a row whose key is what it was, with the identity that this spells.
    private func record(
        of natural: RowIdentity?, rowid: Int64?, _ shape: TrackedTable.Shape, _ spelledBefore: [RowIdentity: Int64]
    ) throws -> (Int64, RowIdentity?)? {
        if let natural {
            if let row = spelledBefore[natural] { return (row, nil) }
            if let row = try connection.integer("SELECT row FROM \(old) WHERE identity = ?", .blob(natural.bytes)) {
                return (row, natural)
            }
            if shape.findsByKeyDigest {
                return try connection.integer(
                    "SELECT row FROM \(oldUnique) WHERE digest = ?", .integer(Int64(table.keyDigest(natural)))
                ).map { ($0, natural) }
            }
            if table.schema.integerKey == nil && !shape.areNamedByPlaces { return nil }
        }
        var place = shape.hasRowid ? rowid : nil
        // The integer that was the key stands at another rowid where that has another.
        if shape.areNamedByPlaces { place = natural?.naturalParts?.first.flatMap { FormerKey.integer($0.value) } }
        guard let place else { return nil }
        return try connection.integer("SELECT row FROM \(old) WHERE row = ?", .integer(place)).map { ($0, natural) }
    }

    /// The records of rows that a program has deleted before its migration, by what was captured under the former key.
    private func deletedRecords(byRowid: Bool, _ spelledBefore: [RowIdentity: Int64]) throws -> Set<Int64> {
        let names = byRowid ? ["row"] : former?.names.indices.map { "k\($0)" } ?? []
        guard let former, !names.isEmpty else { return [] }
        let rows = try connection.rows(
            """
            SELECT DISTINCT \(names.joined(separator: ", ")) FROM \(oldPending)
            WHERE number > \(table.recorded) AND kind = \(Capture.Kind.delete.rawValue)
            """)
        if byRowid { return Set(rows.filter { !$0[0].isNull }.map(\.[0].asInteger)) }
        return Set(
            try rows.compactMap { row in
                let identity = RowIdentity(
                    natural: zip(row, former.collations).compactMap { KeyPart($0, collation: $1) })
                return try spelledBefore[identity]
                    ?? connection.integer("SELECT row FROM \(old) WHERE identity = ?", .blob(identity.bytes))
            })
    }

    /// Moves records whose rows are gone, with the identity where the record or a pending deletion says it.
    private func moveOrphans(
        except moved: Set<Int64>, _ formerly: FormerRecords, _ clock: ClockTable, _ next: RowsOfNextKey?
    ) throws {
        var keys: [Int64: RowIdentity] = [:]
        let names = Set(
            try connection.rows("SELECT name FROM pragma_table_info(?)", .text(oldPending)).map { String(text: $0[0]) })
        let columns = table.key.indices.map { "k\($0)" }
        if formerly.shape.findsByKeyDigest, !columns.isEmpty, names.isSuperset(of: columns) {
            for row in try connection.rows("SELECT DISTINCT \(columns.joined(separator: ", ")) FROM \(oldPending)") {
                let parts = zip(row, table.key).compactMap { KeyPart($0, collation: $1.collation) }
                guard parts.count == table.key.count else { continue }
                let identity = RowIdentity(natural: parts)
                let digest = Int64(table.keyDigest(identity))
                for row in try connection.rows("SELECT row FROM \(oldUnique) WHERE digest = ?", .integer(digest)) {
                    keys[row[0].asInteger] = identity
                }
            }
        }
        // Programs may give rows negative integers, too.
        let places = table.hasRowid ? [FreeNumbers.Place(table: table.quoted, column: table.rowid)] : []
        var free = try FreeNumbers(besides: places + [.init(table: table.clock)], on: connection)
        for row in try connection.rows("SELECT row FROM \(old)") where !moved.contains(row[0].asInteger) {
            let origin = row[0].asInteger
            guard var record = try formerly.record(at: origin, connection) else { continue }
            record.identity = record.named ?? keys[origin]
            if try next?.take(record, at: origin) ?? false { continue }
            record.key = nil
            record.uniques = []
            // Under a number that no row has; but an integer that says which row it was stays, unless another row has it now.
            let isTaken = try connection.integer("SELECT 1 FROM \(table.clock) WHERE row = ?", row[0]) != nil
            _ = try clock.insert(record, at: saysRow && !isTaken ? origin : free.next())
        }
    }

    /// Whether a record's number is the integer of its row, now as before.
    private var saysRow: Bool {
        let isNatural = table.kind == .natural && table.schema.integerKey != nil
        guard table.localInteger != nil || isNatural else { return false }
        return former.map { $0.kind != .natural || $0.isInteger } ?? true
    }
}
