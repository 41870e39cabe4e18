import LogSyncContainer
import LogSyncModel
import LogSyncStore
import Logging

/// What one process leaves to the next of what it found in the container, so that a command which runs again and again
/// reads nothing of a thousand peers of whom nothing is new.
extension ReplicatedStore {
    /// For how long a look is gone by, at the least and at the most, in nanoseconds. Not all are made again at once.
    private static let life: (least: UInt64, spread: UInt64) = (1_800_000_000_000, 3_600_000_000_000)

    /// A look that goes by earlier ones is enough for this long; watching goes by the same time.
    private static let fullLooks = Duration.seconds(60)

    /// Whether the next scan need not list again what stands as it stood. The first one of a process then goes by what
    /// earlier processes left; what is not known from before is listed in any case.
    func goesByLooks() throws -> Bool {
        guard let last = lastFullLook else {
            try recallLooks()
            lastFullLook = PassingTime.machine()
            return true
        }
        // What is held may be a file that grows in its place.
        return PassingTime.machine() - last < Self.fullLooks && held?.isEmpty ?? false
    }

    /// Has the first scan of this process go by what earlier ones have found.
    private func recallLooks() throws {
        let vector = try store.vector()
        let now = scanner.clock()
        var usable: [RememberedPeer] = []
        let looks = try store.looks()
        rememberedPeers = Set(looks.keys)
        for (id, bytes) in looks {
            guard let look = RememberedPeer(id: id, decoding: bytes), look.reader == peer, isYoung(look, at: now),
                isDone(look.scan, vector)
            else { continue }
            usable.append(look)
        }
        scanner.recall(usable)
    }

    private func isYoung(_ look: RememberedPeer, at now: Int64) -> Bool {
        let age = now - look.looked
        return age >= 0 && UInt64(age) < Self.life.least + look.id.low % Self.life.spread
    }

    /// Whether everything in a peer's folder was imported: a file that is still being written may grow in its place.
    private func isDone(_ scan: PeerScan, _ vector: VersionVector) -> Bool {
        scan.logFiles.reach <= vector[scan.id]
    }

    /// Leaves what this process found to the next, where it is done with all of it.
    func rememberLooks(_ scan: ContainerScan) throws {
        guard held?.isEmpty ?? false, scan.failures.isEmpty else { return }
        let vector = try store.vector()
        var changed: [PeerID: [UInt8]?] = [:]
        for gone in rememberedPeers where scan.peers[gone] == nil { changed[gone] = .some(nil) }
        for (id, found) in scan.peers where id != peer {
            guard isDone(found, vector), let look = try scanner.remembered(id, for: peer) else { continue }
            changed[id] = look.encoded()
        }
        // That the ends of its files were compared goes with them.
        try store.setLooks(changed, compared: (comparedFiles ?? [:]).filter { changed.keys.contains($0.key) })
    }
}
