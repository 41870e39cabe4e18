import ArgumentParser
import LogSync
import LogSyncModel

/// Says where a store stands.
struct Status: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Say where a store stands: what waits, who takes part, what is held and why.",
        discussion: """
            EXAMPLE
              logsync status music.db
            """)

    @Argument(help: "The store.", completion: .file())
    var store: String

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await common.run { session in
            let status = try await session.open(store).status()
            try session.answer(status) { lines(status) }
            return .done
        }
    }

    private func lines(_ status: StoreStatus) -> [String] {
        var facts = TextTable(("", .left), ("", .left))
        facts.add("store", status.store)
        facts.add("content", status.content)
        if let recipe = status.recipe { facts.add("recipe", recipe) }
        facts.add("container", status.container.path + (status.container.available ? "" : " (not available)"))
        facts.add("peer", "\(status.peer.name), \(status.peer.id)")
        facts.add("pending", status.pending.counted("change") + " not yet recorded")
        facts.add("outbox", status.outbox.counted("transaction") + " not yet published")
        facts.add("vector", vector(status))
        facts.add("conflicts", String(status.conflicts))
        facts.add("parked", String(status.parked))
        if status.keptForSchema > 0 {
            facts.add("kept", "\(status.keptForSchema.counted("cell")) for tables and columns that are not here yet")
        }
        for reference in status.heldReferences { facts.add("held", reference.line) }
        for undecided in status.undecided { facts.add("held", undecided.line) }
        for other in status.otherTables { facts.add("other", Terminal.printable(other.line)) }
        for table in status.unwritable { facts.add("unwritable", Terminal.printable(table.line)) }
        if !status.unenforced.isEmpty { facts.add("unenforced", status.unenforced.joined(separator: ", ")) }
        if !status.succeeds.isEmpty {
            facts.add("succeeds", status.succeeds.map { "\($0.name) (\($0.id))" }.joined(separator: ", "))
        }
        if let identity = status.identity { facts.add("identity", "\(identity.kind.rawValue): \(identity.detail)") }
        if let setBack = status.setBack {
            facts.add("set back", "until \(setBack.until): the daemon ended \(setBack.ends) times while working on it")
        }
        facts.add("digest", status.digest)
        var lines = facts.lines
        if !status.lacks.isEmpty { lines += [""] + status.lacks.lines }
        if !status.missingPolicies.isEmpty {
            lines += [""]
            lines += status.missingPolicies.map {
                Terminal.printable(
                    "\($0.target): the policy \($0.policy) is a program's own; what is imported here shows the last writer's "
                        + "value until that program opens the store")
            }
        }
        if !status.unmade.isEmpty { lines += [""] + status.unmade.map(\.line) }
        if !status.schemas.isEmpty { lines += [""] + status.schemas.flatMap(\.lines).map(Terminal.printable) }
        if !status.peers.isEmpty { lines += [""] + peerLines(status.peers) }
        if !status.held.isEmpty { lines += [""] + status.held.map(\.line) + helpLines(status) }
        return lines
    }

    /// What lets in what is held, each once.
    private func helpLines(_ status: StoreStatus) -> [String] {
        var said: Set<String> = []
        return status.held.map { "\($0.reason.rawValue): \($0.help(at: status.store))" }
            .filter { said.insert($0).inserted }.map(Terminal.printable)
    }

    private func vector(_ status: StoreStatus) -> String {
        let names = Dictionary(status.peers.map { ($0.id, $0.name) }) { first, _ in first }
        return status.vector.dots.map { dot in
            "\(dot.peer == status.peer.id ? status.peer.name : PeerName(id: dot.peer, name: names[dot.peer]).name):\(dot.sequence)"
        }.joined(separator: " ")
    }

    private func peerLines(_ peers: [StoreStatus.Peer]) -> [String] {
        var table = TextTable(
            ("PEER", .left), ("ID", .left), ("PUBLISHED", .right), ("IMPORTED", .right), ("BEHIND", .right),
            ("SEEN", .left))
        for peer in peers {
            table.add(
                peer.name + (peer.retired ? " (retired)" : ""), String(peer.id.description.prefix(8)),
                String(peer.published), String(peer.imported), String(peer.behind),
                peer.seenAt?.description ?? "never")
        }
        return table.lines
    }
}
