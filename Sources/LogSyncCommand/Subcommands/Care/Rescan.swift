import ArgumentParser
import LogSync
import LogSyncModel

/// Finds what was changed behind the triggers' back.
struct Rescan: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rescan",
        abstract: "Find what was changed behind the triggers' back, and record it.",
        discussion: """
            Compares every row with the digests kept with its clocks. For a database that came out of sqlite3's .recover,
            a table that was restored, a program that had dropped the triggers or turned them off. What is found is
            published with the next sync.

            EXAMPLE
              logsync rescan music.db
            """)

    @Argument(help: "The store.", completion: .file())
    var store: String

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await common.run { session in
            let report = try await Progress.show("Comparing", in: session) { _ in
                try await session.open(store).rescan()
            }
            try session.report(report) { lines(report) }
            return ExitStatus(report.outcome)
        }
    }

    private func lines(_ report: RescanReport) -> [String] {
        var lines: [String] = []
        if !report.capturedAgain.isEmpty {
            lines.append("The triggers of \(report.capturedAgain.joined(separator: ", ")) were gone; they are back.")
        }
        if !report.pending.isEmpty { lines.append("Captured before: \(ChangeSummary.text(report.pending)).") }
        lines.append(report.found.isEmpty ? "Nothing else has changed." : "Found: \(ChangeSummary.text(report.found)).")
        for rows in report.nameless {
            lines.append(
                rows.rows.counted("row")
                    + " of \(rows.table) \(rows.rows == 1 ? "is" : "are") gone and no log says which, so "
                    + "the others go on showing what is gone. "
                    + (report.containerAvailable
                        ? "Delete it on another peer." : "Run this again when the container is there."))
        }
        return lines.map(Terminal.printable)
    }
}
