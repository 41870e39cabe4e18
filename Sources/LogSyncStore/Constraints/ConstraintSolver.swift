import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Decides which of the candidates are shown, as Documentation/model.md has it (shown state, 5 and 6).
///
/// The problem: rows merged from several peers may not fit together in one table. Two may claim one unique value, a child may
/// have lost its parent. Every peer has to leave out the same rows, whatever order they came in, so what is shown is a function
/// of the rows and their clocks alone:
///
/// 1. **A graph.** A row has an edge to each row that its decision waits for: its living parents, and the older living rows that
///    could share a unique key with it (each soft reference intact or replaced). Sharers of one key are a chain, each waiting
///    for the next older one: who is reached is the same, and n rows have n edges.
/// 2. **Strong components**, dependencies first (``StrongComponents``).
/// 3. **A single row** (``decide(_:)``) is shown when its hard parents are; soft references to rows that are not
///    shown are replaced by NULL or the default; then the table must be able to hold it (NOT NULL, STRICT types, expressions
///    that raise no error), and no older shown row may share a key. Otherwise it is parked, or folded into the row that shares its key.
/// 4. **A cycle** (``decideCycle(_:)``): by ascending age, an undecided row is taken with its undecided ancestors; if all of
///    them would be shown together, they are; else that row is parked. Soft references count as hard within the cycle.
///
/// Only rows that contest something are candidates: all others are shown as they are. The one exception: the decision may turn
/// out to touch a row that is shown and no candidate (it shares a key, and is younger). Then nothing is decided, ``Wanted`` names
/// it, and the caller begins again with that row among the candidates. In the same way a row that turns out to wait for another
/// gets an edge, and all is decided again.
///
/// Example: Ann and Bob each insert a tag "work" offline, and Bob a note that refers to his. Ann's is older. The candidates are
/// Bob's tag, refused by the unique index, then Ann's, because it shares the key, then the note, because its parent is parked.
/// Edges: note → Bob's tag → Ann's tag. Ann's is shown, Bob's is parked (or folded into Ann's), the note is parked with it (or
/// shows Ann's).
final class ConstraintSolver {
    /// Shown rows that have to be candidates too.
    ///
    /// Unchecked: it is caught where it is thrown, on one thread.
    struct Wanted: Error, @unchecked Sendable { var rows: [(table: TrackedTable, position: Int64)] }
    let candidates: Candidates
    let surroundings: any Surroundings
    let rules: ReferenceRules
    private var parentIndex: [ParentKey: [Candidate]] = [:]
    /// Candidates by the integers that they had when they were found, of tables to which defaults refer.
    private var founders: [FirstInteger: [Candidate]] = [:]
    var shownKeys: [SharedKey: [Candidate]] = [:]
    /// Candidates that have to be decided after others, as turned out on the way.
    var order: [RowName: Set<RowName>] = [:]
    var isOutOfOrder = false
    var wanted: [(table: TrackedTable, position: Int64)] = []
    /// Of candidates with every reference intact.
    private var intactKeys: [RowName: RowKeys] = [:]
    /// What a candidate's decision waits for.
    private(set) var edges: [RowName: [Candidate]] = [:]

    private struct FirstInteger: Hashable {
        var table: Int64
        var integer: Int64
    }

    private struct ParentKey: Hashable {
        var table: Int64
        var columns: [Int]
        var values: [KeyPart]
    }

    struct SharedKey: Hashable {
        var table: Int64
        var index: Int
        var values: [KeyPart]
    }

    init(_ candidates: Candidates, in surroundings: any Surroundings) {
        self.candidates = candidates
        self.surroundings = surroundings
        rules = surroundings.rules
    }

    func isOlder(_ a: Candidate, _ b: Candidate) -> Bool { surroundings.isOlder(a.full, b.full) }

    /// Throws ``Wanted`` where other rows have to be decided too.
    func decide() throws {
        index()
        repeat {
            isOutOfOrder = false
            try decideOnce()
            if !wanted.isEmpty { throw Wanted(rows: wanted) }
        } while isOutOfOrder
    }

    private func decideOnce() throws {
        shownKeys = [:]
        for candidate in candidates.all {
            candidate.reset()
        }
        try connect()
        let nodes = candidates.all.sorted(by: isOlder)
        var places: [RowName: Int] = [:]
        for (place, candidate) in nodes.enumerated() { places[candidate.name] = place }
        let graph = StrongComponents(count: nodes.count) { place in
            (edges[nodes[place].name] ?? []).compactMap { places[$0.name] }
        }
        for component in graph.components {
            if component.count == 1 {
                try decide(nodes[component[0]])
            } else {
                // The nodes are in the order of their age.
                try decideCycle(component.sorted().map { nodes[$0] })
            }
        }
    }

    // MARK: The graph

    private func index() {
        for candidate in candidates.all {
            if rules.to(candidate.table).contains(where: \.replacesByDefault),
                let integer = IdentityMap.firstInteger(of: candidate.full.identity)
            {
                founders[FirstInteger(table: candidate.table.id, integer: integer), default: []].append(candidate)
            }
            for rule in rules.to(candidate.table) where !rule.isByInteger {
                guard let key = key(of: candidate, rule) else { continue }
                if !(parentIndex[key]?.contains { $0 === candidate } ?? false) {
                    parentIndex[key, default: []].append(candidate)
                }
            }
        }
    }

    /// What a reference shows by default.
    ///
    /// - Parameter counts: whether a candidate may be what the default says.
    private func defaults(_ rule: ReferenceRule, _ counts: (Candidate) -> Bool) throws -> [Value]? {
        try surroundings.defaults(rule, besides: candidates) { table, integer in
            let found = founders[FirstInteger(table: table.id, integer: integer)] ?? []
            return found.filter(counts).map(\.full.identity)
        }
    }

    /// What a rule's children call a parent.
    private func key(of parent: Candidate, _ rule: ReferenceRule) -> ParentKey? {
        var values: [KeyPart] = []
        for part in rule.parts {
            switch part {
            case .integer: values.append(.reference(parent.full.identity))
            case .column(let position):
                let column = parent.table.columns[position]
                guard let part = KeyPart(parent.intact[position], collation: column.collation) else { return nil }
                values.append(part)
            }
        }
        return ParentKey(table: parent.table.id, columns: rule.parentColumns, values: values)
    }

    /// The candidates that a reference names.
    func parents(_ reference: [Value], _ rule: ReferenceRule) -> [Candidate] {
        if rule.isByInteger {
            guard case .reference(let identity) = reference[0] else { return [] }
            return candidates[RowName(rule.parent, identity)].map { [$0] } ?? []
        }
        var values: [KeyPart] = []
        for (part, value) in zip(rule.parts, reference) {
            switch part {
            case .integer:
                guard case .reference = value, let part = KeyPart(value, collation: .binary) else { return [] }
                values.append(part)
            case .column(let position):
                let column = rule.parent.columns[position]
                let affinity = rule.parent.schema.affinity(of: column.local)
                guard let part = KeyPart(affinity.apply(to: value), collation: column.collation) else { return [] }
                values.append(part)
            }
        }
        return parentIndex[ParentKey(table: rule.parent.id, columns: rule.parentColumns, values: values)] ?? []
    }

    /// Who has to be decided before: no row, where a row refers to itself, whatever other row is called so.
    func awaited(_ reference: [Value], _ rule: ReferenceRule, by candidate: Candidate) -> [Candidate] {
        let named = parents(reference, rule)
        return named.contains { $0 === candidate } ? [] : named
    }

    /// Whether it is to be known what becomes of the parent: a loose reference follows it where it is folded.
    private func matters(_ rule: ReferenceRule) -> Bool {
        rule.strength != .unenforced || rule.namesIdentity && surroundings.folds(rule.parent)
    }

    private func connect() throws {
        edges = [:]
        var sharers: [SharedKey: [Candidate]] = [:]
        for candidate in candidates.all {
            for rule in rules.of(candidate.table) where matters(rule) {
                guard let reference = candidate.reference(rule) else { continue }
                edges[candidate.name, default: []] += awaited(reference, rule, by: candidate)
                guard rule.strength == .soft else { continue }
                var founders: [Candidate] = []
                let defaults = try defaults(rule) { founder in
                    founders.append(founder)
                    return true
                }
                edges[candidate.name, default: []] += founders + (defaults.map { parents($0, rule) } ?? [])
            }
            let keys = try potentialKeys(of: candidate)
            for key in keys { sharers[key, default: []].append(candidate) }
            for older in order[candidate.name] ?? [] {
                if let older = candidates[older] { edges[candidate.name, default: []].append(older) }
            }
        }
        for group in sharers.values where group.count > 1 {
            let byAge = group.sorted(by: isOlder)
            for (older, younger) in zip(byAge, byAge.dropFirst()) { edges[younger.name, default: []].append(older) }
        }
    }

    /// The shown rows that have to be decided with a candidate, because tables refer to each other in circles.
    func rowsInCycles(
        with candidate: Candidate, besides candidates: Candidates
    ) throws -> [(table: TrackedTable, position: Int64)] {
        guard rules.isInCircle(candidate.table) else { return [] }
        return try surroundings.rowsInCycles(with: candidate, potentialKeys(of: candidate), besides: candidates)
    }

    func intactKeys(of candidate: Candidate) throws -> RowKeys {
        if let known = intactKeys[candidate.name] { return known }
        let keys = try surroundings.keys(of: candidate.intact, in: candidate.table, followsFolded: false)
        intactKeys[candidate.name] = keys
        return keys
    }

    func keys(of candidate: Candidate) throws -> RowKeys {
        if candidate.replaced.isEmpty { return try intactKeys(of: candidate) }
        return try surroundings.keys(of: candidate.shown, in: candidate.table, followsFolded: false)
    }

    /// The keys of a row with each soft reference intact or replaced, and with those to folded rows as they are shown so far.
    private func potentialKeys(of candidate: Candidate) throws -> Set<SharedKey> {
        guard try surroundings.hasUniqueKeys(candidate.table) else { return [] }
        let soft = rules.of(candidate.table).filter { $0.strength == .soft && candidate.reference($0) != nil }
        // Tables with more soft references than this in unique keys do not occur; then all are taken together.
        let choices = soft.count <= 4 ? 1 << soft.count : 2
        var found: Set<SharedKey> = []
        for choice in 0..<choices {
            var values = candidate.intact
            for (index, rule) in soft.enumerated() where choice >> (soft.count <= 4 ? index : 0) & 1 == 1 {
                let replaced = try defaults(rule) { _ in true }
                for (index, position) in rule.columns.enumerated() { values[position] = replaced?[index] ?? .null }
            }
            var keys =
                try choice == 0
                ? intactKeys(of: candidate)
                : surroundings.keys(of: values, in: candidate.table, followsFolded: false)
            found.formUnion(shared(keys, in: candidate.table))
            guard surroundings.hasFolded else { continue }
            keys = try surroundings.keys(of: values, in: candidate.table, followsFolded: true)
            found.formUnion(shared(keys, in: candidate.table))
        }
        return found
    }

    private func shared(_ row: RowKeys, in table: TrackedTable) -> [SharedKey] {
        row.keys.enumerated().compactMap { index, key in
            key.map { SharedKey(table: table.id, index: index, values: $0) }
        }
    }

    // MARK: Single rows

    enum Parent {
        case none
        case shown
        case missing
        /// What names the row that shows in the parent's place.
        case folded([Value])
    }

    /// - Parameter also: rows that are taken to stand together with the one that asks.
    func parent(_ candidate: Candidate, _ rule: ReferenceRule, also: Set<RowName> = []) throws -> Parent {
        guard let reference = candidate.reference(rule) else { return .none }
        let named = parents(reference, rule)
        if named.contains(where: { $0.isShown || also.contains($0.name) }) { return .shown }
        if rule.namesIdentity {
            for parent in named {
                guard case .folded(let winner) = parent.decision else { continue }
                return try surroundings.redirected(rule, to: winner, among: candidates).map { .folded($0) } ?? .missing
            }
        }
        // Who is a candidate is in the table only as it was.
        if !named.isEmpty && (rule.isByInteger || !rule.parent.hasRowid) { return .missing }
        if surroundings.hasFolded, let identity = rule.named(by: reference),
            let winner = try surroundings.winner(of: identity, in: rule.parent),
            candidates[RowName(rule.parent, identity)] == nil,
            let shown = try surroundings.redirected(rule, to: winner, among: candidates)
        {
            return .folded(shown)
        }
        return try surroundings.hasParent(reference, rule, besides: candidates) ? .shown : .missing
    }

    private func decide(_ candidate: Candidate) throws {
        for rule in rules.of(candidate.table) {
            // A row that refers to itself has what it needs.
            switch try parent(candidate, rule, also: [candidate.name]) {
            case .none, .shown: continue
            case .folded(let shown): candidate.redirect(rule, to: shown)
            case .missing where rule.strength == .hard:
                candidate.decision = .parked("foreign-key")
                if rule.isByInteger, case .reference(let identity)? = candidate.reference(rule)?.first {
                    candidate.waits = .parent(table: rule.parent.id, identity: identity)
                }
                return
            case .missing where rule.strength == .soft:
                for (position, value) in zip(rule.columns, try replacements(rule, also: [candidate.name])) {
                    candidate.replaced[position] = value
                }
            case .missing: continue
            }
        }
        let row = try keys(of: candidate)
        if let refusal = row.refusal {
            candidate.decision = .parked(refusal)
        } else if let blocker = try blocker(of: candidate, row.keys, together: []) {
            candidate.decision = try decision(of: candidate, blockedBy: blocker)
            let hasSoft = rules.of(candidate.table).contains { $0.strength == .soft && candidate.reference($0) != nil }
            if let position = blocker.position, !hasSoft, candidate.replaced.isEmpty,
                let mark = try surroundings.mark(at: position, in: candidate.table)
            {
                candidate.waits = .row(table: candidate.table.id, position: position, mark: mark)
            }
        } else {
            markShown(candidate, row.keys)
        }
    }

    /// What a soft reference shows where its row does not stand: NULL, or the default where its row, or one of `also`, does.
    func replacements(_ rule: ReferenceRule, also: Set<RowName>) throws -> [Value] {
        let nothing = rule.columns.map { _ in Value.null }
        let defaults = try defaults(rule) { $0.isShown || also.contains($0.name) }
        guard let defaults else { return nothing }
        let named = parents(defaults, rule)
        if named.contains(where: { $0.isShown || also.contains($0.name) }) { return defaults }
        if !named.isEmpty && (rule.isByInteger || !rule.parent.hasRowid) { return nothing }
        return try surroundings.hasParent(defaults, rule, besides: candidates) ? defaults : nothing
    }

    func markShown(_ candidate: Candidate, _ keys: [[KeyPart]?]) {
        candidate.decision = .shown
        for (index, key) in keys.enumerated() {
            guard let key else { continue }
            shownKeys[SharedKey(table: candidate.table.id, index: index, values: key), default: []].append(candidate)
        }
    }
}
