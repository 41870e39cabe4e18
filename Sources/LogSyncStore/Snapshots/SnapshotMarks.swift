import LogSyncFormat
import LogSyncModel
import LogSyncSQLite

/// Which of each peer's transactions a snapshot tells apart.
///
/// **The problem.** A store that stands at a peer's transaction may join a snapshot that goes further only where it is told
/// that this transaction is one of those for which the snapshot stands: of two histories under one id the snapshot would take
/// the entries of the other for superseded. The chain hash of a transaction runs over all that came before it, so one mark
/// is enough; it has to be that of the very transaction at which the store stands, and nobody knows which that is.
///
/// **The steps.** Of each peer the last ones are told, and of a forked peer all from the first fork on besides, without which
/// a reader could not tell which transaction a dependency means. Where other peers say that they stand further back, these
/// places are told, too.
///
/// **The exception.** What a snapshot brought here and did not tell leaves a gap. A store that stands there waits for a
/// snapshot of a peer that knows.
struct SnapshotMarks {
    let store: OpenStore

    /// How many transactions there is room for, of all peers; and how many of each are told all the same.
    private static let (room, least): (UInt64, UInt64) = (65_536, 64)

    init(_ store: OpenStore) { self.store = store }

    /// - Parameter places: where other peers stand.
    func runs(telling places: [VersionVector]) throws -> [SnapshotManifest.Marks] {
        let entries = store.peers.entries.values.filter { $0.sequence > 0 }.sorted { $0.id < $1.id }
        let count = min(
            store.configuration.toldTransactions, max(Self.least, Self.room / max(1, UInt64(entries.count))))
        var runs: [SnapshotManifest.Marks] = []
        for entry in entries {
            let first = first(of: entry, count)
            let further = Set(places.map { $0[entry.id] }.filter { $0 > 0 && $0 < first })
            for sequence in further.sorted() { runs += try marks(of: entry, sequence..<sequence + 1) }
            runs += try marks(of: entry, first..<entry.sequence + (isForked(entry) ? 1 : 0))
        }
        return runs
    }

    private func isForked(_ entry: PeerTable.Entry) -> Bool { store.peers.branches.family(of: entry.number) != nil }

    private func first(of entry: PeerTable.Entry, _ count: UInt64) -> UInt64 {
        let last = entry.sequence > count ? entry.sequence - count : 1
        let branches = store.peers.branches
        guard let family = branches.family(of: entry.number) else { return last }
        let fork = family.compactMap { branches.entries[$0]?.start }.min() ?? 1
        let offset = branches.offset(of: entry.number)
        return min(last, fork > offset ? fork - offset : 1)
    }

    private func marks(of entry: PeerTable.Entry, _ range: Range<UInt64>) throws -> [SnapshotManifest.Marks] {
        var runs: [SnapshotManifest.Marks] = []
        var run = SnapshotManifest.Marks(peer: entry.id, first: range.lowerBound, marks: [])
        for sequence in range {
            if let mark = try store.peers.mark(of: entry, sequence, on: store.connection) {
                run.marks.append(mark)
                continue
            }
            // One that nobody has told this store leaves a gap.
            if !run.marks.isEmpty { runs.append(run) }
            run = SnapshotManifest.Marks(peer: entry.id, first: sequence + 1, marks: [])
        }
        return run.marks.isEmpty ? runs : runs + [run]
    }
}
