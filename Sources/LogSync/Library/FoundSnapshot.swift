import LogSyncContainer
import LogSyncFormat
import LogSyncModel

/// A snapshot that lies in the container, as its first bytes describe it.
struct FoundSnapshot {
    var peer: PeerID
    var file: FoundFile<SnapshotName>
    var manifest: SnapshotManifest
    /// Whether its author has lost values that this store shows or another peer that is known and takes part: then it stands
    /// for no peer's log files.
    var isPartial: Bool

    var name: SnapshotName { file.name }
    var vector: VersionVector { manifest.vector }

    /// How many transactions it stands for.
    var reach: UInt64 {
        vector.sequences.values.reduce(0) { sum, sequence in
            let (total, overflow) = sum.addingReportingOverflow(sequence)
            return overflow ? .max : total
        }
    }

    /// Whether another snapshot is of more use in every way: a partial one never stands for what a whole one does.
    func isSuperseded(by other: FoundSnapshot) -> Bool {
        if isPartial, !other.isPartial { return other.vector.includes(vector) }
        return isPartial == other.isPartial && other.vector.isGreater(than: vector)
    }
}

extension VersionVector {
    /// Whether this includes all of `other`, and more.
    func isGreater(than other: VersionVector) -> Bool { includes(other) && self != other }
}
