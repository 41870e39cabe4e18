package import LogSyncModel
import LogSyncSQLite

/// How far the receipts of other peers had come, so that the next process, too, knows an older one that a sync engine
/// brings back.
extension Store {
    /// The highest counter of each peer's receipts, as ``keepReceiptCounters(_:)`` has them.
    package func receiptCounters() throws -> [PeerID: UInt64] {
        try database.read { store in
            let connection = store.connection
            let isThere = try connection.integer(
                "SELECT EXISTS(SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'logsync_receipt')")
            guard isThere == 1 else { return [:] }
            var counters: [PeerID: UInt64] = [:]
            for row in try connection.rows("SELECT peer, counter FROM logsync_receipt") {
                guard case .blob(let bytes) = row[0], let peer = PeerID(bytes: bytes) else { continue }
                counters[peer] = UInt64(clamping: row[1].asInteger)
            }
            return counters
        }
    }

    /// Keeps counters in the place of lower ones.
    package func keepReceiptCounters(_ counters: [PeerID: UInt64]) throws {
        guard !counters.isEmpty else { return }
        try database.writeAside { connection in
            try connection.execute(StoreSchema.receipts)
            for (peer, counter) in counters {
                // Another process may have read a newer one meanwhile.
                try connection.run(
                    """
                    INSERT OR REPLACE INTO logsync_receipt(peer, counter)
                    VALUES(?1, max(?2, coalesce((SELECT counter FROM logsync_receipt WHERE peer = ?1), 0)))
                    """, .blob(peer.bytes[...]), .integer(Int64(clamping: counter)))
            }
        }
    }
}
