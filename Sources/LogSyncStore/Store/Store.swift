import Foundation
package import LogSyncFormat
package import LogSyncModel
import LogSyncSQLite

/// A SQLite database that logsync replicates: captures, records, merges.
///
/// Every method takes the store's one connection for as long as it runs, and throws ``LogSyncError``
/// (``LogSyncError/Code/locked`` after ``StoreConfiguration/busyTimeout``, ``LogSyncError/Code/ioError`` where SQLite
/// reports an I/O error or a full disk; the store is then as it was before the call).
package final class Store: Sendable {
    package let path: String
    let database: StoreConnection

    init(_ database: StoreConnection) {
        path = database.path
        self.database = database
    }

    // MARK: Opening

    /// Throws `noStore`, `notReplicated`, `invalidStore` (not a database), `newerFormat`.
    package static func open(_ path: String, configuration: StoreConfiguration) throws -> Store {
        let database = try StoreConnection(path, configuration: configuration)
        let version = try database.withConnection { connection in
            guard try !isUnfinished(connection) else {
                throw LogSyncError(
                    .notReplicated,
                    "\(path) is no store yet, or none any more: a `logsync init` or `logsync leave` of it is under way, or was "
                        + "interrupted",
                    help: "Wait until it has ended. Where it was interrupted, `logsync init` begins anew, and `logsync "
                        + "leave` makes it an ordinary database again.")
            }
            guard try isWhole(connection) else {
                guard try OwnObjects(connection: connection).leftovers().isEmpty else {
                    throw LogSyncError(
                        .notReplicated,
                        "\(path) was a store, and another program has dropped or emptied tables that logsync keeps in it; "
                            + "logsync's triggers may still be there, so that no program can write the tables that were "
                            + "replicated",
                        help:
                            "`logsync leave` removes what is left, and the database can be written again; `logsync init` "
                            + "does so and joins again, or says what to run.")
                }
                throw LogSyncError(
                    .notReplicated, "\(path) is a database, but it is not replicated",
                    help: "Make it a store with `logsync init`.")
            }
            return try formatVersion(of: connection)
        }
        guard version <= StoreSchema.formatVersion else {
            throw LogSyncError(
                .newerFormat, "\(path) was written by a newer logsync (store format \(version)); it was left alone",
                help: "Use that version here too.")
        }
        if version < StoreSchema.formatVersion {
            // Another process may have been faster.
            try database.writeRaw { try StoreSchema.upgrade(from: formatVersion(of: $0), on: $0) }
        }
        return Store(database)
    }

    private static func formatVersion(of connection: Connection) throws -> Int64 {
        try StoreFacts(connection).value("format")?.asInteger ?? 0
    }

    static func isReplicated(_ connection: Connection) throws -> Bool {
        try hasFacts(connection) && !isUnfinished(connection)
    }

    /// Whether it is a store that has all its tables: another program drops what it does not know, and then it is none.
    static func isWhole(_ connection: Connection) throws -> Bool {
        // Of an emptied table of facts nothing tells which peer it was.
        guard try isReplicated(connection), try StoreFacts(connection).value("format") != nil else { return false }
        let names = Set(
            try connection.rows(
                "SELECT name FROM main.sqlite_master WHERE type = 'table' AND name LIKE 'logsync\\_%' ESCAPE '\\'"
            ).map { String(text: $0[0]) })
        // What an older format does not have yet is made when the store is brought up to date.
        guard
            try formatVersion(of: connection) != StoreSchema.formatVersion
                || names.isSuperset(of: StoreSchema.everyStores)
        else { return false }
        return try names.contains("logsync_table")
            && connection.rows("SELECT id FROM logsync_table").allSatisfy { row in
                ["clock", "pending"].allSatisfy { names.contains("logsync_\($0)_\(row[0].asInteger)") }
            }
    }

    static func isUnfinished(_ connection: Connection) throws -> Bool {
        try hasFacts(connection) && formatVersion(of: connection) == StoreSchema.unfinishedFormat
    }

    private static func hasFacts(_ connection: Connection) throws -> Bool {
        try connection.integer(
            "SELECT EXISTS(SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'logsync_store')") == 1
    }

    package func close() throws {
        try database.close()
    }

    /// Whether the files that are open are still those of the path: neither the database nor its log was replaced or removed.
    package func isInPlace() throws -> Bool { try database.isInPlace() }

    // MARK: Rest

    /// Lets go of the database's files until they are needed, so that a program can have them for itself; its log stays.
    ///
    /// - Parameter files: what they were before it was last looked whether anything is to be done.
    package func rest(_ files: RestingFiles) throws { try database.rest(files) }

    /// Removes the log that is open here and stands beside another database by now, which it would spoil, once this store is
    /// closed (``StrandedLog``); nil for none. It says whether the log is gone.
    package func strandedLogRemoval() -> (() -> Bool)? {
        database.strandedLog().map { log in { log.remove() } }
    }

    /// Copies the log into the database and empties it, where nobody reads or writes it, and waits for nobody.
    ///
    /// - Returns: whether it is empty.
    package func emptyLog() throws -> Bool { try database.emptyLog() }

    /// Whether the files were let go of.
    package var isResting: Bool { database.isResting }

    /// Whether they were, and nobody has written since.
    package var isUntouchedAtRest: Bool { database.isUntouchedAtRest }

    /// What the files are now; nil where they were written so lately that a further write may not be told from it.
    ///
    /// - Parameters:
    ///   - now: Unix nanoseconds.
    ///   - standing: what they were at least a tenth of a second ago, where that is known. Files that have stood as they were
    ///     are at rest whatever their times say, which may be ahead of the clock.
    package func restingFiles(now: Int64, standing: RestingFiles? = nil) -> RestingFiles? {
        let files = RestingFiles(path)
        return files == standing || Int128(now) - files.lastWrite > Self.tick ? files : nil
    }

    /// Several times that of any kernel's clock, in nanoseconds.
    private static let tick: Int128 = 50_000_000

    // MARK: Who this is

    package func registration() throws -> StoreRegistration {
        try database.read { store in
            let facts = store.facts
            let succeeds = try facts.text("succeeds")?.split(separator: ",").compactMap { PeerID($0) } ?? []
            return StoreRegistration(
                peer: store.ownID, name: try facts.text("name") ?? "", content: try facts.text("content") ?? "",
                container: try facts.text("container") ?? "", created: try facts.value("created")?.asInteger ?? 0,
                succeeds: succeeds, machineID: try facts.text("machine"),
                inode: try facts.value("inode").flatMap { $0.isNull ? nil : UInt64(bitPattern: $0.asInteger) },
                path: try facts.text("path"), stateDirectory: try facts.text("state_directory"),
                originalJournalMode: try facts.text("journal") ?? "delete",
                runs: try facts.text(Self.runs)?.split(separator: ",").map(String.init) ?? [])
        }
    }

    package func setLocation(path: String, inode: UInt64?, machineID: String?, stateDirectory: String? = nil) throws {
        try database.write { store in
            try store.facts.set("path", .text(path))
            try store.facts.set("inode", inode.map { .integer(Int64(bitPattern: $0)) } ?? .null)
            try store.facts.set("machine", machineID.map { .text($0) } ?? .null)
            try store.facts.set("state_directory", stateDirectory.map { .text($0) } ?? .null)
        }
    }

    private static let runs = "runs"

    /// Notes, before a run publishes, that what it writes is this store's own. A state directory that is lost, or put back from
    /// a backup, does not know of the run; so this is on disk before what the run publishes.
    ///
    /// - Parameter count: so many of the newest are kept.
    package func noteRun(_ nonce: String, keeping count: Int) throws {
        try database.write(isNews: false) { store in
            let noted = try store.facts.text(Self.runs)?.split(separator: ",").map(String.init) ?? []
            try store.facts.set(Self.runs, .text((noted + [nonce]).suffix(count).joined(separator: ",")))
        }
    }

    /// From now on this store's content is at another place, and may be called something else.
    package func setContent(_ content: String, container: String) throws {
        try database.write { store in
            try store.facts.set("content", .text(content))
            try store.facts.set("container", .text(container))
        }
    }

    /// From now on this store is another peer, which succeeds the present one. What it had recorded and not published
    /// stays in the outbox under the former peer's name.
    ///
    /// - Parameter retiring: the peers that are no more: the former, unless this is a copy of a store that may live on, and
    ///   each that the store had been in between where this is an older state of it.
    package func becomeSuccessor(_ peer: PeerID, name: String, retiring: Set<PeerID>) throws {
        try database.write { store in
            let former = store.ownID
            let succeeds = try store.facts.text("succeeds").map { "\($0),\(former)" } ?? former.description
            // The original may live on: its next transaction says only what moved since its last.
            try store.connection.run(
                """
                INSERT OR REPLACE INTO logsync_dependency(peer, other, sequence)
                SELECT ?1, number, declared FROM logsync_peer WHERE number <> ?1 AND declared > 0
                """, .integer(store.own))
            try store.become(peer)
            try store.facts.set("succeeds", .text(succeeds))
            try store.facts.set("name", .text(name))
            try store.facts.set("created", .integer(store.configuration.clock.now()))
            // What the former peer's folder holds is not in this one's.
            try store.connection.run("UPDATE logsync_blob SET published = 0")
            // Its first transaction says all that it has seen.
            try store.connection.run("UPDATE logsync_peer SET declared = 0")
            try store.reloadPeers()
            try Settings(store).set("peer", peer.description, name)
            for gone in retiring.sorted() { try Settings(store).set("retired", gone.description, "1") }
        }
    }

    /// Has each transaction that writes fail with ``UnexpectedStore`` where this is another store by then; nil for none.
    package func expect(_ expected: ExpectedStore?) { database.expect(expected) }

    // MARK: Record and publish

    /// Turns what was captured into a transaction, if there is anything.
    package func record(author: String? = nil, context: String? = nil) throws -> RecordedTransaction? {
        // A look without the write lock first: most of the time there is nothing.
        guard try database.read({ try RecordStep.isNeeded($0) }) else { return nil }
        if try database.read({ try SchemaReconciliation.isNeeded($0) }) {
            // For itself, because what follows may be undone for it.
            try database.write { try UnfinishedRebuild(store: $0).note() }
        }
        return try database.write(repeats: true) { try RecordStep($0, author: author, context: context).run() }
    }

    // MARK: Import

    package func vector() throws -> VersionVector {
        try database.read { $0.peers.vector }
    }

    /// The chain hash of a peer at this store's vector; 32 zero bytes where nothing of it was imported.
    package func chain(of peer: PeerID) throws -> ChainHash {
        try database.read { $0.peers[peer]?.chain ?? .zero }
    }

    /// The chain hashes of all peers at this store's vector, those left out of which nothing was imported.
    package func chains() throws -> [PeerID: ChainHash] {
        try database.read { store in
            Dictionary(store.peers.entries.values.map { ($0.id, $0.chain) }, uniquingKeysWith: { first, _ in first })
        }
    }

    /// What a transaction of `peer` right after this store's vector depends on, given its header's changes.
    package func readiness(of header: TransactionHeader, chainBefore: ChainHash) throws -> Readiness {
        try database.read { try Readiness(of: header, chainBefore: chainBefore, in: $0) }
    }

    /// Records local changes, then merges transactions from `next` until it returns nil or the lock budget is spent,
    /// all in one SQLite transaction. Each must be ready; one that throws while streaming undoes the whole step.
    ///
    /// - Parameter repeatsExactly: for the next transaction of the peer that this store was before it was restored, whether
    ///   ``RepeatedCaptures`` are told by the very millisecond; nil for any other transactions.
    package func importStep(
        repeatsExactly: Bool? = nil, next: () throws -> IncomingTransaction?
    ) throws -> ImportStep {
        try database.write { store in
            let step =
                try repeatsExactly.map { try ImportStep.runRepeating(in: store, isExact: $0, next: next) }
                ?? ImportStep.run(in: store, next: next)
            if !step.imported.isEmpty { try store.noteImport() }
            return step
        }
    }

    /// How many peers of which nothing was known were imported from today; see ``NewPeers``.
    package func newPeersToday() throws -> Int { try database.read { try NewPeers(store: $0).counted() } }

    /// The greatest time, in milliseconds since 1970, that this store has recorded or let in: as late as that, another
    /// peer's is no sign of a wrong clock.
    package func latestTime() throws -> Int64 { try database.read { $0.latestTime } }

    /// Lets transactions of this peer in, however much their files come to.
    package func acceptSize(of peer: PeerID) throws {
        try database.write { try $0.facts.set(Self.acceptsSize + peer.description, .integer(1)) }
    }

    /// The peers of which that was said.
    package func peersOfAcceptedSize() throws -> Set<PeerID> {
        try database.read { store in
            Set(try store.facts.values(under: Self.acceptsSize).compactMap { PeerID($0.name) })
        }
    }

    private static let acceptsSize = "accepts_size "

    /// Lets transactions of this peer in, however far ahead their times lie.
    package func acceptClock(of peer: PeerID) throws {
        try database.write { store in
            let number = try store.peers.number(of: peer, on: store.connection)
            try store.peers.acceptClock(of: number, on: store.connection)
        }
    }

    package func acceptsClock(of peer: PeerID) throws -> Bool {
        try database.read { $0.peers[peer]?.acceptsClock ?? false }
    }
}
