import ArgumentParser
import LogSync
import LogSyncModel

/// Takes a store and its whole history elsewhere.
struct Move: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "move",
        abstract: "Take a store and its whole history to another container or content name.",
        discussion: """
            Everything in the present content folder is copied. It stays there for the other peers: each of them moves by
            itself, and `logsync destroy` removes the folder when nobody needs it any more. A folder that was merely moved
            or is mounted elsewhere wants `logsync attach`. A daemon that watches the store is asked to let go meanwhile.

            EXAMPLE
              logsync move music.db --container ~/Nextcloud
            """)

    @Argument(help: "The store.", completion: .file())
    var store: String

    @Option(help: ArgumentHelp("The shared folder to go to.", valueName: "dir"), completion: .directory)
    var container: String

    @Option(help: ArgumentHelp("The content's name there; otherwise the present one.", valueName: "name"))
    var content: String?

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await common.run { session in
            let replicator = try await session.open(store)
            let report = try await Progress.show("Moving", in: session) { _ in
                try await replicator.move(to: container, content: content)
            }
            try session.report(report) { lines(report) }
            return ExitStatus(report.result.outcome)
        }
    }

    private func lines(_ report: MoveReport) -> [String] {
        let (place, former) = (report.place, report.former)
        guard report.changed else {
            return [Terminal.printable("\(report.store) already is with \(place.content) in \(place.container).")]
        }
        guard !report.isSameFolder else {
            let line =
                "\(report.store) finds \(place.content) in \(place.container) from now on. That is the folder that it was in, by "
                + "another path: nothing was copied, and the other peers are there."
            return [Terminal.printable(line)] + report.result.held.map(\.line)
        }
        var lines = [
            "\(report.store) is with \(place.content) in \(place.container) from now on.",
            "\(report.copied.counted("log file was", "log files were")) copied from \(former.content) in \(former.container), which stays as it is.",
        ]
        if !report.staying.isEmpty {
            lines.append(
                "Not there yet: \(report.staying.map(\.name).joined(separator: ", ")). What they write reaches this store "
                    + "once each is moved, too: logsync move STORE --container \(place.container.asShellArgument)"
                    + (place.content == former.content ? "" : " --content \(place.content)"))
        }
        if let snapshot = report.snapshot {
            lines.append("What could not be copied is in a snapshot, \(snapshot).")
        }
        return lines.map(Terminal.printable) + report.result.held.map(\.line)
    }
}
