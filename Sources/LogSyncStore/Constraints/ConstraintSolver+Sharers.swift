import LogSyncModel
import LogSyncState

/// Rows that share a unique key (Documentation/model.md, shown state, 5).
extension ConstraintSolver {
    /// A row that has a key already.
    struct Blocker {
        var full: RowState
        /// nil where it is not to be decided itself.
        var candidate: Candidate?
        /// Where it is, where it is no candidate.
        var position: Int64?
    }

    /// Under `unique-merge` the younger row is folded into the older, and so is one that shares a key only because a row to
    /// which one of the two refers was folded.
    func decision(of candidate: Candidate, blockedBy blocker: Blocker) throws -> Candidate.Decision {
        let folds = try surroundings.folds(candidate.table) || shareByFolding(candidate, blocker)
        return folds ? .folded(blocker.full.identity) : .parked("unique")
    }

    /// Whether a reference of one of two rows follows a folded row, and they would share no key if none did.
    private func shareByFolding(_ candidate: Candidate, _ blocker: Blocker) throws -> Bool {
        let table = candidate.table
        let theirs: RowKeys
        if let other = blocker.candidate {
            guard candidate.isRedirected || other.isRedirected else { return false }
            theirs = try intactKeys(of: other)
        } else {
            guard candidate.isRedirected || surroundings.hasFolded else { return false }
            let intact = try surroundings.intactValues(blocker.full, in: table)
            guard try candidate.isRedirected || namesFolded(intact, in: table) else { return false }
            theirs = try surroundings.keys(of: intact, in: table, followsFolded: false)
        }
        return try zip(intactKeys(of: candidate).keys, theirs.keys).allSatisfy { $0 == nil || $0 != $1 }
    }

    private func namesFolded(_ intact: [Value], in table: TrackedTable) throws -> Bool {
        try rules.of(table).contains { rule in
            guard rule.namesIdentity, let identity = rule.named(by: rule.columns.map { intact[$0] }) else {
                return false
            }
            return try surroundings.winner(of: identity, in: rule.parent) != nil
        }
    }

    /// The oldest standing row that shares a key.
    func blocker(
        of candidate: Candidate, _ keys: [[KeyPart]?], together: Set<RowName>
    ) throws -> Blocker? {
        var found: Blocker?
        func consider(_ blocker: Blocker) {
            if let known = found, surroundings.isOlder(known.full, blocker.full) { return }
            found = blocker
        }
        for (index, key) in keys.enumerated() {
            guard let key else { continue }
            let shared = SharedKey(table: candidate.table.id, index: index, values: key)
            for other in shownKeys[shared] ?? [] where other !== candidate {
                let isOrdered =
                    isOlder(other, candidate) || together.contains(other.name)
                    || edges[other.name]?.contains { $0 === candidate } ?? false
                guard isOrdered else {
                    order[other.name, default: []].insert(candidate.name)
                    isOutOfOrder = true
                    continue
                }
                consider(Blocker(full: other.full, candidate: other))
            }
            for other in try surroundings.sharers(of: key, index, in: candidate.table, besides: candidates) {
                guard surroundings.isOlder(other.full, candidate.full) else {
                    wanted.append((candidate.table, other.position))
                    continue
                }
                consider(Blocker(full: other.full, position: other.position))
            }
        }
        return found
    }
}
