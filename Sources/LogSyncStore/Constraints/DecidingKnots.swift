import LogSyncModel

/// Rows that depend on each other (MODEL.md, shown state, 6).
extension Deciding {
    /// By ascending age: a row with its undecided ancestors stands if all of them can; else that row is parked.
    func untie(_ knot: [Contender]) throws {
        let members = Set(knot.map(\.name))
        for contender in knot where contender.decision == .undecided {
            var taken: [Contender] = []
            var seen: Set<RowName> = []
            var queue = [contender]
            while let next = queue.popLast() {
                guard next.decision == .undecided, members.contains(next.name), seen.insert(next.name).inserted else {
                    continue
                }
                taken.append(next)
                for rule in rules.of(next.table) where rule.strength != .loose {
                    guard let reference = next.reference(rule) else { continue }
                    let named = awaited(reference, rule, by: next)
                    // One that stands already is enough, whoever else is called so.
                    if !named.contains(where: \.stands) { queue += named }
                }
            }
            if let refusal = try standTogether(taken.sorted(by: session.isOlder), seen, of: members) {
                contender.reset()
                contender.decision =
                    refusal.contender === contender
                    ? refusal.decision : .parked(refusal.decision == .parked("foreign-key") ? "foreign-key" : "unique")
            }
        }
    }

    /// Nil where all of them stand now.
    private func standTogether(
        _ rows: [Contender], _ names: Set<RowName>, of knot: Set<RowName>
    ) throws -> (contender: Contender, decision: Contender.Decision)? {
        let before = standingKeys
        func refuse(_ contender: Contender, _ decision: Contender.Decision) -> (Contender, Contender.Decision) {
            for row in rows {
                row.reset()
            }
            standingKeys = before
            return (contender, decision)
        }
        for row in rows {
            for rule in rules.of(row.table) {
                switch try parent(row, rule, also: names) {
                case .none, .stands: continue
                case .folded(let shown): row.redirect(rule, to: shown)
                case .missing where rule.strength == .loose: continue
                case .missing:
                    // A soft reference counts as hard within the knot; one that leads out of it is decided.
                    let leadsOut =
                        row.reference(rule).map { !parents($0, rule).contains { knot.contains($0.name) } } ?? true
                    guard rule.strength == .soft, leadsOut else { return refuse(row, .parked("foreign-key")) }
                    for (position, value) in zip(rule.columns, try replacements(rule, also: names)) {
                        row.replaced[position] = value
                    }
                }
            }
            guard let keys = try keys(of: row) else {
                return refuse(row, .parked("not-null"))
            }
            if let blocker = try blocker(of: row, keys, together: names) {
                return refuse(row, decision(of: row, blockedBy: blocker))
            }
            stand(row, keys)
        }
        return nil
    }
}
