import ArgumentParser
import LogSync

/// Says who takes part, and settles matters of single peers.
struct Peers: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "peers",
        abstract: "Say who takes part.",
        discussion: """
            EXAMPLE
              logsync peers list music.db
            """,
        subcommands: [
            PeersList.self, PeersRetire.self, PeersRename.self, PeersAcceptClock.self, PeersAcceptSize.self,
            PeersAcceptLoss.self, PeersAcceptClaim.self,
        ],
        defaultSubcommand: PeersList.self)
}

/// Lists the peers, this store's own included.
struct PeersList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the peers.",
        discussion: """
            EXAMPLE
              logsync peers list music.db --json
            """)

    @Argument(help: "The store.", completion: .file())
    var store: String

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await common.run { session in
            let status = try await session.open(store).status()
            try session.answer(PeersReport(status)) { lines(status) }
            return .done
        }
    }

    private func lines(_ status: StoreStatus) -> [String] {
        var table = TextTable(("PEER", .left), ("ID", .left), ("PUBLISHED", .right), ("SEEN", .left), ("", .left))
        for peer in PeersReport(status).peers {
            table.add(
                peer.name, peer.id.description, String(peer.published), peer.seenAt?.description ?? "never",
                peer.isThisStore ? "this store" : peer.isRetired ? "retired" : "")
        }
        return table.lines
    }
}

/// Gives this store's peer another name.
struct PeersRename: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rename",
        abstract: "Give this store's peer another name.",
        discussion: """
            EXAMPLE
              logsync peers rename music.db desk
            """)

    @Argument(help: "The store.", completion: .file())
    var store: String

    @Argument(help: "The new name, which no other peer may have.")
    var name: String

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await common.run { session in
            let replicator = try await session.open(store)
            try await replicator.rename(to: name)
            let status = try await replicator.status()
            try session.report(PeersReport(status)) {
                ["This peer is \(Terminal.printable(name)) from now on; others learn of it with the next sync."]
            }
            return .done
        }
    }
}

/// Lets in what a peer with a wrong clock has made.
struct PeersAcceptClock: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "accept-clock",
        abstract: "Import a peer's transactions however far ahead of this machine's clock they are.",
        discussion: """
            They are held otherwise, because they would win against every edit made here until that time has come.

            EXAMPLE
              logsync peers accept-clock music.db laptop
            """)

    @OptionGroup var peer: AcceptedPeer

    func run() async throws {
        try await peer.accept(
            { try await $0.acceptClock(of: $1) },
            saying: { "The clock of \($0) is accepted; what was held for it comes with the next sync." })
    }
}

/// Lets in what a peer has made that takes up much more than its files.
struct PeersAcceptSize: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "accept-size",
        abstract: "Import a peer's transactions however much their log files come to.",
        discussion: """
            They are held otherwise, because a kilobyte can be made that fills the disk.

            EXAMPLE
              logsync peers accept-size music.db laptop
            """)

    @OptionGroup var peer: AcceptedPeer

    func run() async throws {
        try await peer.accept(
            { try await $0.acceptSize(of: $1) },
            saying: { "Files of \($0) may come to any size; what was held for it comes with the next sync." })
    }
}

/// Believes the folder that the store is an older state of itself.
struct PeersAcceptClaim: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "accept-claim",
        abstract:
            "Believe the folder that this store was restored or copied: it becomes a new peer with the next sync.",
        discussion: """
            A folder that says so is believed by itself once a day, because anybody who writes it can say so.

            EXAMPLE
              logsync peers accept-claim music.db
            """)

    @Argument(help: "The store.", completion: .file())
    var store: String

    @OptionGroup var common: CommonOptions

    private struct Report: Encodable {
        let format = 1
        var store: String
        var peer: PeerName

        private enum CodingKeys: String, CodingKey {
            case format, store, peer
        }
    }

    func run() async throws {
        try await common.run { session in
            let replicator = try await session.open(store)
            try await replicator.acceptClaim()
            let peer = try await replicator.status().peer
            try session.report(Report(store: replicator.path, peer: peer)) {
                ["The folder is believed; with the next sync the store goes on as a new peer."]
            }
            return .done
        }
    }
}

/// A peer of which a store is to take what it holds.
struct AcceptedPeer: ParsableArguments {
    @Argument(help: "The store.", completion: .file())
    var store: String

    @Argument(help: "The peer's name or id.")
    var peer: String

    @OptionGroup var common: CommonOptions

    private struct Report: Encodable {
        let format = 1
        var store: String
        var peer: PeerName

        private enum CodingKeys: String, CodingKey {
            case format, store, peer
        }
    }

    /// - Parameter line: what people read, given the peer's name.
    func accept(
        _ accept: @escaping @Sendable (Replicator, PeerID) async throws -> Void,
        saying line: @escaping @Sendable (String) -> String
    ) async throws {
        try await common.run { session in
            let replicator = try await session.open(store)
            let peer = try await replicator.peer(named: peer)
            try await accept(replicator, peer.id)
            try session.report(Report(store: replicator.path, peer: peer)) { [line(Terminal.printable(peer.label))] }
            return .done
        }
    }
}

/// The JSON document that `peers list` prints.
struct PeersReport: Encodable {
    struct Peer: Encodable {
        var id: PeerID
        var name: String
        var published: UInt64
        var imported: UInt64
        var behind: UInt64
        var seenAt: Timestamp?
        var isRetired: Bool
        var isThisStore: Bool

        private enum CodingKeys: String, CodingKey {
            case id, name, published, imported, behind, seenAt
            case isRetired = "retired"
            case isThisStore = "self"
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(id, forKey: .id)
            try container.encode(name, forKey: .name)
            try container.encode(published, forKey: .published)
            try container.encode(imported, forKey: .imported)
            try container.encode(behind, forKey: .behind)
            try container.encode(seenAt, forKey: .seenAt)
            try container.encode(isRetired, forKey: .isRetired)
            try container.encode(isThisStore, forKey: .isThisStore)
        }
    }

    let format = 1
    var store: String
    var content: String
    /// This store first.
    var peers: [Peer]

    private enum CodingKeys: String, CodingKey {
        case format, store, content, peers
    }

    init(_ status: StoreStatus) {
        store = status.store
        content = status.content
        let own = status.vector[status.peer.id]
        let published = own - min(own, UInt64(clamping: status.outbox))
        peers = [
            Peer(
                id: status.peer.id, name: status.peer.name, published: published, imported: own, behind: 0, seenAt: nil,
                isRetired: false, isThisStore: true)
        ]
        peers += status.peers.map {
            Peer(
                id: $0.id, name: $0.name, published: $0.published, imported: $0.imported, behind: $0.behind,
                seenAt: $0.seenAt, isRetired: $0.retired, isThisStore: false)
        }
    }
}
