package import LogSyncModel
import LogSyncSQLite

/// What `init` finds in a database: how each table is treated, and what has to be decided before it can be a store.
package struct FoundingReport: Sendable {
    package var tables: [TableReport] = []
    package var references: [ReferenceReport] = []
    package var undecided: [UndecidedReference] = []
    package var refusals: [TableRefusal] = []
    /// That the program has objects with names that are logsync's; then nothing else was looked at.
    var collision: LogSyncError?
    /// What is left of a store that the database was, by name; it is removed.
    package var leftovers: [String] = []

    package init() {}

    /// What keeps the database from becoming a store, all at once; nil where nothing does.
    package var obstacle: LogSyncError? { refusal ?? (undecided.isEmpty ? nil : indecision) }

    /// The option that brings collations and functions.
    static let loading = "--load-extension FILE"

    /// The same, as far as tables cannot be replicated.
    var refusal: LogSyncError? {
        if let collision { return collision }
        guard !refusals.isEmpty else { return nil }
        let help = remedies + (undecided.isEmpty ? "" : " Besides, \(decisions)")
        if refusals.count == 1 {
            return LogSyncError(
                .unsupportedTable, "the table \(refusals[0].table) \(refusals[0].reason); nothing was changed",
                help: help)
        }
        let tables = refusals.map { "\($0.table) \($0.reason)" }.joined(separator: "; ")
        return LogSyncError(
            .unsupportedTable, "\(refusals.count) tables cannot be replicated: \(tables); nothing was changed",
            help: help)
    }

    private var remedies: String {
        func all(_ option: String) -> String {
            refusals.map { "\(option) \(SQL.shell($0.table))" }.joined(separator: " ")
        }
        let what = refusals.count == 1 ? "it" : "them"
        var help = "Leave \(what) out with \(all("--skip")), or copy \(what) once, by clone, with \(all("--local"))"
        let named = refusals.flatMap { refusal in refusal.remedies.filter { $0.hasPrefix("--identity") } }
        if refusals.contains(where: { $0.remedies.contains(Self.loading) }) {
            help += ", or name an extension of SQLite that has what it uses with \(Self.loading)"
        }
        if !named.isEmpty {
            help += ", or give \(what) a PRIMARY KEY, or name a UNIQUE column set with \(named.joined(separator: " "))"
        }
        return help + "."
    }

    private var indecision: LogSyncError {
        let columns = Set(undecided.map { "\($0.table).\($0.column)" }).count
        let named = undecided.map { "\($0.table).\($0.column) (\($0.parent))" }.joined(separator: ", ")
        let what = columns == 1 ? "a column seems to hold integers" : "\(columns) columns seem to hold integers"
        return LogSyncError(
            .configuration,
            "\(what) of other tables' rows, which differ from peer to peer: \(named); nothing was changed",
            help: decisions)
    }

    private var decisions: String {
        let yes = undecided.map { "--reference \(target($0))=\(SQL.shell($0.parent))" }
        var no: [String] = []
        for column in undecided.map({ "--no-reference \(target($0))" }) where !no.contains(column) { no.append(column) }
        return "say where they do: \(yes.joined(separator: " ")), and where they do not: \(no.joined(separator: " "))."
            .capitalizingFirst
    }

    private func target(_ column: UndecidedReference) -> String {
        "\(SQL.shell(column.table)).\(SQL.shell(column.column))"
    }
}

extension String {
    fileprivate var capitalizingFirst: String { prefix(1).uppercased() + dropFirst() }
}
