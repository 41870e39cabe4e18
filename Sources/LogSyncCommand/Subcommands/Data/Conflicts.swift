import ArgumentParser
import LogSync

/// Lists and settles what peers wrote without having seen each other's.
struct Conflicts: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "conflicts",
        abstract: "List and settle conflicts and parked rows.",
        discussion: """
            EXAMPLE
              logsync conflicts list music.db
            """,
        subcommands: [ConflictsList.self, ConflictsTake.self, ConflictsSet.self, ConflictsDrop.self],
        defaultSubcommand: ConflictsList.self)
}

/// Lists conflicts and parked rows.
struct ConflictsList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the cells in conflict, edits lost to deletes, and parked rows.",
        discussion: """
            EXAMPLE
              logsync conflicts list music.db --json
            """)

    @Argument(help: "The store.", completion: .file())
    var store: String

    @Option(help: "Only this table's.")
    var table: String?

    @Flag(help: "Also cells whose policy makes one value of all versions (max, min, sum, union), and folded rows.")
    var all = false

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await common.run { session in
            let report = try await session.open(store).conflicts(table: table, all: all)
            try session.answer(report) { lines(report) }
            return .done
        }
    }

    private func lines(_ report: ConflictReport) -> [String] {
        if report.conflicts.isEmpty && report.parked.isEmpty { return ["No conflicts, no parked rows."] }
        var lines: [String] = []
        for conflict in report.conflicts {
            let place = "\(conflict.table) \(Self.key(conflict.key)) \(conflict.column)"
            let shown = conflict.shown.map { "shows \(SQLLiteral.text($0.value))" }
            let deleted = conflict.deleted.map { "lost to a delete by \($0.peer.name):\($0.sequence)" }
            lines.append("\(place): \(shown ?? deleted ?? "lost to a delete")")
            for version in conflict.versions {
                let value = (version.isAddition ? "+ " : "") + SQLLiteral.text(version.value.value)
                lines.append("  \(value) by \(version.peer.name):\(version.sequence) at \(version.time)")
            }
        }
        for row in report.parked {
            let values = row.row.sorted { $0.key < $1.key }.map { column, value in
                let missing = row.missing[column].map { "a row of \($0) that does not stand here" }
                let shown = "\(column)=\(SQLLiteral.text(value.value))"
                return missing.map { value.value == .null ? "\(column)=\($0)" : "\(shown) (\($0))" } ?? shown
            }
            lines.append("\(row.table) \(Self.key(row.key)): parked (\(row.reason)): \(values.joined(separator: ", "))")
        }
        return lines.map(Terminal.printable)
    }

    static func key(_ key: [JSONValue]) -> String {
        "(" + key.map { SQLLiteral.text($0.value) }.joined(separator: ", ") + ")"
    }
}

/// What a settlement says.
private struct SettledReport: Encodable {
    let format = 1
    var store: String
    var table: String
    var key: [JSONValue]
    var dryRun: Bool

    private enum CodingKeys: String, CodingKey {
        case format, store, table, key, dryRun
    }
}

/// Which row is to be settled.
struct RowArguments: ParsableArguments {
    @Argument(help: "The store.", completion: .file())
    var store: String
    @Argument(help: "The table.")
    var table: String
    @Argument(help: "The row's key.")
    var key: String

    @Option(help: ArgumentHelp("Which row it is, where several have this key, as `conflicts list --json` says it."))
    var identity: String?

    @Flag(help: "Only say whether it can be done.")
    var dryRun = false

    /// Settles the row, and reports that.
    ///
    /// - Parameters:
    ///   - done: what is said of it.
    ///   - intended: the same of a dry run.
    ///   - body: gives what is to be said besides.
    func settle(
        _ common: CommonOptions, done: String, intended: String,
        by body: @escaping @Sendable (Replicator, [Value]) async throws -> String?
    ) async throws {
        let key = try LiteralArgument.key(key)
        try await common.run { session in
            let replicator = try await session.open(store)
            let note = try await body(replicator, key)
            let report = SettledReport(
                store: replicator.path, table: table, key: key.map { JSONValue($0) }, dryRun: dryRun)
            let says = dryRun ? "\(intended); nothing was done." : done
            try session.report(report) { ([says] + (note.map { [$0] } ?? [])).map(Terminal.printable) }
            return .done
        }
    }
}

/// Settles a cell.
struct ConflictsTake: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "take",
        abstract: "Settle a cell by a write of one of its versions.",
        discussion: """
            KEY is a SQL literal, or a JSON array where the key has several columns.

            EXAMPLE
              logsync conflicts take music.db Track 17 Name laptop:42
            """)

    @OptionGroup var row: RowArguments
    @Argument(help: "The column.")
    var column: String
    @Argument(help: "The version, as PEER:SEQUENCE.")
    var version: String

    @OptionGroup var common: CommonOptions

    func run() async throws {
        guard let colon = version.lastIndex(of: ":"), let sequence = UInt64(version[version.index(after: colon)...])
        else { throw ValidationError("\(version.debugDescription) is not PEER:SEQUENCE") }
        let name = String(version[..<colon])
        try await row.settle(
            common, done: "\(row.table).\(column) is settled; other peers learn of it with the next sync.",
            intended: "\(row.table).\(column) would be settled"
        ) { replicator, key in
            let peer = try await replicator.peer(named: name)
            try await replicator.takeVersion(
                Dot(peer.id, sequence), table: row.table, key: key, identity: row.identity, column: column,
                dryRun: row.dryRun)
            return nil
        }
    }
}

/// Gives a parked row, or one that breaks a CHECK, another value.
struct ConflictsSet: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Give a parked row another value, upon which it may stand.",
        discussion: """
            A row that stands though it breaks a CHECK is given one that keeps it.

            KEY and VALUE are SQL literals or JSON.

            EXAMPLE
              logsync conflicts set music.db Tag 12 Name "'jazz 2'"
            """)

    @OptionGroup var row: RowArguments
    @Argument(help: "The column.")
    var column: String
    @Argument(help: "The value.")
    var value: String

    @OptionGroup var common: CommonOptions

    func run() async throws {
        let value = try LiteralArgument.value(value)
        try await row.settle(
            common, done: "The row of \(row.table) has its new \(column).",
            intended: "The row of \(row.table) would have its new \(column)"
        ) { replicator, key in
            try await replicator.setParked(
                table: row.table, key: key, identity: row.identity, column: column, value: value, dryRun: row.dryRun)
            if row.dryRun { return nil }
            let parked = try await replicator.conflicts(table: row.table).parked
            let still = parked.first { $0.key.map(\.value) == key && $0.reason != "check" }
            return still.map { "It is still parked (\($0.reason)): something else is in its way, too." }
        }
    }
}

/// Deletes a parked row, or one that breaks a CHECK, or takes lost edits off the list.
struct ConflictsDrop: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "drop",
        abstract: "Delete a parked row.",
        discussion: """
            A row that stands though it breaks a CHECK is deleted too. Of a row that is deleted already, the edits that were
            lost to that are taken off the list.

            EXAMPLE
              logsync conflicts drop music.db Tag 12
            """)

    @OptionGroup var row: RowArguments

    @OptionGroup var common: CommonOptions

    func run() async throws {
        let what = "What there was of the row of \(row.table)"
        try await row.settle(common, done: "\(what) is deleted.", intended: "\(what) would be deleted") {
            replicator, key in
            try await replicator.dropParked(table: row.table, key: key, identity: row.identity, dryRun: row.dryRun)
            return nil
        }
    }
}
