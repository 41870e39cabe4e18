import LogSyncModel

/// How much of what matters happened in scenarios: where these are small, agreement says little.
struct Yield: CustomStringConvertible {
    private(set) var transactions = 0
    private(set) var rows = 0
    private(set) var conflicts = 0
    private(set) var parked = 0
    private(set) var lostEdits = 0

    init() {}

    init(_ ledger: Ledger, _ shown: OracleShown, _ schema: SchemaModel) {
        transactions = ledger.count
        rows = schema.tables.filter { $0.name != OracleSettings.table }.reduce(0) {
            $0 + (shown.rows[$1.name]?.count ?? 0)
        }
        conflicts = shown.conflicts.filter { !$0.isLost }.count
        lostEdits = shown.conflicts.filter(\.isLost).count
        parked = shown.parked.count
    }

    static func += (a: inout Yield, b: Yield) {
        a.transactions += b.transactions
        a.rows += b.rows
        a.conflicts += b.conflicts
        a.parked += b.parked
        a.lostEdits += b.lostEdits
    }

    var description: String {
        "\(transactions) transactions, \(rows) rows shown, \(conflicts) cells in conflict, \(parked) rows parked, "
            + "\(lostEdits) edits lost to deletes"
    }
}
