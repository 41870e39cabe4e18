import LogSyncFormat
import LogSyncModel
import LogSyncState

/// An entry of a snapshot lies too far ahead of this machine's clock; nothing of the snapshot was taken.
package struct SnapshotAhead: Error {
    /// As a sentence without its end.
    package var detail: String
}

/// The times of what would be taken from a snapshot: as ``LatestTime`` of a transaction's rows.
///
/// An entry that is here, or was, is not taken again, however late it is.
final class SnapshotTimes {
    private let limit: Int64
    private let terms: SnapshotTerms
    private let known: Coverage
    /// By place in the manifest.
    private let isAccepted: [Bool]
    /// The latest of them so far.
    private(set) var latest = HybridTime.zero

    /// - Parameter author: the peer whose snapshot it is: where its clock was accepted, all is taken.
    init(_ store: OpenStore, _ manifest: SnapshotManifest, by author: PeerID) throws {
        limit = store.timeLimit
        terms = try SnapshotTerms(manifest, store)
        known = Coverage(store.peers.vector, peers: store.peers)
        let acceptsAll = store.peers[author]?.acceptsClock ?? false
        isAccepted = manifest.peers.map { acceptsAll || store.peers[$0.id]?.acceptsClock ?? false }
    }

    /// - Throws: ``SnapshotAhead``.
    func check(_ rows: SnapshotRows) throws {
        try rows.forEachStamp { stamp in
            guard stamp.time > latest, !known.covers(terms.stamp(stamp)) else { return }
            guard stamp.time.milliseconds <= limit || isAccepted[stamp.peer] else {
                throw SnapshotAhead(
                    detail:
                        "a row of \(rows.table) in it has a time that lies "
                        + "\(((stamp.time.milliseconds - limit) / 1000).counted("second")) beyond what this machine's clock "
                        + "allows")
            }
            latest = stamp.time
        }
    }
}
