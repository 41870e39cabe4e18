import LogSyncContainer
import LogSyncModel
import LogSyncStore
import Logging

/// Partial snapshots: what joins one does not get the values that its author has lost, so log files and whole snapshots are
/// waited for first.
extension ReplicatedStore {
    /// Why a partial snapshot that would bring something is not joined yet; nil where it has been waited for long enough.
    ///
    /// What counts is how long this store has done without what it stands for: whoever carries the folder may bring a
    /// snapshot of last week before the log files of the week before.
    func waits(_ place: SnapshotPlace) throws -> HeldItem? {
        let now = configuration.clock.now()
        let name = place.file.name.description
        guard var next = state else { return nil }
        // A clock that was set back begins anew.
        let since = next.waiting?[name].flatMap { $0 <= now ? $0 : nil }
        if let since, now - since > Self.patience { return nil }
        if since == nil {
            next.waiting = (next.waiting ?? [:]).merging([name: now]) { $1 }
            try save(next)
        }
        let end = Timestamp(milliseconds: (since ?? now) + Self.patience)
        return HeldItem(
            peer: try names()[place.peer], sequence: place.file.name.sequence, file: name, reason: .gap,
            detail: "log files are missing, and the snapshot that has what was in them lacks values that are shown; "
                + "it is joined after \(end) where neither they nor another snapshot have come")
    }

    /// Forgets the partial snapshots that have gone.
    func forgetWaiting(_ scan: ContainerScan) throws {
        guard var next = state, let waiting = next.waiting else { return }
        let names = Set(scan.peers.values.flatMap { $0.snapshots.map(\.name.description) })
        let left = waiting.filter { names.contains($0.key) }
        guard left.count < waiting.count else { return }
        next.waiting = left.isEmpty ? nil : left
        try save(next)
    }

    func warn(of joined: JoinedSnapshot, _ place: SnapshotPlace) {
        guard !joined.lost.isEmpty else { return }
        let columns = joined.lost.sorted().map(\.description).joined(separator: ", ")
        logger.warning(
            "\(self.place.path) joined a snapshot whose author had dropped columns: their values may be missing here",
            metadata: ["columns": "\(columns)", "file": "\(place.file.name)"])
    }
}
