import ArgumentParser
import LogSync
import LogSyncModel

/// Keeps conditions that fire when imports make rows enter, leave or change within them.
struct Subscribe: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "subscribe",
        abstract: "Hear of rows that imports make enter a condition, leave it, or change within it.",
        discussion: """
            The condition is kept in the store, and logsync watch serves it: each firing is an event of its own, and COMMAND
            runs with that as JSON on its stdin. Rows that are within it already are not told of. A firing is there once,
            whatever process imports and wherever it is killed, and goes when COMMAND has ended: COMMAND runs again for it,
            with the same id, only where the daemon was killed before that.

            EXAMPLE
              logsync subscribe todo.db urgent --table item --where 'done = 0 AND priority >= 3' --on enters \\
                  --run 'notify-send "Something is urgent"'
              logsync subscribe todo.db --list
            """)

    @Argument(help: "The store.", completion: .file())
    var store: String

    @Argument(help: "What the subscription is called; one of the same name is replaced.")
    var name: String?

    @Option(help: "The table whose rows it is about.")
    var table: String?

    @Option(
        name: .customLong("where"),
        help: ArgumentHelp("SQL over the row's columns, as after WHERE; it may only read.", valueName: "sql"))
    var condition: String?

    @Option(
        help: ArgumentHelp(
            "What to hear of: enters, leaves, changes, separated by commas; all three unless told.", valueName: "events"
        ))
    var on: String?

    @Option(
        help: ArgumentHelp(
            "Run this by 'sh -c' for each firing, with its event as JSON on stdin.", valueName: "command"))
    var run: String?

    @Flag(help: "Hear of what this store's own programs change, too.")
    var local = false

    @Flag(help: "List the subscriptions of the store.")
    var list = false

    @Option(help: ArgumentHelp("Forget the subscription of this name.", valueName: "name"))
    var remove: String?

    @Flag(help: "Of --remove: only say whether there is one of this name.")
    var dryRun = false

    @OptionGroup var common: CommonOptions

    func validate() throws {
        if dryRun, remove == nil { throw ValidationError("--dry-run is about --remove NAME.") }
        let isNew = name != nil || table != nil || condition != nil || on != nil || run != nil || local
        if list || remove != nil {
            if isNew || list && remove != nil {
                throw ValidationError("--list and --remove NAME stand alone, after the store.")
            }
            return
        }
        guard name != nil else {
            throw ValidationError("Give a NAME for the subscription, or --list, or --remove NAME.")
        }
        guard table != nil, condition != nil else {
            throw ValidationError("Give the rows as --table TABLE --where SQL.")
        }
        _ = try events()
    }

    private func events() throws -> Subscription.Events {
        guard let on else { return .all }
        let names = on.split(separator: ",").map { String($0.trimmingPrefix(" ")) }
        guard let events = Subscription.Events(names: names), !events.isEmpty else {
            throw ValidationError(
                "\(on.debugDescription) is no list of enters, leaves and changes, separated by commas.")
        }
        return events
    }

    func run() async throws {
        try await common.run { [self] session in
            let replicator = try await session.open(store)
            if let remove {
                try await replicator.unsubscribe(remove, dryRun: dryRun)
                try session.report(RemovalReport(store: replicator.path, removed: remove, dryRun: dryRun)) {
                    [
                        Terminal.printable(
                            remove + (dryRun ? " would be forgotten; nothing was done." : " is forgotten."))
                    ]
                }
            } else if list {
                try await answer(replicator, session)
            } else if let name, let table, let condition {
                let subscription = Subscription(
                    name: name, table: table, condition: condition, events: try events(), includesLocal: local,
                    command: run)
                let inside = try await replicator.register(subscription)
                let report = SubscriptionReport(store: replicator.path, subscription: subscription, inside: inside)
                try session.report(report) {
                    return [
                        Terminal.printable(
                            "\(name) is kept in \(replicator.path), and logsync watch serves it; \(inside.counted("row is", "rows are")) inside now."
                        )
                    ]
                }
            }
            return .done
        }
    }

    private func answer(_ replicator: Replicator, _ session: Session) async throws {
        let subscriptions = try await replicator.subscriptions()
        try session.answer(SubscriptionList(store: replicator.path, subscriptions: subscriptions)) {
            var table = TextTable(("NAME", .left), ("TABLE", .left), ("WHERE", .left), ("ON", .left), ("RUN", .left))
            for subscription in subscriptions {
                table.add(
                    subscription.name, subscription.table, subscription.condition,
                    subscription.events.names.joined(separator: ","), subscription.command ?? "")
            }
            let troubles = subscriptions.compactMap { subscription in
                subscription.trouble.map { Terminal.printable("\(subscription.name) waits: \($0)") }
            }
            return subscriptions.isEmpty ? ["Nothing is subscribed to."] : table.lines + troubles
        }
    }
}

private struct SubscriptionReport: Encodable {
    let format = 1
    var store: String
    var subscription: Subscription
    /// How many rows are within the condition.
    var inside: Int

    private enum CodingKeys: String, CodingKey {
        case format, store, subscription, inside
    }
}

private struct SubscriptionList: Encodable {
    let format = 1
    var store: String
    var subscriptions: [Subscription]

    private enum CodingKeys: String, CodingKey {
        case format, store, subscriptions
    }
}

private struct RemovalReport: Encodable {
    let format = 1
    var store: String
    var removed: String
    var dryRun: Bool

    private enum CodingKeys: String, CodingKey {
        case format, store, removed, dryRun
    }
}
