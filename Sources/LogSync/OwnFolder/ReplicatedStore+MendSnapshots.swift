import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore
import Logging

/// Mending where the outbox has let transactions go: by a snapshot (DESIGN.md, section 7, mending).
extension ReplicatedStore {
    /// Snapshots up to this many bytes are read at the first look of each process.
    private static let maximumReading: UInt64 = 16 << 20

    /// The highest sequence of a peer that a snapshot in the folder stands for.
    ///
    /// - Parameter orPartly: whether one counts that lacks values which are shown.
    func standsFor(
        _ id: PeerID, _ scan: ContainerScan, except damaged: [SnapshotName] = [], orPartly: Bool = false
    ) throws -> UInt64 {
        let places = try orPartly ? snapshots.places(scan) : wholePlaces(scan)
        return places.filter { !($0.peer == peer && damaged.contains($0.file.name)) }.map { $0.vector[id] }.max() ?? 0
    }

    /// The highest sequence of a peer beyond which a snapshot of this store's would tell the others more: where that would
    /// be partial, another partial one is as good.
    func bridged(_ id: PeerID, _ scan: ContainerScan, except damaged: [SnapshotName] = []) throws -> UInt64 {
        try standsFor(id, scan, except: damaged, orPartly: !lacks(scan).isEmpty)
    }

    /// What is missing of ranges beyond a sequence.
    static func missing(_ ranges: [ClosedRange<UInt64>], beyond last: UInt64) -> [ClosedRange<UInt64>] {
        ranges.filter { $0.upperBound > last }.map { max($0.lowerBound, last + 1)...$0.upperBound }
    }

    /// This peer's snapshots that are not as they were written, as far as that can be told at this price.
    func damagedSnapshots(_ own: PeerScan?) throws -> [SnapshotName] {
        var damaged: [SnapshotName] = []
        var sound: [SnapshotName: FoundFile<SnapshotName>] = [:]
        for file in own?.snapshots ?? [] {
            let isKnown = soundSnapshots[file.name] == file
            let reads = !isKnown && file.size <= Self.maximumReading
            let isSound =
                try snapshots.manifest(file, of: peer) != nil && (!reads || snapshots.isIntact(file.name, of: peer))
            if isSound { sound[file.name] = file } else { damaged.append(file.name) }
        }
        soundSnapshots = sound
        return damaged
    }

    /// Publishes a snapshot where nothing else stands for what is missing, and removes those that are damaged.
    func mendSnapshots(_ damaged: [SnapshotName], isNeeded: Bool) throws {
        let folder = content.peer(peer)
        // A damaged one goes first: what is published again may have its name.
        for name in damaged { try folder.remove(name) }
        guard isNeeded || !damaged.isEmpty else { return }
        let name = try publishSnapshot(try self.scan(full: true))
        logger.notice(
            "Mended \(folder.path) by a snapshot",
            metadata: ["snapshot": "\(name?.description ?? "")", "replaced": "\(damaged.count)"])
    }

    /// Takes a snapshot where nobody's stands for all branches and somebody needs one that does: who joined one from before a
    /// fork was found, and cannot tell where it goes off. Snapshots of this peer's own from before go.
    func replaceForkedSnapshots(_ scan: ContainerScan) throws {
        let branches = try store.branches()
        // A partial one takes the place of none: somebody who has everything will do it.
        guard !branches.isEmpty, try lacks(scan).isEmpty else { return }
        let places = snapshots.places(scan)
        let outdated = places.filter { !$0.manifest.knows(branches) }
        let own = outdated.filter { $0.peer == peer }
        if own.isEmpty {
            let vector = try store.vector()
            let isThere = places.contains { place in
                place.manifest.knows(branches)
                    && branches.allSatisfy { place.vector[$0.id] > 0 || vector[$0.id] == 0 }
            }
            let isHeld = scan.peers.values.contains { other in
                other.said?.held.contains { $0.reason == HeldItem.Reason.fork.rawValue } ?? false
            }
            guard !isThere, !outdated.isEmpty || isHeld else { return }
        }
        let name = try publishSnapshot(scan, orPartial: false)
        guard name != nil || !own.isEmpty else { return }
        var now = scan
        now.peers[peer] = try scanner.scan(only: peer, full: true)
        // The app may have dropped something meanwhile.
        guard try wholePlaces(now).contains(where: { $0.peer == peer && $0.manifest.knows(branches) }) else {
            return
        }
        for place in own { try content.peer(peer).remove(place.file.name) }
        logger.notice(
            "Took a snapshot that knows both histories of a fork",
            metadata: ["snapshot": "\(name?.description ?? "")", "removed": "\(own.count)"])
    }
}
