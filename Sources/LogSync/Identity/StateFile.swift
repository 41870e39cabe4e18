import Foundation
import LogSyncFormat
import LogSyncModel
import LogSyncStore

/// What this machine keeps of one of its peers outside the database, so that a copied or restored database is told from the
/// one that logsync left.
struct StateFile: Equatable, Codable {
    var format = 1
    var peer: PeerID
    var content: String
    /// The shared folder that the content is in; nil where the file was written before this was kept.
    var container: String?
    var path: String
    var inode: UInt64
    var machine: String?
    /// The highest sequence recorded, and the chain hash there in hex.
    var sequence: UInt64 = 0
    var chain: String = ChainHash.zero.description
    /// The counter of the last receipt that was written, or was about to be.
    var receiptCounter: UInt64 = 0
    /// The nonces of the runs that wrote receipts, newest last.
    var nonces: [String] = []
    /// The complaints of receipts that were answered by writing the file again: the complaining peer and the file, and
    /// the counter of its receipt then. No clock of another machine tells whether that peer has looked since.
    var answered: [String: UInt64]?
    /// Since when, in Unix milliseconds, this store has done without what partial snapshots stand for, by their names.
    var waiting: [String: Int64]?
    /// The last identity trouble, for `status`.
    var trouble: StoreStatus.IdentityTrouble?
    /// When, in Unix milliseconds, this peer came to be because the folder alone said that the store was another; nil where
    /// this machine knew it, too.
    var believedFolder: Int64?
    /// What the folder says of this store and is not believed; nil where it says nothing of the kind.
    var claim: StoreStatus.IdentityTrouble?
    /// Whether what the folder says is to be believed the next time, because a person said so.
    var acceptsClaim: Bool?
    /// Whether a clone made the store and has not said so yet: it was killed, or is about to.
    var isCloning: Bool?
    /// Whether the database at the path is no store any more, or its file was not there when a person said so. An `init` of it
    /// wants to know which peer it was.
    var hasLeft: Bool?

    static let currentFormat = 1
    /// As many runs may pass before another process's receipt could be taken for one of ours come back.
    static let maximumNonces = 32
}

extension StateFile {
    /// What a transaction has to find that goes by this file.
    var expected: ExpectedStore {
        ExpectedStore(
            peer: peer, path: path, inode: inode, sequence: sequence,
            chain: Hex.decode(chain).flatMap { ChainHash(bytes: $0) })
    }
}
