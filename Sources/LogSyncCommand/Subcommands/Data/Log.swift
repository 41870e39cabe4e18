import ArgumentParser
import LogSync
import Logging

/// Lists a store's transactions.
struct Log: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "List a store's transactions, newest first.",
        discussion: """
            With --follow the last ten come first, oldest first, then each as it is recorded or imported, until SIGINT or
            SIGTERM; --limit says how many instead of ten, --after from where on.

            EXAMPLE
              logsync log music.db --limit 5
            """)

    @Argument(help: "The store.", completion: .file())
    var store: String

    @Option(
        parsing: .unconditional, help: ArgumentHelp("No more than this many.", valueName: "n"),
        transform: CountArgument.parse)
    var limit: CountArgument?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Those after the transaction with this token, oldest first.", valueName: "token"),
        transform: TokenArgument.parse)
    var after: TokenArgument?

    @Option(help: ArgumentHelp("Those of this author only.", valueName: "author"))
    var author: String?

    @Option(help: ArgumentHelp("Those of this peer only: its name or id.", valueName: "peer"))
    var peer: String?

    @Option(help: ArgumentHelp("Those that changed this table only.", valueName: "table"))
    var table: String?

    @Flag(help: "Go on with what happens; with --json one document a line.")
    var follow = false

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await common.run { session in
            let replicator = try await session.open(store)
            if follow {
                try await self.follow(replicator, session)
            } else {
                let transactions = try await list(replicator, limit: limit?.count, after: after?.token)
                try session.answer(LogReport(transactions: transactions)) { lines(transactions) }
                if transactions.isEmpty { session.logger.notice("\(nothing)") }
            }
            return .done
        }
    }

    /// Says, beside an empty list, that nothing went wrong.
    private var nothing: String {
        let filters = [
            author.map { "by the author \($0.debugDescription)" }, peer.map { "of the peer \($0.debugDescription)" },
            table.map { "that changed the table \($0.debugDescription)" }, after.map { "after \($0.token)" },
        ].compactMap { $0 }
        guard limit?.count != 0 else { return "--limit 0 asks for no transaction" }
        return "\(store) has no transaction" + filters.map { " " + $0 }.joined()
    }

    private func list(_ replicator: Replicator, limit: Int?, after: Int64?) async throws -> [LoggedTransaction] {
        try await replicator.log(limit: limit, after: after, author: author, peer: peer, table: table)
    }

    // MARK: For people

    private func lines(_ transactions: [LoggedTransaction]) -> [String] {
        guard !transactions.isEmpty else { return [] }
        var table = TextTable(
            ("TOKEN", .right), ("TIME", .left), ("TRANSACTION", .left), ("AUTHOR", .left), ("CHANGES", .left))
        for transaction in transactions {
            table.add(
                String(transaction.token), transaction.time.description,
                "\(transaction.peer.name):\(transaction.sequence)", transaction.author ?? "", changes(transaction))
        }
        return table.lines
    }

    private func changes(_ transaction: LoggedTransaction) -> String {
        ChangeSummary.text(transaction.changes)
    }

    // MARK: Following

    /// One line of `--follow --json`: a transaction with the format number beside its keys.
    private struct Line: Encodable {
        var transaction: LoggedTransaction

        private enum CodingKeys: String, CodingKey {
            case format
        }

        func encode(to encoder: any Encoder) throws {
            try transaction.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(1, forKey: .format)
        }
    }

    private func follow(_ replicator: Replicator, _ session: Session) async throws {
        var token = after?.token
        if token == nil {
            // The newest of all says from where on, whatever the filters leave.
            token = try await replicator.log(limit: 1).first?.token ?? 0
            for transaction in try await list(replicator, limit: limit?.count ?? 10, after: nil).reversed() {
                try show(transaction, session)
                token = max(token ?? 0, transaction.token)
            }
        }
        while true {
            // A process that needs the store alone is not to wait for as long as this one looks.
            try await replicator.letGoWhereAsked()
            for transaction in try await list(replicator, limit: nil, after: token) {
                try show(transaction, session)
                token = transaction.token
            }
            if Terminal.awaitEndOfReader(timeout: 0) { throw Terminal.noReader }
            // Another process records and imports; looking is one indexed query.
            try await Task.sleep(for: .milliseconds(250))
        }
    }

    private func show(_ transaction: LoggedTransaction, _ session: Session) throws {
        if session.isJSON { return try Terminal.print(JSONText.line(Line(transaction: transaction))) }
        var line = "\(transaction.time)  \(transaction.peer.name):\(transaction.sequence)"
        if let author = transaction.author { line += "  \(author)" }
        try Terminal.print(Terminal.printable("\(line)  \(changes(transaction))"))
    }
}
