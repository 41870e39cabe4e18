import LogSync
import Logging

/// Says what happens: a JSON document a line on stdout, or lines for people.
struct EventPrinter: Sendable {
    let session: Session
    let audience: Audience

    func print(_ event: ReplicationEvent) { print(event) { try printLines(event) } }

    func print(_ event: SubscriptionEvent) {
        print(event) {
            let limit = 10
            let keys = event.rows.prefix(limit).map { row in
                row.values.map { SQLLiteral.text($0) }.joined(separator: ",")
            }
            let more = event.isTruncated || event.rows.count > limit ? ", …" : ""
            try say(
                Terminal.printable(
                    "\(event.store): \(event.subscription): \(event.table) "
                        + "\(keys.joined(separator: " "))\(more) \(event.kind.rawValue)"))
        }
    }

    private func print(_ event: some Encodable, lines: () throws -> Void) {
        do {
            if session.isJSON {
                try Terminal.print(JSONText.line(event))
            } else {
                try lines()
            }
        } catch let error as LogSyncError where error == Terminal.noReader {
            audience.leave(error)
        } catch {
            // A full disk, most likely: the daemon goes on, and what it says is lost.
            session.logger.error("\(LogSyncError(describing: error).description)")
        }
    }

    /// What is held, unavailable or wrong is in the log already, on stderr.
    private func printLines(_ event: ReplicationEvent) throws {
        switch event {
        case .ready(let store): try say("\(store) is ready")
        case .didImport(let event): try say("\(event.store): imported \(summary(event))")
        case .held(let store, let items) where items.isEmpty: try say("\(store): nothing is held any more")
        case .held, .unavailable, .error: break
        }
    }

    private func say(_ line: String) throws {
        guard !session.isQuiet else { return }
        try Terminal.print(line)
    }

    private func summary(_ event: DidImport) -> String {
        var changes: [String: ChangeCounts] = [:]
        var counts: [String: Int] = [:]
        for transaction in event.transactions {
            counts[transaction.peer.name, default: 0] += 1
            for (table, change) in transaction.tables { changes[table, default: ChangeCounts()] += change.counts }
        }
        let peers = counts.sorted { $0.key < $1.key }.map { "\($0.value) from \($0.key)" }
        return Terminal.printable(peers.joined(separator: ", ") + ": " + ChangeSummary.text(changes))
    }
}
