import ArgumentParser
import LogSync
import LogSyncModel

/// Writes a content folder anew from a store.
struct Rebuild: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rebuild",
        abstract: "Write a content folder that was wiped anew, from a store.",
        discussion: """
            Writes the marker and everything that this peer has published; the other peers put their own files back with
            their next sync. The container has to be there: mount it first. Nothing in the folder is removed.
            A daemon that watches the store is asked to let go meanwhile.

            EXAMPLE
              logsync rebuild music.db
            """)

    @Argument(help: "The store.", completion: .file())
    var store: String

    @Flag(help: "Only say what would be written.")
    var dryRun = false

    @OptionGroup var confirmation: Confirmation

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await common.run { session in
            if !dryRun { try confirmation.check("rebuild") }
            let replicator = try await session.open(store)
            if !dryRun {
                try await confirmation.confirm(headline(await replicator.rebuild(dryRun: true)), "rebuild")
            }
            let report = try await Progress.show("Rebuilding", in: session) { _ in
                try await replicator.rebuild(dryRun: dryRun)
            }
            try session.report(report) { lines(report) }
            return ExitStatus(report.outcome)
        }
    }

    private func snapshotLine(_ report: RebuildReport) -> String {
        switch report.needsSnapshot {
        case true?: " A snapshot is needed for what cannot be written as it was."
        case false?: ""
        case nil: " Whether a snapshot is needed shows when the marker is there again."
        }
    }

    private func headline(_ report: RebuildReport) -> String {
        "\(report.container)/\(report.content): the marker \(report.marker ? "is missing" : "is there"), "
            + report.transactions.counted("transaction of this peer is", "transactions of this peer are") + " missing."
            + (report.dryRun ? snapshotLine(report) : "")
    }

    private func lines(_ report: RebuildReport) -> [String] {
        if report.dryRun { return [Terminal.printable(headline(report) + " That would be written; nothing was done.")] }
        var lines = [
            "\(report.container)/\(report.content) is rebuilt: "
                + report.transactions.counted("transaction of this peer was", "transactions of this peer were")
                + " missing."
        ]
        if let snapshot = report.snapshot {
            lines.append("What the others have published is in a snapshot, \(snapshot); their next syncs put it back.")
        }
        return lines.map(Terminal.printable) + report.result.held.map(\.line)
    }
}
