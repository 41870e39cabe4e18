import ArgumentParser
import LogSync

/// Says that a peer takes part no more.
struct PeersRetire: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retire",
        abstract: "Say that a peer takes part no more, so that nobody waits for it.",
        discussion: """
            Every peer learns of it. What the peer has published stays until a snapshot stands for it; then anyone may
            delete it. Should it come back, its work is imported, and it joins the others where they are then.

            EXAMPLE
              logsync peers retire music.db laptop --yes
            """)

    @Argument(help: "The store.", completion: .file())
    var store: String

    @Argument(help: "The peer's name or id.")
    var peer: String

    @Flag(help: "Only say what would be done.")
    var dryRun = false

    @OptionGroup var confirmation: Confirmation

    @OptionGroup var common: CommonOptions

    private struct Report: Encodable {
        let format = 1
        var store: String
        var retired: PeerName
        var dryRun: Bool

        private enum CodingKeys: String, CodingKey {
            case format, store, retired, dryRun
        }
    }

    func run() async throws {
        try await common.run { session in
            if !dryRun { try confirmation.check("peers retire") }
            let replicator = try await session.open(store)
            let peer = try await replicator.peer(named: peer)
            let label = Terminal.printable(peer.label)
            if !dryRun {
                try await confirmation.confirm("Nobody will wait for \(label) any more.", "peers retire")
            }
            try await replicator.retire(peer.id, dryRun: dryRun)
            try session.report(Report(store: replicator.path, retired: peer, dryRun: dryRun)) {
                [
                    dryRun
                        ? "\(label) would be retired: nobody would wait for it any more; nothing was done."
                        : "\(label) is retired: nobody waits for it any more."
                ]
            }
            return .done
        }
    }
}
