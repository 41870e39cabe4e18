import LogSyncFormat
import LogSyncModel
import LogSyncSQLite

/// A transaction on its way into the outbox. Its blocks stand in its row where they are few bytes, because each further
/// table is a page more that a commit writes; else each is a row of its own.
///
/// A class because the encoder keeps what takes its blocks.
final class OutboxEntry {
    private let connection: Connection
    private let peer: Int64
    private let sequence: Int64
    /// The blocks so far, as long as they fit the row.
    private var short: [EncodedBlock]? = []
    private var part: Int64 = 0
    private var byteCount = 0

    /// How many bytes of blocks a row may have.
    static let maximumLength = 4096

    init(_ connection: Connection, peer: Int64, sequence: Int64) {
        self.connection = connection
        self.peer = peer
        self.sequence = sequence
    }

    func append(_ block: EncodedBlock) throws {
        byteCount += block.bytes.count
        guard let blocks = short else { return try write(block) }
        short = blocks + [block]
        guard byteCount > Self.maximumLength else { return }
        short = nil
        for block in blocks { try write(block) }
        try write(block)
    }

    private func write(_ block: EncodedBlock) throws {
        try connection.run(
            "INSERT INTO logsync_outbox_block(peer, sequence, part, bytes) VALUES(?, ?, ?, ?)",
            .integer(peer), .integer(sequence), .integer(part), .blob(block.bytes[...]))
        part += 1
    }

    /// Puts the transaction there, when all its blocks have come.
    ///
    /// - Parameters:
    ///   - before: the author's chain hash before it.
    ///   - chain: that after it.
    func finish(before: ChainHash, chain: ChainHash) throws {
        let bytes = short.map { blocks in Value.blob(blocks.flatMap(\.bytes)[...]) }
        try connection.run(
            "INSERT INTO logsync_outbox(peer, sequence, chain_before, chain, byte_count, bytes) VALUES(?, ?, ?, ?, ?, ?)",
            .integer(peer), .integer(sequence), .blob(before.bytes[...]), .blob(chain.bytes[...]),
            .integer(Int64(byteCount)), bytes ?? .null)
    }
}
