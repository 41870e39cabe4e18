import ArgumentParser
import LogSync
import LogSyncModel

/// Reads every byte of a folder and compares.
struct Verify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Read every byte of a content folder, replay it, and compare.",
        discussion: """
            Checks every file's hash and every peer's chain, replays the whole history into a scratch database in $TMPDIR,
            and compares the outcome with what the peers' receipts say, and with the store. Changes nothing, but for --refill.
            Ends with 0 where all agrees, with 3 where something is not here, with 4 where something is damaged.

            EXAMPLE
              logsync verify music.db
            """)

    @Argument(help: "The store; or a container, or a content folder in it.", completion: .file())
    var path: String

    @Flag(help: "First give columns that have come back in the store without their values what the replay has of them.")
    var refill = false

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await common.run { session in
            let report = try await Progress.show("Verifying", in: session) { progress in
                try await Replicator.verify(
                    path, configuration: session.configuration(), refill: refill, progress: progress.update)
            }
            try session.answer(report) { lines(report) }
            return ExitStatus(report.outcome)
        }
    }

    private func lines(_ report: VerifyReport) -> [String] {
        var lines: [String] = []
        for refill in report.refilled ?? [] {
            let rest = refill.isWhole ? "" : "; others may be lost still: run logsync sync, then this again"
            lines.append(
                Terminal.printable("\(refill.column): \(refill.cells.counted("value")) given back\(rest)."))
        }
        if report.refilled?.isEmpty == true { lines.append("No column here has come back without its values.") }
        for content in report.contents {
            lines.append(
                Terminal.printable(
                    "\(content.container)/\(content.content): \(content.files.counted("file")), \(content.bytes.counted("byte")), "
                        + "\(content.transactions.counted("transaction")), digest \(content.digest)."))
            for comparison in content.compared {
                let name = Terminal.printable(comparison.peer.label)
                lines.append(
                    "  \(name): \(comparison.equal ? "the same" : "another") state after the same transactions.")
            }
        }
        if let store = report.store {
            lines.append(
                Terminal.printable("\(report.path): \(store ? "agrees with" : "differs from") its transactions."))
        }
        if !report.notCompared.isEmpty {
            lines.append(
                Terminal.printable(
                    "Not compared, because changes wait to be recorded: \(report.notCompared.joined(separator: ", ")).")
            )
        }
        return lines + Finding.lines(report.findings)
    }
}
