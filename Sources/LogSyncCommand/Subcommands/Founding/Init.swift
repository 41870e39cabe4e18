import ArgumentParser
import LogSync
import Logging

/// Makes an existing database a store.
struct Init: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Make an existing database a store and publish what it holds.",
        discussion: """
            Where the content exists already, the store joins it and both are merged. Running it again does no harm.
            The journal becomes SQLite's write-ahead log, so that readers and writers do not wait for each other.

            EXAMPLE
              logsync init music.db --container ~/Sync --content music
            """)

    @Argument(help: "The database.", completion: .file())
    var store: String

    @OptionGroup var place: ContentOptions

    @Flag(help: "Only say what would be done.")
    var dryRun = false

    @Flag(help: "Leave the journal mode as it is.")
    var keepJournal = false

    @Option(
        help: ArgumentHelp("Copy this table when cloning and never replicate it; may be repeated.", valueName: "table"))
    var local: [String] = []

    @Option(
        help: ArgumentHelp(
            "How rows of a table are identified: by its primary key (natural), by an identity of their own (surrogate), "
                + "or by the columns of a UNIQUE constraint; may be repeated.",
            valueName: "table=natural|surrogate|column,…"))
    var identity: [String] = []

    @Option(
        help: ArgumentHelp(
            "A reference that the schema does not declare; may be repeated.", valueName: "child.column=parent"))
    var reference: [String] = []

    @Option(
        help: ArgumentHelp(
            "A column that refers to no other table's rows, though it may seem to; may be repeated.",
            valueName: "table.column"))
    var noReference: [String] = []

    @Option(
        help: ArgumentHelp("What is shown when peers disagree; may be repeated.", valueName: "table[.column]=policy"))
    var policy: [String] = []

    @Option(help: ArgumentHelp("Leave this table alone; may be repeated.", valueName: "table"))
    var skip: [String] = []

    @Option(
        help: ArgumentHelp(
            "Options for a known application: one that is built in, a file, or none; otherwise that which matches.",
            valueName: "name|file|none"),
        completion: .file())
    var recipe: String?

    @OptionGroup var common: CommonOptions

    func run() async throws {
        let options = try initializeOptions()
        try await common.run { session in
            var options = options
            options.peerName = place.peer(in: session)
            let container = try place.container(in: session)
            let content = try place.content(in: session)
            let report = try await Progress.show("Recording", in: session) { [options] _ in
                try await Replicator.initialize(
                    store, container: container, content: content, options: options,
                    configuration: session.configuration())
            }
            for warning in report.warnings { session.logger.warning("\(warning)") }
            try session.report(report) { lines(report) }
            // A dry run ends as the run would.
            if let obstacle = report.obstacle { throw obstacle }
            return ExitStatus(report.outcome)
        }
    }

    private func initializeOptions() throws -> InitializeOptions {
        var options = InitializeOptions()
        for argument in identity { try options.addIdentity(argument) }
        for argument in reference { try options.addReference(argument) }
        for argument in noReference { try options.addNoReference(argument) }
        for argument in policy { try options.addPolicy(argument) }
        options.local = local
        options.skip = skip
        options.recipe = try BuiltInRecipes.choice(recipe)
        options.keepJournal = keepJournal
        options.dryRun = dryRun
        return options
    }

    private func lines(_ report: InitializeReport) -> [String] {
        let place = "\(report.content) in \(report.container)"
        let peer = report.peer.map { " as \($0.label)" } ?? ""
        let headline =
            if report.alreadyInitialized {
                "\(report.store) already is a store of \(place)\(peer)."
            } else if report.obstacle != nil {
                "\(report.store) would not become a store of \(place); nothing was done."
            } else if report.dryRun, report.joined {
                "\(report.store) would join \(place), and add its rows to those that are there; nothing was done."
            } else if report.dryRun {
                "\(report.store) would become a store of \(place); nothing was done."
            } else if report.joined {
                "\(report.store) has joined \(place)\(peer)."
            } else {
                "\(report.store) is now a store of \(place)\(peer)."
            }
        var lines = [Terminal.printable(headline)]
        if let recipe = report.recipe { lines += recipeLines(recipe, report.note) }
        if !report.tables.isEmpty {
            lines += [""] + tableLines(report.tables) + [""]
        }
        if !report.dryRun {
            lines.append(
                "Transactions: \(report.recorded) recorded, \(report.published) published, \(report.imported) imported."
            )
        }
        if !keepJournal, !report.alreadyInitialized, report.obstacle == nil {
            lines.append(
                "Its journal \(report.dryRun ? "would become" : "is now") the write-ahead log (--keep-journal leaves it)."
            )
        }
        return lines + report.held.map(\.line)
    }

    private func recipeLines(_ name: String, _ note: String?) -> [String] {
        let headline =
            "It goes by the recipe \(Terminal.printable(name))" + (recipe == nil ? " (--recipe none takes none)." : ".")
        return [headline] + (note ?? "").split(separator: "\n").map { "  " + Terminal.printable(String($0)) }
    }

    private func tableLines(_ tables: [TableReport]) -> [String] {
        let joins = tables.contains { $0.join != nil }
        let counts: [(String, TextTable.Alignment)] =
            joins ? [("SAME", .right), ("NEW", .right), ("IN DOUBT", .right)] : []
        var table = TextTable(
            [("TABLE", .left), ("ROWS", .right)] + counts + [("IDENTITY", .left), ("REFERENCES", .left)])
        for report in tables {
            let identity =
                report.columns.isEmpty
                ? report.identity : "\(report.identity): \(report.columns.joined(separator: ", "))"
            let references = report.references.sorted { $0.key < $1.key }.map { "\($0.key) → \($0.value)" }
            // Rows that are not replicated are not counted.
            let rows = ["local", "skipped"].contains(report.identity) ? "-" : String(report.rows)
            let join =
                joins ? report.join.map { ["\($0.same)", "\($0.new)", "\($0.doubt)"] } ?? ["-", "-", "-"] : []
            table.add([report.table, rows] + join + [identity, references.joined(separator: ", ")])
        }
        let suggestions = tables.flatMap { report in report.suggestions.map { "\(report.table): \($0)" } }
        let local = tables.filter { $0.identity == "surrogate" || $0.identity == "columns" }
        var notes = suggestions
        if tables.contains(where: { $0.join?.doubt ?? 0 > 0 }) {
            notes.append(
                "rows in doubt have the key or the integer of a row that is there, and other values: with a key they become "
                    + "one row, whose differing cells are conflicts; with an integer alone they stay two")
        }
        if local.count > 1, tables.allSatisfy(\.references.isEmpty) {
            notes.append("\(local.count) tables have integer identities and nothing refers to them")
        }
        return table.lines + notes.map { "note: " + Terminal.printable($0) }
    }
}
