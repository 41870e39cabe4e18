import LogSyncModel
import LogSyncStore

extension Replicator {
    /// The store's transactions, newest first; with `after` those with greater tokens, oldest first.
    ///
    /// - Parameters:
    ///   - limit: no more than this many; nil for all.
    ///   - token: a ``LoggedTransaction/token``.
    ///   - peer: an id, or a name that is unique.
    public func log(
        limit: Int? = nil, after token: Int64? = nil, author: String? = nil, peer: String? = nil, table: String? = nil
    ) async throws -> [LoggedTransaction] {
        let id = if let peer { try await self.peer(named: peer).id } else { PeerID?.none }
        return try inspect { store in
            let names = try store.names()
            return try store.store.history(limit: limit, after: token, author: author, peer: id, table: table).map {
                LoggedTransaction(
                    token: $0.token, peer: names[$0.dot.peer], sequence: $0.dot.sequence,
                    time: Timestamp(milliseconds: $0.time.milliseconds), author: $0.author, context: $0.context,
                    changes: $0.counts)
            }
        }
    }
}
