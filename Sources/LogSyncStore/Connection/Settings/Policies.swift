import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// The merge policies in force, as the content's settings have them.
struct Policies {
    /// What was read, to tell whether something changed.
    private var rows: [[Value]] = []
    /// Of tables and of columns, by names in logs in lower case: a dot says nothing of which of the two a name is.
    private var byTarget: [String: MergePolicy] = [:]
    private var names: [PeerID: String] = [:]
    /// The names of the policies set that this program has registered in code.
    private(set) var inCode: Set<String> = []
    /// The policies set that this program lacks: neither built in nor registered.
    private(set) var lacking: [(target: String, policy: String)] = []
    /// Whether rows are folded, of the tables of which it is said what becomes of two rows of one unique key.
    private var folding: [String: Bool] = [:]
    private var reinserting: Set<String> = []
    /// The foreign keys that a peer's own data broke, as ``ReferenceRule/target`` in lower case.
    private(set) var unenforced: Set<String> = []
    /// The columns that name rows and would have one of ``ofAmounts``, which is passed over there: `table.column` by names in
    /// logs, in lower case.
    private(set) var passedOver: Set<String> = []

    /// What is said of whole tables, beside the policies of their columns.
    static let tablePolicies: Set<String> = ["delete-wins", "delete-loses", "unique-park", "unique-merge"]

    /// The policies that take values for amounts. Those of references and keys are none: they say which row is meant, and the
    /// integers there are others in each store.
    static let ofAmounts: Set<String> = [MergePolicy.sum.name, MergePolicy.max.name, MergePolicy.min.name]

    /// Whether a policy cannot be that of one column.
    static func isOfTables(_ policy: String) -> Bool {
        tablePolicies.contains(policy) || policy == MergePolicy.lastWriterRow.name
    }

    /// The kinds of settings that say a policy.
    static let kinds = ["policy", "delete-policy", "unique-policy"]

    /// Which of these it is, by what a policy is about; a table may have one of each.
    static func kind(of policy: String) -> String {
        switch policy {
        case "delete-wins", "delete-loses": "delete-policy"
        case "unique-park", "unique-merge": "unique-policy"
        default: "policy"
        }
    }

    init(on connection: Connection, custom: [String: MergePolicy], _ catalog: Catalog) throws {
        rows = try connection.rows(
            """
            SELECT kind, target, value FROM logsync_setting
            WHERE kind IN ('peer', 'policy', 'delete-policy', 'unique-policy', 'foreign-key') ORDER BY kind, target
            """)
        for row in rows {
            let target = String(text: row[1])
            let value = String(text: row[2])
            switch String(text: row[0]) {
            case "peer":
                if let peer = PeerID(target) { names[peer] = value }
            case "policy":
                // A policy registered in code that is not registered here shows the last writer's.
                guard let policy = MergePolicy(named: value) ?? custom[value] else {
                    lacking.append((target, value))
                    continue
                }
                if MergePolicy(named: value) == nil { inCode.insert(value) }
                byTarget[target.folded] = policy
                if policy.name == MergePolicy.sum.name { hasCounters = true }
            case "delete-policy":
                if value == "delete-loses" { reinserting.insert(target.folded) }
            case "unique-policy":
                folding[target.folded] = value == "unique-merge"
            case ReferenceRule.setting:
                if value == ReferenceRule.unenforced { unenforced.insert(target.folded) }
            default: continue
            }
        }
        fit(catalog)
    }

    /// Finds the columns that name rows as the tables are now, where policies of amounts are passed over.
    mutating func fit(_ catalog: Catalog) {
        passedOver = []
        guard hasAny else { return }
        for table in catalog.tables {
            for column in table.columns where column.namesRows {
                let name = Self.name(table.name, column.name)
                if Self.ofAmounts.contains(setPolicy(name, table.name).name) { passedOver.insert(name) }
            }
        }
    }

    /// The settings of single columns that are passed over.
    var unfollowed: [(target: String, policy: String)] {
        rows.filter { String(text: $0[0]) == "policy" && passedOver.contains(String(text: $0[1]).folded) }
            .map { (String(text: $0[1]), String(text: $0[2])) }
    }

    /// Whether a row whose unique key an older one has is folded into it (`unique-merge`).
    func folds(_ table: String) -> Bool { folding[table.folded] ?? false }

    /// Whether it is said what becomes of two rows of one unique key.
    func saysOfUniqueKeys(_ table: String) -> Bool { folding[table.folded] != nil }

    /// Whether a row that a delete took is brought back by those who had edited it (`delete-loses`).
    func reinsertsEdits(_ table: String) -> Bool { reinserting.contains(table.folded) }

    func policy(_ table: String, _ column: String) -> MergePolicy {
        guard hasAny else { return .lastWriter }
        let name = Self.name(table, column)
        return passedOver.contains(name) ? .lastWriter : setPolicy(name, table)
    }

    /// What the settings say of a column, whether or not it can be followed.
    private func setPolicy(_ name: String, _ table: String) -> MergePolicy {
        byTarget[name] ?? byTarget[table.folded] ?? .lastWriter
    }

    private static func name(_ table: String, _ column: String) -> String { "\(table).\(column)".folded }

    /// Whether some column or table has another policy than the default.
    var hasAny: Bool { !byTarget.isEmpty }

    private(set) var hasCounters = false

    func isCounter(_ table: String, _ column: String) -> Bool {
        hasCounters && policy(table, column).name == MergePolicy.sum.name
    }

    /// Whether a change of a row is recorded with all its columns.
    func recordsWholeRows(_ table: String) -> Bool {
        byTarget[table.folded]?.name == MergePolicy.lastWriterRow.name
    }

    /// Whether what a column shows depends on what its versions say.
    func comparesValues(_ table: String, _ column: String) -> Bool {
        hasAny && !policy(table, column).goesByAuthor
    }

    func name(of peer: PeerID) -> String? { names[peer] }

    func saysTheSame(as other: Policies) -> Bool { rows == other.rows }
}

extension OpenStore {
    /// What a cell shows; nil where it has no version.
    func shown(_ cell: CellState, _ table: String, _ column: String) -> Value? {
        let base = resolved(cell, table, column)
        guard !cell.additions.isEmpty, let base else { return base }
        return Counter.sum(base, cell.additions, of: cell.versions, peer: peers.id)
    }

    private func resolved(_ cell: CellState, _ table: String, _ column: String) -> Value? {
        guard cell.versions.count > 1 else { return cell.versions.first?.value }
        guard policies.hasAny else {
            return cell.versions.max { precedes($0.stamp, $1.stamp) }.map { $0.value ?? .null }
        }
        let versions = cell.versions.map { version in
            let peer = peers.id(version.stamp.peer)
            return MergePolicy.Version(
                value: version.value ?? .null, dot: Dot(peer, version.stamp.sequence), time: version.stamp.time,
                peerName: policies.name(of: peer))
        }
        return policies.policy(table, column).resolve(versions.sorted { $0.precedes($1) })
    }
}
