import LogSync

/// What changed, in a few characters a table: `tracks +3 ~1 -2` for inserted, updated and deleted rows.
enum ChangeSummary {
    static func text(_ changes: [String: ChangeCounts]) -> String {
        // What logsync keeps for itself, as a peer's name or a policy, is in no table of the app.
        let shown = changes.filter { !$0.key.hasPrefix("logsync_") }
        guard !shown.isEmpty else { return "settings only" }
        return shown.sorted { $0.key < $1.key }.map { "\($0.key) \(text($0.value))" }.joined(separator: ", ")
    }

    private static func text(_ counts: ChangeCounts) -> String {
        [("+", counts.inserted), ("~", counts.updated), ("-", counts.deleted)]
            .filter { $0.1 > 0 }.map { "\($0.0)\($0.1)" }.joined(separator: " ")
    }
}
