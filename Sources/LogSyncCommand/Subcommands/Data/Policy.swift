import ArgumentParser
import LogSync

/// Reads or changes the merge policies of the content.
struct Policy: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "policy",
        abstract: "Read or change the merge policies of the content.",
        discussion: """
            EXAMPLE
              logsync policy list music.db
            """,
        subcommands: [PolicyList.self, PolicySet.self],
        defaultSubcommand: PolicyList.self)
}

struct PolicyReport: Encodable {
    let format = 1
    var store: String
    var policies: [MergePolicy.Setting]

    private enum CodingKeys: String, CodingKey {
        case format, store, policies
    }
}

/// Lists the policies that are set.
struct PolicyList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the merge policies that are set.",
        discussion: """
            What is not listed is last-writer, delete-wins and unique-park.

            EXAMPLE
              logsync policy list music.db --json
            """)

    @Argument(help: "The store.", completion: .file())
    var store: String

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await common.run { session in
            let replicator = try await session.open(store)
            let policies = try await replicator.policies()
            try session.answer(PolicyReport(store: replicator.path, policies: policies)) {
                var table = TextTable(("TARGET", .left), ("POLICY", .left))
                for entry in policies { table.add(entry.target, entry.policy) }
                return policies.isEmpty ? ["No policy is set: the last writer of each cell shows."] : table.lines
            }
            return .done
        }
    }
}

/// Sets a policy, on every peer.
struct PolicySet: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Set a merge policy; it is in force on every peer that has imported it.",
        discussion: """
            By column: last-writer, first-writer, prefer NAME,NAME…, max, min, sum, union, manual; by table also
            last-writer-row, delete-wins, delete-loses, unique-park, unique-merge. References and keys take no max, min
            and sum.

            EXAMPLE
              logsync policy set music.db Track.Milliseconds max
            """)

    @Argument(help: "The store.", completion: .file())
    var store: String

    @Argument(help: "TABLE or TABLE.COLUMN.")
    var target: String

    @Argument(help: "The policy.")
    var policy: String

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await common.run { session in
            let replicator = try await session.open(store)
            let notes = try await replicator.setPolicy(policy, for: target)
            let entry = MergePolicy.Setting(target: target, policy: policy)
            try session.report(PolicyReport(store: replicator.path, policies: [entry])) {
                (["\(target) is merged by \(policy) from now on; other peers learn of it with the next sync."]
                    + notes.map { $0 + "." }).map(Terminal.printable)
            }
            return .done
        }
    }
}
