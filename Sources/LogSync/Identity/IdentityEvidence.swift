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
}

/// What the container tells of the peer that a store says it is.
struct FolderEvidence: Equatable {
    /// The highest sequence that its log files, its receipt or another peer's receipt speak of.
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
