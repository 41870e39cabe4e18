import LogSyncModel
import LogSyncState

/// A row by table and identity.
struct RowName: Hashable {
    var table: String
    var identity: RowIdentity

    init(_ table: TrackedTable, _ identity: RowIdentity) {
        self.table = table.name
        self.identity = identity
    }
}

/// A row that went away, or whose key is another now: rows that refer to it are decided again.
struct FormerRow {
    var table: TrackedTable
    var integer: Int64
    /// As the table had it, by column position.
    var values: [Value]
}

/// A row that a constraint refused, or that was taken out to be decided again.
struct UndecidedRow {
    var full: RowState
    /// What the table had, where the row was shown before this transaction.
    var former: FormerRow?
    /// Whether those who listen have been told of a change of it, though not of its key (``ChangeNotes``). Not so of a row
    /// that was parked before: what becomes of it is only known when it is decided.
    var isCounted = true
}

/// Tells quickly that a row is not among the undecided ones: nearly every row is looked for in vain.
///
/// Rows may be added at the end of the list; where one is taken out, this begins anew.
struct UndecidedNames {
    private var identities: Set<RowIdentity> = []
    private var count = 0

    mutating func mayContain(_ identity: RowIdentity, of rows: [UndecidedRow]) -> Bool {
        while count < rows.count {
            identities.insert(rows[count].full.identity)
            count += 1
        }
        return identities.contains(identity)
    }
}

/// An alive row of which it is to be decided whether it stands (Documentation/model.md, shown state, 4 to 6).
final class Candidate {
    enum Decision: Equatable {
        case undecided
        case shown
        case parked(String)
        /// Another row shows in its place.
        case folded(RowIdentity)
    }

    let table: TrackedTable
    let full: RowState
    /// Where it is in its table now; nil where it is beside it.
    let position: Int64?
    let record: ClockRecord?
    let row: TableReader.Row?
    /// What the table had before this transaction, where the row stood in it.
    let former: FormerRow?
    /// By column position as logs have it: what it would show if every reference were there.
    let intact: [Value]
    let age: Stamp?
    /// As ``UndecidedRow/isCounted``; nil for a row that no transaction brought, but was parked or shown before.
    let isCounted: Bool?

    var decision = Decision.undecided
    /// What keeps it parked, where that is a row that is not decided with it.
    var waits: HiddenRows.Wait?
    /// What references show instead, by column position.
    var replaced: [Int: Value] = [:]
    /// Whether a reference follows a row that was folded into another.
    private(set) var isRedirected = false

    /// A reference shows the row that shows in its parent's place.
    func redirect(_ rule: ReferenceRule, to shown: [Value]) {
        for (position, value) in zip(rule.columns, shown) { replaced[position] = value }
        isRedirected = true
    }

    /// Makes it one of whom nothing is known yet.
    func reset() {
        decision = .undecided
        waits = nil
        replaced = [:]
        isRedirected = false
    }

    init(
        _ full: RowState, in table: TrackedTable, intact: [Value], age: Stamp?,
        shown: (position: Int64, record: ClockRecord, row: TableReader.Row)? = nil, former: FormerRow? = nil,
        isCounted: Bool? = nil
    ) {
        self.table = table
        self.full = full
        self.intact = intact
        self.age = age
        self.isCounted = isCounted
        position = shown?.position
        record = shown?.record
        row = shown?.row
        self.former =
            former ?? shown.map { FormerRow(table: table, integer: $0.position, values: $0.row.values) }
    }

    var name: RowName { RowName(table, full.identity) }
    var isShown: Bool { decision == .shown }
    var isFolded: Bool { if case .folded = decision { true } else { false } }

    /// What the row shows, as logs have it.
    var shown: [Value] {
        var values = intact
        for (position, value) in replaced { values[position] = value }
        return values
    }

    /// The values by which a rule names its parent; nil where it names none, one being NULL, or a number that stands for
    /// itself.
    func reference(_ rule: ReferenceRule) -> [Value]? {
        let values = rule.columns.map { intact[$0] }
        return values.contains(.null) || rule.isUntranslated(values) ? nil : values
    }
}

/// The rows to decide together, found by what others call them.
struct Candidates {
    /// As they were added.
    private(set) var all: [Candidate] = []
    private var byName: [RowName: Candidate] = [:]
    private var byPosition: [Int64: [Int64: Candidate]] = [:]

    var isEmpty: Bool { all.isEmpty }

    subscript(name: RowName) -> Candidate? { byName[name] }

    func contains(_ table: TrackedTable, at position: Int64) -> Bool { byPosition[table.id]?[position] != nil }

    /// Returns false where the row is among them already.
    @discardableResult
    mutating func add(_ candidate: Candidate) -> Bool {
        guard byName[candidate.name] == nil else { return false }
        byName[candidate.name] = candidate
        all.append(candidate)
        if let position = candidate.position { byPosition[candidate.table.id, default: [:]][position] = candidate }
        return true
    }
}

extension OpenStore {
    func isOlder(_ a: Candidate, _ b: Candidate) -> Bool { isOlder(a.full, b.full) }
}
