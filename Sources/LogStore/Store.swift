package import LogFormat
package import LogModel

/// A SQLite database that logsync replicates: captures, records, merges.
///
/// Every method takes the store's one connection for as long as it runs, and throws ``LogSyncError``
/// (``LogSyncError/Code/locked`` after ``StoreConfiguration/busyTimeout``, ``LogSyncError/Code/ioError`` where SQLite
/// reports an I/O error or a full disk; the store is then as it was before the call).
package final class Store: Sendable {
    package let path: String

    private init(path: String) { self.path = path }

    // MARK: Making and opening

    /// What `init` would do, without doing it. Throws `unsupportedTable` where it would refuse.
    package static func examine(_ path: String, plan: InitializePlan, configuration: StoreConfiguration) throws
        -> [TableReport]
    { fatalError() }

    /// Makes an existing database a store: schema, triggers, settings, and its rows recorded as the first transaction.
    package static func initialize(_ path: String, plan: InitializePlan, configuration: StoreConfiguration) throws
        -> (store: Store, tables: [TableReport])
    { fatalError() }

    /// Makes a new file from a schema (``schemaText()`` of another peer), ready to merge everything. Never overwrites.
    package static func create(
        _ path: String, schema: String, plan: InitializePlan, configuration: StoreConfiguration
    ) throws -> Store { fatalError() }

    /// Throws `noStore`, `notReplicated`, `invalidStore` (not a database), `newerFormat`.
    package static func open(_ path: String, configuration: StoreConfiguration) throws -> Store { fatalError() }

    /// Removes every trace of replication and no row; puts the journal mode back.
    package func leave() throws { fatalError() }

    package func close() throws { fatalError() }

    // MARK: Who this is

    package func registration() throws -> StoreRegistration { fatalError() }
    package func setLocation(path: String, inode: UInt64?, machineID: String?) throws { fatalError() }
    package func setContainer(_ path: String) throws { fatalError() }
    /// From now on this store is another peer, which succeeds the present one. What it had recorded and not published
    /// stays in the outbox under the former peer's name.
    package func becomeSuccessor(_ peer: PeerID, name: String) throws { fatalError() }

    // MARK: Record and publish

    /// Turns what was captured into a transaction, if there is anything.
    package func record(author: String? = nil, context: String? = nil) throws -> RecordedTransaction? { fatalError() }

    /// The outbox in order of peer and sequence.
    package func outbox(unpublishedOnly: Bool) throws -> [OutboxTransaction] { fatalError() }
    /// Streams a transaction's blocks, verbatim.
    package func forEachOutboxBlock(of dot: Dot, _ body: ([UInt8]) throws -> Void) throws { fatalError() }
    package func markPublished(_ dots: [Dot]) throws { fatalError() }

    // MARK: Import

    package func vector() throws -> VersionVector { fatalError() }
    /// The chain hash of a peer at this store's vector; 32 zero bytes where nothing of it was imported.
    package func chain(of peer: PeerID) throws -> ChainHash { fatalError() }
    /// What a transaction of `peer` right after this store's vector depends on, given its header's changes.
    package func readiness(of header: TransactionHeader, chainBefore: ChainHash) throws -> Readiness { fatalError() }

    /// Records local changes, then merges transactions from `next` until it returns nil or the lock budget is spent,
    /// all in one SQLite transaction. Each must be ready; one that throws while streaming undoes the whole step.
    package func importStep(next: () throws -> IncomingTransaction?) throws -> ImportStep { fatalError() }

    /// Lets transactions of this peer in, however far ahead their times lie.
    package func acceptClock(of peer: PeerID) throws { fatalError() }

    // MARK: Looking

    package func summary() throws -> StoreSummary { fatalError() }
    /// Whether anything was captured since the last recording; cheap.
    package func hasPendingChanges() throws -> Bool { fatalError() }
    /// Moves whenever any connection commits.
    package func dataVersion() throws -> Int64 { fatalError() }
    /// Newest first. `after` returns those with greater tokens, oldest first.
    package func history(limit: Int?, after token: Int64?, author: String?, peer: PeerID?, table: String?) throws
        -> [HistoryEntry]
    { fatalError() }
    /// The app's schema as SQL, for `schemas/FINGERPRINT.sql`, and its fingerprint.
    package func schemaText() throws -> (text: String, fingerprint: SchemaFingerprint) { fatalError() }
    /// Peers' names as the content's settings have them.
    package func peerNames() throws -> [PeerID: String] { fatalError() }
}
