package import LogSyncModel

/// What a store takes from outside.
package struct StoreConfiguration: Sendable {
    package var clock: any WallClock = SystemClock()
    /// 64 random bits a call.
    package var random: @Sendable () -> UInt64 = { UInt64.random(in: .min ... .max) }
    /// How long to wait for another writer, in seconds, before ``LogSyncError/Code/locked`` is thrown.
    package var busyTimeout: Double = 5
    /// How far ahead of this machine's clock a transaction's time may lie before it is held, in milliseconds.
    package var maximumDrift: Int64 = 24 * 3600 * 1000
    /// After how long the write lock is given up between transactions, in seconds.
    package var lockBudget: Double = 0.05
    /// Whether programs may use the database meanwhile: the write lock is left to them then where it was held for long, see
    /// ``LockTurns``.
    package var isShared = true
    /// Whether the program's triggers on tables of its own fire where rows of others come (`OpenStore.copyAppTriggers`).
    package var firesTriggers = true
    /// Texts and BLOBs of more bytes than this are recorded as blob files. 0 … 2³¹ − 1.
    package var blobThreshold = StoreConfiguration.defaultBlobThreshold
    /// How many of a peer's transactions before the last a snapshot tells apart, where there is room for so many.
    package var toldTransactions: UInt64 = 8192
    /// About how many bytes of rows a recording holds in memory before it writes them into the log.
    package var recordingMemory = 32 << 20
    /// Whether rows are recorded and merged many at a time where they are simple enough. Where not, each goes the general
    /// way, which leaves the same; so tests can run one scenario both ways.
    package var batches = true
    /// Whether inserts leave key columns out where the row's identity says what they hold. Seeds have always done so, and
    /// have the same bytes on every peer.
    var leavesOutKeys = false
    /// Whether the identities of rows that a store begins with are made of the rows that they refer to, rather than of these
    /// rows' local integers. Versions before this one did not, and a file that they seeded is to be known again.
    var hashesParents = true
    /// Merge policies registered in code, by name.
    package var policies: [String: MergePolicy] = [:]

    /// Waits until a write into the database at a path meets no program that reads it, as long as that may be waited for.
    package var awaitReaders: @Sendable (String) -> Void = { _ in }
    /// Whether such a program has come meanwhile, so that the write is better begun again.
    package var isRead: @Sendable (String) -> Bool = { _ in false }
    /// The process that has the database at a path locked; nil where that cannot be told.
    package var lockHolder: @Sendable (String) -> Int32? = { _ in nil }
    /// Is told that a program delays what wants the database at a path, and its process, where that is known.
    package var isDelayed: @Sendable (String, Int32?) -> Void = { _, _ in }
    /// What the store's connection loads before anything of the database is read.
    package var extensions: [LoadableExtension] = []
    /// Whether what a program notes of its integers is kept above those of rows that come (``OpenStore/raiseAllocators()``);
    /// not so where a history is replayed to be compared.
    var raisesAllocators = true

    /// How much of the database SQLite keeps in memory, in bytes; 64 MiB.
    package var pageCache = 64 << 20

    package static let defaultBlobThreshold = 256 << 10

    package init() {}
}
