/// Names that have gone on from one table, or column, to the other, and the last of which is left for a new one, so that a schema
/// is as it was.
struct HandedNames {
    /// What each of them has been called in logs.
    private let logNames: [String: Set<String>]
    /// The names that schemas have.
    private let known: Set<String>

    /// - Parameters:
    ///   - names: of one schema.
    ///   - logNames: what settings say that they are in logs, or were.
    ///   - known: the names that any schema has.
    init(_ names: [String], _ logNames: [String: Set<String>], known: Set<String>) {
        self.logNames = Dictionary(names.map { ($0, (logNames[$0] ?? []).union([$0])) }) { $0.union($1) }
        self.known = known
    }

    /// Whether one has another's name by now, which has gone on to a new one, or is that new one.
    func contain(_ local: String, _ log: String) -> Bool {
        guard let own = logNames[local] else { return false }
        let others = logNames.filter { $0.key != local }
        return others.contains { $1.contains(log) && hasGoneOn($0, from: log, [local, $0]) }
            || !known.contains(log) && others.contains { !$1.isDisjoint(with: own.subtracting([log])) }
    }

    /// Whether what one was called in logs is another's by now, and so on until a new one's.
    private func hasGoneOn(_ name: String, from log: String, _ passed: Set<String>) -> Bool {
        (logNames[name] ?? []).subtracting([log]).contains { next in
            !known.contains(next)
                || logNames[next] != nil && !passed.contains(next)
                    && hasGoneOn(next, from: next, passed.union([next]))
        }
    }
}
