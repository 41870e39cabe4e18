import LogSyncModel

/// The content's settings as the reserved table shows them: the last writer's, like any row.
struct OracleSettings {
    static let table = "logsync_setting"

    private(set) var policies: [String: OraclePolicy] = [:]
    private(set) var mergesUniques: Set<String> = []
    /// Tables of which somebody has said that rows of one key are two.
    private(set) var parksUniques: Set<String> = []
    private(set) var names: [PeerID: String] = [:]
    /// Foreign keys that somebody's data breaks, as `table.column` in lower case.
    private(set) var unenforced: Set<String> = []
    /// Columns that refer to rows of a table, as `table.column` in lower case.
    private(set) var references: [String: String] = [:]

    init(_ state: OracleState) {
        for (identity, row) in state.rows[Self.table] ?? [:] where row.isAlive {
            let parts = (identity.naturalParts ?? []).map { Self.text($0.value) }
            guard parts.count == 2, let cell = row.cells["value"] else { continue }
            let value = Self.text(OraclePolicy.lastWriter.value(of: cell.versions, names: [:]))
            let target = parts[1]
            switch parts[0] {
            case "peer": if let peer = PeerID(target) { names[peer] = value }
            case "policy": policies[target.lowercased()] = OraclePolicy(value)
            case "unique-policy":
                if value == "unique-merge" {
                    mergesUniques.insert(target.lowercased())
                } else {
                    parksUniques.insert(target.lowercased())
                }
            case "reference": references[target.lowercased()] = value
            case "foreign-key": if value == "unenforced" { unenforced.insert(target.lowercased()) }
            default: break
            }
        }
    }

    /// A column's policy, else its table's, else the last writer's; what says which row is meant has no amounts.
    func policy(of column: ColumnModel, in table: TableModel) -> OraclePolicy {
        let name = "\(table.name).\(column.name)".lowercased()
        let policy = policies[name] ?? policies[table.name.lowercased()] ?? .lastWriter
        let namesRows = table.namesRows(column) || references[name] != nil
        return namesRows && [.maximum, .minimum].contains(policy) ? .lastWriter : policy
    }

    private static func text(_ value: Value) -> String {
        if case .text(let bytes) = value { String(decoding: bytes, as: UTF8.self) } else { "" }
    }
}
