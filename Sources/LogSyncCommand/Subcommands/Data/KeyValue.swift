import ArgumentParser
import Foundation
import GRDB
import LogSync
import LogSyncKeyValue
import LogSyncModel
import Logging

/// A key-value store on a content of its own.
struct KeyValue: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "kv",
        abstract: "Keep small settings by name, the same on every machine.",
        discussion: """
            FILE is an ordinary store with a table of keys and values: watch keeps it in step, and everything else works on it
            as well. At most 1024 keys of 64 bytes, and 1 MiB in all.

            EXAMPLE
              logsync kv init settings.db --container ~/Sync --content settings
              logsync kv set settings.db pageNumber 12
              logsync kv get settings.db pageNumber
            """,
        subcommands: [
            KeyValueInit.self, KeyValueGet.self, KeyValueSet.self, KeyValueDelete.self, KeyValueList.self,
            KeyValueWatch.self,
        ])
}

/// Makes a key-value store, or joins one.
struct KeyValueInit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Make a key-value store, or join the one that the content holds.",
        discussion: """
            EXAMPLE
              logsync kv init settings.db --container ~/Sync --content settings
            """)

    @Argument(help: "The database; made where it is not there.", completion: .file())
    var file: String

    @OptionGroup var place: ContentOptions
    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await common.run { [self] session in
            let content = try place.content(in: session)
            let container = try place.container(in: session)
            var isDirectory: ObjCBool = false
            guard FileManager.default.fileExists(atPath: container, isDirectory: &isDirectory), isDirectory.boolValue
            else {
                throw LogSyncError(
                    .containerUnavailable, "there is no folder \(container); nothing was done",
                    help: "Make it, or mount it, and run the command again")
            }
            let store = try await KeyValueStore.open(
                file, container: container, content: content, peer: place.peer(in: session), runs: false,
                configuration: session.configuration())
            _ = try await store.replicator.sync()
            let status = try await store.replicator.status()
            let usage = try store.usage
            let report = KeyValueReport(
                store: store.path, content: content, container: status.container.path, peer: status.peer,
                keys: usage.keys)
            await store.close()
            try session.report(report) {
                [
                    Terminal.printable(
                        "\(report.store) keeps the settings of \(content), as \(report.peer.name); it has "
                            + usage.keys.counted("key") + ".")
                ]
            }
            return .done
        }
    }
}

private struct KeyValueReport: Encodable {
    let format = 1
    var store: String
    var content: String
    var container: String
    var peer: PeerName
    var keys: Int

    private enum CodingKeys: String, CodingKey {
        case format, store, content, container, peer, keys
    }
}

/// A key with its value, or none.
private struct KeyValueAnswer: Encodable {
    let format = 1
    var store: String
    var key: String
    var value: JSONValue?
    /// Of what removes.
    var dryRun: Bool?

    private enum CodingKeys: String, CodingKey {
        case format, store, key, value, dryRun
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(format, forKey: .format)
        try container.encode(store, forKey: .store)
        try container.encode(key, forKey: .key)
        try container.encode(value, forKey: .value)
        try container.encodeIfPresent(dryRun, forKey: .dryRun)
    }
}

extension LogSyncError.Code {
    /// A key-value store does not have a key (66).
    static let noKey = Self(rawValue: "no-key")
}

extension DatabaseValue {
    /// As people read it: texts without control characters, BLOBs as SQL literals.
    var shown: String {
        switch Value(self) {
        case .text(let bytes): Terminal.printable(String(decoding: bytes, as: UTF8.self))
        case let value: SQLLiteral.text(value)
        }
    }
}

/// Prints a value.
struct KeyValueGet: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Print the value of a key; 66, and nothing on stdout, where there is none.",
        discussion: """
            What this machine has now, without looking into the shared folder.

            EXAMPLE
              logsync kv get settings.db pageNumber --default 1
            """)

    @Argument(help: "The key-value store.", completion: .file())
    var file: String

    @Argument(help: "The key.", transform: LiteralArgument.text)
    var key: String

    @Option(
        help: ArgumentHelp("Print this, and end with 0, where there is no such key.", valueName: "value"),
        transform: LiteralArgument.text)
    var `default`: String?

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await common.run { [self] session in
            let store = try await KeyValueStore.open(file, configuration: session.configuration())
            let value = try store.databaseValue(for: key) ?? `default`?.databaseValue
            await store.close()
            guard let value else {
                throw LogSyncError(
                    .noKey, "\(store.path) has no key \(key.debugDescription)",
                    help:
                        "logsync kv list \(file.asShellArgument) lists them; --default VALUE prints another value instead"
                )
            }
            let answer = KeyValueAnswer(store: store.path, key: key, value: JSONValue(Value(value)))
            if !session.isJSON, case .text(let bytes) = Value(value), isatty(STDOUT_FILENO) == 0 {
                // For a program, with all its lines and whatever it holds.
                try Terminal.write(Array(bytes) + [UInt8(ascii: "\n")])
            } else {
                try session.answer(answer) { [value.shown] }
            }
            return .done
        }
    }
}

/// Sets a value.
struct KeyValueSet: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Set the value of a key, and publish it where the shared folder is there.",
        discussion: """
            The value is text as it is given, unless --literal says otherwise. One that begins with - and is no number is
            given after --.

            EXAMPLE
              logsync kv set settings.db pageNumber 12
            """)

    @Argument(help: "The key-value store.", completion: .file())
    var file: String

    @Argument(help: "The key; at most 64 bytes.", transform: LiteralArgument.text)
    var key: String

    @Argument(help: "The value.", transform: LiteralArgument.text)
    var value: String

    @Flag(help: "Read the value as a SQL literal or JSON: 12 is a number, 'x' a text, x'00' a BLOB.")
    var literal = false

    @OptionGroup var common: CommonOptions

    func run() async throws {
        let given = literal ? try LiteralArgument.value(value) : .text(value)
        if case .text(let bytes) = given, String(validating: bytes, as: UTF8.self) == nil {
            throw ValidationError("A value is text in UTF-8, a number or a BLOB, as x'80ff' is one with --literal.")
        }
        let value = given.databaseValue
        guard !value.isNull else {
            throw ValidationError("A key has a value; logsync kv delete removes it.")
        }
        try await common.run { [self] session in
            let store = try await KeyValueStore.open(file, configuration: session.configuration())
            try await store.set(value, for: key)
            try await store.publish(session)
            let answer = KeyValueAnswer(store: store.path, key: key, value: JSONValue(Value(value)))
            try session.report(answer) { [] }
            return .done
        }
    }
}

/// Removes keys.
struct KeyValueDelete: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Remove a key, and publish that; 66 where there is no such key.",
        discussion: """
            EXAMPLE
              logsync kv delete settings.db pageNumber
            """)

    @Argument(help: "The key-value store.", completion: .file())
    var file: String

    @Argument(help: "The key.", transform: LiteralArgument.text)
    var key: String

    @Flag(help: "Only say whether there is such a key.")
    var dryRun = false

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await common.run { [self] session in
            let store = try await KeyValueStore.open(file, configuration: session.configuration())
            let isThere = try await dryRun ? store.entries.contains { $0.key == key } : store.remove(key)
            guard isThere else {
                throw LogSyncError(
                    .noKey, "\(store.path) has no key \(key.debugDescription)",
                    help: "logsync kv list \(file.asShellArgument) lists them")
            }
            if dryRun { await store.close() } else { try await store.publish(session) }
            try session.report(KeyValueAnswer(store: store.path, key: key, value: nil, dryRun: dryRun)) {
                dryRun ? [Terminal.printable("\(key) would be removed; nothing was done.")] : []
            }
            return .done
        }
    }
}

extension KeyValueStore {
    /// Publishes what was set, where the shared folder is there; else it waits, and that is said.
    fileprivate func publish(_ session: Session) async throws {
        do {
            _ = try await replicator.export()
        } catch let error as LogSyncError where error.code == .containerUnavailable {
            session.logger.notice("\(error)")
        }
        await close()
    }
}

/// Lists keys and values.
struct KeyValueList: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the keys with their values.",
        discussion: """
            EXAMPLE
              logsync kv list settings.db --json
            """)

    @Argument(help: "The key-value store.", completion: .file())
    var file: String

    @OptionGroup var common: CommonOptions

    func run() async throws {
        try await common.run { [self] session in
            let store = try await KeyValueStore.open(file, configuration: session.configuration())
            let entries = try store.entries
            let usage = try store.usage
            await store.close()
            let report = Report(
                store: store.path, entries: entries.map { Entry(key: $0.key, value: JSONValue(Value($0.value))) },
                bytes: usage.bytes, excess: usage.excess)
            try session.answer(report) {
                let excess =
                    usage.excess.isEmpty
                    ? []
                    : [
                        Terminal.printable("beyond the limits: \(usage.excess.joined(separator: ", "))")
                    ]
                return entries.map { Terminal.printable($0.key) + "=" + $0.value.shown } + excess
            }
            return .done
        }
    }

    private struct Entry: Encodable {
        var key: String
        var value: JSONValue
    }

    private struct Report: Encodable {
        let format = 1
        var store: String
        var entries: [Entry]
        var bytes: Int
        var excess: [String]

        private enum CodingKeys: String, CodingKey {
            case format, store, entries, bytes, excess
        }
    }
}
