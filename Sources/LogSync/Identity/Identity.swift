import LogSyncFormat
import LogSyncModel
import LogSyncStore

/// What is known when a store is asked which peer it is.
struct IdentityEvidence {
    var registration: StoreRegistration
    var place: StorePlace
    /// This machine's id; nil where unknown.
    var machine: String?
    /// The state file that this machine keeps for the peer; nil where it has none.
    var state: PeerState?
    /// A path, other than the store's, at which the same peer was found in another file.
    var original: String?
    /// The store's own sequence, and the chain hash there.
    var sequence: UInt64
    var chain: String
    /// What the container tells of this peer; nil where it is not available.
    var folder: FolderEvidence?
    /// Whether files hold another history of this peer's than the store recorded.
    var isContradicted = false
}

/// What the container tells of the peer that a store says it is.
struct FolderEvidence: Equatable {
    /// The highest sequence that its log files, its receipt or anyone's receipt speak of.
    var highest: UInt64 = 0
    /// What its receipt says of the last transaction published.
    var published: (sequence: UInt64, chain: String)?
    /// The counter and the nonce of its receipt.
    var receipt: (counter: UInt64, nonce: String)?

    static func == (a: FolderEvidence, b: FolderEvidence) -> Bool {
        a.highest == b.highest && a.published?.sequence == b.published?.sequence
            && a.published?.chain == b.published?.chain && a.receipt?.counter == b.receipt?.counter
            && a.receipt?.nonce == b.receipt?.nonce
    }
}

/// Which peer a store is.
enum IdentityVerdict: Equatable {
    /// The peer that it says it is.
    case same
    /// That peer, at another path than before.
    case moved(from: String)
    /// A copy of another store, which may live on: this one becomes a new peer.
    case copied(from: String?)
    /// An older state of that peer: it becomes a new peer, and its former self is no more.
    case restored(ahead: UInt64)
    /// Perhaps an older state of that peer: its state file is lost, and so is what it had told the folder. A new peer.
    case untold
    /// Another process, elsewhere, writes under the same id: this one becomes a new peer.
    case shared
    /// There is no state file, and the container, which could tell, is not available: nothing is recorded until it is.
    case unknown
}

extension IdentityEvidence {
    /// Decides by the rules of DESIGN.md, section 7. A pure function, so that all cases can be listed in a test.
    var verdict: IdentityVerdict {
        if let original { return .copied(from: original) }
        let machinesAgree = state.map { Self.mayAgree($0.machine, machine) } ?? false
        guard let state, machinesAgree else {
            guard isConfirmedByItself else { return .copied(from: nil) }
            guard let folder else { return .unknown }
            if let verdict = verdict(from: folder, state: nil) { return verdict }
            if isContradicted { return .shared }
            // Every peer has a receipt from the beginning.
            return folder.receipt == nil ? .untold : movedOrSame(from: registration.path)
        }
        if state.sequence > sequence { return .restored(ahead: state.sequence) }
        if state.sequence == sequence, state.chain != chain { return .restored(ahead: sequence) }
        if let folder, let verdict = verdict(from: folder, state: state) { return verdict }
        if isContradicted { return .shared }
        return movedOrSame(from: state.path)
    }

    /// Whether the machine or the inode is the one that the store remembers; what is unknown confirms nothing.
    private var isConfirmedByItself: Bool {
        (machine != nil && machine == registration.machineID) || registration.inode == place.inode
    }

    private func verdict(from folder: FolderEvidence, state: PeerState?) -> IdentityVerdict? {
        if let receipt = folder.receipt, let state, receipt.counter >= state.receiptCounter,
            receipt.counter > 0, !state.nonces.contains(receipt.nonce)
        {
            return .shared
        }
        if folder.highest > sequence { return .restored(ahead: folder.highest) }
        if let published = folder.published, published.sequence == sequence, sequence > 0, published.chain != chain {
            return .restored(ahead: sequence)
        }
        return nil
    }

    private func movedOrSame(from path: String?) -> IdentityVerdict {
        guard let path, path != place.path else { return .same }
        return .moved(from: path)
    }

    private static func mayAgree(_ a: String?, _ b: String?) -> Bool {
        guard let a, let b else { return true }
        return a == b
    }
}
