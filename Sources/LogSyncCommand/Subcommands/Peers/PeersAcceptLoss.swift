import ArgumentParser
import LogSync

/// Imports what a peer that is no more has published without the large values that nobody has.
struct PeersAcceptLoss: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "accept-loss",
        abstract: "Import what a retired peer has published without the large values that are in nobody's folder.",
        discussion: """
            They keep out all that comes after them otherwise. A cell shows what it showed before, and one of a new row its
            column's default; everything else comes in. The other peers go on by a snapshot of this store.

            EXAMPLE
              logsync peers accept-loss music.db laptop --dry-run
            """)

    @Argument(help: "The store.", completion: .file())
    var store: String

    @Argument(help: "The peer's name or id; it has been retired.")
    var peer: String

    @Flag(help: "Only say what would be lost.")
    var dryRun = false

    @OptionGroup var confirmation: Confirmation

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await common.run { session in
            if !dryRun { try confirmation.check("peers accept-loss") }
            let replicator = try await session.open(store)
            let peer = try await replicator.peer(named: peer)
            if !dryRun {
                try await confirmation.confirm(
                    headline(await replicator.acceptLoss(of: peer.id, dryRun: true)), "peers accept-loss")
            }
            let report = try await replicator.acceptLoss(of: peer.id, dryRun: dryRun)
            try session.report(report) { lines(report) }
            return ExitStatus(report.outcome)
        }
    }

    private func headline(_ report: LossReport) -> String {
        report.lost.count.counted(
            "large value of \(report.peer.name) is lost", "large values of \(report.peer.name) are lost") + "."
    }

    private func lines(_ report: LossReport) -> [String] {
        var table = TextTable(("TRANSACTION", .left), ("BYTES", .right), ("LOST", .left))
        for value in report.lost {
            let cell = value.cell.map { "\($0.table) \(ConflictsList.key($0.key)) \($0.column)" }
            table.add("\(report.peer.name):\(value.sequence)", String(value.bytes), cell ?? value.file)
        }
        let end =
            report.dryRun
            ? "What else \(report.peer.name) has published would come in; nothing was done."
            : "What else \(report.peer.name) has published is here."
        return (table.lines + [headline(report) + " " + end]).map(Terminal.printable) + report.held.map(\.line)
    }
}
