import LogSyncContainer
import LogSyncModel
import LogSyncStore
import Logging

/// What `--verbose` says: each thing when it has been done, with its counts.
extension ReplicatedStore {
    /// - Parameter former: up to which of this peer's transactions it was said before.
    func sayRecorded(after former: UInt64, upTo sequence: UInt64) throws {
        guard sequence > former, logger.logLevel <= .debug else { return }
        // A recording makes one; a restored state file may be behind by any number.
        let recorded = try store.history(
            limit: Int(clamping: min(sequence - former, 100)), after: nil, author: nil, peer: peer, table: nil)
        for entry in recorded.reversed() {
            let counts = entry.counts.values.reduce(into: ChangeCounts()) { $0 += $1 }
            logger.debug(
                "Recorded transaction \(entry.dot.sequence) of \(place.path)",
                metadata: [
                    "inserted": "\(counts.inserted)", "updated": "\(counts.updated)", "deleted": "\(counts.deleted)",
                ])
        }
    }

    func sayPublished(_ name: LogFileName, of author: PeerID, _ run: [OutboxTransaction]) {
        logger.debug(
            "Published \(content.peer(author).path(name))",
            metadata: [
                "transactions": "\(run.count)", "bytes": "\(run.reduce(0) { $0 + $1.byteCount })",
            ])
    }

    /// - Parameter files: how many transactions of which were imported; empty where nobody wants to know.
    func sayImported(_ files: [ImportedFile: Int]) {
        for (file, count) in files.sorted(by: { ($0.key.peer, $0.key.name) < ($1.key.peer, $1.key.name) }) {
            logger.debug(
                "Imported from \(file.name) into \(place.path)",
                metadata: [
                    "transactions": "\(count)",
                    "peer": "\(PeerName(id: file.peer, name: folderNames[file.peer]).name)",
                ])
        }
    }

    func sayJoined(_ snapshot: SnapshotPlace, transactions: UInt64) {
        logger.debug(
            "Joined the snapshot \(content.peer(snapshot.peer).path(snapshot.file.name)) into \(place.path)",
            metadata: ["transactions": "\(transactions)"])
    }
}

/// A log file that something was imported from.
struct ImportedFile: Hashable {
    var peer: PeerID
    var name: LogFileName
}
