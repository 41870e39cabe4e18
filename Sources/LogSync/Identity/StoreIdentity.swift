import Foundation
import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore
import Logging

/// Which peer a store is: settled at every step before anything is recorded, by the state file and by what the folder says.
///
/// Made anew when the store becomes another peer, or its content is elsewhere: what the folder said is then to be heard
/// again.
final class StoreIdentity {
    unowned let owner: ReplicatedStore
    let store: Store
    let peer: PeerID
    /// The state file as it was last read or written; nil until the identity is settled.
    private(set) var state: StateFile? {
        didSet { store.expect(state?.expected) }
    }
    /// Of the state file as it was then; nil where there is none, and ``state`` is what this process knows all the same.
    private var version: StateDirectory.Version?
    /// Whether the identity was compared with what the container says, by this process.
    private(set) var isSettledWithFolder = false
    /// The highest sequence of this peer on which another peer's transaction depends.
    private(set) var seenByOthers: UInt64 = 0

    private var place: StorePlace { owner.place }
    private var machineID: String? { owner.configuration.machineID }
    private var now: Timestamp { owner.configuration.now }
    private var chain: String { get throws { try store.chain(of: peer).description } }

    init(_ owner: ReplicatedStore) {
        self.owner = owner
        store = owner.store
        peer = owner.peer
        store.expect(nil)
    }

    // MARK: Settling

    /// Finds out whether the store is the peer that it says it is.
    ///
    /// - Parameter scan: what the container holds; nil where it is not available or was not looked at.
    /// - Returns: why the store has to become another peer; nil where it need not.
    /// - Throws: `containerUnavailable` where only the container could tell.
    func settle(_ scan: ContainerScan?) throws -> Succession? {
        if try isUnchanged(scan) { return nil }
        let folder = try scan.map(folderEvidence)
        let evidence = try evidence(scan, folder)
        func succession(_ kind: StoreStatus.IdentityTrouble.Kind, _ detail: String) -> Succession {
            Succession(kind: kind, detail: detail, restsOnFolder: evidence.restsOnFolder)
        }
        switch evidence.verdict {
        case .same:
            try remember(evidence.folder)
        case .doubted(let ahead):
            try remember(evidence.folder, claim: claim(ahead, evidence))
        case .moved(let old):
            let detail = "the store was moved here from \(old); it is the same peer"
            try remember(evidence.folder, StoreStatus.IdentityTrouble(kind: .moved, time: now, detail: detail))
        case .copied(let original):
            let source = original.map { "the store at \($0)" } ?? "another store"
            return succession(.copied, "this is a copy of \(source)")
        case .restored(let ahead):
            return succession(
                .restored,
                "this is an older state of itself, at \(evidence.sequence) where it had been at \(ahead)\(departure(evidence))"
            )
        case .untold:
            let lost = evidence.folder?.hasLeft == true ? "is lost" : "and its receipt are both lost"
            return succession(
                .restored,
                "this may be an older state of itself, at \(evidence.sequence): its state file \(lost)\(departure(evidence))"
            )
        case .shared:
            return succession(.shared, "another process writes under the same id")
        case .unknown:
            throw LogSyncError(
                .containerUnavailable,
                "\(place.path) cannot be told from a copy or a restored backup: its state file is lost and the "
                    + "container \(owner.registration.container) is not there; captured changes stay in the store",
                help: "Mount the container and run the command again",
                subject: .container(owner.registration.container))
        }
        isSettledWithFolder = isSettledWithFolder || scan != nil
        return nil
    }

    /// What is said where nothing on this machine tells where a store went that has gone from the folder.
    private func departure(_ evidence: IdentityEvidence) -> String {
        guard evidence.folder?.hasLeft == true else { return "" }
        return
            ", and it had gone from this folder (logsync move \(place.path.asShellArgument) --container DIR takes it where the others are)"
    }

    /// What is said of a claim in the folder that is not believed.
    private func claim(_ ahead: UInt64?, _ evidence: IdentityEvidence) -> StoreStatus.IdentityTrouble {
        let said =
            ahead.map { "this is an older state of itself, at \(evidence.sequence) where it had been at \($0)" }
            ?? "another process writes under its id"
        return StoreStatus.IdentityTrouble(
            kind: .claimed, time: state?.claim?.time ?? now,
            detail:
                "the folder says again that \(said), and nothing on this machine says so: it goes on as it is. Where its "
                + "database was restored, or its disk copied, logsync peers accept-claim \(place.path.asShellArgument) has the folder believed"
        )
    }

    /// Whether nothing has changed since the identity was settled: so it is at every step but the first.
    private func isUnchanged(_ scan: ContainerScan?) throws -> Bool {
        try load()
        guard let state, version != nil, state.hasLeft != true, state.path == place.path, state.inode == place.inode,
            state.machine == machineID, scan == nil, state.container == owner.registration.container,
            isSettledWithFolder || owner.registration.path == place.path,
            owner.registration.stateDirectory == owner.stateDirectory.path
        else { return false }
        let sequence = try store.vector()[peer]
        if state.sequence < sequence { return true }
        return try state.sequence == sequence && state.chain == chain
    }

    /// Notes the transactions of this peer on which others depend, and which may not be in this store.
    func noteDependents(_ plan: ImportPlan) {
        for dot in plan.held.compactMap(\.waitsFor) where dot.peer == peer { noteSeenByOthers(dot.sequence) }
    }

    /// Notes that another peer has seen a transaction of this one.
    func noteSeenByOthers(_ sequence: UInt64) { seenByOthers = max(seenByOthers, sequence) }

    /// Takes up the identity of a store that has just become this peer.
    func takeUp() throws {
        try load()
        try noteLocation()
        isSettledWithFolder = true
    }

    // MARK: Remembering

    /// What this process knows of a state file that is lost holds: it is written anew.
    private func load() throws {
        version = owner.stateDirectory.version(of: peer)
        if let found = try owner.stateDirectory.load(peer) {
            state = found
        } else if state != nil {
            (version, isSettledWithFolder) = (nil, false)
        }
    }

    /// Reads the state file again where another process has written it since: what is noted in it from here on would undo
    /// that, and the receipt of which it told would be taken for another store's.
    func refresh() throws {
        guard state != nil, version != owner.stateDirectory.version(of: peer) else { return }
        try load()
    }

    /// Notes who and where this store is, in the state file and in the store.
    private func remember(
        _ folder: FolderEvidence?, _ trouble: StoreStatus.IdentityTrouble? = nil,
        claim: StoreStatus.IdentityTrouble? = nil
    ) throws {
        let content = owner.registration.content
        var next =
            state
            ?? StateFile(
                peer: peer, content: content, path: place.path, inode: place.inode,
                receiptCounter: folder?.receipt?.counter ?? 0, nonces: (folder?.receipt?.nonce).map { [$0] } ?? [])
        next.content = content
        next.container = owner.registration.container
        next.path = place.path
        next.inode = place.inode
        next.machine = machineID
        next.sequence = try store.vector()[peer]
        next.chain = try chain
        next.hasLeft = nil
        if let claim, next.claim == nil { owner.logger.warning("\(place.path): \(claim.detail)") }
        // What was looked at without the folder says nothing of what that claims.
        if folder != nil { next.claim = claim }
        if let trouble {
            next.trouble = trouble
            owner.logger.notice("\(place.path): \(trouble.detail)", metadata: ["peer": "\(peer)"])
        }
        try save(next)
        try noteLocation()
    }

    private func noteLocation() throws {
        let registration = owner.registration
        guard
            registration.path != place.path || registration.inode != place.inode
                || registration.machineID != machineID || registration.stateDirectory != owner.stateDirectory.path
        else { return }
        try store.setLocation(
            path: place.path, inode: place.inode, machineID: machineID, stateDirectory: owner.stateDirectory.path)
        try owner.refresh()
    }

    /// Changes the state file; nothing happens before the identity is settled.
    func update(mayBeUndone: Bool = false, _ change: (inout StateFile) throws -> Void) throws {
        guard var next = state else { return }
        try change(&next)
        try save(next, mayBeUndone: mayBeUndone)
    }

    private func save(_ next: StateFile, mayBeUndone: Bool = false) throws {
        guard next != state || version == nil else { return }
        try owner.stateDirectory.save(next, mayBeUndone: mayBeUndone)
        version = owner.stateDirectory.version(of: peer)
        state = next
    }

    /// Notes how far the store has recorded. To be called after a recording commits and before any of it is published.
    ///
    /// The store itself has it by then: a state file that a power cut sets back is one that is behind its store, as after a
    /// kill at this point.
    func noteRecorded() throws {
        guard let former = state?.sequence else { return }
        try store.synchronize()
        let sequence = try store.vector()[peer]
        try update(mayBeUndone: true) {
            $0.sequence = sequence
            $0.chain = try chain
        }
        try logRecorded(after: former, upTo: sequence)
    }

    /// - Parameter former: up to which of this peer's transactions this was logged before.
    private func logRecorded(after former: UInt64, upTo sequence: UInt64) throws {
        guard sequence > former, owner.logger.logLevel <= .debug else { return }
        // A recording makes one; a restored state file may be behind by any number.
        let recorded = try store.history(
            limit: Int(clamping: min(sequence - former, 100)), after: nil, author: nil, peer: peer, table: nil)
        for entry in recorded.reversed() {
            let counts = entry.counts.values.reduce(into: ChangeCounts()) { $0 += $1 }
            owner.logger.debug(
                "Recorded transaction \(entry.dot.sequence) of \(place.path)",
                metadata: [
                    "inserted": "\(counts.inserted)", "updated": "\(counts.updated)", "deleted": "\(counts.deleted)",
                ])
        }
    }
}
