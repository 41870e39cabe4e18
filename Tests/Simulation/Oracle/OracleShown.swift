import LogSyncModel

/// What a peer shows (Documentation/model.md, shown state), decided anew on the whole graph of alive rows.
struct OracleShown {
    struct RowName: Hashable {
        var table: String
        var identity: RowIdentity
    }

    /// A cell with several values, or the edits left of a dead row's cell.
    struct Conflict: Hashable {
        var table: String
        var column: String
        var dots: Set<Dot>
        var isLost: Bool
    }

    /// table → identity → column → value.
    var rows: [String: [RowIdentity: [String: Value]]] = [:]
    var parked: Set<RowName> = []
    /// Rows that are dead with entries left.
    var dead: Set<RowName> = []
    var conflicts: Set<Conflict> = []
    /// Foreign keys that are not enforced, as `table.column` in lower case.
    var unenforced: Set<String> = []

    init(_ state: OracleState, schema: SchemaModel, tables: OracleTables) throws {
        let settings = OracleSettings(state)
        unenforced = settings.unenforced
        var decision = OracleDecision(schema: schema, tables: tables, settings: settings)
        for table in schema.tables {
            for (identity, row) in state.rows[table.name] ?? [:] {
                let name = RowName(table: table.name, identity: identity)
                if row.isAlive {
                    decision.add(name, row, table)
                } else {
                    dead.insert(name)
                }
            }
        }
        (rows, parked) = try decision.decide()
        list(state, schema)
    }

    /// Rule 1, and the cells of rows that several transactions gave values to, also where the row is parked.
    private mutating func list(_ state: OracleState, _ schema: SchemaModel) {
        for table in schema.tables {
            for (_, row) in state.rows[table.name] ?? [:] {
                for (column, cell) in row.cells {
                    let isContested = Set(cell.versions.map(\.value)).count > 1 || isCountedBySeveral(cell)
                    guard row.isAlive ? isContested : isEdited(cell) else { continue }
                    let dots = Set(cell.versions.map(\.dot)).union(cell.additions.values.map(\.dot))
                    conflicts.insert(Conflict(table: table.name, column: column, dots: dots, isLost: !row.isAlive))
                }
            }
        }
    }

    /// Whether a program has written it: what migrations put into all rows is nobody's edit.
    private func isEdited(_ cell: OracleState.Cell) -> Bool {
        !cell.additions.isEmpty || cell.versions.contains { $0.time.milliseconds != 0 }
    }

    /// Whether a counter has additions of several peers, or one to a base that somebody did away with meanwhile.
    private func isCountedBySeveral(_ cell: OracleState.Cell) -> Bool {
        let bases = Set(cell.versions.map(\.dot))
        return Set(cell.additions.keys.map(\.peer)).count > 1
            || !cell.additions.keys.allSatisfy { bases.contains($0.base) }
    }
}

extension SchemaModel {
    /// The reserved table of settings, which is replicated like any other.
    static let settings = TableModel(
        name: OracleSettings.table, identity: .natural, key: ["kind", "target"],
        columns: [
            ColumnModel(name: "kind", type: "TEXT", domain: .texts, isNotNull: true),
            ColumnModel(name: "target", type: "TEXT", domain: .texts, isNotNull: true),
            ColumnModel(name: "value", type: "TEXT", domain: .texts),
        ])

    /// With the table of settings, as the oracle needs it.
    var withSettings: SchemaModel { SchemaModel(tables: tables + [Self.settings], extras: extras) }
}
