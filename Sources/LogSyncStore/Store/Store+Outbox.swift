import LogSyncFormat
package import LogSyncModel
import LogSyncSQLite

extension Store {
    /// How many transactions wait to be published; cheap, however many have been.
    package func waitingCount() throws -> Int {
        try database.read { store in
            Int(try store.connection.integer("SELECT count(*) FROM (\(Self.outboxWaiting))") ?? 0)
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

    private static let outboxAuthors = "WITH RECURSIVE \(authors) SELECT peer FROM author"
    private static let authors = """
        author(peer) AS (
            SELECT min(peer) FROM logsync_outbox
            UNION ALL
            SELECT (SELECT min(peer) FROM logsync_outbox AS next WHERE next.peer > author.peer) FROM author
            WHERE author.peer IS NOT NULL)
        """

    private static let outbox = """
        SELECT peer, sequence, chain_before, chain, byte_count, published FROM logsync_outbox ORDER BY peer, sequence
        """
    /// Every round asks for what waits, which is little, however long the history.
    static let outboxWaiting = """
        WITH RECURSIVE \(authors)
        SELECT outbox.peer, outbox.sequence, chain_before, outbox.chain, byte_count, published
        FROM author CROSS JOIN logsync_peer AS peer ON peer.number = author.peer
            CROSS JOIN logsync_outbox AS outbox ON outbox.peer = author.peer AND outbox.sequence > peer.sent
        WHERE NOT published ORDER BY outbox.peer, outbox.sequence
        """

    /// The outbox in order of peer and sequence.
    package func outbox(unpublishedOnly: Bool) throws -> [OutboxTransaction] {
        try database.read { store in
            return try store.connection.rows(unpublishedOnly ? Self.outboxWaiting : Self.outbox).compactMap { row in
                guard case .blob(let before) = row[2], case .blob(let after) = row[3],
                    let chainBefore = ChainHash(bytes: before), let chain = ChainHash(bytes: after)
                else { return nil }
                return OutboxTransaction(
                    dot: Dot(store.peers.id(row[0].asInteger), UInt64(row[1].asInteger)), chainBefore: chainBefore,
                    chain: chain, byteCount: Int(row[4].asInteger), isPublished: row[5].asInteger != 0)
            }
        }
    }

    /// Streams a transaction's blocks, verbatim.
    package func forEachOutboxBlock(of dot: Dot, _ body: ([UInt8]) throws -> Void) throws {
        try database.read { store in
            guard let peer = store.peers[dot.peer]?.number else { return }
            if let blocks = try store.shortBlocks(of: peer, dot.sequence) { return try blocks.forEach(body) }
            let statement = try store.connection.prepare(
                "SELECT bytes FROM logsync_outbox_block WHERE peer = ? AND sequence = ? ORDER BY part")
            statement.bind(peer, at: 1)
            statement.bind(Int64(dot.sequence), at: 2)
            defer { statement.reset() }
            while try statement.step() { try body(Array(statement.bytes(0))) }
        }
    }

    /// One block of a transaction in the outbox; nil after the last.
    func outboxBlock(of dot: Dot, part: Int64) throws -> [UInt8]? {
        try database.read { store in
            guard let peer = store.peers[dot.peer]?.number else { return nil }
            if let blocks = try store.shortBlocks(of: peer, dot.sequence) {
                return part < blocks.count ? blocks[Int(part)] : nil
            }
            let value = try store.connection.scalar(
                "SELECT bytes FROM logsync_outbox_block WHERE peer = ? AND sequence = ? AND part = ?",
                .integer(peer), .integer(Int64(dot.sequence)), .integer(part))
            guard case .blob(let bytes)? = value else { return nil }
            return Array(bytes)
        }
    }

    /// As many transactions are marked within a millisecond.
    private static let briefly = 100

    package func markPublished(_ dots: [Dot]) throws {
        guard !dots.isEmpty else { return }
        // What a power cut undoes of this is published again, as the same bytes.
        let takesTurns = dots.count > Self.briefly
        try database.write(repeats: true, isDurable: false, isNews: false, takesTurns: takesTurns) { store in
            var peers: Set<Int64> = []
            for dot in dots {
                guard let peer = store.peers[dot.peer]?.number else { continue }
                peers.insert(peer)
                try store.connection.run(
                    "UPDATE logsync_outbox SET published = 1 WHERE peer = ? AND sequence = ?", .integer(peer),
                    .integer(Int64(dot.sequence)))
            }
            for peer in peers {
                try store.connection.run(
                    "UPDATE logsync_peer SET sent = \(StoreSchema.sent) WHERE number = ?", .integer(peer))
            }
        }
    }

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

extension OpenStore {
    /// The blocks of a transaction that stand in its row; nil where they stand in rows of their own.
    fileprivate func shortBlocks(of peer: Int64, _ sequence: UInt64) throws -> [[UInt8]]? {
        let bytes = try connection.scalar(
            "SELECT bytes FROM logsync_outbox WHERE peer = ? AND sequence = ?", .integer(peer),
            .integer(Int64(sequence)))
        guard case .blob(let bytes)? = bytes else { return nil }
        return EncodedBlock.split(bytes).map(\.bytes)
    }
}
