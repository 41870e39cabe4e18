import LogSyncModel

/// Rows that depend on each other (Documentation/model.md, shown state, 6).
extension ConstraintSolver {
    /// By ascending age: a row with its undecided ancestors stands if all of them can; else that row is parked.
    func decideCycle(_ cycle: [Candidate]) throws {
        let members = Set(cycle.map(\.name))
        for candidate in cycle where candidate.decision == .undecided {
            var taken: [Candidate] = []
            var seen: Set<RowName> = []
            var queue = [candidate]
            while let next = queue.popLast() {
                guard next.decision == .undecided, members.contains(next.name), seen.insert(next.name).inserted else {
                    continue
                }
                taken.append(next)
                for rule in rules.of(next.table) where rule.strength != .unenforced {
                    guard let reference = next.reference(rule) else { continue }
                    let named = awaited(reference, rule, by: next)
                    // One that stands already is enough, whatever else is called so.
                    if !named.contains(where: \.isShown) { queue += named }
                }
            }
            if let refusal = try canShowTogether(taken.sorted(by: isOlder), seen, of: members) {
                candidate.reset()
                candidate.decision =
                    refusal.candidate === candidate
                    ? refusal.decision : .parked(refusal.decision == .parked("foreign-key") ? "foreign-key" : "unique")
            }
        }
    }

    /// Nil where all of them stand now.
    private func canShowTogether(
        _ rows: [Candidate], _ names: Set<RowName>, of cycle: Set<RowName>
    ) throws -> (candidate: Candidate, decision: Candidate.Decision)? {
        let before = shownKeys
        func refuse(_ candidate: Candidate, _ decision: Candidate.Decision) -> (Candidate, Candidate.Decision) {
            for row in rows {
                row.reset()
            }
            shownKeys = before
            return (candidate, decision)
        }
        for row in rows {
            for rule in rules.of(row.table) {
                switch try parent(row, rule, also: names) {
                case .none, .shown: continue
                case .folded(let shown): row.redirect(rule, to: shown)
                case .missing where rule.strength == .unenforced: continue
                case .missing:
                    // A soft reference counts as hard within the knot; one that leads out of it is decided.
                    let leadsOut =
                        row.reference(rule).map { !parents($0, rule).contains { cycle.contains($0.name) } } ?? true
                    guard rule.strength == .soft, leadsOut else { return refuse(row, .parked("foreign-key")) }
                    for (position, value) in zip(rule.columns, try replacements(rule, also: names)) {
                        row.replaced[position] = value
                    }
                }
            }
            let probed = try keys(of: row)
            if let refusal = probed.refusal { return refuse(row, .parked(refusal)) }
            if let blocker = try blocker(of: row, probed.keys, together: names) {
                return refuse(row, try decision(of: row, blockedBy: blocker))
            }
            markShown(row, probed.keys)
        }
        return nil
    }
}
