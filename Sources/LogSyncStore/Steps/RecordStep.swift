import LogSyncModel

/// Turns what was captured into a transaction, within the caller's write transaction, and brings the rows that are
/// shown in line with it. Comes before anything is merged, so that clocks are current when conflicts are judged.
struct RecordStep {
    let store: OpenStore
    var author: String?
    var context: String?
    /// What is known of the schema beside what the step finds itself.
    private let findings: SchemaFindings
    /// Whether the schema is looked at though it has not changed: something else says what it means.
    private let reconciles: Bool
    /// As ``SchemaReconciliation`` takes it.
    private let tablesOfOtherKeys: Set<String>

    init(
        _ store: OpenStore, findings: SchemaFindings = SchemaFindings(), reconciles: Bool = false,
        tablesOfOtherKeys: Set<String> = [], author: String? = nil, context: String? = nil
    ) {
        self.store = store
        self.reconciles = reconciles
        self.tablesOfOtherKeys = tablesOfOtherKeys
        self.findings = findings
        self.author = author
        self.context = context
    }

    /// Whether there may be anything to do; a look without the write lock, because most of the time there is nothing.
    static func isNeeded(_ store: OpenStore) throws -> Bool {
        try isSchemaOpen(store) || !PendingRows(store).isEmpty
            || store.facts.value(StoreFacts.unsettled) == .integer(1) || store.isDecidedOtherwise
            || DigestKeyChange.isNeeded(store)
    }

    /// Whether the schema has to be looked at: it has changed, or what was left open about it is decided by now.
    static func isSchemaOpen(_ store: OpenStore) throws -> Bool {
        if try SchemaReconciliation.isNeeded(store) { return true }
        if try hasLateRenames(store) { return true }
        if store.cached.hasHeldReferences == nil {
            store.cached.hasHeldReferences = try !HeldReferences(store.connection).all().isEmpty
        }
        if store.cached.hasHeldReferences == true, try HeldReferences(store.connection).areDecided() { return true }
        // Columns come to be undecided only where the schema has changed.
        if store.cached.hasUndecided == false { return false }
        let undecided = UndecidedColumns(store.connection)
        store.cached.hasUndecided = try !undecided.all().isEmpty
        return try undecided.areDecided()
    }

    /// Whether another peer has said of a column that it is another one than it was taken for here.
    static func hasLateRenames(_ store: OpenStore) throws -> Bool {
        let areTold = try store.cached.hasLateRenames ?? LateRenames(store).areTold(in: store.catalog)
        store.cached.hasLateRenames = areTold
        return areTold
    }

    @discardableResult
    func run() throws -> RecordedTransaction? {
        let (recorded, adopted) = try record(reconciling: reconciles || Self.isSchemaOpen(store)) {
            try store.copyAppTriggers()
        }
        try DigestKeyChange(store: store).applyIfNeeded()
        let isDeferred = try isNoted(StoreFacts.policyChange) || store.isDecidedOtherwise
        if isDeferred || setsPolicies(recorded) {
            if try PolicyChange(store: store).apply(always: isDeferred) { try store.noteContested() }
            try store.noteDecided()
        }
        let isUnsettled = try isNoted(StoreFacts.unsettled)
        if recorded != nil || adopted || isUnsettled {
            // What was written may have made room for a parked row, or its table has come.
            let tables = recorded.map { Set($0.counts.keys.compactMap { store.catalog[$0]?.id }) }
            let notes = ChangeNotes()
            try ShownRowsPass(store, shownRows: ShownRows(store))
                .run(
                    touching: adopted || isUnsettled ? nil : tables, asksOfDangling: adopted || isUnsettled,
                    notes: notes)
            store.noteSettled(notes)
        }
        for fact in [StoreFacts.policyChange, StoreFacts.unsettled] where try isNoted(fact) {
            try store.facts.set(fact, .integer(0))
        }
        return recorded
    }

    /// The same on a program's own connection, whose triggers are on: they would capture what is written to bring shown
    /// rows in line. That is noted, and the next ``run()`` does it.
    ///
    /// - Parameter begin: what comes before anything is written; not called where nothing is to be done.
    func runDeferringShownRows(_ begin: () throws -> Void) throws -> RecordedTransaction? {
        let (isSchemaOpen, pending) = (try Self.isSchemaOpen(store), try PendingRows(store))
        guard isSchemaOpen || !pending.isEmpty else { return nil }
        try begin()
        let (recorded, adopted) = try record(reconciling: isSchemaOpen, pending)
        if setsPolicies(recorded) { try store.facts.set(StoreFacts.policyChange, .integer(1)) }
        if adopted || setsPolicies(recorded) || recorded != nil && (store.hasHidden || store.hasReplaced) {
            try store.facts.set(StoreFacts.unsettled, .integer(1))
        }
        return recorded
    }

    /// - Parameters:
    ///   - reconciles: whether the schema is looked at.
    ///   - pending: as they are before that; nil where they have to be asked for.
    ///   - prepare: what comes once the schema is known and before any row is written.
    private func record(
        reconciling reconciles: Bool, _ pending: PendingRows? = nil, _ prepare: () throws -> Void = {}
    ) throws -> (recorded: RecordedTransaction?, adopted: Bool) {
        var findings = findings
        if reconciles {
            findings.formUnion(try SchemaReconciliation(store: store, tablesOfOtherKeys: tablesOfOtherKeys).reconcile())
        } else {
            try RenumberedHeldValues(store).note()
        }
        let adopted = reconciles && (store.hasHidden || store.hasReplaced || store.hasReserved)
        try prepare()
        try ForgottenColumns(store).begin()
        if !store.cached.hasReferenceHistory {
            if try ReferenceHistory(store.connection).isEmpty {
                try ReferenceHistory.note(store.catalog, on: store.connection)
            }
            if try NamingColumns(store.connection).isEmpty {
                try NamingColumns.note(store.catalog, on: store.connection)
            }
            if !reconciles {
                let undecided = try UndecidedColumns(store.connection).all()
                for table in store.catalog.programTables where undecided[table.id] == nil {
                    try SchemaReconciliation(store: store).noteFollowed(table)
                }
            }
            store.cached.hasReferenceHistory = true
        }
        // A reconciliation tracks tables, and captures rows.
        let pending = try reconciles ? PendingRows(store) : pending ?? PendingRows(store)
        findings.returnedTables = try ReturnedRecords(store).giveBack(pending)
        try AwaitedFills(store).refresh()
        let recorder = Recorder(store, findings: findings, author: author, context: context)
        let recorded = try recorder.record(pending)
        try store.takeOwnSalt()
        return (recorded, adopted)
    }

    private func setsPolicies(_ recorded: RecordedTransaction?) -> Bool { recorded?.counts[SettingTable.name] != nil }

    private func isNoted(_ fact: String) throws -> Bool { try store.facts.value(fact) == .integer(1) }
}
