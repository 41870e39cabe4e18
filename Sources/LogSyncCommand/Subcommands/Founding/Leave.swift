import ArgumentParser
import LogSync
import LogSyncModel

/// Ends replication and keeps the data.
struct Leave: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "leave",
        abstract: "Stop replicating a store and keep its data.",
        discussion: """
            Publishes the last changes, removes everything logsync put into the database and no row of yours, and puts the
            journal mode back. Parked rows, which are in no table, are written to a file beside the database. What this
            peer has published stays for the others. A daemon that watches the store is asked to let go.
            A store whose file was deleted is taken off the list of logsync list.

            EXAMPLE
              logsync leave music.db
            """)

    @Argument(help: "The store.", completion: .file())
    var store: String

    @Flag(help: "Only say what would be done.")
    var dryRun = false

    @OptionGroup var common: CommonOptions

    private struct Report: Encodable {
        let format = 1
        var store: String
        /// nil where the tables that said so are gone.
        var content: String?
        var peer: PeerName?
        var dryRun: Bool
        /// The folder took the last changes, and that the peer has left.
        var published: Bool
        /// How many transactions reach no other peer, because the folder did not take them.
        var unpublished = 0
        /// How many rows were in no table, and the file that has them.
        var parked = 0
        var parkedFile: String?
        /// What was left of a store whose tables another program had dropped, or whose `init` or `leave` was interrupted.
        var leftovers: [String] = []
        /// A `leave` that was interrupted when the tables were gone was brought to its end: the store is on no list any more.
        var finished = false
        /// The store's file was not there, and it was taken off the list.
        var forgotten = false

        private enum CodingKeys: String, CodingKey {
            case format, store, content, peer, dryRun, published, unpublished, parked, parkedFile, leftovers, finished
            case forgotten
        }
    }

    func run() async throws {
        try await common.run { session in
            let configuration = session.configuration()
            let forgotten = try await Replicator.forget(store, dryRun: dryRun, configuration: configuration)
            if let last = forgotten.last {
                let report = Report(
                    store: store, content: last.content, peer: last.peer, dryRun: dryRun, published: false,
                    forgotten: true)
                try session.report(report) { lines(report, forgotten) }
                return .done
            }
            let leftovers = try await Replicator.removeLeftovers(store, dryRun: dryRun, configuration: configuration)
            let content = try await Replicator.finishLeaving(store, dryRun: dryRun, configuration: configuration)
            guard leftovers.isEmpty, content == nil else {
                let report = Report(
                    store: store, content: content, dryRun: dryRun, published: false, leftovers: leftovers,
                    finished: content != nil)
                try session.report(report) { lines(report) }
                return .done
            }
            let replicator = try await session.open(store, warningsOnly: true)
            let status = try await replicator.status()
            let left = try await replicator.leave(dryRun: dryRun)
            let report = Report(
                store: status.store, content: status.content, peer: status.peer, dryRun: dryRun,
                published: !dryRun && left.published, unpublished: left.unpublished, parked: left.parked,
                parkedFile: left.parkedFile)
            try session.report(report) { lines(report) }
            return .done
        }
    }

    private func lines(_ report: Report, _ forgotten: [ForgottenStore]) -> [String] {
        let contents = Set(forgotten.map { $0.content + ($0.container.map { " in \($0)" } ?? "") }).sorted()
        return [
            "There is no file at \(report.store), which was a store of \(contents.joined(separator: " and of ")); it "
                + (dryRun ? "would be taken off logsync list; nothing was done." : "is off logsync list."),
            "The others wait for it until one of them says that it has gone: logsync peers retire STORE "
                + forgotten.map { $0.peer.id.description }.joined(separator: " or "),
        ].map(Terminal.printable)
    }

    private func lines(_ report: Report) -> [String] {
        guard let content = report.content, report.leftovers.isEmpty, !report.finished else {
            let left = report.leftovers + (report.finished ? ["its place in logsync list"] : [])
            return [
                "\(report.store) is no store: another program had dropped tables of it, or its init or leave was interrupted. "
                    + "What was left \(dryRun ? "would be" : "is") removed: \(left.joined(separator: ", "))."
            ].map(Terminal.printable)
        }
        var lines = [
            dryRun
                ? "\(report.store) would be no store of \(content) any more; nothing was done."
                : "\(report.store) is no store of \(content) any more; its data is kept."
        ]
        if report.unpublished > 0 {
            lines.append(
                dryRun
                    ? "The folder is not there, or takes nothing: \(report.unpublished.counted("transaction")) would reach no other peer, "
                        + "and be in this database only. logsync doctor says why."
                    : "The folder was not there, or took nothing: what was not yet published is in this database only.")
        }
        if let file = report.parkedFile {
            let rows = report.parked.counted("row was", "rows were")
            lines.append(
                "\(rows) parked, in no table; \(dryRun ? "they would be" : "they are") in \(file), as logsync conflicts list has them."
            )
        }
        if !dryRun {
            lines.append(
                "To take part again, make a new store with logsync clone: logsync init would add rows without a key of their "
                    + "own a second time where they were written or changed since; its --dry-run counts them.")
        }
        return lines.map(Terminal.printable)
    }
}
