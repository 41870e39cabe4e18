import LogSyncModel
import LogSyncState

/// What ``ConstraintSolver`` has to know of rows that are not to be decided, and of the store's schema and settings. A seam, so
/// that the solver can be tried without a database.
protocol Surroundings {
    var rules: ReferenceRules { get }
    /// Whether rows are folded into others.
    var hasFolded: Bool { get }
    /// Whether a row whose unique key an older one has is folded into it: under `unique-merge`, or because it holds nothing
    /// else than that one, and no policy says that it is another.
    func folds(_ table: TrackedTable) -> Bool
    func hasUniqueKeys(_ table: TrackedTable) throws -> Bool
    func isOlder(_ a: RowState, _ b: RowState) -> Bool

    // MARK: Parents

    /// Whether a row that a reference names is shown, rows that are to be decided left out.
    func hasParent(_ reference: [Value], _ rule: ReferenceRule, besides candidates: Candidates) throws -> Bool
    /// What a reference shows by default where its row is not shown, as logs have it; nil where that is NULL.
    ///
    /// - Parameter also: those of the candidates that count, by the integer that they had when they were found.
    func defaults(
        _ rule: ReferenceRule, besides candidates: Candidates, or also: (TrackedTable, Int64) -> [RowIdentity]
    ) throws -> [Value]?
    /// The row that shows in the place of one that was folded into it; nil where that was not.
    func winner(of identity: RowIdentity, in table: TrackedTable) throws -> RowIdentity?
    /// What a reference shows to a row of which another shows in the place; nil where that one is not here.
    func redirected(_ rule: ReferenceRule, to winner: RowIdentity, among candidates: Candidates) throws -> [Value]?

    // MARK: Rows with the same key

    /// What a row would show if every reference were there, by column position as logs have it.
    func intactValues(_ full: RowState, in table: TrackedTable) throws -> [Value]
    /// - Parameters:
    ///   - values: by column position, as logs have them.
    ///   - followsFolded: whether a reference to a row that was folded so far means the row that shows in its place.
    func keys(of values: [Value], in table: TrackedTable, followsFolded: Bool) throws -> RowKeys
    /// The shown rows that share a unique key, rows that are to be decided left out.
    func sharers(
        of key: [KeyPart], _ index: Int, in table: TrackedTable, besides candidates: Candidates
    ) throws -> [(full: RowState, position: Int64)]
    /// What tells whether the record of a shown row is as it was.
    func mark(at position: Int64, in table: TrackedTable) throws -> Int64?
    /// The shown rows that may depend on a candidate, and it on them, in tables that refer to each other in circles.
    ///
    /// - Parameter keys: the unique keys that it may come to show.
    func rowsInCycles(
        with candidate: Candidate, _ keys: Set<ConstraintSolver.SharedKey>, besides candidates: Candidates
    ) throws -> [(table: TrackedTable, position: Int64)]
}

/// What a table makes of a row, whatever other rows there are.
struct RowKeys {
    /// By ``UniqueKey``; an entry is nil where a NULL or the index's condition keeps the row out of it.
    var keys: [[KeyPart]?] = []
    /// For what reason the table cannot hold the row; nil where it can.
    var refusal: String?

    /// NOT NULL or a type does not allow it.
    static let unfit = RowKeys(refusal: "not-null")
    /// An expression of a CHECK, a generated column or an index raises an error for it.
    static let raising = RowKeys(refusal: "expression")
}

/// The surroundings in an open store.
struct StoreSurroundings: Surroundings {
    let store: OpenStore
    let neighbours: Neighbours
    let probe: ConstraintProbe
    private let shownRows: ShownRows

    init(_ store: OpenStore, shownRows: ShownRows) {
        self.store = store
        self.shownRows = shownRows
        neighbours = Neighbours(store, shownRows: shownRows)
        probe = ConstraintProbe(store, shownRows: shownRows)
    }

    var rules: ReferenceRules { store.referenceRules }
    var hasFolded: Bool { store.hasFolded }

    func folds(_ table: TrackedTable) -> Bool {
        store.policies.folds(table.name) || table.isSet && !store.policies.saysOfUniqueKeys(table.name)
    }

    func hasUniqueKeys(_ table: TrackedTable) throws -> Bool { try !store.uniqueKeys(of: table).isEmpty }

    func isOlder(_ a: RowState, _ b: RowState) -> Bool { store.isOlder(a, b) }

    func hasParent(_ reference: [Value], _ rule: ReferenceRule, besides candidates: Candidates) throws -> Bool {
        try neighbours.hasParent(reference, rule, besides: candidates)
    }

    func defaults(
        _ rule: ReferenceRule, besides candidates: Candidates, or also: (TrackedTable, Int64) -> [RowIdentity]
    ) throws -> [Value]? {
        try neighbours.defaults(rule, besides: candidates, or: also)
    }

    func winner(of identity: RowIdentity, in table: TrackedTable) throws -> RowIdentity? {
        try HiddenRows(store).winner(of: identity, in: table)
    }

    func redirected(_ rule: ReferenceRule, to winner: RowIdentity, among candidates: Candidates) throws -> [Value]? {
        try neighbours.redirected(rule, to: winner, among: candidates)
    }

    func intactValues(_ full: RowState, in table: TrackedTable) throws -> [Value] {
        try shownRows.intactValues(full, in: table)
    }

    func keys(of values: [Value], in table: TrackedTable, followsFolded: Bool) throws -> RowKeys {
        try probe.keys(of: values, in: table, followsFolded: followsFolded)
    }

    func sharers(
        of key: [KeyPart], _ index: Int, in table: TrackedTable, besides candidates: Candidates
    ) throws -> [(full: RowState, position: Int64)] {
        try neighbours.sharers(of: key, index, in: table, besides: candidates)
    }

    func mark(at position: Int64, in table: TrackedTable) throws -> Int64? {
        try ClockTable(table: table, connection: store.connection).mark(at: position)
    }

    func rowsInCycles(
        with candidate: Candidate, _ keys: Set<ConstraintSolver.SharedKey>, besides candidates: Candidates
    ) throws -> [(table: TrackedTable, position: Int64)] {
        try Cycles(store: store, neighbours: neighbours).rows(with: candidate, keys, besides: candidates)
    }
}
