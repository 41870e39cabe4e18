import Foundation
import LogSync
import LogSyncModel
import Logging

/// Says what happens: a JSON document a line on stdout, or lines for people.
struct EventPrinter: Sendable {
    let session: Session
    let audience: Audience
    let output: OutputWriter

    /// Never waits for the reader, who misses events where it does not keep up.
    func print(_ event: ReplicationEvent) {
        do {
            guard let line = try line(event, text(event)) else { return }
            try output.write(line)
        } catch {
            Self.take(error, session, audience)
        }
    }

    /// A firing that has a command is printed like anything else. One that has none waits, in the store, until it is printed.
    ///
    /// - Returns: whether it has been told; false where the task was cancelled before.
    func print(_ event: SubscriptionEvent) async -> Bool {
        do {
            guard let line = try line(event, text(event)) else { return true }
            guard event.command != nil else { return try await output.deliver(line) }
            try output.write(line)
        } catch {
            Self.take(error, session, audience)
        }
        return true
    }

    /// What is printed of an event; nil for nothing.
    private func line(_ event: some Encodable, _ text: @autoclosure () -> String?) throws -> [UInt8]? {
        if session.isJSON { return Array((try JSONText.line(event) + "\n").utf8) }
        return session.isQuiet ? nil : text().map { Array(($0 + "\n").utf8) }
    }

    private static func take(_ error: any Error, _ session: Session, _ audience: Audience) {
        let error = LogSyncError(describing: error)
        // Else a full disk, most likely: the daemon goes on, and what it says is lost.
        if error == Terminal.noReader { audience.leave(error) } else { session.logger.error("\(error.description)") }
    }

    // MARK: A reader that does not keep up

    private struct Omission: Encodable {
        let format = 1
        let event = "omitted"
        var count: Int

        private enum CodingKeys: String, CodingKey {
            case format, event, count
        }
    }

    /// What writes a daemon's events to stdout.
    static func writer(_ session: Session, _ audience: Audience) -> OutputWriter {
        OutputWriter(
            STDOUT_FILENO,
            notice: { count in
                let text = "\(count.counted("event was", "events were")) left out, because stdout was not read"
                session.logger.warning("\(text)")
                let line = session.isJSON ? try? JSONText.line(Omission(count: count)) : nil
                return (line ?? text) + "\n"
            },
            onOmission: {
                session.logger.warning("stdout is not read: events are left out until it is, and the stores go on")
            },
            onFailure: { take($0, session, audience) })
    }

    /// What writes a daemon's log to stderr.
    static func errorWriter(_ session: Session) -> OutputWriter {
        OutputWriter(
            STDERR_FILENO,
            notice: { count in
                session.logOutput.text(
                    .warning,
                    "\(count.counted("line of the log was", "lines of the log were")) left out, because stderr was not read"
                )
            })
    }

    // MARK: For people

    /// What is held, unavailable or wrong is in the log already, on stderr.
    private func text(_ event: ReplicationEvent) -> String? {
        switch event {
        case .ready(let store): "\(store) is ready"
        case .didImport(let event): "\(event.store): imported \(summary(event))"
        case .held(let store, let items) where items.isEmpty: "\(store): nothing is held any more"
        case .held, .unavailable, .error: nil
        }
    }

    private func text(_ event: SubscriptionEvent) -> String {
        let limit = 10
        let keys = event.rows.prefix(limit).map { row in
            row.values.map { SQLLiteral.text($0) }.joined(separator: ",")
        }
        let more = event.isTruncated || event.rows.count > limit ? ", …" : ""
        return Terminal.printable(
            "\(event.store): \(event.subscription): \(event.table) "
                + "\(keys.joined(separator: " "))\(more) \(event.kind.rawValue)")
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
