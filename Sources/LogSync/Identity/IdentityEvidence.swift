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
    var state: StateFile?
    /// A path, other than the store's, at which the same peer was found in another file.
    var original: String?
    /// The store's own sequence, and the chain hash there.
    var sequence: UInt64
    var chain: String
    /// What the container tells of this peer; nil where it is not available.
    var folder: FolderEvidence?
    /// Whether files hold another history of this peer's than the store recorded.
    var isContradicted = false
    /// Unix milliseconds.
    var now: Int64 = 0

    /// Whether this machine's state file says that the store is the one that logsync left: then what says otherwise is the
    /// folder alone, and any peer that writes there can make it say so again and again.
    var restsOnFolder: Bool {
        guard original == nil, let state, Self.mayAgree(state.machine, machine) else { return false }
        return state.sequence < sequence || state.sequence == sequence && state.chain == chain
    }

    /// Whether the folder's word alone is not taken: within a day of the last time that it was.
    private var isDoubtful: Bool {
        guard restsOnFolder, let state, state.acceptsClaim != true, let last = state.believedFolder else {
            return false
        }
        // A clock that was set back begins anew.
        return (last..<last + Self.claimInterval).contains(now)
    }

    /// How long after it believed the folder alone a store does not do so again, in milliseconds.
    private static let claimInterval: Int64 = 24 * 3_600_000

    /// What the folder says of the store, as far as it is believed.
    func believed(_ verdict: IdentityVerdict) -> IdentityVerdict {
        guard isDoubtful else { return verdict }
        if case .restored(let ahead) = verdict { return .doubted(ahead: ahead) }
        return .doubted(ahead: nil)
    }

    static func mayAgree(_ a: String?, _ b: String?) -> Bool {
        guard let a, let b else { return true }
        return a == b
    }
}

/// What the container tells of the peer that a store says it is.
struct FolderEvidence: Equatable {
    /// The highest sequence that its log files, its receipt or another peer's receipt speak of.
    var highest: UInt64 = 0
    /// What its receipt says of the last transaction published.
    var published: (sequence: UInt64, chain: String)?
    /// The counter and the nonce of its receipt.
    var receipt: (counter: UInt64, nonce: String)?
    /// Whether its receipt says that it has gone from this folder.
    var hasLeft = false

    static func == (a: FolderEvidence, b: FolderEvidence) -> Bool {
        a.highest == b.highest && a.published?.sequence == b.published?.sequence
            && a.published?.chain == b.published?.chain && a.receipt?.counter == b.receipt?.counter
            && a.receipt?.nonce == b.receipt?.nonce && a.hasLeft == b.hasLeft
    }
}
