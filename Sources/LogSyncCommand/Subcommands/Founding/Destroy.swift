import ArgumentParser
import LogSync
import LogSyncModel

/// Removes a content folder.
struct Destroy: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "destroy",
        abstract: "Remove a content folder.",
        discussion: """
            Removes what all peers have published, on this machine and, by way of the sync engine, everywhere. Every store
            keeps its rows; `logsync leave` ends the replication of one, `logsync rebuild` writes the folder anew.

            EXAMPLE
              logsync destroy --container ~/Sync --content music
            """)

    @Option(help: ArgumentHelp("The shared folder.", valueName: "dir"), completion: .directory)
    var container: String

    @Option(help: ArgumentHelp("The name of the content to remove.", valueName: "name"))
    var content: String

    @Flag(help: "Only say what would be removed.")
    var dryRun = false

    @OptionGroup var confirmation: Confirmation

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await common.run { session in
            let configuration = session.configuration()
            func destroy(dryRun: Bool) async throws -> DestroyReport {
                try await Replicator.destroy(
                    container: container, content: content, dryRun: dryRun, configuration: configuration)
            }
            if !dryRun {
                try await confirmation.confirm(line(await destroy(dryRun: true)), "destroy")
            }
            let report = try await destroy(dryRun: dryRun)
            try session.report(report) { [Terminal.printable(line(report))] }
            return .done
        }
    }

    private func line(_ report: DestroyReport) -> String {
        let peers = report.peers.isEmpty ? "no peer" : report.peers.map(\.label).joined(separator: ", ")
        return
            "\(report.container)/\(report.content), \(report.files.counted("file")) of \(peers), \(report.bytes.counted("byte")), "
            + (report.dryRun ? "would be removed." : "was removed.")
    }
}
