public import LogSyncModel

/// One line of a store's history.
public struct LoggedTransaction: Sendable, Encodable {
    /// Grows with each transaction recorded or imported here; opaque to callers but for its order.
    public var token: Int64
    public var peer: PeerName
    public var sequence: UInt64
    public var time: Timestamp
    public var author: String?
    public var context: String?
    /// By table.
    public var changes: [String: ChangeCounts]

    private enum CodingKeys: String, CodingKey {
        case token, peer, sequence, time, author, context, changes
    }

    /// Every key is always there, so that scripts need not ask; what is nil is null.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(token, forKey: .token)
        try container.encode(peer, forKey: .peer)
        try container.encode(sequence, forKey: .sequence)
        try container.encode(time, forKey: .time)
        try container.encode(author, forKey: .author)
        try container.encode(context, forKey: .context)
        try container.encode(changes, forKey: .changes)
    }
}

/// The JSON document that `log` prints.
package struct LogReport: Sendable, Encodable {
    package let format = 1
    package var transactions: [LoggedTransaction]

    package init(transactions: [LoggedTransaction]) {
        self.transactions = transactions
    }

    private enum CodingKeys: String, CodingKey {
        case format, transactions
    }
}
