public import Foundation
import LogSyncContainer
import LogSyncFormat
public import LogSyncModel

/// Says that an import changed a store: which rows, by which peer, author and transaction.
///
/// It is posted after SQLite's commit, so a read that begins now sees the changes.
public struct DidImport: Sendable, Encodable {
    public struct Transaction: Sendable {
        public var peer: PeerName
        public var sequence: UInt64
        public var time: Timestamp
        public var author: String?
        public var context: String?
        /// Its place in this store's history: ``Replicator/history(_:)`` goes on after it.
        public var token: HistoryToken
        /// The rows changed, by the table's name in the database.
        public var tables: [String: TableChanges]

        public var dot: Dot { Dot(peer.id, sequence) }
    }

    /// The store's path.
    public var store: String
    /// In the order they were merged.
    public var transactions: [Transaction]

    /// The key in a notification's `userInfo` whose value is a ``DidImport``.
    public static let userInfoKey = "LogSyncDidImport"
}

extension Notification.Name {
    /// Posted on the default center after each import that changed a store;
    /// `userInfo[DidImport.userInfoKey]` is the ``DidImport``.
    public static let logSyncDidImport = Notification.Name("LogSyncDidImport")
}

extension DidImport.Transaction: Encodable {
    private enum CodingKeys: String, CodingKey {
        case token, peer, sequence, time, author, context, tables
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(token.value, forKey: .token)
        try container.encode(peer, forKey: .peer)
        try container.encode(sequence, forKey: .sequence)
        try container.encode(time, forKey: .time)
        try container.encode(author, forKey: .author)
        try container.encode(context, forKey: .context)
        try container.encode(tables.mapValues(JSONTableChanges.init), forKey: .tables)
    }
}

/// `inserted`, `updated` and `deleted` list keys; `counts` says how many there are, `truncated` whether lists end early;
/// `columns` is what updates changed.
private struct JSONTableChanges: Encodable {
    var inserted: [[JSONValue]]
    var updated: [[JSONValue]]
    var deleted: [[JSONValue]]
    var counts: ChangeCounts
    var truncated: Bool
    var columns: [String]

    init(_ changes: TableChanges) {
        inserted = changes.inserted.map { $0.map(JSONValue.init) }
        updated = changes.updated.map { $0.map(JSONValue.init) }
        deleted = changes.deleted.map { $0.map(JSONValue.init) }
        counts = changes.counts
        truncated = changes.isTruncated
        columns = changes.columns.sorted()
    }
}
