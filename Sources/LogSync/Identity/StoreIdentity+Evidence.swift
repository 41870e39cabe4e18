import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore

/// What is known of which peer a store is: by the store, this machine, and the folder.
extension StoreIdentity {
    /// - Parameters:
    ///   - scan: what the container holds; nil where it is not available or was not looked at.
    ///   - folder: what that tells of this peer.
    func evidence(_ scan: ContainerScan?, _ folder: FolderEvidence?) throws -> IdentityEvidence {
        IdentityEvidence(
            registration: owner.registration, place: owner.place, machine: owner.configuration.machineID, state: state,
            original: try pathOfOriginal(), sequence: try store.vector()[peer],
            chain: try store.chain(of: peer).description, folder: folder,
            isContradicted: try scan.map(isContradicted) ?? false, now: owner.configuration.clock.now())
    }

    /// A path, other than this store's, where another file holds the same peer.
    private func pathOfOriginal() throws -> String? {
        let place = owner.place
        for path in Set([state?.path, owner.registration.path].compactMap { $0 }) where path != place.path {
            // A path that leads to no file: no original to speak of.
            guard let there = try? StorePlace(path), there.inode != place.inode else { continue }
            do {
                let other = try Store.open(there.path, configuration: owner.configuration.storeConfiguration)
                defer { try? other.close() }
                if try other.registration().peer == peer { return path }
            } catch let error as LogSyncError where [.notReplicated, .noStore, .invalidStore].contains(error.code) {
                // Another file has taken the original's place.
                continue
            } catch let error as LogSyncError where [.newerFormat, .noPermission].contains(error.code) {
                // A store, most likely the original: to be taken for a copy costs nothing.
                return path
            }
        }
        return nil
    }

    func folderEvidence(_ scan: ContainerScan) throws -> FolderEvidence {
        // Without a state file it is worth reading what others have made of transactions that this store never had.
        if state == nil { try findDependents(scan) }
        var evidence = FolderEvidence(highest: seenByOthers)
        for other in scan.peers.values where other.id != peer {
            evidence.highest = max(evidence.highest, other.imported(of: peer))
        }
        guard let own = scan.peers[peer] else { return evidence }
        if let receipt = own.receipt.value {
            evidence.highest = max(evidence.highest, receipt.content.published)
            evidence.published = (receipt.content.published, receipt.content.chain)
            evidence.receipt = (receipt.counter, receipt.nonce)
            evidence.hasLeft = receipt.content.hasLeft
        }
        // A name alone proves nothing; a header of this peer and content does.
        let files = own.logs.map(\.name).sorted { $0.last > $1.last }
        let logs = owner.library.logs
        if let file = files.first(where: { $0.last > evidence.highest && logs.hasHeader($0, of: peer) }) {
            evidence.highest = file.last
        }
        return evidence
    }

    private func findDependents(_ scan: ContainerScan) throws {
        let plan = try owner.inbox.plan(scan)
        try plan.begin(vector: try store.vector()) { try store.chain(of: $0) }
        while try plan.skip({ _ in false }) {}
        noteDependents(plan)
    }

    /// Whether own files that the store has recorded otherwise lie in the folder, or another peer's snapshot knows of two
    /// histories of this peer: the other store's files may be gone.
    private func isContradicted(_ scan: ContainerScan) throws -> Bool {
        let snapshots = owner.library.snapshots.found(scan)
        if snapshots.contains(where: { $0.manifest.branches.contains { $0.origin == peer } }) { return true }
        for file in scan.peers[peer]?.logs ?? [] where try owner.ownFolder.isForeign(file.name) { return true }
        return false
    }
}
