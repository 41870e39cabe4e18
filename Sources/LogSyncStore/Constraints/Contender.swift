import LogSyncModel

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
struct GoneRow {
    var table: TrackedTable
    var integer: Int64
    /// As the table had it, by column position.
    var values: [Value]
}

/// A row that a constraint refused, or that was taken out to be decided again.
struct FloatingRow {
    var full: FullRow
    /// What the table had, where the row stood in it before this transaction.
    var former: GoneRow?
}

/// Tells quickly that a row is not among those that float: nearly every row is looked for in vain.
///
/// Rows may be added at the end of the list; where one is taken out, this begins anew.
struct FloatingNames {
    private var identities: Set<RowIdentity> = []
    private var count = 0

    mutating func mayContain(_ identity: RowIdentity, of rows: [FloatingRow]) -> Bool {
        while count < rows.count {
            identities.insert(rows[count].full.identity)
            count += 1
        }
        return identities.contains(identity)
    }
}

/// An alive row of which it is to be decided whether it stands (MODEL.md, shown state, 4 to 6).
final class Contender {
    enum Decision: Equatable {
        case undecided
        case stands
        case parked(String)
        /// Another row shows in its place.
        case folded(RowIdentity)
    }

    let table: TrackedTable
    let full: FullRow
    /// Where it is in its table now; nil where it is beside it.
    let position: Int64?
    let record: ClockRecord?
    let row: TableReader.Row?
    /// What the table had before this transaction, where the row stood in it.
    let former: GoneRow?
    /// By column position as logs have it: what it would show if every reference were there.
    let intact: [Value]
    let age: Stamp?

    var decision = Decision.undecided
    /// What keeps it parked, where that is a row that is not decided with it.
    var waits: KeptRows.Wait?
    /// What references show instead, by column position.
    var replaced: [Int: Value] = [:]
    /// Whether a reference follows a row that was folded into another.
    private(set) var isRedirected = false

    /// A reference shows the row that shows in its parent's place.
    func redirect(_ rule: ForeignRule, to shown: [Value]) {
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
        _ full: FullRow, in table: TrackedTable, intact: [Value], age: Stamp?,
        standing: (position: Int64, record: ClockRecord, row: TableReader.Row)? = nil, former: GoneRow? = nil
    ) {
        self.table = table
        self.full = full
        self.intact = intact
        self.age = age
        position = standing?.position
        record = standing?.record
        row = standing?.row
        self.former =
            former ?? standing.map { GoneRow(table: table, integer: $0.position, values: $0.row.values) }
    }

    var name: RowName { RowName(table, full.identity) }
    var stands: Bool { decision == .stands }
    var isFolded: Bool { if case .folded = decision { true } else { false } }

    /// What the row shows, as logs have it.
    var shown: [Value] {
        var values = intact
        for (position, value) in replaced { values[position] = value }
        return values
    }

    /// The values by which a rule names its parent; nil where one is NULL, so that it names none.
    func reference(_ rule: ForeignRule) -> [Value]? {
        let values = rule.columns.map { intact[$0] }
        return values.contains(.null) ? nil : values
    }
}

/// The rows to decide together, found by what others call them.
struct Contenders {
    private let session: Session
    private(set) var byName: [RowName: Contender] = [:]
    private var byPosition: [Int64: [Int64: Contender]] = [:]

    init(_ session: Session) { self.session = session }

    var all: [Contender] { Array(byName.values) }
    var isEmpty: Bool { byName.isEmpty }

    subscript(name: RowName) -> Contender? { byName[name] }

    func contains(_ table: TrackedTable, at position: Int64) -> Bool { byPosition[table.id]?[position] != nil }

    /// Returns false where the row is among them already.
    @discardableResult
    mutating func add(_ contender: Contender) -> Bool {
        guard byName[contender.name] == nil else { return false }
        byName[contender.name] = contender
        if let position = contender.position { byPosition[contender.table.id, default: [:]][position] = contender }
        return true
    }

    /// In the order of their age.
    func sorted() -> [Contender] { byName.values.sorted(by: session.isOlder) }
}

extension Session {
    func isOlder(_ a: Contender, _ b: Contender) -> Bool { isOlder(a.full, b.full) }
}
