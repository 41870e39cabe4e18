package import LogSyncModel
import LogSyncSQLite

/// What `init` finds in a database: how each table is treated, and what has to be decided before it can be a store.
package struct FoundingReport: Sendable {
    package var tables: [TableReport] = []
    package var references: [ReferenceReport] = []
    package var undecided: [ReferenceReport.Undecided] = []
    package var undecidedKeys: [TableReport.UndecidedKey] = []
    /// What may not be as it was meant, as sentences.
    package var warnings: [String] = []
    package var refusals: [TableReport.Refusal] = []
    /// The UNIQUE keys of tables that have rows, beside what these are identified by, by table: where nobody has said whether
    /// two rows of one key are the same.
    package var contestable: [String: [[String]]] = [:]
    /// Where the program notes the integers that it gives to rows, as far as the database says so.
    var counters: [ProgramAllocator] = []
    /// The columns whose policy is `sum`, because the program counts rows in them.
    var counted: [CountedColumns.Column] = []
    /// That the program has objects with names that are logsync's; then nothing else was looked at.
    var collision: LogSyncError?
    /// What is left of a store that the database was, by name; it is removed.
    package var leftovers: [String] = []

    package init() {}

    /// What keeps the database from becoming a store, all at once; nil where nothing does.
    package var obstacle: LogSyncError? { refusal ?? (isDecided ? nil : indecision) }

    private var isDecided: Bool { undecided.isEmpty && undecidedKeys.isEmpty }

    /// The option that brings collations and functions.
    static let loading = "--load-extension FILE"

    /// The end of the option that says that a table's integers are the same everywhere.
    static let natural = "=natural"

    /// The same, as far as tables cannot be replicated.
    var refusal: LogSyncError? {
        if let collision { return collision }
        guard !refusals.isEmpty else { return nil }
        let help = remedies + (isDecided ? "" : " Besides, \(decisions)")
        if refusals.count == 1 {
            return LogSyncError(
                .unsupportedTable, "the table \(refusals[0].table) \(refusals[0].reason); nothing was changed",
                help: help, subject: .table(refusals[0].table))
        }
        let tables = refusals.map { "\($0.table) \($0.reason)" }.joined(separator: "; ")
        return LogSyncError(
            .unsupportedTable, "\(refusals.count) tables cannot be replicated: \(tables); nothing was changed",
            help: help)
    }

    private var remedies: String {
        func all(_ option: String) -> String {
            refusals.map { "\(option) \($0.table.asShellArgument)" }.joined(separator: " ")
        }
        let what = refusals.count == 1 ? "it" : "them"
        var help = "Leave \(what) out with \(all("--skip")), or copy \(what) once, by clone, with \(all("--local"))"
        let identities = refusals.flatMap { refusal in refusal.remedies.filter { $0.hasPrefix("--identity") } }
        let named = identities.filter { !$0.hasSuffix(Self.natural) }
        let numbered = Set(identities.filter { $0.hasSuffix(Self.natural) }).sorted()
        if refusals.contains(where: { $0.remedies.contains(Self.loading) }) {
            help += ", or name an extension of SQLite that has what it uses with \(Self.loading)"
        }
        if !named.isEmpty {
            help += ", or give \(what) a PRIMARY KEY, or name a UNIQUE column set with \(named.joined(separator: " "))"
        }
        if !numbered.isEmpty {
            help +=
                ", or drop the index, or say with \(numbered.joined(separator: " ")) that the integers are the same "
                + "everywhere, where one machine alone adds rows or they are drawn by lot"
        }
        return help + "."
    }

    /// A column that has to be decided, with the tables whose rows it may name.
    private struct Question {
        var target: String
        var table: String
        var parents: [String]
        var type: String?
        /// Whether integers are written out as texts or real numbers, which nothing translates.
        var isText: Bool

        /// The tables that it may be, as far as they are worth a look.
        var candidates: String {
            guard parents.count > 1 else { return parents.joined() }
            let others = parents.count - 3
            return parents.count <= 4
                ? parents.dropLast().joined(separator: ", ") + " or " + (parents.last ?? "")
                : parents.prefix(3).joined(separator: ", ") + " or \(others) others"
        }

        /// The options by which it is said, of which one has to be chosen.
        var options: String {
            var options = parents.prefix(4).map { "--reference \(target)=\($0.asShellArgument)" }
            if parents.count > 4 { options = ["--reference \(target)=TABLE"] }
            return options.joined(separator: " or ")
        }
    }

    private var countedKeys: [TableReport.UndecidedKey] { undecidedKeys.filter { $0.isCounted ?? false } }
    private var meaningfulKeys: [TableReport.UndecidedKey] { undecidedKeys.filter { !($0.isCounted ?? false) } }

    private var questions: [Question] {
        var questions: [Question] = []
        for column in undecided {
            let target = target(column)
            if let index = questions.firstIndex(where: { $0.target == target }) {
                questions[index].parents.append(column.parent)
            } else {
                questions.append(
                    Question(
                        target: target, table: column.table, parents: [column.parent], type: column.type,
                        isText: column.asText ?? false))
            }
        }
        return questions
    }

    private var indecision: LogSyncError {
        var clauses: [String] = []
        for isText in [false, true] {
            let questions = questions.filter { $0.isText == isText }
            guard !questions.isEmpty else { continue }
            let named = questions.map { "\($0.target) (\($0.candidates))" }.joined(separator: ", ")
            let what = questions.count == 1 ? "a column seems to hold" : "\(questions.count) columns seem to hold"
            clauses.append(
                isText
                    ? "\(what) integers of other tables' rows as text or as real numbers, which nothing translates: \(named)"
                    : "\(what) integers of other tables' rows, which differ from peer to peer: \(named)")
        }
        if !countedKeys.isEmpty {
            let named = countedKeys.map(key).joined(separator: ", ")
            let what =
                countedKeys.count == 1
                ? "a UNIQUE column seems to count rows, and is" : "UNIQUE columns seem to count rows, and are"
            clauses.append(
                "\(what) no PRIMARY KEY, so that two machines that add rows give one to two of them: \(named)")
        }
        if !meaningfulKeys.isEmpty {
            let named = meaningfulKeys.map { "\(key($0)) \($0.reason)" }.joined(separator: ", ")
            let what =
                meaningfulKeys.count == 1
                ? "an integer key seems to mean something, and not to be a number that each machine gives by itself"
                : "\(meaningfulKeys.count) integer keys seem to mean something, and not to be numbers that each machine gives "
                    + "by itself"
            clauses.append("\(what): \(named)")
        }
        return LogSyncError(
            .configuration, "\(clauses.joined(separator: "; ")); nothing was changed", help: decisions)
    }

    private var decisions: String {
        var sentences: [String] = []
        let texts = questions.filter(\.isText)
        let questions = questions.filter { !$0.isText }
        if !questions.isEmpty {
            let yes = questions.map(\.options).joined(separator: " ")
            let no = questions.map { "--no-reference \($0.target)" }.joined(separator: " ")
            sentences.append("say where they do: \(yes), and where they do not: \(no).")
        }
        if !countedKeys.isEmpty {
            func all(_ option: (String) -> String) -> String {
                countedKeys.map { option($0.table.asShellArgument) }.joined(separator: " ")
            }
            sentences.append(
                "where one machine alone adds rows to these tables, or the keys mean the same everywhere: "
                    + all { "--identity \($0)=natural" } + "; where each machine keeps its own rows: "
                    + all { "--local \($0)" }
                    + "; otherwise have the program number them by an INTEGER PRIMARY KEY, or draw keys by lot.")
        }
        if !meaningfulKeys.isEmpty {
            func all(_ identity: String) -> String {
                meaningfulKeys.map { "--identity \($0.table.asShellArgument)=\(identity)" }.joined(separator: " ")
            }
            sentences.append(
                "say which keys are the same everywhere, so that two machines that add one mean one row: \(all("natural")), "
                    + "and which are numbers that each machine gives by itself, so that a row that comes gets another where "
                    + "its own is taken: \(all("surrogate")).")
        }
        if !texts.isEmpty {
            func all(_ names: [String], _ option: (String) -> String) -> String {
                var options: [String] = []
                for name in names where !options.contains(option(name.asShellArgument)) {
                    options.append(option(name.asShellArgument))
                }
                return options.joined(separator: " ")
            }
            sentences.append(
                "where they do, let the rows that they name have the same integers everywhere: "
                    + all(texts.flatMap(\.parents)) { "--identity \($0)=natural" }
                    + ", where one machine alone adds some or the integers are drawn by lot; or keep the rows of "
                    + "what names them to each machine: " + all(texts.map(\.table)) { "--local \($0)" }
                    + "; where they do not: " + texts.map { "--no-reference \($0.target)" }.joined(separator: " ") + "."
            )
        }
        let typed = questions.filter { $0.type != nil && $0.parents.count > 1 }
        if !typed.isEmpty {
            let columns = typed.map { "\($0.target) (by \($0.type ?? ""))" }.joined(separator: ", ")
            var tables: [String] = []
            for table in typed.map(\.table) where !tables.contains(table) { tables.append(table) }
            sentences.append(
                "one table can be named for a column, and the others' rows would be taken for its: where \(columns) has "
                    + "those of several, keep its rows to each machine with "
                    + tables.map { "--local \($0.asShellArgument)" }.joined(separator: " ") + " or --skip.")
        }
        return sentences.map(\.capitalizingFirst).joined(separator: " ")
    }

    private func key(_ key: TableReport.UndecidedKey) -> String {
        "\(key.table.asShellArgument).\(key.column.asShellArgument)"
    }

    private func target(_ column: ReferenceReport.Undecided) -> String {
        "\(column.table.asShellArgument).\(column.column.asShellArgument)"
    }
}

extension TableRegistration {
    func refusal(_ index: UndecidableIndex) -> TableReport.Refusal {
        refusal(
            index.table, index.reason,
            besides: index.numbered.map { "--identity \($0.asShellArgument)\(FoundingReport.natural)" })
    }
}

extension String {
    fileprivate var capitalizingFirst: String { prefix(1).uppercased() + dropFirst() }
}
