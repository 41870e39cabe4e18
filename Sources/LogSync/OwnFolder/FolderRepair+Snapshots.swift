import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import Logging

extension OwnFolder {
    /// This peer's snapshots that are not as they were written, as far as that can be told at this price.
    ///
    /// - Parameter found: the folder as a scan found it.
    func damagedSnapshots(_ found: PeerScan?) throws -> [SnapshotName] {
        var damaged: [SnapshotName] = []
        var sound = SoundFiles<SnapshotName>()
        for file in found?.snapshots ?? [] {
            let reads = !soundSnapshots.contains(file) && (readsEverything || file.size <= FolderRepair.maximumReading)
            let isSound =
                try library.snapshots.manifest(file, of: peer) != nil
                && (!reads || library.snapshots.isIntact(file.name, of: peer))
            if isSound { sound.insert(file) } else { damaged.append(file.name) }
        }
        soundSnapshots = sound
        return damaged
    }
}

/// Repairs by a snapshot, where the outbox has let transactions go.
extension FolderRepair {
    /// Publishes a snapshot where nothing else stands for what is missing, and removes damaged snapshots.
    func repairSnapshots(_ damaged: [SnapshotName], isNeeded: Bool) throws {
        // A damaged snapshot goes first: what is published again may have its name.
        for name in damaged { try own.folder.remove(name) }
        guard isNeeded || !damaged.isEmpty else { return }
        let name = try own.publishSnapshot(try owner.scan())
        own.logger.notice(
            "Mended \(own.folder.path) by a snapshot",
            metadata: ["snapshot": "\(name?.description ?? "")", "replaced": "\(damaged.count)"])
    }
}
