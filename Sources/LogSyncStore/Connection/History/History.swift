import Foundation
import LogSyncFormat
import LogSyncModel
import LogSyncSQLite

/// The transactions recorded and imported here, in the order in which they came.
enum History {
    /// Returns the transaction's token.
    ///
    /// - Parameter rows: which it changed; nil where that is known later (``OpenStore/keepHistory(_:of:)``).
    @discardableResult
    static func append(
        _ header: TransactionHeader, peer: Int64, chain: ChainHash, counts: [String: ChangeCounts],
        rows: [String: TableChanges]?, _ store: OpenStore
    ) throws -> Int64 {
        let changes = try json(counts)
        let connection = store.connection
        let token = try nextToken(store)
        try connection.run(
            """
            INSERT INTO logsync_transaction(
                token, peer, sequence, time, author, context, changes, mark, dependencies, rows)
            VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """, .integer(token), .integer(peer), .integer(Int64(header.dot.sequence)),
            .integer(Int64(bitPattern: header.time.rawValue)), header.author.map { .text($0) } ?? .null,
            header.context.map { .text($0) } ?? .null, .text(changes),
            .integer(Int64(bitPattern: chain.mark.rawValue)), try dependencies(header.dependencyChanges, store),
            rows.map { .blob(HistoryRows.encode($0)[...]) } ?? .null)
        return token
    }

    /// What comes next: tokens grow, also those of what changed rows without being a transaction.
    static func nextToken(_ store: OpenStore) throws -> Int64 {
        let token = try (store.lastToken ?? lastToken(on: store.connection)) + 1
        store.lastToken = token
        return token
    }

    /// The token of what came last; 0 where nothing has.
    static func lastToken(on connection: Connection) throws -> Int64 {
        try connection.integer(
            """
            SELECT max(coalesce((SELECT max(token) FROM logsync_transaction), 0),
                coalesce((SELECT max(token) FROM logsync_history), 0))
            """) ?? 0
    }

    /// `{"table":{"deleted":0,"inserted":1,"updated":0}}`, as a coder writes it, which takes a tenth of the time of importing
    /// a row.
    static func json(_ counts: [String: ChangeCounts]) throws -> String {
        let tables = try counts.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }.map { table, count in
            let isPlain = table.utf8.allSatisfy {
                $0 >= UInt8(ascii: " ") && $0 < 0x7F
                    && ![UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/")].contains($0)
            }
            let name = isPlain ? "\"\(table)\"" : String(decoding: try JSONEncoder().encode(table), as: UTF8.self)
            return "\(name):{\"deleted\":\(count.deleted),\"inserted\":\(count.inserted),\"updated\":\(count.updated)}"
        }
        return "{\(tables.joined(separator: ","))}"
    }

    // MARK: Marks

    /// The mark of a transaction that has been imported; nil where a snapshot brought it and nobody said.
    static func mark(of peer: Int64, _ sequence: UInt64, on connection: Connection) throws -> ChainMark? {
        let mark =
            try connection.integer(
                "SELECT mark FROM logsync_transaction WHERE peer = ? AND sequence = ? AND mark IS NOT NULL",
                .integer(peer),
                .integer(Int64(sequence)))
            ?? connection.integer(
                "SELECT mark FROM logsync_mark WHERE peer = ? AND sequence = ?", .integer(peer),
                .integer(Int64(sequence)))
        return mark.map { ChainMark(rawValue: UInt64(bitPattern: $0)) }
    }

    // MARK: Dependencies

    /// What moved in the dependencies of a peer's transactions within a range, in order; nil where not all are here.
    static func dependencies(
        of peer: Int64, _ sequences: Range<UInt64>, _ peers: PeerTable, on connection: Connection
    ) throws -> [[Dependency]]? {
        let rows = try connection.rows(
            """
            SELECT dependencies FROM logsync_transaction WHERE peer = ? AND sequence >= ? AND sequence < ?
            AND mark IS NOT NULL ORDER BY sequence
            """, .integer(peer), .integer(Int64(sequences.lowerBound)), .integer(Int64(sequences.upperBound)))
        guard rows.count == sequences.count else { return nil }
        return rows.map { row in
            guard case .blob(let bytes) = row[0] else { return [] }
            return decode(bytes, peers)
        }
    }

    /// Per dependency 8 bytes each of the peer's number, the sequence and the mark (0 for none), little-endian.
    private static func dependencies(_ changes: [Dependency], _ store: OpenStore) throws -> Value {
        guard !changes.isEmpty else { return .null }
        var bytes: [UInt8] = []
        for change in changes {
            let number = try store.peers.number(of: change.dot.peer, on: store.connection)
            for word in [UInt64(number), change.dot.sequence, change.mark?.rawValue ?? 0] {
                withUnsafeBytes(of: word.littleEndian) { bytes.append(contentsOf: $0) }
            }
        }
        return .blob(bytes[...])
    }

    private static func decode(_ bytes: Bytes, _ peers: PeerTable) -> [Dependency] {
        let words = stride(from: bytes.startIndex, to: bytes.endIndex - 7, by: 8).map { start in
            bytes[start..<start + 8].reversed().reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        }
        return stride(from: 0, to: words.count - 2, by: 3).map { index in
            Dependency(
                Dot(peers.id(Int64(words[index])), words[index + 1]),
                mark: words[index + 2] == 0 ? nil : ChainMark(rawValue: words[index + 2]))
        }
    }
}
