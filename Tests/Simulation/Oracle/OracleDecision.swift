import LogModel

/// Rules 2 to 6 of MODEL.md's shown state: which alive rows stand, and with which values.
///
/// Where the page leaves room, the readings are these. An undeclared reference has no say unless it is part of the row's
/// own key; one whose enforcement is off has none at all, and is shown as it is. A row that refers to itself is a single row, and its reference holds. In
/// a knot it is the soft references between the knot's own rows that count as hard; those that lead out of it are
/// decided already and are replaced as usual. A row's ancestors in a knot are the rows that it refers to, directly or
/// through others. A default that refers to a row which does not stand gives way to NULL.
struct OracleDecision {
    typealias RowName = OracleShown.RowName

    let schema: SchemaModel
    let tables: OracleTables
    let settings: OracleSettings
    let enforces: Bool

    private struct Reference {
        var column: String
        var isHard: Bool
        /// Nil where the parent is not alive.
        var parent: Int?
        var replacement: Value
        /// The parent of the replacement, where that is a reference to an alive row.
        var replacementParent: Int?
    }

    private struct Node {
        var name: RowName
        var table: TableModel
        var age: (entry: OracleState.Entry, table: String, identity: RowIdentity)
        var values: [String: Value]
        var references: [Reference] = []
        var edges: Set<Int> = []
        var stands: Bool?
    }

    private var nodes: [Node] = []
    private var index: [RowName: Int] = [:]

    init(schema: SchemaModel, tables: OracleTables, settings: OracleSettings, enforces: Bool) {
        self.schema = schema
        self.tables = tables
        self.settings = settings
        self.enforces = enforces
    }

    mutating func add(_ name: RowName, _ row: OracleState.Row, _ table: TableModel) {
        guard let oldest = row.inserts.min(by: Self.precedes) else { return }
        var values: [String: Value] = [:]
        for column in table.replicated {
            values[column.name] = value(row.cells[column.name], table, column)
        }
        index[name] = nodes.count
        nodes.append(Node(name: name, table: table, age: (oldest, name.table, name.identity), values: values))
    }

    /// Rule 2.
    private func value(_ cell: OracleState.Cell?, _ table: TableModel, _ column: ColumnModel) -> Value {
        guard let cell, !cell.versions.isEmpty else { return column.defaultValue }
        let value = settings.policy(table.name, column.name).value(of: cell.versions, names: settings.names)
        let bases = Set(cell.versions.map(\.dot))
        return OraclePolicy.add(cell.additions.filter { bases.contains($0.key.base) }, to: value)
    }

    private static func precedes(_ a: OracleState.Entry, _ b: OracleState.Entry) -> Bool {
        (a.time, a.dot.peer, a.dot.sequence) < (b.time, b.dot.peer, b.dot.sequence)
    }

    private func isOlder(_ a: Int, _ b: Int) -> Bool {
        let (a, b) = (nodes[a].age, nodes[b].age)
        if a.entry != b.entry { return Self.precedes(a.entry, b.entry) }
        return (a.table, a.identity) < (b.table, b.identity)
    }

    // MARK: The graph

    mutating func decide() throws -> (rows: [String: [RowIdentity: [String: Value]]], parked: Set<RowName>) {
        try tables.begin()
        for node in nodes.indices { refer(node) }
        for table in schema.tables where !table.uniques.isEmpty { try connectSharers(table) }
        for component in StrongComponents(edges: nodes.map(\.edges)).dependenciesFirst {
            if component.count == 1 {
                try decideSingle(component[0])
            } else {
                try decideKnot(component)
            }
        }
        var rows: [String: [RowIdentity: [String: Value]]] = [:]
        for table in schema.tables {
            for (row, values) in try tables.rows(table) {
                rows[table.name, default: [:]][nodes[row].name.identity] = values
            }
        }
        try tables.end()
        return (rows, Set(nodes.filter { $0.stands == false }.map(\.name)))
    }

    /// Rule 4.
    private mutating func refer(_ node: Int) {
        let table = nodes[node].table
        for column in table.columns {
            guard let reference = column.reference, let value = nodes[node].values[column.name], !value.isNull,
                enforces
            else { continue }
            let isKey = table.key.contains(column.name)
            guard isKey || reference.isDeclared,
                !settings.unenforced.contains("\(table.name).\(column.name)".lowercased())
            else { continue }
            let isSoft = !isKey && (reference.onDelete == .setNull || reference.onDelete == .setDefault)
            let replacement = reference.onDelete == .setDefault ? column.defaultValue : .null
            let made = Reference(
                column: column.name, isHard: !isSoft, parent: parent(value, reference), replacement: replacement,
                replacementParent: isSoft ? parent(replacement, reference) : nil)
            nodes[node].references.append(made)
            for parent in [made.parent, made.replacementParent].compactMap({ $0 }) where parent != node {
                nodes[node].edges.insert(parent)
            }
        }
    }

    /// The alive row that a value refers to.
    private func parent(_ value: Value, _ reference: ReferenceModel) -> Int? {
        guard let table = schema[reference.parent] else { return nil }
        if table.hasLocalInteger {
            guard case .reference(let identity) = value else { return nil }
            return index[RowName(table: table.name, identity: identity)]
        }
        guard let key = table[table.key[0]], let part = KeyPart(value, collation: key.collation) else { return nil }
        return index[RowName(table: table.name, identity: RowIdentity(natural: [part]))]
    }

    /// Rule 5's second kind of edge: to each older row that shares a potential tuple.
    private mutating func connectSharers(_ table: TableModel) throws {
        for node in nodes.indices where nodes[node].table.name == table.name {
            for (variant, values) in potentialValues(of: node).enumerated() {
                try tables.imagine(table, row: node, variant: variant, values)
            }
        }
        for (a, b) in try tables.sharers(table) {
            if isOlder(a, b) { nodes[b].edges.insert(a) } else { nodes[a].edges.insert(b) }
        }
    }

    /// A row's values with each soft reference intact or replaced.
    private func potentialValues(of node: Int) -> [[String: Value]] {
        var variants = [nodes[node].values]
        for reference in nodes[node].references where !reference.isHard {
            var replacements = [reference.replacement]
            if !reference.replacement.isNull { replacements.append(.null) }
            variants += replacements.flatMap { replacement in
                variants.map { $0.merging([reference.column: replacement]) { $1 } }
            }
        }
        return variants
    }

    // MARK: Decisions

    private mutating func decideSingle(_ node: Int) throws {
        guard let values = actualValues(of: node, group: [node], knot: []) else {
            nodes[node].stands = false
            return
        }
        nodes[node].stands = try tables.stand(nodes[node].table, row: node, values)
    }

    private mutating func decideKnot(_ component: [Int]) throws {
        let knot = Set(component)
        for node in component.sorted(by: isOlder) where nodes[node].stands == nil {
            let group = undecidedAncestors(of: node, in: knot)
            try tables.mark()
            var stand = true
            for member in group.sorted(by: isOlder) where stand {
                let values = actualValues(of: member, group: group, knot: knot)
                stand = try values.map { try tables.stand(nodes[member].table, row: member, $0) } ?? false
            }
            if stand {
                try tables.accept()
                for member in group { nodes[member].stands = true }
            } else {
                try tables.undo()
                nodes[node].stands = false
            }
        }
    }

    private func undecidedAncestors(of node: Int, in knot: Set<Int>) -> Set<Int> {
        var group: Set<Int> = [node]
        var waiting = [node]
        while let next = waiting.popLast() {
            for case let parent? in nodes[next].references.map(\.parent)
            where knot.contains(parent) && nodes[parent].stands == nil && group.insert(parent).inserted {
                waiting.append(parent)
            }
        }
        return group
    }

    /// The values that a row has where it stands together with `group`; nil where a parent that it needs does not stand.
    private func actualValues(of node: Int, group: Set<Int>, knot: Set<Int>) -> [String: Value]? {
        func stands(_ parent: Int?) -> Bool {
            parent.map { nodes[$0].stands == true || group.contains($0) || $0 == node } ?? false
        }
        var values = nodes[node].values
        for reference in nodes[node].references where !stands(reference.parent) {
            if reference.isHard || reference.parent.map(knot.contains) ?? false { return nil }
            let mayStay = reference.replacement.isNull || stands(reference.replacementParent)
            values[reference.column] = mayStay ? reference.replacement : .null
        }
        return values
    }
}
