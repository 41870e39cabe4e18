package import LogSyncFormat
public import LogSyncModel

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
    /// The journal mode that `init` found, for `leave` to put back.
    package var originalJournalMode: String
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

/// What one recording made.
package struct RecordedTransaction: Sendable, Equatable {
    package var dot: Dot
    package var chain: ChainHash
    package var counts: [String: ChangeCounts]
}

/// A transaction from the container, to be merged.
package struct IncomingTransaction {
    package var header: TransactionHeader
    package var chainBefore: ChainHash
    package var chain: ChainHash
    /// Streams the row changes; may be called once.
    package var forEachGroup: ((RowGroup) throws -> Void) throws -> Void
    /// Gives the blobs that its values name; nil where it names none.
    package var blobs: BlobSource?

    package init(
        header: TransactionHeader, chainBefore: ChainHash, chain: ChainHash, blobs: BlobSource? = nil,
        forEachGroup: @escaping ((RowGroup) throws -> Void) throws -> Void
    ) {
        self.blobs = blobs
        self.header = header
        self.chainBefore = chainBefore
        self.chain = chain
        self.forEachGroup = forEachGroup
    }
}

/// Whether a transaction can be merged now.
package enum Readiness: Sendable, Equatable {
    case ready
    case alreadyImported
    /// An earlier transaction of the same peer is missing: this sequence is the first that is.
    case gap(UInt64)
    /// It depends on these, which have not been imported.
    case missing([Dot])
    /// It depends on another transaction of this dot than the one imported here: two stores wrote under one id.
    case otherBranch(Dot)
    /// Its time lies this many milliseconds ahead of this machine's clock, beyond the allowed drift.
    case clock(Int64)
    /// Its author's history differs from the one imported here: one dot, different bytes.
    case fork
}

/// A transaction that was handed out to be merged and has to wait.
package struct NotReady: Error {
    package var dot: Dot
    /// What it depends on.
    package var waitsFor: Dot?
    /// Whether that dot has been imported, and is another transaction.
    package var isOtherBranch: Bool
}

/// What an imported transaction changed in the store.
package struct ImportedTransaction: Sendable {
    package var dot: Dot
    package var time: HybridTime
    package var author: String?
    package var context: String?
    package var tables: [String: TableChanges]
}

/// The rows of one table that an import changed, by their keys as the store shows them.
public struct TableChanges: Sendable, Equatable {
    /// Each key is the primary key's values in key order (the integer of an `INTEGER PRIMARY KEY`).
    public var inserted: [[Value]] = []
    public var updated: [[Value]] = []
    public var deleted: [[Value]] = []
    /// How many rows changed in all; the keys are listed for the first ``maximumKeys`` of each kind.
    public var counts = ChangeCounts()

    /// How many keys of each kind are listed; beyond it only ``counts`` goes on.
    public static let maximumKeys = 10_000

    /// Whether rows changed whose keys are not listed, because there were too many.
    public var isTruncated: Bool {
        [(inserted, counts.inserted), (updated, counts.updated), (deleted, counts.deleted)].contains { keys, count in
            keys.count >= Self.maximumKeys && count > keys.count
        }
    }

    public init() {}
}

/// What one step of importing did, within one SQLite transaction.
package struct ImportStep: Sendable {
    /// The local changes that were recorded first, if there were any.
    package var recorded: RecordedTransaction?
    package var imported: [ImportedTransaction] = []
    /// What was recorded because a delete took rows that this peer had edited, under `delete-loses`.
    package var revived: [RecordedTransaction] = []
}

/// One transaction in the store's history.
package struct HistoryEntry: Sendable {
    /// Grows with each transaction recorded or imported here.
    package var token: Int64
    package var dot: Dot
    package var time: HybridTime
    package var author: String?
    package var context: String?
    package var counts: [String: ChangeCounts]
}

/// How `status` sees the inside of a store.
package struct StoreSummary: Sendable {
    /// Captured changes that have not been recorded.
    package var pending: Int
    package var vector: VersionVector
    package var conflicts: Int
    package var parked: Int
    /// Cells kept for tables and columns that this store does not have.
    package var keptForUnknownSchema: Int
    /// 16 hex digits; the same on peers with the same vector.
    package var digest: String
    /// Foreign keys that somebody's data breaks, which are therefore not enforced, as `TABLE.COLUMN`.
    package var unenforced: [String]
}

/// How `init` is told to identify rows and what to leave out.
package struct InitializePlan: Sendable {
    package var content: String
    package var container: String
    package var peerName: String
    /// By table name as the user gave it: `natural`, `surrogate` or a list of columns.
    package var identities: [String: IdentityChoice] = [:]
    /// (child table, column, parent table) of undeclared references.
    package var references: [(table: String, column: String, parent: String)] = []
    /// (`TABLE` or `TABLE.COLUMN`, policy), in the order given.
    package var policies: [(target: String, policy: String)] = []
    package var local: [String] = []
    package var skip: [String] = []
    package var keepJournal = false
    package var machineID: String?
    /// The settings that the content already has, where this store joins it: (kind, target, value) as in the rows of
    /// `logsync_setting`. They go before flags; flags that contradict them are refused by the caller.
    package var settings: [(kind: String, target: String, value: String)] = []

    package init(content: String, container: String, peerName: String) {
        self.content = content
        self.container = container
        self.peerName = peerName
    }
}

package enum IdentityChoice: Sendable, Hashable {
    case natural
    case surrogate
    case columns([String])
}

/// What `init` says of a table.
public struct TableReport: Sendable, Equatable, Codable {
    public var table: String
    /// `natural`, `surrogate`, `columns`, `local` or `skipped`.
    public var identity: String
    /// The columns that identify a row; empty for a surrogate identity.
    public var columns: [String]
    /// Foreign-key columns that are translated, as `COLUMN` → parent table.
    public var references: [String: String]
    /// Advice: a better UNIQUE column set, or columns that look like undeclared references.
    public var suggestions: [String]
    public var rows: Int

    public init(
        table: String, identity: String, columns: [String], references: [String: String], suggestions: [String],
        rows: Int
    ) {
        self.table = table
        self.identity = identity
        self.columns = columns
        self.references = references
        self.suggestions = suggestions
        self.rows = rows
    }
}
