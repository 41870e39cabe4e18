import ArgumentParser
import LogSync

/// Says that a store's content is now at another path.
struct Attach: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "attach",
        abstract: "Say that a store's content is now at another path.",
        discussion: """
            For a shared folder that was moved or is mounted elsewhere. The content has to be there already; to take a
            store to a place where it is not, use `logsync move`.

            EXAMPLE
              logsync attach music.db --container ~/Shared
            """)

    @Argument(help: "The store.", completion: .file())
    var store: String

    @Option(help: ArgumentHelp("The shared folder (LOGSYNC_CONTAINER).", valueName: "dir"), completion: .directory)
    var container: String?

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await common.run { session in
            let container = try required(container ?? session.settings.container, "container", "DIR")
            let replicator = try await session.open(store)
            let report = try await Progress.show("Attaching", in: session) { _ in
                try await replicator.attach(to: container)
            }
            try session.report(report) { lines(report) }
            return ExitStatus(report.result.outcome)
        }
    }

    private func lines(_ report: AttachReport) -> [String] {
        let headline =
            report.changed
            ? "\(report.store) is with \(report.content) in \(report.container) from now on; it was in \(report.former)."
            : "\(report.store) already is with \(report.content) in \(report.container)."
        let result = report.result
        return [
            Terminal.printable(headline),
            "Transactions: \(result.recorded) recorded, \(result.published) published, \(result.imported) imported.",
        ] + result.held.map(\.line)
    }
}
