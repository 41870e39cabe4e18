package import LogSyncFormat
package import LogSyncModel

/// What a store says of itself, see ``Store/registration()``.
package struct StoreRegistration: Sendable, Equatable {
    package var peer: PeerID
    package var name: String
    package var content: String
    /// The container's path at the last `init`, `clone` or `attach`.
    package var container: String
    /// When the peer came to be, Unix milliseconds.
    package var created: Int64
    /// The peers this store was before, newest last: it was copied or restored since.
    package var succeeds: [PeerID]
    /// The machine's id when the store was last opened here; nil where unknown.
    package var machineID: String?
    /// The store file's inode when it was last opened here.
    package var inode: UInt64?
    /// The absolute path when it was last opened here.
    package var path: String?
    /// The directory in which the machine keeps its state file and its locks, absolute; nil where no version noted it.
    package var stateDirectory: String?
    /// The journal mode that `init` found, for `leave` to put back.
    package var originalJournalMode: String
    /// The nonces of the runs that wrote receipts, newest last.
    package var runs: [String]
}

/// A transaction in the outbox. It stays there after publishing, so that its file can be written again.
package struct OutboxTransaction: Sendable, Equatable {
    package var dot: Dot
    /// The author's chain hash before and after it.
    package var chainBefore: ChainHash
    package var chain: ChainHash
    /// The sum of its blocks' lengths.
    package var byteCount: Int
    package var isPublished: Bool
}

/// How `status` sees the inside of a store.
package struct StoreSummary: Sendable {
    /// Captured changes that have not been recorded.
    package var pending: Int
    /// When the oldest change was made that is not published, in Unix milliseconds; nil where all are.
    package var waitingSince: Int64?
    package var vector: VersionVector
    package var conflicts: Int
    package var parked: Int
    /// Cells kept for tables and columns that this store does not have.
    package var hiddenForUnknownSchema: Int
    /// 16 hex digits; the same on peers with the same vector.
    package var digest: String
    /// When transactions of other peers were last imported, in Unix milliseconds; nil where that is not known.
    package var lastImport: Int64?
    /// Foreign keys that a peer's own data break, which are therefore not enforced, as `TABLE.COLUMN`.
    package var unenforced: [String]
    /// The columns that came with a migration and are left alone because they seem to refer to rows of these tables.
    package var heldReferences: [(table: String, column: String, parents: [String])]
    /// The columns of which it has to be said what they were, by table, by names in the database: each now and before.
    package var undecided: [(table: String, columns: [(name: String, former: String)])]
    /// The tables whose names are those of others for other peers, and what logs call both.
    package var otherTables: [(table: String, here: String, there: String)]
}
