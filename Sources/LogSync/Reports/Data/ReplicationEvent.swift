public import LogSyncModel

/// Something that a running replicator says; with `--json` `watch` prints one a line.
public enum ReplicationEvent: Sendable {
    /// The container is there and everything that could be done has been done: after the start, and again after
    /// ``unavailable(store:error:)`` or ``error(store:error:)``.
    case ready(store: String)
    case didImport(DidImport)
    /// What is held has changed; empty where nothing is held any more.
    case held(store: String, items: [HeldItem])
    /// The container is not there. Said once; local changes are recorded and wait.
    case unavailable(store: String, error: LogSyncError)
    /// Something went wrong; it is tried again.
    case error(store: String, error: LogSyncError)

    /// What JSON calls it.
    public var name: String {
        switch self {
        case .ready: "ready"
        case .didImport: "didImport"
        case .held: "held"
        case .unavailable: "unavailable"
        case .error: "error"
        }
    }

    public var store: String {
        switch self {
        case .ready(let store), .held(let store, _), .unavailable(let store, _), .error(let store, _): store
        case .didImport(let event): event.store
        }
    }
}

extension ReplicationEvent: Encodable {
    private enum CodingKeys: String, CodingKey {
        case format, event, store, transactions, held, error
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(1, forKey: .format)
        try container.encode(name, forKey: .event)
        try container.encode(store, forKey: .store)
        switch self {
        case .ready: break
        case .didImport(let event): try container.encode(event.transactions, forKey: .transactions)
        case .held(_, let items): try container.encode(items, forKey: .held)
        case .unavailable(_, let error), .error(_, let error):
            try container.encode(JSONError(error), forKey: .error)
        }
    }
}

/// An error as JSON has it: `{"code": "…", "message": "…", "help": "…"}`.
package struct JSONError: Sendable, Encodable {
    package var code: String
    package var message: String
    package var help: String?

    package init(_ error: LogSyncError) {
        code = error.code.rawValue
        message = error.message
        help = error.help
    }

    private enum CodingKeys: String, CodingKey {
        case code, message, help
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(code, forKey: .code)
        try container.encode(message, forKey: .message)
        try container.encode(help, forKey: .help)
    }
}
