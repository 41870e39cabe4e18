import LogSyncModel

/// The standing rows that may be in one knot with a candidate, in tables that refer to each other in circles.
///
/// Elsewhere references lead from one table to another, and sharing from younger to older within one, so that nothing
/// leads back.
struct Cycles {
    let store: OpenStore
    let neighbours: Neighbours

    private var rules: ReferenceRules { store.referenceRules }

    /// The rows that the candidate depends on, by a reference or because they are older and show the same key, and, where a
    /// column names parents of which several may have the same value, rows that may depend on it.
    ///
    /// - Parameter keys: the unique keys that it may come to show.
    func rows(
        with candidate: Candidate, _ keys: Set<ConstraintSolver.SharedKey>, besides candidates: Candidates
    ) throws -> [(table: TrackedTable, position: Int64)] {
        guard let circle = rules.circles[candidate.table.id] else { return [] }
        var found: [(table: TrackedTable, position: Int64)] = []
        for rule in rules.of(candidate.table)
        where rule.strength != .unenforced && rules.circles[rule.parent.id] == circle {
            guard let reference = candidate.reference(rule) else { continue }
            found += try neighbours.shownParents(reference, rule).map { (rule.parent, $0) }
            guard rule.strength == .soft, let defaults = try neighbours.defaults(rule) else { continue }
            found += try neighbours.shownParents(defaults, rule).map { (rule.parent, $0) }
        }
        let isContested = rules.contestedCircles.contains(circle)
        if isContested {
            let values = candidate.intact
            found += try neighbours.children(
                of: [FormerRow(table: candidate.table, integer: candidate.position ?? 0, values: values)]
            ) { rule in
                rule.isContested && rules.circles[rule.child.id] == circle
            }
        }
        for key in keys {
            // What is younger waits for the candidate, and nothing leads back where parents are told by their identity.
            found += try neighbours.sharers(of: key.values, key.index, in: candidate.table, besides: candidates)
                .filter { isContested || store.isOlder($0.full, candidate.full) }
                .map { (candidate.table, $0.position) }
        }
        return found.filter { !candidates.contains($0.table, at: $0.position) }
    }
}

extension ReferenceRule {
    /// Whether several rows that are alive may be called what a child names: its parent is not told by its identity.
    var isContested: Bool {
        guard strength != .unenforced, !isByInteger else { return false }
        return parentColumns.sorted() != parent.key.map(\.index).sorted() || parent.localInteger != nil
    }
}
