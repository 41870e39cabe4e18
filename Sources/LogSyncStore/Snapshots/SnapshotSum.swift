package import LogSyncFormat
import LogSyncModel
import LogSyncState

/// What the entries of a snapshot add up to, by the snapshot alone: no store is asked.
package enum SnapshotSum {
    /// Decodes a snapshot to its end.
    ///
    /// - Parameter reader: of which nothing has been read but its manifest.
    /// - Returns: the state digest of its entries; a sound snapshot says the same of itself
    ///   (``LogSyncFormat/SnapshotManifest/digest``).
    /// - Throws: `LogFileError` where no reader could go on; what its source throws.
    package static func digest(of reader: SnapshotReader) throws -> UInt64 {
        let peers = reader.manifest.peers.map(\.id)
        var digest: UInt64 = 0
        func count(_ stamp: EntryStamp, row: UInt64, column: UInt64) {
            digest &+= StateDigest.share(
                row: row, column: column, dot: StateDigest.dot(peers[stamp.peer], stamp.sequence))
        }
        while let rows = try reader.next() {
            let table = Digest.of(rows.table)
            switch rows {
            case .plain(let plain):
                let columns = plain.columns.map { StateDigest.column($0.name) }
                var cursors = SimpleCursors(plain)
                for (index, identity) in plain.identities.enumerated() {
                    let row = StateDigest.row(table, identity)
                    count(plain.stamps[index], row: row, column: StateDigest.insertColumn)
                    for (place, column) in columns.enumerated() {
                        count(cursors.exception(of: place, at: index) ?? plain.stamps[index], row: row, column: column)
                    }
                }
            case .spelled(let spelled):
                for full in spelled.rows {
                    let row = StateDigest.row(table, full.identity)
                    for stamp in full.inserts { count(stamp, row: row, column: StateDigest.insertColumn) }
                    for cell in full.cells {
                        let column = StateDigest.column(cell.column)
                        for stamp in cell.versions.map(\.stamp) + cell.additions.map(\.stamp) {
                            count(stamp, row: row, column: column)
                        }
                    }
                }
            }
        }
        return digest
    }
}
