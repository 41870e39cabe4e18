import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// A replicated table: its declaration, how its rows are identified, and the stable ids of its columns.
final class TrackedTable {
    enum IdentityKind: String {
        case natural
        case surrogate
        /// A UNIQUE column set chosen as the identity of a table with integer keys.
        case columns
    }

    struct Column {
        /// Stable within the table; the position of the column's digest in clock records.
        var id: Int
        /// As logs have it; see ``local``.
        var name: String
        /// As the database has it.
        var local: String
        /// The table whose rows this column's integers name.
        var reference: String?
        /// The same by what the schema and settings say now: another one until ``ReferenceChange`` has seen to it.
        var declaredReference: String?
        var collation: Collation
        var isKey: Bool

        /// Whether its values say which row is meant: this one, or another.
        var namesRows: Bool { isKey || reference != nil || declaredReference != nil }
    }

    /// One part of a natural key.
    struct KeyColumn {
        /// The position in ``TrackedTable/columns``.
        var index: Int
        var collation: Collation
    }

    let id: Int64
    /// As logs have it: the table's first name. What the database calls it now is the schema's name.
    let name: String
    let kind: IdentityKind
    let schema: TableSchema
    /// The replicated columns, in the order of the declaration: no generated ones, no local integer.
    let columns: [Column]
    /// The name in logs of every column id ever given, dropped columns' too.
    let columnNames: [String]
    /// How many column ids were ever given.
    var columnCount: Int { columnNames.count }
    /// The identifying columns of a natural or columns identity, in key order.
    let key: [KeyColumn]
    /// Plain-column UNIQUE indexes other than the identity's own, as positions in ``columns`` with collations.
    let uniqueSlots: [[(index: Int, collation: Collation)]]
    /// Whether some UNIQUE index has expressions or a WHERE clause, whose keys have no digests.
    let hasOpaqueUnique: Bool
    /// Positions in ``columns`` by lower-case name in logs.
    let positions: [String: Int]
    /// Positions in ``columns`` by lower-case name in the database.
    let localPositions: [String: Int]
    /// Whether identities and keys of its rows are two things, because the key was another once, here or at another peer:
    /// each record keeps the identity that its row was given, and the key is a constraint like any other.
    let keepsIdentities: Bool
    /// What stands before a new row's key in its identity: nil where the key is the table's first one.
    let epoch: KeyPart?
    /// Tells its rows' values apart, in clock records.
    let valueDigest: ValueDigest
    private var extent: TableExtent
    /// See ``selectSimpleChanges(isByRow:)``.
    var simpleSelects: [Bool: String] = [:]
    /// What the store has kept of it.
    private var savedExtent: TableExtent

    init(
        id: Int64, name: String, kind: IdentityKind, schema: TableSchema, columns: [Column], columnNames: [String],
        key: [KeyColumn], keepsIdentities: Bool = false, epoch: KeyPart? = nil,
        valueDigest: ValueDigest, extent: TableExtent
    ) {
        self.id = id
        self.name = name
        self.kind = kind
        self.schema = schema
        self.columns = columns
        self.columnNames = columnNames
        self.key = key
        self.keepsIdentities = keepsIdentities
        self.epoch = epoch
        self.valueDigest = valueDigest
        self.extent = extent
        savedExtent = extent
        var positions: [String: Int] = [:]
        for (position, column) in columns.enumerated() { positions[column.name.folded] = position }
        self.positions = positions
        var localPositions: [String: Int] = [:]
        for (position, column) in columns.enumerated() { localPositions[column.local.folded] = position }
        self.localPositions = localPositions
        let identityColumns = Set(key.map { columns[$0.index].local.folded })
        var slots: [[(index: Int, collation: Collation)]] = []
        integerIsUnique = kind == .natural && keepsIdentities && schema.integerKey != nil
        // It has no index whose columns could be a slot.
        var opaque = integerIsUnique
        for index in schema.uniqueIndexes {
            guard let parts = index.columns else {
                opaque = true
                continue
            }
            if index.isPrimaryKey && kind == .natural && !keepsIdentities { continue }
            let isIdentity = kind != .surrogate && Set(parts.map { $0.name.folded }) == identityColumns
            if isIdentity && !keepsIdentities { continue }
            let slot = parts.compactMap { part in
                localPositions[part.name.folded].map { (index: $0, collation: part.collation) }
            }
            // A generated column, or the local integer, has no position: count rows instead.
            if slot.count == parts.count { slots.append(slot) } else { opaque = true }
        }
        uniqueSlots = slots
        hasOpaqueUnique = opaque
    }

    /// A table that is not there any more, and so has no columns.
    ///
    /// - Parameter formerKey: by names in logs.
    convenience init(
        id: Int64, name: String, kind: IdentityKind, schema: TableSchema, columns: [Column], columnNames: [String],
        formerKey: [String]
    ) {
        self.init(
            id: id, name: name, kind: kind, schema: schema, columns: columns, columnNames: columnNames, key: [],
            valueDigest: .unkeyed, extent: TableExtent())
        orderedKeyNames = formerKey
    }

    /// The replicated column that is called so: in the database, or, where no column has that name there, in logs.
    func position(named name: String) -> Int? {
        localPositions[name.folded] ?? (schema.column(name) == nil ? positions[name.folded] : nil)
    }

    /// What the database calls a column; of one that is not here, the name in logs.
    func localName(of name: String) -> String { positions[name.folded].map { columns[$0].local } ?? name }

    /// Whether clock records are found by the table's rowid; otherwise they have numbers of their own.
    var hasRowid: Bool { schema.rowidName != nil }
    /// The INTEGER PRIMARY KEY where its integers are local to this store.
    var localInteger: String? { kind == .natural ? nil : schema.integerKey }
    /// Whether nothing but their rowids names the table's rows in this store: these are its own, too.
    var isNamedByRowid: Bool { kind == .natural && key.isEmpty && schema.keyColumns.isEmpty && hasRowid }
    var keyHasReference: Bool { key.contains { columns[$0.index].reference != nil } }
    /// Whether a column may come to refer to a table's rows: these have integers of their own, and no identities that were
    /// chosen would become others by it.
    func mayRefer(_ column: Column, to parent: TrackedTable) -> Bool {
        parent.localInteger != nil && !(kind == .columns && column.isKey)
    }
    /// Whether a value is a number in a column of references, of which its author has not said yet what it means.
    func isUntranslated(_ value: Value, at position: Int) -> Bool {
        guard columns[position].reference != nil, case .integer(let integer) = number(value, at: position) else {
            return false
        }
        return integer > 0
    }
    /// What a column of references shows of a value: a text or a real number that another peer's type of the column has left as
    /// it is may be an integer in this one's.
    func number(_ value: Value, at position: Int) -> Value {
        switch value {
        case .text, .real: schema.affinity(of: columns[position].local).apply(to: value)
        default: value
        }
    }
    /// The same, and whatever else says a row in another way than this column does: by a key that another peer's migration has
    /// made of the integer, or by the row itself where this peer's has.
    func isSaidOtherwise(_ value: Value, at position: Int) -> Bool {
        let isReference = columns[position].reference != nil
        return switch value {
        case .null, .external: false
        case .reference: !isReference
        case .integer(let integer): isReference && integer > 0
        default: isReference
        }
    }
    /// Whether its INTEGER PRIMARY KEY, which is the same everywhere, is a constraint: two rows may come to have the same.
    let integerIsUnique: Bool
    var hasSecondaryUnique: Bool { !uniqueSlots.isEmpty || hasOpaqueUnique }

    /// Whether rows are nothing but what is UNIQUE in them: two that contest their place hold the same. So it is of rows
    /// without a key, as permissions are, and of links between rows that have a number besides. A name with a number is
    /// no link: it may be another thing of that name.
    var isSet: Bool {
        func refers(_ column: Column) -> Bool {
            column.reference != nil
                || schema.foreignKeys.contains { $0.from.contains { $0.folded == column.local.folded } }
        }
        guard kind == .natural && key.isEmpty || kind == .surrogate && columns.allSatisfy(refers) else { return false }
        return uniqueSlots.contains { Set($0.map(\.index)) == Set(columns.indices) }
    }

    /// Whether clock records keep the identity; otherwise the key columns say it.
    var storesIdentity: Bool {
        kind != .natural || !hasRowid || keyHasReference || hasSecondaryUnique || keepsIdentities
    }
    /// Whether keys and identities may differ in a table whose rows are captured by their keys.
    var mapsKeys: Bool { keepsIdentities && kind == .natural && capturesKey }
    /// Whether rows may get other places without any change of them: by VACUUM, or as a program's repair numbers them.
    var hasMovableRows: Bool { hasRowid && schema.integerKey == nil && kind == .natural }
    /// Whether the records of this table are found through the digest of their natural key.
    var findsByKeyDigest: Bool { !storesIdentity && schema.integerKey == nil }
    var hasUniqueDigests: Bool { findsByKeyDigest || !uniqueSlots.isEmpty }
    /// How clock and pending records are laid out, as text; where it changes they have to be made anew.
    var shape: String {
        let keys = capturesKey ? key.map(\.collation.rawValue) : []
        let slots = uniqueSlots.map { $0.map { "\(columns[$0.index].id)\($0.collation.rawValue.first ?? "B")" } }
        return "\(hasRowid) \(storesIdentity) \(findsByKeyDigest) \(keys) \(slots)"
    }

    /// The part of ``shape`` that says where a record's name is.
    struct Shape {
        var hasRowid: Bool
        var storesIdentity: Bool
        var findsByKeyDigest: Bool
        /// Of the key's columns; none where rows are captured by their integers.
        var collations: [Collation] = []
        /// Whether nothing but its place says which row a record is of: the integer that is the key.
        var areNamedByPlaces: Bool { !storesIdentity && !findsByKeyDigest }

        init(_ text: String) {
            let parts = text.split(separator: " ").prefix(3).map { $0 == "true" }
            hasRowid = parts.first ?? true
            storesIdentity = parts.dropFirst().first ?? true
            findsByKeyDigest = parts.dropFirst(2).first ?? false
            guard let start = text.firstIndex(of: "["), let end = text.firstIndex(of: "]"), start < end else { return }
            collations = text[text.index(after: start)..<end].split(separator: ",").map { part in
                Collation(rawValue: part.filter { $0.isLetter }) ?? .binary
            }
        }
    }

    func noteShape(on connection: Connection) throws {
        try connection.run("UPDATE logsync_table SET shape = ?2 WHERE id = ?1", .integer(id), .text(shape))
    }

    /// See ``TableExtent``.
    var recorded: Int64 {
        get { extent.recorded }
        set { extent.recorded = newValue }
    }
    var high: Int64 {
        get { extent.high }
        set { extent.high = newValue }
    }

    /// Keeps what has become of the two.
    func keepExtent(on connection: Connection) throws {
        guard extent != savedExtent else { return }
        try extent.keep(of: id, on: connection)
        savedExtent = extent
    }

    /// Whether captured rows carry the key columns beside the rowid.
    var capturesKey: Bool { schema.integerKey == nil }

    /// The digests of column names, by column id.
    lazy var columnDigests = columnNames.map(StateDigest.column)
    lazy var nameDigest = Digest.of(name)
    /// Column ids that no column of the table has any more.
    lazy var droppedColumns = Set(0..<columnCount).subtracting(columns.map(\.id)).sorted()

    // MARK: SQL

    var clock: String { "logsync_clock_\(id)" }
    var unique: String { "logsync_unique_\(id)" }
    var pending: String { "logsync_pending_\(id)" }
    var quoted: String { SQL.name(schema.name) }
    var rowid: String { SQL.name(schema.rowidName ?? "rowid") }
    var columnList: String { SQL.list(columns.map(\.local)) }
    var keyColumnNames: [String] { key.map { columns[$0.index].local } }
    /// The columns whose values stand in identities, as logs have them.
    lazy var keyNames = Set(orderedKeyNames)
    lazy var orderedKeyNames = key.map { columns[$0.index].name }
    var keyCondition: String {
        // Rows are one where the key says so, which may compare otherwise than its columns.
        key.map { part in
            let collation = part.collation == .binary ? "" : " COLLATE \(part.collation.rawValue)"
            return "\(SQL.name(columns[part.index].local))\(collation) = ?"
        }.joined(separator: " AND ")
    }

    lazy var selectByRowid = "SELECT \(columns.isEmpty ? "NULL" : columnList) FROM \(quoted) WHERE \(rowid) = ?"
    lazy var selectByKey =
        "SELECT \(columns.isEmpty ? "NULL" : columnList) FROM \(quoted) WHERE \(keyCondition)"
    lazy var rowidByKey = "SELECT \(rowid) FROM \(quoted) WHERE \(keyCondition)"
    lazy var existsByRowid = "SELECT 1 FROM \(quoted) WHERE \(rowid) = ?"
    lazy var deleteByRowid = "DELETE FROM \(quoted) WHERE \(rowid) = ?"
    lazy var deleteByKey = "DELETE FROM \(quoted) WHERE \(keyCondition)"
    lazy var selectClock =
        "SELECT peer, sequence, time, digest, digests, extra, identity, uniques, conflict FROM \(clock) WHERE row = ?"
    lazy var clockRowByIdentity = "SELECT row FROM \(clock) WHERE identity = ?"
    lazy var identityByRow = "SELECT identity FROM \(clock) WHERE row = ?"
    /// What is kept of natural keys stands in place of the digests of unique keys, of which such a table has none.
    lazy var nameByRow =
        "SELECT \(findsByKeyDigest ? "coalesce(identity, uniques)" : "identity") FROM \(clock) WHERE row = ?"
    lazy var deleteClock = "DELETE FROM \(clock) WHERE row = ?"
    lazy var moveClock = "UPDATE \(clock) SET row = ?2 WHERE row = ?1"
    lazy var insertClock = """
        INSERT INTO \(clock)(row, identity, peer, sequence, time, digest, digests, extra, uniques, conflict)
        VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """
    /// For rows as a single insert made them; see ``RowsParameter``.
    lazy var appendClocks = """
        INSERT OR FAIL INTO \(clock)(row, identity, peer, sequence, time, digest, digests, extra, uniques)
        SELECT * FROM logsync_rows_9(?)
        """
    /// The positions of the columns that the app has for a primary key; none where that is the rowid.
    lazy var primaryKeyPositions =
        schema.integerKey == nil ? schema.keyColumns.compactMap { localPositions[$0.name.folded] } : []
    /// The position of the column that is the rowid, where that is one of the replicated ones.
    lazy var integerKeyPosition =
        localInteger == nil ? schema.integerKey.flatMap { localPositions[$0.folded] } : nil
    /// How many values ``insertRows`` takes of a row: its rowid first, where no column is that.
    lazy var insertWidth = columns.count + (integerKeyPosition == nil ? 1 : 0)
    /// Rows with all their values; see ``RowsParameter``.
    lazy var insertRows = insertRows(or: "OR FAIL ")
    /// The same, of one row.
    var insertRow: String { insertRows(or: abortClause) }
    /// What imports say of conflicts of one row.
    var conflicts = WrittenConflicts.abort { didSet { updates = [:] } }
    /// The clause of statements that are not ``RowStatement``s.
    private var abortClause: String { conflicts == .unsaid ? "" : WrittenConflicts.abortClause }

    private func insertRows(or conflict: String) -> String {
        let names = (integerKeyPosition == nil ? [rowid] : []) + columns.map { SQL.name($0.local) }
        return """
            INSERT \(conflict)INTO \(quoted)(\(names.joined(separator: ", ")))
            SELECT * FROM logsync_rows_\(insertWidth)(?)
            """
    }

    /// The statements by which ``BatchChangeMerge`` finds rows, by the columns that they give.
    var simpleMerges: [[Int]: String] = [:]
    private var updates: [[Int]: String] = [:]

    /// Writes columns of one row by position: takes their values, then the rowid, or the key of a table without one.
    func update(_ positions: [Int]) -> String {
        if let known = updates[positions] { return known }
        let sql = update(positions, or: abortClause)
        updates[positions] = sql
        return sql
    }

    func update(_ positions: [Int], or conflict: String) -> String {
        let assignments = positions.map { "\(SQL.name(columns[$0].local)) = ?" }
        let condition = hasRowid ? "\(rowid) = ?" : keyCondition
        return "UPDATE \(conflict)\(quoted) SET \(assignments.joined(separator: ", ")) WHERE \(condition)"
    }

    lazy var updateClock = """
        UPDATE \(clock) SET identity = ?2, peer = ?3, sequence = ?4, time = ?5, digest = ?6, digests = ?7, extra = ?8,
            uniques = ?9, conflict = ?10 WHERE row = ?1
        """
    lazy var insertUnique = "INSERT OR IGNORE INTO \(unique)(digest, row) VALUES(?, ?)"
    lazy var insertUniques = "INSERT OR FAIL INTO \(unique)(digest, row) SELECT * FROM logsync_rows_2(?)"
    lazy var deleteUnique = "DELETE FROM \(unique) WHERE digest = ? AND row = ?"
    lazy var rowsByUnique = "SELECT row FROM \(unique) WHERE digest = ?"
}
