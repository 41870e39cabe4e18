import Foundation
import LogSyncFormat
import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// What stays in memory about an open store between calls, as of one schema version.
///
/// Confined to the queue of the store's connection.
final class OpenStore {
    /// The store's own, but for a program's while that writes (``EmbeddedRecording``).
    var connection: Connection
    let configuration: StoreConfiguration
    private(set) var catalog: Catalog
    /// What is known of the catalog's tables; made anew with it.
    var cached = CatalogCache()
    /// The schema's fingerprint, and the version of which it is; see ``schemaFingerprint()``.
    var fingerprint: (version: Int64, of: SchemaFingerprint)?
    /// The app's triggers as they fire when logsync writes.
    var triggerCopies = AppTriggerCopies()
    private(set) var peers: PeerTable
    /// This peer's number.
    private(set) var own: Int64
    /// Makes this store's surrogate identities its own.
    private(set) var salt: Bytes
    /// Whether the salt is that of the peer which this store was before.
    private var hasFormerSalt: Bool
    /// The sum of the state digest (Documentation/model.md, particular rules), as committed and as changed since.
    var stateDigest: UInt64
    /// The digests of the last two dots: what a change puts in one's place is mostly of another.
    var lastDots = (DotDigest(), DotDigest())
    /// The time of this store's last transaction.
    var lastTime: HybridTime
    /// The token of what came last into the history; nil until it was asked for.
    var lastToken: Int64?
    /// The greatest time, in milliseconds since 1970, of a transaction or row change that this store has recorded or let in.
    private(set) var latestTime: Int64
    /// Whether rows are kept beside their tables; saves a look-up a row where none are.
    var hasHidden: Bool
    /// Whether integers are promised to rows that have not come.
    var hasReserved: Bool
    private(set) var schemaVersion: Int64
    /// The merge policies in force.
    private(set) var policies: Policies {
        didSet {
            cached.batchings = [:]
            referenceRules = ReferenceRules(catalog, unenforced: policies.unenforced)
        }
    }
    /// The references between rows, as declared and as settings have them.
    private(set) lazy var referenceRules = ReferenceRules(catalog, unenforced: policies.unenforced)
    /// Whether rows are folded into others.
    var hasFolded: Bool
    /// Whether rows show something else than their references.
    var hasReplaced: Bool
    /// The key columns of tables that are not here, by the table's lower-case name in logs.
    var absentKeys: [String: [String]]
    /// The rows that something else than an import changed, by table, until they are handed on.
    var settled: [String: TableChanges] = [:]
    /// Those among them that are not in the history yet.
    var unkept: [String: TableChanges] = [:]
    /// Whether the store is known to remember what it has lost.
    var remembersLost = false
    /// Whether there are subscriptions, which have to be served.
    var hasSubscriptions = false
    /// Whether the store is a clone that no program has seen: none of its integers has been given to anybody.
    var isBeingFilled = false
    /// Whether tables seem to be copies that are being made (``UnfinishedRebuild``); nil until it was asked for.
    var hasCopies: Bool?
    /// Whether a program may be filling a table that it has dropped (``DroppedRows``); nil where it is to be found out.
    var hasDropped: Bool?
    /// Allocators that settings have named since the store was made, with whether it finds the same by itself.
    var examinedAllocators: [ProgramAllocator: Bool] = [:]

    init(_ connection: Connection, configuration: StoreConfiguration) throws {
        self.connection = connection
        self.configuration = configuration
        catalog = try Catalog.load(on: connection)
        cached.awaitedFills = try AwaitedFills.all(on: connection)
        peers = try PeerTable(on: connection)
        let facts = StoreFacts(connection)
        guard case .blob(let id)? = try facts.value("peer"), let peer = PeerID(bytes: id),
            case .blob(let salt)? = try facts.value("salt")
        else {
            throw LogSyncError(
                .invalidStore, "the store does not say which peer it is; its rows are untouched",
                help: "Leave replication with `logsync leave`, then clone or init it again.")
        }
        own = try peers.number(of: peer, on: connection)
        self.salt = salt
        hasFormerSalt = try facts.value(Self.formerSalt) == .integer(1)
        stateDigest = UInt64(bitPattern: try facts.value("digest")?.asInteger ?? 0)
        lastTime = try facts.lastTime
        latestTime = try facts.latestTime
        hasHidden = try connection.integer("SELECT EXISTS(SELECT 1 FROM logsync_kept)") == 1
        hasFolded = try connection.integer("SELECT EXISTS(SELECT 1 FROM logsync_kept WHERE folded IS NOT NULL)") == 1
        hasReplaced = try catalog.tables.contains { table in
            try connection.integer("SELECT EXISTS(SELECT 1 FROM \(table.clock) WHERE conflict >= 2)") == 1
        }
        hasReserved = try connection.integer("SELECT EXISTS(SELECT 1 FROM logsync_reserved)") == 1
        policies = try Policies(on: connection, custom: configuration.policies, catalog)
        schemaVersion = try facts.value("schema_version")?.asInteger ?? -1
        absentKeys = try KeyNames.read(on: connection)
        isBeingFilled = try facts.value(StoreFacts.isBeingFilled) == .integer(1)
        hasSubscriptions = try Subscriptions.areThere(self)
    }

    var facts: StoreFacts { StoreFacts(connection) }
    var ownID: PeerID { peers.id(own) }

    /// Reads the registered tables and their declarations again.
    func reloadCatalog() throws {
        connection.finalizeStatements()
        catalog = try Catalog.load(on: connection)
        cached = CatalogCache()
        cached.awaitedFills = try AwaitedFills.all(on: connection)
        policies.fit(catalog)
        if triggerCopies.areMade { try AppTriggers(catalog: catalog, connection: connection).setConflicts() }
    }

    /// Notes that columns, triggers and clock records agree with the schema as it is now.
    func acceptSchemaVersion() throws {
        schemaVersion = try connection.integer("PRAGMA schema_version") ?? 0
        try facts.set("schema_version", .integer(schemaVersion))
        try LeftTables(connection).note()
    }

    /// Reads the merge policies again; returns whether they changed.
    func reloadPolicies() throws -> Bool {
        let read = try Policies(on: connection, custom: configuration.policies, catalog)
        defer { policies = read }
        return !read.saysTheSame(as: policies)
    }

    func reloadPeers() throws {
        peers = try PeerTable(on: connection)
    }

    func become(_ peer: PeerID) throws {
        own = try peers.number(of: peer, on: connection)
        try facts.set("peer", .blob(peer.bytes[...]))
        try facts.set(Self.formerSalt, .integer(1))
        hasFormerSalt = true
    }

    private static let formerSalt = "former_salt"

    /// Call it when everything captured has been recorded: what this store captures from here on is not what the peer
    /// captured that it was before, even under the same number and in the same millisecond. What was captured until
    /// then may have been recorded by that peer, too, and keeps the identities that it gave.
    func takeOwnSalt() throws {
        guard hasFormerSalt else { return }
        var hash = IdentityHash("salt")
        hash.combine(salt)
        hash.combine(ownID.bytes[...])
        salt = hash.bytes[...]
        try facts.set("salt", .blob(salt))
        try facts.set(Self.formerSalt, .integer(0))
        hasFormerSalt = false
    }

    /// Now, as a time without a counter.
    var now: HybridTime { HybridTime(milliseconds: configuration.clock.now()) }

    /// Keeps what changes with nearly every write, in its transaction.
    ///
    /// - Parameter generation: tells what is kept in memory elsewhere from what the store is now.
    func save(generation: Int64) throws {
        try facts.set(generation: generation, lastTime: lastTime, latestTime: latestTime, digest: stateDigest)
    }

    // MARK: Times

    /// The latest time, in milliseconds since 1970, that is no sign of a wrong clock.
    ///
    /// A row that is written over one from a clock that was ahead, this store's own or one that it has let in, is no earlier
    /// than that one: its time says nothing of the clock of its author. Nobody raises the limit beyond what he has let in
    /// himself, because what comes from others lies below it.
    var timeLimit: Int64 {
        let (limit, overflows) = configuration.clock.now().addingReportingOverflow(configuration.maximumDrift)
        return max(overflows ? .max : limit, latestTime)
    }

    /// Notes the time of something that is recorded, or let in, within this write transaction.
    func noteTime(_ time: HybridTime) { latestTime = max(latestTime, time.milliseconds) }
}
