import Foundation
import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore
import Logging

/// Who a store is: settled at every step, before anything is recorded.
extension ReplicatedStore {
    /// Finds out which peer this store is, and makes it another where it has to be one.
    ///
    /// - Parameter scan: what the container holds; nil where it is not available or was not looked at.
    /// - Returns: whether the store is an older state of its former self, which is to be imported before anything is
    ///   published.
    /// - Throws: `containerUnavailable` where only the container could tell.
    @discardableResult
    func settleIdentity(_ scan: ContainerScan?) throws -> Bool {
        if try settle(scan) { return false }
        let sequence = try store.vector()[peer]
        let evidence = IdentityEvidence(
            registration: registration, place: place, machine: configuration.machineID, state: state,
            original: try pathOfOriginal(), sequence: sequence, chain: try store.chain(of: peer).description,
            folder: try scan.map { try folderEvidence($0) }, isContradicted: try scan.map(isContradicted) ?? false)
        switch evidence.verdict {
        case .same:
            try remember(evidence.folder)
        case .moved(let old):
            try remember(
                evidence.folder, IdentityTrouble.Kind.moved, "the store was moved here from \(old); it is the same peer"
            )
        case .copied(let original):
            let source = original.map { "the store at \($0)" } ?? "another store"
            try becomeSuccessor(.copied, "this is a copy of \(source)", keepsName: false)
        case .restored(let ahead):
            try becomeSuccessor(
                .restored, "this is an older state of itself, at \(sequence) where it had been at \(ahead)",
                keepsName: true)
            return true
        case .untold:
            try becomeSuccessor(
                .restored,
                "this may be an older state of itself, at \(sequence): its state file and its receipt are both lost",
                keepsName: true)
            return true
        case .shared:
            try becomeSuccessor(.shared, "another process writes under the same id", keepsName: false)
            return true
        case .unknown:
            throw LogSyncError(
                .containerUnavailable,
                "\(place.path) cannot be told from a copy or a restored backup: its state file is lost and the "
                    + "container \(registration.container) is not there; captured changes stay in the store",
                help: "Mount the container and run the command again")
        }
        isSettledWithFolder = isSettledWithFolder || scan != nil
        return false
    }

    /// Whether nothing has changed since the identity was settled; the cheap case, at every step but the first.
    private func settle(_ scan: ContainerScan?) throws -> Bool {
        state = try files.load(peer)
        guard let state, state.path == place.path, state.inode == place.inode,
            state.machine == configuration.machineID, scan == nil,
            isSettledWithFolder || registration.path == place.path
        else { return false }
        let sequence = try store.vector()[peer]
        if state.sequence < sequence { return true }
        return try state.sequence == sequence && state.chain == chain
    }

    private var chain: String {
        get throws { try store.chain(of: peer).description }
    }

    /// A path, other than this store's, where another file holds the same peer.
    private func pathOfOriginal() throws -> String? {
        for path in Set([state?.path, registration.path].compactMap { $0 }) where path != place.path {
            // A path that leads to no file: no original to speak of.
            guard let there = try? StorePlace(path), there.inode != place.inode else { continue }
            do {
                let other = try Store.open(there.path, configuration: configuration.storeConfiguration)
                defer { try? other.close() }
                if try other.registration().peer == peer { return path }
            } catch let error as LogSyncError where [.notReplicated, .noStore, .invalidStore].contains(error.code) {
                // Something else has taken the place.
                continue
            } catch let error as LogSyncError where [.newerFormat, .noPermission].contains(error.code) {
                // A store, most likely the original: to be taken for a copy costs nothing.
                return path
            }
        }
        return nil
    }

    private func folderEvidence(_ scan: ContainerScan) throws -> FolderEvidence {
        // Without a state file it is worth reading what others have made of transactions that this store never had.
        if state == nil { try lookForDependents(scan) }
        var evidence = FolderEvidence(highest: seenByOthers)
        for other in scan.peers.values where other.id != peer {
            evidence.highest = max(evidence.highest, other.imported(of: peer))
        }
        guard let own = scan.peers[peer] else { return evidence }
        if let receipt = own.receipt.value {
            evidence.highest = max(evidence.highest, receipt.content.published)
            evidence.published = (receipt.content.published, receipt.content.chain)
            evidence.receipt = (receipt.counter, receipt.nonce)
        }
        // A name alone proves nothing; a header of this peer and content does.
        let files = own.logs.map(\.name).sorted { $0.last > $1.last }
        if let file = files.first(where: { $0.last > evidence.highest && library.hasHeader($0, of: peer) }) {
            evidence.highest = file.last
        }
        return evidence
    }

    /// Whether own files that the store has recorded otherwise lie in the folder, or somebody's snapshot knows of two
    /// histories of this peer's: the other's files may be gone.
    private func isContradicted(_ scan: ContainerScan) throws -> Bool {
        let places = snapshots.places(scan)
        if places.contains(where: { $0.manifest.branches.contains { $0.origin == peer } }) { return true }
        for file in scan.peers[peer]?.logs ?? [] where try isForeign(file.name) { return true }
        return false
    }

    private func lookForDependents(_ scan: ContainerScan) throws {
        let plan = try plan(scan)
        try plan.begin(vector: try store.vector()) { try store.chain(of: $0) }
        while try plan.skip() {}
        noteDependents(plan)
    }

    /// Notes the transactions of this peer that others have seen and this store has not.
    func noteDependents(_ plan: ImportPlan) {
        for dot in plan.held.compactMap(\.waitsFor) where dot.peer == peer {
            seenByOthers = max(seenByOthers, dot.sequence)
        }
    }

    /// Notes who and where this store is, outside it and in it.
    private func remember(
        _ folder: FolderEvidence?, _ trouble: IdentityTrouble.Kind? = nil, _ detail: String = ""
    ) throws {
        var next =
            state
            ?? PeerState(
                peer: peer, content: registration.content, path: place.path, inode: place.inode,
                receiptCounter: folder?.receipt?.counter ?? 0, nonces: (folder?.receipt?.nonce).map { [$0] } ?? [])
        next.content = registration.content
        next.path = place.path
        next.inode = place.inode
        next.machine = configuration.machineID
        next.sequence = try store.vector()[peer]
        next.chain = try chain
        if let trouble {
            next.trouble = IdentityTrouble(kind: trouble, time: configuration.now, detail: detail)
            logger.notice("\(place.path): \(detail)", metadata: ["peer": "\(peer)"])
        }
        try save(next)
        try noteLocation()
    }

    private func noteLocation() throws {
        guard
            registration.path != place.path || registration.inode != place.inode
                || registration.machineID != configuration.machineID
        else { return }
        try store.setLocation(path: place.path, inode: place.inode, machineID: configuration.machineID)
        try refresh()
        state = try files.load(peer)
    }

    /// Makes this store a new peer that succeeds the present one.
    private func becomeSuccessor(_ kind: IdentityTrouble.Kind, _ detail: String, keepsName: Bool) throws {
        let successor = configuration.randomPeer()
        let former = peer
        let name = keepsName ? registration.name : "\(registration.name)-\(successor.description.prefix(4))"
        let sentence = "\(detail): it goes on as the new peer \(successor) (\(name)), which succeeds \(former)"
        logger.warning("\(place.path): \(sentence)", metadata: ["peer": "\(former)"])
        // Before the store changes, so that one killed in between finds itself at home here.
        try save(
            PeerState(
                peer: successor, content: registration.content, path: place.path, inode: place.inode,
                machine: configuration.machineID,
                trouble: IdentityTrouble(kind: kind, time: configuration.now, detail: sentence)))
        try store.becomeSuccessor(successor, name: name, retiresFormer: kind == .restored)
        try refresh()
        state = try files.load(peer)
        try noteLocation()
        isSettledWithFolder = true
    }

    func save(_ next: PeerState) throws {
        guard next != state else { return }
        try files.save(next)
        state = next
    }

    /// Notes how far the store has recorded. To be called after a recording commits and before any of it is published.
    func noteRecorded() throws {
        guard var next = state else { return }
        next.sequence = try store.vector()[peer]
        next.chain = try chain
        let former = state?.sequence ?? next.sequence
        try save(next)
        try sayRecorded(after: former, upTo: next.sequence)
    }
}
