import LogSyncModel

/// What holds of a table, so that many of its rows can be recorded or merged with one statement each way ("in batches")
/// instead of row by row. A batch has to leave the same clock records, the same transaction and the same state digest;
/// each condition keeps a case out that only the general way knows how to treat.
///
/// This is what the declarations and the content's settings say, so it is found once a schema
/// (``OpenStore/batching(of:)``); what the rows at hand say beside is asked each time (``OpenStore/isContested(_:)``).
struct Batching: OptionSet {
    let rawValue: UInt16

    /// Clock records stand under the rowids of their rows. Those of a table WITHOUT ROWID have numbers of their own, to
    /// be looked up one by one.
    static let hasRowid = Batching(rawValue: 1 << 0)
    /// Every UNIQUE index is of plain columns, so that its keys have digests: by these a batch learns that no row is
    /// displaced. The keys of an index with expressions or a WHERE clause only SQLite knows.
    static let hasUniqueDigests = Batching(rawValue: 1 << 1)
    /// No column is counted (`sum`). A counter's versions keep their values, and its sum is written back to the row.
    static let hasNoCounters = Batching(rawValue: 1 << 2)
    /// Which columns of a row changed fits into the 64 bits of a word.
    static let fitsWord = Batching(rawValue: 1 << 3)
    /// A row fits among the arguments of a table-valued function, which SQLite gives 2000 columns at most.
    static let fitsStatement = Batching(rawValue: 1 << 4)
    /// The table is the program's, and not `logsync_setting`, whose rows change what is being done.
    static let isOfProgram = Batching(rawValue: 1 << 5)
    /// The key holds no reference, which means another row, and so another identity, where its parent becomes another.
    static let hasKeyWithoutReference = Batching(rawValue: 1 << 6)
    /// Keys have one spelling each. One that is equal under NOCASE or RTRIM is a cell of its own beside the identity.
    static let hasBinaryKey = Batching(rawValue: 1 << 7)
    /// A row is identified by its primary key, or by nothing but the integer that this store has given to it. Columns
    /// chosen for identity (`--identity`) join a row to its record by their values, whatever its integer.
    static let hasOwnIdentity = Batching(rawValue: 1 << 8)
    /// Enforced references name rows by their integers, which is the column that is translated anyway: whether the
    /// parent is here is known from that alone.
    static let refersByInteger = Batching(rawValue: 1 << 9)
    /// No enforced reference names rows of this table, so that none is left without its parent.
    static let isUnreferenced = Batching(rawValue: 1 << 10)

    /// For ``BatchClockInserter`` and ``BatchClockUpdater``.
    static let clockRecords: Batching = [.hasRowid, .hasUniqueDigests, .hasNoCounters]
    private static let identified: Batching = [.isOfProgram, .hasKeyWithoutReference, .hasOwnIdentity]
    /// For ``SimpleChanges``.
    static let recording: Batching = [.clockRecords, .identified, .fitsWord, .hasBinaryKey]
    /// For ``BatchInserter``.
    static let merging: Batching = [.clockRecords, .identified, .fitsStatement, .refersByInteger]
    /// For the updates of ``BatchChangeMerge``.
    static let mergingUpdates: Batching = [.clockRecords, .identified, .fitsWord]
    /// For the deletes of ``BatchChangeMerge``.
    static let mergingDeletes: Batching = [.mergingUpdates, .isUnreferenced]
}

extension Batching {
    /// - Parameters:
    ///   - hasCounters: whether the policies make one of the table's columns a counter.
    ///   - rules: the references of all tables as the settings have them.
    init(_ table: TrackedTable, hasCounters: Bool, _ rules: ReferenceRules) {
        self = []
        func add(_ option: Batching, where condition: Bool) { if condition { insert(option) } }
        add(.hasRowid, where: table.hasRowid)
        add(.hasUniqueDigests, where: !table.hasOpaqueUnique)
        add(.hasNoCounters, where: !hasCounters)
        add(.fitsWord, where: 1...64 ~= table.columns.count)
        add(.fitsStatement, where: 1...1000 ~= table.columns.count)
        add(.isOfProgram, where: !table.holdsSettings)
        add(.hasKeyWithoutReference, where: !table.keyHasReference)
        add(.hasBinaryKey, where: table.key.allSatisfy { $0.collation == .binary })
        switch table.kind {
        case .natural: add(.hasOwnIdentity, where: !table.keepsIdentities)
        case .surrogate: add(.hasOwnIdentity, where: table.localInteger != nil && !table.keepsIdentities)
        case .columns: break
        }
        let enforced = rules.of(table).filter { $0.strength != .unenforced }
        add(
            .refersByInteger,
            where: enforced.allSatisfy { rule in
                rule.isByInteger && table.columns[rule.columns[0]].reference == rule.parent.name
            })
        add(.isUnreferenced, where: rules.to(table).allSatisfy { $0.strength == .unenforced })
    }
}
