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
    private(set) var peers: PeerTable
    /// This peer's number.
    private(set) var own: Int64
    /// Makes this store's surrogate identities its own.
    private(set) var salt: Bytes
    /// Whether the salt is that of the peer which this store was before.
    private var hasFormerSalt: Bool
    /// The sum of the state digest (Documentation/model.md, particular rules), as committed and as changed since.
    var stateDigest: UInt64
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
    private(set) var policies: Policies
    /// The references between rows, as declared and as settings have them.
    private(set) lazy var referenceRules = ReferenceRules(catalog, unenforced: policies.unenforced)
    /// The unique keys of tables, by table id.
    var uniqueKeys: [Int64: [UniqueKey]] = [:]
    /// How tables' rows may be worked on in batches, by table id, as the schema and the policies are; see
    /// ``batching(of:)``.
    private var batchings: [Int64: Batching] = [:]
    /// Whether rows are folded into others.
    var hasFolded: Bool
    /// Whether rows show something else than their references.
    var hasReplaced: Bool
    /// The schema version for which the app's triggers were copied.
    private var copiedTriggers: Int64 = -1
    /// The app's triggers that could not be copied.
    private var unmadeTriggers: [UnmadeObject] = []
    /// The tables that have such copies, in lower case, once it was asked for.
    private var withCopiedTriggers: Set<String>?
    /// Columns' defaults as evaluated, by table and column id.
    var defaults: [String: Value] = [:]
    private var schema: (version: Int64, fingerprint: SchemaFingerprint)?
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
    /// Whether of some columns it is not known what they were called (``UndecidedColumns``); nil until it was asked for.
    var hasUndecided: Bool?
    /// Whether columns or tables are left alone because they seem to refer to other rows (``HeldReferences``); nil until it
    /// was asked for.
    var hasHeldReferences: Bool?
    /// Whether another peer has said of columns since what they were called (``LateRenames``); nil until it was asked for.
    var hasLateRenames: Bool?
    /// Whether the store is known to have noted what its references mean.
    var hasReferenceHistory = false
    /// The statements that ask ``PendingRows``; made when they are first needed.
    var pendingQueries: [String]?
    /// What tables are called that are not here, by folded name, once it was asked for.
    var absentNames: [String: String]?
    /// The columns of which deleted rows' values are kept, by table id, once it was asked for.
    var tombstones: [Int64: [Int]] = [:]
    /// What rows are called by peers that have migrated, by table id, once it was asked for.
    var otherKeys: [Int64: [Value: RowIdentity]] = [:]

    init(_ connection: Connection, configuration: StoreConfiguration) throws {
        self.connection = connection
        self.configuration = configuration
        catalog = try Catalog.load(on: connection)
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
        defaults = [:]
        catalog = try Catalog.load(on: connection)
        policies.fit(catalog)
        uniqueKeys = [:]
        batchings = [:]
        (tombstones, otherKeys) = ([:], [:])
        (hasUndecided, hasLateRenames, pendingQueries, absentNames) = (nil, nil, nil, nil)
        hasHeldReferences = nil
        hasReferenceHistory = false
        referenceRules = ReferenceRules(catalog, unenforced: policies.unenforced)
        if copiedTriggers >= 0 { try AppTriggers(catalog: catalog, connection: connection).setAbortClauses() }
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
        defer {
            policies = read
            batchings = [:]
            referenceRules = ReferenceRules(catalog, unenforced: read.unenforced)
        }
        return !read.saysTheSame(as: policies)
    }

    /// How a table's rows may be recorded and merged in batches, but for what the rows at hand say
    /// (``isContested(_:)``). Nothing where batches are off.
    func batching(of table: TrackedTable) -> Batching {
        guard configuration.batches else { return [] }
        if let known = batchings[table.id] { return known }
        let batching = Batching(table, hasCounters: !counters(of: table).isEmpty, referenceRules)
        batchings[table.id] = batching
        return batching
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

    /// Sees to it that the app's triggers on untracked tables fire when logsync writes the app's rows: an import, a
    /// parked row that can be shown again, a conflict that is settled, another policy. Every write transaction of that
    /// kind begins with it, most by ``RecordStep``.
    func copyAppTriggers() throws {
        let version = try connection.integer("PRAGMA main.schema_version") ?? 0
        guard version != copiedTriggers else { return }
        unmadeTriggers = try AppTriggers.install(
            catalog, extensions: configuration.extensions, on: connection)
        copiedTriggers = version
        withCopiedTriggers = nil
    }

    /// The app's triggers that do not fire though they should.
    func unmadeTriggersNow() throws -> [UnmadeObject] {
        try copyAppTriggers()
        return unmadeTriggers
    }

    /// Whether the app's triggers fire when logsync writes the table.
    func hasCopiedTriggers(on table: TrackedTable) throws -> Bool {
        if withCopiedTriggers == nil {
            withCopiedTriggers = Set(
                try connection.rows("SELECT tbl_name FROM temp.sqlite_master WHERE type = 'trigger'")
                    .map { String(text: $0[0]).folded })
        }
        return withCopiedTriggers?.contains(table.schema.name.folded) ?? false
    }

    /// Drops those copies, for writes of which the triggers themselves are to hear; an import makes them again.
    func dropAppTriggerCopies() throws {
        copiedTriggers = -1
        withCopiedTriggers = nil
        try AppTriggers.remove(on: connection)
    }

    /// Names the app's schema as it is now.
    func schemaFingerprint() throws -> SchemaFingerprint? {
        let version = try connection.integer("PRAGMA schema_version") ?? 0
        if let schema, schema.version == version { return schema.fingerprint }
        let fingerprint = try settledSchema() ?? settleSchema().fingerprint
        schema = (version, fingerprint)
        return fingerprint
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

    // MARK: State digest

    /// Adds (or with `sign` −1 takes away) one entry's share of the state digest.
    @inline(__always)
    func count(_ sign: Int, row: UInt64, column: UInt64, _ stamp: Stamp) {
        let share = StateDigest.share(row: row, column: column, dot: dotDigest(stamp))
        stateDigest = sign > 0 ? stateDigest &+ share : stateDigest &- share
    }

    /// The digests of the last two dots: what a change puts in one's place is mostly of another.
    private var lastDots: (Dotted, Dotted) = (Dotted(), Dotted())

    private struct Dotted {
        var peer: Int64 = -1
        var sequence: UInt64 = 0
        var digest: UInt64 = 0

        @inline(__always)
        func isOf(_ stamp: Stamp) -> Bool { stamp.peer == peer && stamp.sequence == sequence }
    }

    @inline(__always)
    func dotDigest(_ stamp: Stamp) -> UInt64 {
        if lastDots.0.isOf(stamp) { return lastDots.0.digest }
        if lastDots.1.isOf(stamp) { return lastDots.1.digest }
        let digest = StateDigest.dot(peers.id(stamp.peer), stamp.sequence)
        lastDots = (Dotted(peer: stamp.peer, sequence: stamp.sequence, digest: digest), lastDots.0)
        return digest
    }

    func rowDigest(_ table: String, _ identity: RowIdentity) -> UInt64 { StateDigest.row(table, identity) }

    func rowDigest(_ table: TrackedTable, _ identity: RowIdentity) -> UInt64 {
        StateDigest.row(table.nameDigest, identity)
    }

    /// Adds or takes away the shares of all of a row's entries.
    func count(_ sign: Int, _ state: RowClock, row: UInt64, table: TrackedTable) {
        for stamp in state.insertEntries { count(sign, row: row, column: StateDigest.insertColumn, stamp) }
        for column in 0..<max(state.columnCount, (state.cells.keys.max() ?? -1) + 1) {
            count(sign, state.cell(column), row: row, column: table.columnDigests[column])
        }
        for (name, cell) in state.cellsByName { count(sign, cell, row: row, column: StateDigest.column(name)) }
    }

    func count(_ sign: Int, _ cell: CellState, row: UInt64, column: UInt64) {
        for version in cell.versions { count(sign, row: row, column: column, version.stamp) }
        for addition in cell.additions { count(sign, row: row, column: column, addition.stamp) }
    }
}
