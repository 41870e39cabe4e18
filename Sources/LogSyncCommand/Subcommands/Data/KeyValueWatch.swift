import ArgumentParser
import Foundation
import LogSync
import LogSyncKeyValue
import LogSyncModel
import UnixSignals

/// Prints what others change.
struct KeyValueWatch: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Keep the store in step, and print what others change, until SIGTERM or SIGINT.",
        discussion: """
            EXAMPLE
              logsync kv watch settings.db pageNumber --json
            """)

    @Argument(help: "The key-value store.", completion: .file())
    var file: String

    @Argument(help: "The keys to hear of; all unless told.", transform: LiteralArgument.text)
    var keys: [String] = []

    @OptionGroup var common: CommonOptions

    func run() async throws {
        let session = try Session(common)
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint, .sigquit)
        let store = try await KeyValueStore.open(file, runs: true, configuration: session.configuration())
        let (changes, audience, output) = (store.changes, Audience(), OutputWriter(STDOUT_FILENO) { _ in "" })
        let result = await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { for await _ in signals { break } }
            group.addTask { for await change in changes { try await show(change, store, session, output) } }
            group.addTask {
                try await audience.run()
                if let error = audience.error { throw error }
            }
            let result = await group.nextResult()
            group.cancelAll()
            return result
        }
        await store.close()
        try result?.get()
    }

    private func show(
        _ change: KeyValueChange, _ store: KeyValueStore, _ session: Session, _ output: OutputWriter
    ) async throws {
        let keys = change.keys.filter { self.keys.isEmpty || self.keys.contains($0) }.sorted()
        guard !keys.isEmpty else { return }
        let values = try store.dictionaryRepresentation
        if session.isJSON {
            let line = Line(
                store: store.path, reason: change.reason, keys: keys,
                values: Dictionary(uniqueKeysWithValues: keys.map { ($0, values[$0].map { JSONValue(Value($0)) }) }))
            return try await output.deliver(JSONText.line(line))
        }
        for key in keys {
            let value = values[key].map { "=" + $0.shown } ?? " is gone"
            let reason = change.reason == .serverChange ? "" : "  (\(change.reason.rawValue))"
            try await output.deliver(Terminal.printable(key) + value + reason)
        }
    }

    private struct Line: Encodable {
        let format = 1
        let event = "change"
        var store: String
        var reason: KeyValueChange.Reason
        var keys: [String]
        /// What they have now; null for a key that is gone.
        var values: [String: JSONValue?]

        private enum CodingKeys: String, CodingKey {
            case format, event, store, reason, keys, values
        }
    }
}
