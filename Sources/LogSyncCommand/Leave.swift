import ArgumentParser
import LogSync

/// Ends replication and keeps the data.
struct Leave: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Stop replicating a store and keep its data.",
        discussion: """
            Removes everything logsync put into the database and no row of yours, and puts the journal mode back. What this
            peer has published stays in the container for the others. A daemon that watches the store is asked to let go.

            EXAMPLE
              logsync leave music.db
            """)

    @Argument(help: "The store.")
    var store: String

    @Flag(help: "Only say what would be done.")
    var dryRun = false

    @Option(
        help: ArgumentHelp("How long to wait for a daemon or a long writer, then end with 75.", valueName: "seconds"))
    var wait: Seconds?

    @OptionGroup var common: CommonOptions

    private struct Report: Encodable {
        let format = 1
        var store: String
        var content: String
        var peer: PeerName
        var dryRun: Bool
        /// What the other peers will never get.
        var pending: Int
        var outbox: Int

        private enum CodingKeys: String, CodingKey {
            case format, store, content, peer, dryRun, pending, outbox
        }
    }

    func run() async throws {
        try await common.run { session in
            let replicator = try await session.open(store, wait: wait)
            let status = try await replicator.status()
            if !dryRun { try await replicator.leave() }
            let report = Report(
                store: status.store, content: status.content, peer: status.peer, dryRun: dryRun,
                pending: status.pending, outbox: status.outbox)
            try session.report(report) { lines(report) }
            return .done
        }
    }

    private func lines(_ report: Report) -> [String] {
        var lines = [
            dryRun
                ? "\(report.store) would be no store of \(report.content) any more; nothing was done."
                : "\(report.store) is no store of \(report.content) any more; its data is kept."
        ]
        if report.pending + report.outbox > 0 {
            lines.append(
                "\(report.pending) changes and \(report.outbox) transactions \(dryRun ? "are not" : "were not") published; "
                    + "only this database has them.")
        }
        return lines.map(Terminal.printable)
    }
}
