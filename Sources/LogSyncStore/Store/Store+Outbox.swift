import LogSyncFormat
package import LogSyncModel
import LogSyncSQLite

extension Store {
    /// How many transactions wait to be published; cheap, however many have been.
    package func waitingCount() throws -> Int {
        try database.read { store in
            Int(try store.connection.integer("SELECT count(*) FROM logsync_outbox WHERE NOT published") ?? 0)
        }
    }

    /// When transactions of other peers were last imported, in Unix milliseconds; nil where that is not known.
    package func lastImport() throws -> Int64? { try database.read { try $0.facts.lastImport } }

    /// The peers of whom the outbox has transactions, found without going through those.
    package func outboxPeers() throws -> [PeerID] {
        try database.read { store in
            try store.connection.rows(Self.outboxAuthors).compactMap { row in
                row[0].isNull ? nil : store.peers.id(row[0].asInteger)
            }
        }
    }

    private static let outboxAuthors = """
        WITH RECURSIVE author(peer) AS (
            SELECT min(peer) FROM logsync_outbox
            UNION ALL
            SELECT (SELECT min(peer) FROM logsync_outbox AS next WHERE next.peer > author.peer) FROM author
            WHERE author.peer IS NOT NULL)
        SELECT peer FROM author
        """

    /// The transactions of one peer that the outbox has within a range, in order of sequence.
    package func outbox(of peer: PeerID, _ sequences: ClosedRange<UInt64>) throws -> [OutboxTransaction] {
        try database.read { store in
            guard let number = store.peers[peer]?.number else { return [] }
            return try store.connection.rows(
                """
                SELECT sequence, chain_before, chain, byte_count, published FROM logsync_outbox
                WHERE peer = ? AND sequence BETWEEN ? AND ? ORDER BY sequence
                """, .integer(number), .integer(Int64(clamping: sequences.lowerBound)),
                .integer(Int64(clamping: sequences.upperBound))
            ).compactMap { row in
                guard case .blob(let before) = row[1], case .blob(let after) = row[2],
                    let chainBefore = ChainHash(bytes: before), let chain = ChainHash(bytes: after)
                else { return nil }
                return OutboxTransaction(
                    dot: Dot(peer, UInt64(row[0].asInteger)), chainBefore: chainBefore, chain: chain,
                    byteCount: Int(row[3].asInteger), isPublished: row[4].asInteger != 0)
            }
        }
    }
}
