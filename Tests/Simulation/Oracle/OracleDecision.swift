import LogSyncModel

/// Rules 2 to 6 of Documentation/model.md's shown state: which alive rows stand, and with which values.
///
/// Where the page leaves room, the readings are these. An undeclared reference has no say unless it is part of the row's
/// own key; one whose enforcement is off has none at all, and is shown as it is. A row that refers to itself is a single row, and its reference holds. In
/// a knot it is the soft references between the knot's own rows that count as hard; those that lead out of it are
/// decided already and are replaced as usual. A row's ancestors in a knot are the rows that it refers to, directly or
/// through others, by references for which no row stands already; one that itself shares a tuple with a row that stands is folded as it would be outside. Two rows of
/// which one follows a folded row, and that would share no tuple if none did, are folded too, whatever their table's policy. A default that refers to a row which does not stand gives way to NULL.
struct OracleDecision {
    typealias RowName = OracleShown.RowName

    let schema: SchemaModel
    let tables: OracleTables
    let settings: OracleSettings

    private enum Strength {
        /// Without its parent the row does not stand.
        case hard
        /// Without its parent the row shows NULL or the default.
        case soft
        /// It has no say; it only follows a row that was folded into another.
        case loose
    }

    private struct Reference {
        var columns: [String]
        var strength: Strength
        /// The alive rows that it names: several, where it names them by columns that only one of them can show.
        var parents: [Int]
        /// Whether it names its parent by what its identity says, so that it follows it where it is folded.
        var isByIdentity: Bool
        /// The parent's columns that it names; none where that is its integer.
        var parentColumns: [String]
        var replacement: Value
        /// The parent of the replacement, where that is a reference to an alive row.
        var replacementParent: Int?
    }

    private enum Fate: Equatable {
        case undecided, stands, parked
        /// Hidden behind a standing row.
        case folded(into: Int)
    }

    private struct Node {
        var name: RowName
        var table: TableModel
        var age: (entry: OracleState.Entry, table: String, identity: RowIdentity)
        var values: [String: Value]
        var references: [Reference] = []
        var edges: Set<Int> = []
        var fate = Fate.undecided
        /// Whether a reference follows a row that was folded, as decided last.
        var isRedirected = false
    }

    /// Why a row cannot stand.
    private enum Refusal {
        case parent, notNull
        /// A row that stands shares a tuple.
        case sharer(Int, byFolding: Bool)
    }

    /// A row was decided before an older one that turned out to share a tuple, because a reference follows a folded row.
    private struct Again: Error { var younger: Int, older: Int }

    private var nodes: [Node] = []
    private var index: [RowName: Int] = [:]

    init(schema: SchemaModel, tables: OracleTables, settings: OracleSettings) {
        self.schema = schema
        self.tables = tables
        self.settings = settings
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
        let value = settings.policy(of: column, in: table).value(of: cell.versions, names: settings.names)
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
        for node in nodes.indices { refer(node) }
        try tables.begin()
        for table in schema.tables where !table.uniques.isEmpty { try connectSharers(table) }
        while true {
            do {
                try tables.mark("pass")
                try decideAll()
                break
            } catch let again as Again {
                try tables.undo("pass")
                nodes[again.younger].edges.insert(again.older)
                for node in nodes.indices { nodes[node].fate = .undecided }
            }
        }
        var rows: [String: [RowIdentity: [String: Value]]] = [:]
        for table in schema.tables {
            for (row, values) in try tables.rows(table) {
                rows[table.name, default: [:]][nodes[row].name.identity] = values
            }
        }
        try tables.end()
        return (rows, Set(nodes.filter { $0.fate != .stands }.map(\.name)))
    }

    private mutating func decideAll() throws {
        for component in StrongComponents(edges: nodes.map(\.edges)).dependenciesFirst {
            if component.count == 1 {
                let node = component[0]
                nodes[node].fate = try refusal(of: node, group: [node], knot: []).map { fate(of: node, $0) } ?? .stands
            } else {
                try decideKnot(component)
            }
        }
    }

    /// Rule 4.
    private mutating func refer(_ node: Int) {
        let table = nodes[node].table
        for key in table.references {
            let values = key.columns.compactMap { nodes[node].values[$0] }
            guard values.count == key.columns.count, !values.contains(where: \.isNull),
                !isNumber(values, key)
            else { continue }
            let isKey = key.columns.contains { table.key.contains($0) }
            let target = "\(table.name).\(key.columns.joined(separator: ","))".lowercased()
            let isLoose = !isKey && !key.isDeclared || settings.unenforced.contains(target)
            let isSoft = !isKey && (key.onDelete == .setNull || key.onDelete == .setDefault)
            let column = table[key.columns[0]]
            let replacement = key.onDelete == .setDefault ? column?.defaultValue ?? .null : .null
            // A row that refers to itself has what it needs, whoever else is called so.
            let named = parents(values, key)
            let made = Reference(
                columns: key.columns, strength: isLoose ? .loose : isSoft ? .soft : .hard,
                parents: named.contains(node) ? [node] : named,
                isByIdentity: namesIdentity(key, of: table), parentColumns: namedColumns(key),
                replacement: replacement,
                replacementParent: isSoft ? parents([replacement], key).first : nil)
            nodes[node].references.append(made)
            guard !isLoose || made.isByIdentity && schema[key.parent].map(settings.folds) ?? false else { continue }
            for parent in made.parents + [made.replacementParent].compactMap({ $0 }) where parent != node {
                nodes[node].edges.insert(parent)
            }
        }
    }

    /// Whether a reference was a number when it was written: nobody has said of it which row it means.
    private func isNumber(_ values: [Value], _ key: TableModel.Key) -> Bool {
        guard case .integer = values[0], key.parentColumns == nil else { return false }
        return schema[key.parent]?.hasLocalInteger ?? false
    }

    /// The columns of its parent that a key names; none where that is its integer.
    private func namedColumns(_ key: TableModel.Key) -> [String] {
        if let columns = key.parentColumns { return columns }
        guard let parent = schema[key.parent], !parent.hasLocalInteger else { return [] }
        return parent.key
    }

    private func isInteger(_ reference: ReferenceModel?) -> Bool {
        reference.flatMap { schema[$0.parent] }?.hasLocalInteger ?? false
    }

    private func namesIdentity(_ key: TableModel.Key, of child: TableModel) -> Bool {
        guard let parent = schema[key.parent] else { return false }
        if parent.hasLocalInteger { return key.parentColumns == nil }
        // What is part of the child's own key stays; so does what leads on through the parent's key.
        guard key.isDeclared, !key.columns.contains(where: child.key.contains),
            !parent.key.contains(where: { isInteger(parent[$0]?.reference) })
        else { return false }
        return Set(namedColumns(key)) == Set(parent.key)
    }

    /// The alive rows that values refer to.
    private func parents(_ values: [Value], _ key: TableModel.Key) -> [Int] {
        guard let table = schema[key.parent] else { return [] }
        if let names = key.parentColumns {
            guard names.count == values.count else { return [] }
            let parts = zip(names, values).map { KeyPart($1, collation: table[$0]?.collation ?? .binary) }
            return nodes.indices.filter { other in
                nodes[other].table.name == table.name
                    && zip(names, parts).allSatisfy { name, part in
                        part != nil
                            && part
                                == nodes[other].values[name].flatMap {
                                    KeyPart($0, collation: table[name]?.collation ?? .binary)
                                }
                    }
            }
        }
        if table.hasLocalInteger {
            guard case .reference(let identity) = values[0] else { return [] }
            return index[RowName(table: table.name, identity: identity)].map { [$0] } ?? []
        }
        guard let part = KeyPart(values[0], collation: table[table.key[0]]?.collation ?? .binary) else { return [] }
        return index[RowName(table: table.name, identity: RowIdentity(natural: [part]))].map { [$0] } ?? []
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
        for reference in nodes[node].references where reference.strength == .soft {
            var replacements = [reference.replacement]
            if !reference.replacement.isNull { replacements.append(.null) }
            variants += replacements.flatMap { replacement in
                variants.map { variant in
                    variant.merging(reference.columns.map { ($0, replacement) }) { $1 }
                }
            }
        }
        return variants
    }

    // MARK: Decisions

    private mutating func decideKnot(_ component: [Int]) throws {
        let knot = Set(component)
        for node in component.sorted(by: isOlder) where nodes[node].fate == .undecided {
            let group = undecidedAncestors(of: node, in: knot)
            try tables.mark("knot")
            var refused: (member: Int, refusal: Refusal)?
            for member in group.sorted(by: isOlder) where refused == nil {
                refused = try refusal(of: member, group: group, knot: knot).map { (member, $0) }
            }
            if let refused {
                try tables.undo("knot")
                nodes[node].fate = refused.member == node ? fate(of: node, refused.refusal) : .parked
            } else {
                try tables.accept("knot")
                for member in group { nodes[member].fate = .stands }
            }
        }
    }

    private func undecidedAncestors(of node: Int, in knot: Set<Int>) -> Set<Int> {
        var group: Set<Int> = [node]
        var waiting = [node]
        while let next = waiting.popLast() {
            for reference in nodes[next].references where reference.strength != .loose {
                if reference.parents.contains(where: { nodes[$0].fate == .stands }) { continue }
                for parent in reference.parents
                where knot.contains(parent) && nodes[parent].fate == .undecided && group.insert(parent).inserted {
                    waiting.append(parent)
                }
            }
        }
        return group
    }

    /// Lets a row stand together with `group`. Returns why it cannot; nil where it stands.
    private mutating func refusal(of node: Int, group: Set<Int>, knot: Set<Int>) throws -> Refusal? {
        let table = nodes[node].table
        var values = nodes[node].values
        nodes[node].isRedirected = false
        for reference in nodes[node].references {
            if reference.parents.contains(where: { $0 == node || stands($0, group) }) { continue }
            if reference.isByIdentity, let parent = reference.parents.first,
                case .folded(let winner) = nodes[parent].fate
            {
                if reference.parentColumns.isEmpty {
                    values[reference.columns[0]] = .reference(nodes[winner].name.identity)
                }
                for (column, named) in zip(reference.columns, reference.parentColumns) {
                    values[column] = nodes[winner].values[named]
                }
                nodes[node].isRedirected = true
                continue
            }
            if reference.strength == .loose { continue }
            if reference.strength == .hard || reference.parents.contains(where: knot.contains) { return .parent }
            let mayStay = reference.replacement.isNull || stands(reference.replacementParent, group)
            for column in reference.columns { values[column] = mayStay ? reference.replacement : .null }
        }
        if table.replicated.contains(where: { $0.isNotNull && values[$0.name]?.isNull ?? true }) { return .notNull }
        if try tables.stand(table, row: node, values) { return nil }
        let sharers = try tables.sharers(of: values, row: node, table)
        guard let oldest = sharers.min(by: isOlder) else { return .notNull }
        // Where that waits for the older already, both are in a knot, in which an older row's ancestors come first.
        if let younger = sharers.first(where: {
            isOlder(node, $0) && !group.contains($0) && !nodes[$0].edges.contains(node)
        }) {
            throw Again(younger: younger, older: node)
        }
        let isRedirected = nodes[node].isRedirected || nodes[oldest].isRedirected
        return try .sharer(
            oldest,
            byFolding: isRedirected && !tables.share(table, (node, nodes[node].values), (oldest, nodes[oldest].values)))
    }

    private func stands(_ node: Int?, _ group: Set<Int>) -> Bool {
        node.map { nodes[$0].fate == .stands || group.contains($0) } ?? false
    }

    private func fate(of node: Int, _ refusal: Refusal) -> Fate {
        guard case .sharer(let oldest, let byFolding) = refusal else { return .parked }
        return byFolding || settings.folds(nodes[node].table) ? .folded(into: oldest) : .parked
    }
}
