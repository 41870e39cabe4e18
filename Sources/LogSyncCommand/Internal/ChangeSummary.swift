import LogSync

/// What changed, in a few characters a table: `tracks +3 ~1 -2` for inserted, updated and deleted rows.
enum ChangeSummary {
    static func text(_ changes: [String: ChangeCounts]) -> String {
        // A peer's name, a policy: rows that no table of the app holds.
        guard !changes.isEmpty else { return "settings only" }
        return changes.sorted { $0.key < $1.key }.map { "\($0.key) \(text($0.value))" }.joined(separator: ", ")
    }

    private static func text(_ counts: ChangeCounts) -> String {
        [("+", counts.inserted), ("~", counts.updated), ("-", counts.deleted)]
            .filter { $0.1 > 0 }.map { "\($0.0)\($0.1)" }.joined(separator: " ")
    }
}
