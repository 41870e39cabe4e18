import LogSyncFormat
package import LogSyncModel
import LogSyncSQLite

/// Blob files as the store knows them: which ones the outbox names, and where their bytes are.
extension Store {
    /// The blobs that transactions in the outbox name.
    ///
    /// - Parameter unpublishedOnly: leaves out blobs that this peer's folder holds, as far as the store has seen to it.
    package func outboxBlobs(
        of peer: PeerID, _ sequences: ClosedRange<UInt64>, unpublishedOnly: Bool = false
    ) throws -> [BlobID] {
        try database.read { store in
            guard let peer = store.peers[peer]?.number else { return [] }
            return try store.blobs(
                """
                WHERE blob.id IN (SELECT blob FROM logsync_outbox_blob WHERE peer = ? AND sequence BETWEEN ? AND ?)
                \(unpublishedOnly ? "AND NOT blob.published" : "")
                """, .integer(peer), .integer(Int64(clamping: sequences.lowerBound)),
                .integer(Int64(clamping: sequences.upperBound)))
        }
    }

    /// The blobs named by transactions of a peer in the outbox from which log files may have to be written.
    ///
    /// - Parameter floor: log files up to this sequence are gone for good; what is not published counts nevertheless.
    package func outboxBlobs(of peer: PeerID, beyond floor: UInt64) throws -> [BlobID] {
        try database.read { store in
            guard let peer = store.peers[peer]?.number else { return [] }
            return try store.blobs(
                """
                WHERE blob.id IN (
                    SELECT named.blob FROM logsync_outbox_blob AS named JOIN logsync_outbox AS outbox
                    ON outbox.peer = named.peer AND outbox.sequence = named.sequence
                    WHERE named.peer = ? AND (outbox.sequence > ? OR NOT outbox.published))
                """, .integer(peer), .integer(Int64(clamping: floor)))
        }
    }

    /// The blobs whose bytes are kept because they are not published.
    package func waitingBlobs() throws -> [BlobID] { try database.read { try $0.blobs("WHERE waits") } }

    /// The blobs that this peer's folder holds, as far as this store has seen to it.
    package func publishedBlobs() throws -> [BlobID] { try database.read { try $0.blobs("WHERE published") } }

    /// Whether a blob's bytes are kept because it is not published.
    package func waitingBlobs(contain blob: BlobID) throws -> Bool {
        try database.read { !(try $0.blobs("WHERE waits AND hash = ?", .blob(blob.hash[...])).isEmpty) }
    }

    /// Streams the bytes of a blob that waits to be published.
    ///
    /// - Returns: false where none are kept.
    package func forEachBlobPart(of blob: BlobID, _ body: (Bytes) throws -> Void) throws -> Bool {
        try database.read { try StoredBlobs(store: $0).forEachPart(of: blob, body) }
    }

    /// A blob's bytes, from the outbox or from the row that held them last; nil where neither has them any more.
    package func blobBytes(of blob: BlobID) throws -> Bytes? {
        try database.read { try StoredBlobs(store: $0).bytes(of: blob) }
    }

    /// The blobs' files have been read back: their bytes are kept no longer.
    package func markPublished(_ blobs: [BlobID]) throws {
        guard !blobs.isEmpty else { return }
        try database.write { store in
            let kept = StoredBlobs(store: store)
            for blob in blobs {
                if let number = try kept.number(of: blob) { try kept.release(number) }
            }
        }
    }

    /// This peer's folder does not hold these any more, and is not to.
    package func forget(_ blobs: [BlobID]) throws {
        guard !blobs.isEmpty else { return }
        try database.write { store in
            for blob in blobs {
                try store.connection.run(
                    "UPDATE logsync_blob SET published = 0 WHERE hash = ?", .blob(blob.hash[...]))
            }
            try store.connection.run(
                """
                DELETE FROM logsync_blob
                WHERE NOT waits AND NOT published AND id NOT IN (SELECT blob FROM logsync_outbox_blob)
                """)
        }
    }

    /// Remembers where the values are that a snapshot put into this peer's folder.
    package func note(_ placed: [PlacedBlob]) throws {
        guard !placed.isEmpty else { return }
        try database.write { store in
            let kept = StoredBlobs(store: store)
            for blob in placed { try kept.release(try kept.note(blob.id, at: blob.place)) }
        }
    }
}

extension OpenStore {
    fileprivate func blobs(_ condition: String, _ arguments: Value...) throws -> [BlobID] {
        let statement = try connection.prepare("SELECT blob.hash, blob.length FROM logsync_blob AS blob \(condition)")
        for (index, argument) in arguments.enumerated() { statement.bind(argument, at: index + 1) }
        defer { statement.reset() }
        var blobs: [BlobID] = []
        while try statement.step() {
            if let blob = BlobID(hash: statement.bytes(0), length: Int(statement.integer(1))) { blobs.append(blob) }
        }
        return blobs.sorted()
    }
}
