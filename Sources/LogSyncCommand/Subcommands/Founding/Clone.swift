import ArgumentParser
import LogSync
import Logging

/// Makes a new store from the container.
struct Clone: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clone",
        abstract: "Make a new store from the container.",
        discussion: """
            Never overwrites a file. Makes no trigger, view or index that calls a function which SQLite itself does not hold
            harmless, because the schema comes from the shared folder: it says which, and --function lets a function in. Those
            of applications that it knows (logsync recipes list) are let in for their databases.

            EXAMPLE
              logsync clone --container ~/Sync --content music music.db
            """)

    @OptionGroup var place: ContentOptions

    @Argument(help: "The database to make.", completion: .file())
    var store: String

    @Option(
        name: .customLong("function"),
        help: ArgumentHelp(
            "A function of a program on this machine that triggers, views and indexes may call; may be repeated.",
            valueName: "name"))
    var functions: [String] = []

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await common.run { session in
            let container = try place.container(in: session)
            let content = try place.content(in: session)
            let report = try await Progress.show("Importing", in: session) { progress in
                try await Replicator.clone(
                    to: store, container: container, content: content, peerName: place.peer(in: session),
                    functions: Set(functions), recipes: BuiltInRecipes.all(), configuration: session.configuration(),
                    progress: progress.update)
            }
            for warning in report.warnings { session.logger.warning("\(warning)") }
            try session.report(report) {
                let place = "\(report.content) in \(report.container)"
                let headline =
                    report.resumed
                    ? "\(report.store) is a store of \(place) as \(report.peer.label): a clone that was interrupted had made it."
                    : "\(report.store) is now a store of \(place) as \(report.peer.label)."
                return [Terminal.printable(headline), "Transactions: \(report.imported) imported."]
                    + report.held.map(\.line) + report.unmade.map(\.line) + report.leftOut.map(\.line)
            }
            return ExitStatus(report.outcome)
        }
    }
}
