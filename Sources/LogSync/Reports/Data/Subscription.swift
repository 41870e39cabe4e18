import LogSyncModel
import LogSyncStore

/// A condition on the rows of a table, of which a program wants to hear when imports make rows enter it, leave it, or change
/// within it. Kept in the store until it is removed.
public struct Subscription: Sendable, Hashable {
    /// What rows do.
    public struct Events: OptionSet, Sendable, Hashable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// Rows that come to be within the condition: by an insert or an update.
        public static let enters = Events(rawValue: 1)
        /// Rows that are within it no more: by an update or a delete.
        public static let leaves = Events(rawValue: 2)
        /// Rows within it that change and stay.
        public static let changes = Events(rawValue: 4)
        public static let all: Events = [.enters, .leaves, .changes]
    }

    /// Unique in the store; registering one again replaces it.
    public var name: String
    public var table: String
    /// SQL over the row's columns as after `WHERE`, such as `done = 0 AND priority >= 3`. It may read the program's tables
    /// and call functions that SQLite holds harmless, and nothing else; it is looked at when a row of ``table`` changes.
    public var condition: String
    public var events: Events
    /// Whether changes of this store's own programs fire too.
    public var includesLocal: Bool
    /// What `logsync watch` runs by `sh -c` for each firing; nil for nothing. Of a program's own always nil.
    public internal(set) var command: String?
    /// Why it cannot be looked at now, as for a column that is gone; nil where it can.
    public internal(set) var trouble: String?

    public init(
        name: String, table: String, condition: String, events: Events = .all, includesLocal: Bool = false
    ) {
        self.name = name
        self.table = table
        self.condition = condition
        self.events = events
        self.includesLocal = includesLocal
    }

    /// One that `logsync watch` serves.
    package init(
        name: String, table: String, condition: String, events: Events, includesLocal: Bool, command: String?
    ) {
        self.init(name: name, table: table, condition: condition, events: events, includesLocal: includesLocal)
        self.command = command
    }
}

/// Says which rows entered a subscription's condition, left it, or changed within it.
public struct SubscriptionEvent: Sendable {
    public enum Kind: String, Sendable, Encodable {
        case enters, leaves, changes
    }

    /// The store's path.
    public var store: String
    /// Grows with each event of the store, and begins again where a backup of the store takes its place. One that is told again, because a process ended over it, has the same.
    public var id: Int64
    /// The subscription's name.
    public var subscription: String
    public var kind: Kind
    public var table: String
    /// At most ``TableChanges/maximumKeys``, each once.
    public var rows: [RowKey]
    /// Whether more rows did so than are listed.
    public var isTruncated: Bool
    /// Up to where in the history it was looked.
    public var token: HistoryToken
    /// What is to be run; nil for nothing.
    package var command: String?
}

extension SubscriptionEvent: Encodable {
    private enum CodingKeys: String, CodingKey {
        case format, event, store, id, subscription, kind, table, keys, truncated, token
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(1, forKey: .format)
        try container.encode("subscription", forKey: .event)
        try container.encode(store, forKey: .store)
        try container.encode(id, forKey: .id)
        try container.encode(subscription, forKey: .subscription)
        try container.encode(kind, forKey: .kind)
        try container.encode(table, forKey: .table)
        try container.encode(rows.map { $0.values.map(JSONValue.init) }, forKey: .keys)
        try container.encode(isTruncated, forKey: .truncated)
        try container.encode(token.value, forKey: .token)
    }
}

extension Subscription: Encodable {
    private enum CodingKeys: String, CodingKey {
        case name, table, condition = "where", on, local, run, trouble
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encode(table, forKey: .table)
        try container.encode(condition, forKey: .condition)
        try container.encode(events.names, forKey: .on)
        try container.encode(includesLocal, forKey: .local)
        try container.encode(command, forKey: .run)
        try container.encode(trouble, forKey: .trouble)
    }
}

extension Subscription.Events {
    /// As the command line has them.
    package var names: [String] {
        SubscriptionKind.allCases.filter { contains(Self(rawValue: $0.bit)) }.map(\.rawValue)
    }

    /// nil where a name is none.
    package init?(names: [String]) {
        self = []
        for name in names {
            guard let kind = SubscriptionKind(rawValue: name) else { return nil }
            insert(Self(rawValue: kind.bit))
        }
    }
}
