package import LogSyncModel
import LogSyncSQLite

extension [TableReport.Contested] {
    /// What keeps a database from joining a content as long as it is not said what becomes of two rows of one key; nil where
    /// there are none.
    package func obstacle(_ content: String) -> LogSyncError? {
        guard !isEmpty else { return nil }
        func all(_ policy: String) -> String {
            map { "--policy \($0.table.asShellArgument)=\(policy)" }.joined(separator: " ")
        }
        let named = map { table in
            let keys = table.keys.filter { !$0.isEmpty }.map { $0.joined(separator: ", ") }.joined(separator: "; or ")
            return "\(table.rows.counted("row")) of \(table.table.asShellArgument)"
                + (keys.isEmpty ? "" : " (UNIQUE: \(keys))")
        }
        return LogSyncError(
            .configuration,
            "\(named.joined(separator: ", ")): rows of \(content) have the same UNIQUE key and are other rows otherwise, so "
                + "that one of each two could not be shown, nor what refers to it; nothing was changed",
            help:
                "Say where two rows of one key are the same, so that the older is shown and what refers to either refers "
                + "to it: \(all("unique-merge")), and where they are not, so that one is parked until its key is another: "
                + "\(all("unique-park")). A database whose rows have nothing to do with these needs a --content of its own."
        )
    }
}
