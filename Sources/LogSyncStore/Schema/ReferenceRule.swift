import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// A reference by which one row depends on another (Documentation/model.md, shown state, 4), or merely follows it.
struct ReferenceRule {
    enum Strength {
        /// Without its parent the row does not stand.
        case hard
        /// Without its parent the row shows NULL or the default there.
        case soft
        /// Nothing depends on it: an undeclared reference, or a key that a peer's own data broke. It only follows a row
        /// that was folded into another.
        case unenforced
    }

    enum Part {
        /// The parent's integer, which is local to this store.
        case integer
        /// A column of the parent, by position.
        case column(Int)
    }

    let child: TrackedTable
    /// Positions in the child.
    let columns: [Int]
    let parent: TrackedTable
    let parts: [Part]
    let strength: Strength
    /// Whether what replaces a soft reference is the column's default; NULL otherwise.
    let replacesByDefault: Bool
    /// `CHILD.COLUMN,…` in the names of logs: the setting that turns its enforcement off.
    let target: String

    /// The setting's kind.
    static let setting = "foreign-key"
    static let unenforced = "unenforced"

    /// Takes the child's values; gives columns of the parents.
    func selectParent(_ columns: String) -> String {
        let names = parentNames
        let collations = parts.map { part in
            switch part {
            case .integer: ""
            case .column(let position): " COLLATE \(parent.columns[position].collation.rawValue)"
            }
        }
        let condition = zip(names, collations).map { "\($0)\($1) = ?" }.joined(separator: " AND ")
        return "SELECT \(columns) FROM \(parent.quoted) WHERE \(condition)"
    }

    var childNames: [String] { columns.map { SQL.name(child.columns[$0].local) } }

    /// The parent's columns by name, its integer among them.
    var parentNames: [String] {
        parts.map { part in
            switch part {
            case .integer: SQL.name(parent.localInteger ?? parent.schema.rowidName ?? "rowid")
            case .column(let position): SQL.name(parent.columns[position].local)
            }
        }
    }

    /// Positions in the parent; −1 for its integer.
    var parentColumns: [Int] {
        parts.map { part in if case .column(let position) = part { position } else { -1 } }
    }

    /// Whether a row is called by what its identity says, so that a reference can follow one that was folded into another:
    /// by its integer, or by its key. Not where that is part of the child's own key, or of references itself.
    var namesIdentity: Bool {
        if isByInteger { return true }
        guard parent.localInteger == nil, !parent.keyHasReference, child.key.allSatisfy({ !columns.contains($0.index) })
        else { return false }
        return parentColumns.sorted() == parent.key.map(\.index).sorted()
    }

    /// The row that a reference names, whether it is here or not; nil where it does not name one by its identity.
    ///
    /// - Parameter reference: as logs have it.
    func named(by reference: [Value]) -> RowIdentity? {
        if isByInteger {
            guard case .reference(let identity) = reference[0] else { return nil }
            return identity
        }
        guard namesIdentity else { return nil }
        var named: [KeyPart] = []
        for key in parent.key {
            guard let index = parentColumns.firstIndex(of: key.index),
                let part = KeyPart(
                    parent.schema.affinity(of: parent.columns[key.index].local).apply(to: reference[index]),
                    collation: key.collation)
            else { return nil }
            named.append(part)
        }
        return RowIdentity(natural: named)
    }

    /// Whether one of a reference's values is a number of which its author has not said what it means.
    func isUntranslated(_ reference: [Value]) -> Bool {
        zip(reference, columns).contains { child.isUntranslated($0, at: $1) }
    }

    /// Whether rows are found by the parent's integer alone.
    var isByInteger: Bool {
        if parts.count == 1, case .integer = parts[0] { return true }
        return false
    }
}

extension Catalog {
    /// Every reference of every table, whether or not its key is enforced.
    func referenceRules() -> [ReferenceRule] { tables.flatMap(referenceRules) }

    private func referenceRules(of child: TrackedTable) -> [ReferenceRule] {
        var rules: [ReferenceRule] = []
        var covered: Set<Int> = []
        let keyPositions = Set(child.key.map(\.index))
        for key in child.schema.foreignKeys {
            guard let parent = self[local: key.parent],
                let parts = parts(of: key, in: parent)
            else { continue }
            let columns = key.from.compactMap { child.localPositions[$0.folded] }
            // A generated column, or the child's own integer, holds nothing of its own.
            guard columns.count == key.from.count, columns.count == parts.count else { continue }
            covered.formUnion(columns)
            let action = key.onDelete.uppercased()
            let isSoft = action == "SET NULL" || action == "SET DEFAULT"
            rules.append(
                ReferenceRule(
                    child: child, columns: columns, parent: parent, parts: parts,
                    strength: isSoft && keyPositions.isDisjoint(with: columns) ? .soft : .hard,
                    replacesByDefault: action == "SET DEFAULT", target: Self.target(child, columns)))
        }
        for (position, column) in child.columns.enumerated() where !covered.contains(position) {
            guard let parent = column.reference.flatMap({ self[$0] }), parent.localInteger != nil else { continue }
            rules.append(
                ReferenceRule(
                    child: child, columns: [position], parent: parent, parts: [.integer],
                    strength: keyPositions.contains(position) ? .hard : .unenforced, replacesByDefault: false,
                    target: Self.target(child, [position])))
        }
        return rules
    }

    private static func target(_ child: TrackedTable, _ columns: [Int]) -> String {
        child.name + "." + columns.map { child.columns[$0].name }.joined(separator: ",")
    }

    /// The parent's columns that a key names; nil where they are no key of the parent, so that SQLite itself could not
    /// enforce it.
    private func parts(of key: TableSchema.ForeignKey, in parent: TrackedTable) -> [ReferenceRule.Part]? {
        let names = (key.to.isEmpty ? parent.schema.keyColumns.map(\.name) : key.to).map { $0.folded }
        let isKey =
            Set(parent.schema.keyColumns.map { $0.name.folded }) == Set(names)
            || parent.schema.uniqueIndexes.contains { index in
                index.columns.map { Set($0.map { $0.name.folded }) == Set(names) } ?? false
            }
        guard isKey else { return nil }
        var parts: [ReferenceRule.Part] = []
        for name in names {
            if let integer = parent.localInteger, integer.folded == name {
                parts.append(.integer)
            } else if let position = parent.localPositions[name] {
                parts.append(.column(position))
            } else {
                return nil
            }
        }
        return parts
    }
}

/// The references of a store's tables as the content's settings have them now.
struct ReferenceRules {
    /// By the child's id.
    private var byChild: [Int64: [ReferenceRule]] = [:]
    /// By the parent's id.
    private var byParent: [Int64: [ReferenceRule]] = [:]
    /// Tables that hang together in a circle of references, by id; a table that refers to itself is one.
    private(set) var circles: [Int64: Int] = [:]
    /// The circles in which a parent may be contested.
    private(set) var contestedCircles: Set<Int> = []

    init(_ catalog: Catalog, unenforced: Set<String>) {
        for rule in catalog.referenceRules() {
            var rule = rule
            if unenforced.contains(rule.target.folded) { rule = rule.loosened }
            byChild[rule.child.id, default: []].append(rule)
            byParent[rule.parent.id, default: []].append(rule)
        }
        findCircles(catalog)
        for rule in byChild.values.joined() where rule.isContested {
            if let circle = circles[rule.child.id], circles[rule.parent.id] == circle {
                contestedCircles.insert(circle)
            }
        }
    }

    func of(_ child: TrackedTable) -> [ReferenceRule] { byChild[child.id] ?? [] }
    func to(_ parent: TrackedTable) -> [ReferenceRule] { byParent[parent.id] ?? [] }

    func isInCircle(_ table: TrackedTable) -> Bool { circles[table.id] != nil }

    func isInContestedCircle(_ table: TrackedTable) -> Bool {
        circles[table.id].map(contestedCircles.contains) ?? false
    }

    /// The tables whose rows may be decided otherwise when rows of `tables` change: they and what depends on them.
    func affected(by tables: Set<Int64>) -> Set<Int64> {
        var affected = tables
        var queue = Array(tables)
        while let table = queue.popLast() {
            for rule in byParent[table] ?? [] where affected.insert(rule.child.id).inserted {
                queue.append(rule.child.id)
            }
        }
        return affected
    }

    private mutating func findCircles(_ catalog: Catalog) {
        let places = Dictionary(
            catalog.tables.enumerated().map { ($1.id, $0) }, uniquingKeysWith: { first, _ in first })
        let graph = StrongComponents(count: catalog.tables.count) { place in
            (byChild[catalog.tables[place].id] ?? []).filter { $0.strength != .unenforced }
                .compactMap { places[$0.parent.id] }
        }
        for (number, component) in graph.components.enumerated() {
            let tables = component.map { catalog.tables[$0] }
            let refersToItself = of(tables[0]).contains { $0.strength != .unenforced && $0.parent.id == tables[0].id }
            guard tables.count > 1 || refersToItself else { continue }
            for table in tables { circles[table.id] = number }
        }
    }
}

extension ReferenceRule {
    fileprivate var loosened: ReferenceRule {
        ReferenceRule(
            child: child, columns: columns, parent: parent, parts: parts, strength: .unenforced,
            replacesByDefault: false,
            target: target)
    }
}
