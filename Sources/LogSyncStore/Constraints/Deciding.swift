import LogSyncModel

/// Decides which of the contenders stand, as MODEL.md has it (shown state, 5 and 6): a graph of what depends on what,
/// its strong components with dependencies first, a single row by its parents and older sharers, a knot by age.
///
/// Rows that are no contenders stand as they do now. Where one of them would have to be decided too, nothing is decided
/// and it is asked for.
final class Deciding {
    /// Rows that have to be contenders too.
    ///
    /// Unchecked: it is caught where it is thrown, on one thread.
    struct Wanted: Error, @unchecked Sendable { var rows: [(table: TrackedTable, position: Int64)] }
    let session: Session
    private let contenders: Contenders
    private let neighbours: Neighbours
    private let mirror: Mirror
    let rules: ForeignRules
    private var parentIndex: [ParentKey: [Contender]] = [:]
    var standingKeys: [SharedKey: [Contender]] = [:]
    /// Contenders that have to be decided after others, as turned out on the way.
    private var order: [RowName: Set<RowName>] = [:]
    private var isOutOfOrder = false
    private var wanted: [(table: TrackedTable, position: Int64)] = []
    /// Of contenders with every reference intact.
    private var intactKeys: [RowName: [[KeyPart]?]?] = [:]
    /// What a contender's decision waits for.
    private var edges: [RowName: [Contender]] = [:]

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

    init(_ session: Session, _ contenders: Contenders, neighbours: Neighbours, mirror: Mirror) {
        self.session = session
        self.contenders = contenders
        self.neighbours = neighbours
        self.mirror = mirror
        rules = session.foreignRules
    }

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
        standingKeys = [:]
        for contender in contenders.all {
            contender.reset()
        }
        try connect()
        guard wanted.isEmpty else { return }
        for component in StrongComponents(contenders.sorted(), edges: { self.edges[$0.name] ?? [] }).components {
            if component.count == 1 {
                try decide(component[0])
            } else {
                try untie(component.sorted(by: session.isOlder))
            }
        }
    }

    // MARK: The graph

    private func index() {
        for contender in contenders.all {
            for rule in rules.to(contender.table) where !rule.isByInteger {
                guard let key = key(of: contender, rule) else { continue }
                if !(parentIndex[key]?.contains { $0 === contender } ?? false) {
                    parentIndex[key, default: []].append(contender)
                }
            }
        }
    }

    /// What a rule's children call a parent.
    private func key(of parent: Contender, _ rule: ForeignRule) -> ParentKey? {
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

    /// The contenders that a reference names.
    func parents(_ reference: [Value], _ rule: ForeignRule) -> [Contender] {
        if rule.isByInteger {
            guard case .reference(let identity) = reference[0] else { return [] }
            return contenders[RowName(rule.parent, identity)].map { [$0] } ?? []
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

    /// Who has to be decided before: nobody, where a row refers to itself, whoever else is called so.
    func awaited(_ reference: [Value], _ rule: ForeignRule, by contender: Contender) -> [Contender] {
        let named = parents(reference, rule)
        return named.contains { $0 === contender } ? [] : named
    }

    /// Whether it is to be known what becomes of the parent: a loose reference follows it where it is folded.
    private func matters(_ rule: ForeignRule) -> Bool {
        rule.strength != .loose || rule.namesIdentity && session.policies.folds(rule.parent.name)
    }

    private func connect() throws {
        edges = [:]
        var sharers: [SharedKey: [Contender]] = [:]
        for contender in contenders.all {
            for rule in rules.of(contender.table) where matters(rule) {
                guard let reference = contender.reference(rule) else { continue }
                edges[contender.name, default: []] += awaited(reference, rule, by: contender)
                if rule.strength == .soft, let defaults = try neighbours.defaults(rule) {
                    edges[contender.name, default: []] += parents(defaults, rule)
                }
            }
            let keys = try potentialKeys(of: contender)
            for key in keys { sharers[key, default: []].append(contender) }
            wanted += try Knots(session: session, neighbours: neighbours)
                .neighbours(of: contender, keys, besides: contenders)
            for older in order[contender.name] ?? [] {
                if let older = contenders[older] { edges[contender.name, default: []].append(older) }
            }
        }
        for group in sharers.values where group.count > 1 {
            let byAge = group.sorted(by: session.isOlder)
            for (index, younger) in byAge.enumerated() { edges[younger.name, default: []] += byAge[..<index] }
        }
    }

    private func intactKeys(of contender: Contender) throws -> [[KeyPart]?]? {
        if let known = intactKeys[contender.name] { return known }
        let keys = try mirror.keys(of: contender.intact, in: contender.table)
        intactKeys[contender.name] = .some(keys)
        return keys
    }

    func keys(of contender: Contender) throws -> [[KeyPart]?]? {
        if contender.replaced.isEmpty { return try intactKeys(of: contender) }
        return try mirror.keys(of: contender.shown, in: contender.table)
    }

    /// The keys of a row with each soft reference intact or replaced, and with those to folded rows as they are shown so far.
    private func potentialKeys(of contender: Contender) throws -> Set<SharedKey> {
        guard try !session.uniqueKeys(of: contender.table).isEmpty else { return [] }
        let soft = rules.of(contender.table).filter { $0.strength == .soft && contender.reference($0) != nil }
        // Tables with more soft references than this in unique keys do not occur; then all are taken together.
        let choices = soft.count <= 4 ? 1 << soft.count : 2
        var found: Set<SharedKey> = []
        for choice in 0..<choices {
            var values = contender.intact
            for (index, rule) in soft.enumerated() where choice >> (soft.count <= 4 ? index : 0) & 1 == 1 {
                let replaced = try neighbours.defaults(rule)
                for (index, position) in rule.columns.enumerated() { values[position] = replaced?[index] ?? .null }
            }
            var keys = try choice == 0 ? intactKeys(of: contender) : mirror.keys(of: values, in: contender.table)
            found.formUnion(shared(keys, in: contender.table))
            guard session.hasFolded else { continue }
            keys = try mirror.keys(of: values, in: contender.table, followsFolded: true)
            found.formUnion(shared(keys, in: contender.table))
        }
        return found
    }

    private func shared(_ keys: [[KeyPart]?]?, in table: TrackedTable) -> [SharedKey] {
        (keys ?? []).enumerated().compactMap { index, key in
            key.map { SharedKey(table: table.id, index: index, values: $0) }
        }
    }

    // MARK: Single rows

    enum Parent {
        case none
        case stands
        case missing
        /// What names the row that shows in the parent's place.
        case folded([Value])
    }

    /// - Parameter also: rows that are taken to stand together with the one that asks.
    func parent(_ contender: Contender, _ rule: ForeignRule, also: Set<RowName> = []) throws -> Parent {
        guard let reference = contender.reference(rule) else { return .none }
        let named = parents(reference, rule)
        if named.contains(where: { $0.stands || also.contains($0.name) }) { return .stands }
        if rule.namesIdentity {
            for parent in named {
                guard case .folded(let winner) = parent.decision else { continue }
                return try neighbours.redirected(rule, to: winner, among: contenders).map { .folded($0) } ?? .missing
            }
        }
        // Who is a contender is in the table only as it was.
        if !named.isEmpty && (rule.isByInteger || !rule.parent.hasRowid) { return .missing }
        if session.hasFolded, let identity = rule.named(by: reference),
            let winner = try KeptRows(session).winner(of: identity, in: rule.parent),
            contenders[RowName(rule.parent, identity)] == nil,
            let shown = try neighbours.redirected(rule, to: winner, among: contenders)
        {
            return .folded(shown)
        }
        return try neighbours.hasParent(reference, rule, besides: contenders) ? .stands : .missing
    }

    private func decide(_ contender: Contender) throws {
        for rule in rules.of(contender.table) {
            // A row that refers to itself has what it needs.
            switch try parent(contender, rule, also: [contender.name]) {
            case .none, .stands: continue
            case .folded(let shown): contender.redirect(rule, to: shown)
            case .missing where rule.strength == .hard:
                contender.decision = .parked("foreign-key")
                if rule.isByInteger, case .reference(let identity)? = contender.reference(rule)?.first {
                    contender.waits = .parent(table: rule.parent.id, identity: identity)
                }
                return
            case .missing where rule.strength == .soft:
                for (position, value) in zip(rule.columns, try replacements(rule, also: [contender.name])) {
                    contender.replaced[position] = value
                }
            case .missing: continue
            }
        }
        guard let keys = try keys(of: contender) else {
            contender.decision = .parked("not-null")
            return
        }
        if let blocker = try blocker(of: contender, keys, together: []) {
            contender.decision = decision(of: contender, blockedBy: blocker)
            let hasSoft = rules.of(contender.table).contains { $0.strength == .soft && contender.reference($0) != nil }
            if let position = blocker.position, !hasSoft, contender.replaced.isEmpty,
                let mark = try ClockTable(table: contender.table, connection: session.connection).mark(at: position)
            {
                contender.waits = .row(table: contender.table.id, position: position, mark: mark)
            }
        } else {
            stand(contender, keys)
        }
    }

    /// What a soft reference shows where its row does not stand: NULL, or the default where its row, or one of `also`, does.
    func replacements(_ rule: ForeignRule, also: Set<RowName>) throws -> [Value] {
        let nothing = rule.columns.map { _ in Value.null }
        guard let defaults = try neighbours.defaults(rule) else { return nothing }
        let named = parents(defaults, rule)
        if named.contains(where: { $0.stands || also.contains($0.name) }) { return defaults }
        if !named.isEmpty && (rule.isByInteger || !rule.parent.hasRowid) { return nothing }
        return try neighbours.hasParent(defaults, rule, besides: contenders) ? defaults : nothing
    }

    func stand(_ contender: Contender, _ keys: [[KeyPart]?]) {
        contender.decision = .stands
        for (index, key) in keys.enumerated() {
            guard let key else { continue }
            standingKeys[SharedKey(table: contender.table.id, index: index, values: key), default: []].append(contender)
        }
    }

    struct Blocker {
        var identity: RowIdentity
        /// Where it is, where it is no contender itself.
        var position: Int64?
    }

    /// Under `unique-merge` the younger row is folded into the older, and so is one whose key only became another's
    /// because a row that it refers to was folded.
    func decision(of contender: Contender, blockedBy blocker: Blocker) -> Contender.Decision {
        let folds = session.policies.folds(contender.table.name) || contender.isRedirected
        return folds ? .folded(blocker.identity) : .parked("unique")
    }

    /// The oldest standing row that shares a key.
    func blocker(
        of contender: Contender, _ keys: [[KeyPart]?], together: Set<RowName>
    ) throws -> Blocker? {
        var found: (full: FullRow, position: Int64?)?
        func consider(_ full: FullRow, _ position: Int64?) {
            if let known = found, session.isOlder(known.full, full) { return }
            found = (full, position)
        }
        for (index, key) in keys.enumerated() {
            guard let key else { continue }
            let shared = SharedKey(table: contender.table.id, index: index, values: key)
            for other in standingKeys[shared] ?? [] where other !== contender {
                let isOrdered =
                    session.isOlder(other, contender) || together.contains(other.name)
                    || edges[other.name]?.contains { $0 === contender } ?? false
                guard isOrdered else {
                    order[other.name, default: []].insert(contender.name)
                    isOutOfOrder = true
                    continue
                }
                consider(other.full, nil)
            }
            for other in try neighbours.sharers(of: key, index, in: contender.table, besides: contenders) {
                guard session.isOlder(other.full, contender.full) else {
                    wanted.append((contender.table, other.position))
                    continue
                }
                consider(other.full, other.position)
            }
        }
        return found.map { Blocker(identity: $0.full.identity, position: $0.position) }
    }
}
