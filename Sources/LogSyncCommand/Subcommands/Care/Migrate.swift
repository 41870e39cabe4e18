import ArgumentParser
import Foundation
import LogSync

/// Runs a migration with capture kept right through it.
struct Migrate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Run a migration of the schema, with capture kept right through it.",
        discussion: """
            All of the script is one transaction: it takes hold whole or not at all. What it does to rows is recorded, and
            published with the next sync; names that it gives by rebuilding a table are told by --rename. An app that
            migrates by itself is noticed too: this is for migrations run by hand, and for renames by rebuilding.
            A daemon that watches the store is asked to let go meanwhile.

            EXAMPLE
              logsync migrate music.db --sql 007-ratings.sql --rename track.stars=rating
            """)

    @Argument(help: "The store.", completion: .file())
    var store: String

    @Option(
        help: ArgumentHelp(
            "The script; - reads it from stdin. May be left out with the other options.", valueName: "file"),
        completion: .file())
    var sql: String?

    @Option(
        help: ArgumentHelp(
            "A column, or a table, that the script renames by rebuilding it, or that a program's migration has renamed, or a table that status says is another's; may be repeated.",
            valueName: "table.old=new"))
    var rename: [String] = []

    @Option(
        help: ArgumentHelp(
            "A column that a migration has added, and the table whose rows it refers to; may be repeated.",
            valueName: "child.column=parent"))
    var reference: [String] = []

    @Option(
        help: ArgumentHelp("One that seems to refer to rows, and does not; may be repeated.", valueName: "table.column")
    )
    var noReference: [String] = []

    @Option(
        help: ArgumentHelp(
            "A table that a migration has made, whose integers seem to mean something, and do not; may be repeated.",
            valueName: "table=surrogate"))
    var identity: [String] = []

    @Flag(help: "Only say what would be recorded.")
    var dryRun = false

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await common.run { session in
            let script = try script()
            let replicator = try await session.open(store)
            let report = try await Progress.show("Migrating", in: session) { _ in
                try await replicator.migrate(
                    script, renames: rename, references: reference, notReferences: noReference, identities: identity,
                    dryRun: dryRun)
            }
            try session.report(report) { lines(report) }
            return .done
        }
    }

    func validate() throws {
        if sql == nil && (rename + reference + noReference + identity).isEmpty {
            throw ValidationError("Give a script with --sql, or --rename, --reference, --no-reference, --identity.")
        }
    }

    private func script() throws -> String {
        guard let sql else { return "" }
        var isDirectory: ObjCBool = false
        if sql != "-", FileManager.default.fileExists(atPath: sql, isDirectory: &isDirectory), isDirectory.boolValue {
            throw LogSyncError(
                .noStore, "\(sql) is a directory, and no script; nothing was changed",
                help: "Give the path of the script, or - to read it from stdin")
        }
        do {
            let file =
                sql == "-" ? FileHandle.standardInput : try FileHandle(forReadingFrom: URL(fileURLWithPath: sql))
            let bytes = try file.readToEnd() ?? Data()
            guard let text = String(data: bytes, encoding: .utf8), !text.utf8.contains(0) else {
                throw LogSyncError(
                    .invalidScript, "\(sql) is not text in UTF-8; nothing was changed",
                    help: "Give a script of SQL statements, as the sqlite3 shell reads it")
            }
            return text
        } catch let error as CocoaError {
            throw LogSyncError(
                error.code == .fileReadNoPermission ? .noPermission : .noStore,
                "\(sql) could not be read: \(error.localizedDescription); nothing was changed",
                help: "Give the path of the script, or - to read it from stdin")
        }
    }

    private func lines(_ report: MigrationReport) -> [String] {
        var lines = [
            report.dryRun
                ? "\(report.store) would be migrated by \(report.statements) statements; nothing was done."
                : "\(report.store) is migrated: \(report.statements) statements."
        ]
        if !report.pending.isEmpty { lines.append("Captured before: \(ChangeSummary.text(report.pending)).") }
        if !report.recorded.isEmpty { lines.append("Changes: \(ChangeSummary.text(report.recorded)).") }
        for renamed in report.renamed {
            let what = renamed.to == renamed.table ? "Table" : "Column of \(renamed.table)"
            lines.append("\(what): \(renamed.from) \(report.dryRun ? "would be" : "is now") \(renamed.to).")
        }
        for table in report.notReplicated {
            lines.append(
                "\(table) cannot be written by logsync, or holds the version of a schema; it is not replicated.")
        }
        return lines.map(Terminal.printable)
    }
}
