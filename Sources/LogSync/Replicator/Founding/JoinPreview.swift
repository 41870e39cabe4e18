import GRDB
import LogSyncContainer
import LogSyncModel
import LogSyncStore

/// What would become of a database's rows in a content that has rows already, found out on copies.
///
/// 1. The database is copied, and the copy made a store: that says who its rows are.
/// 2. The content is replayed beside it, as the database's own schema shows it: that says how many rows it has, and which
///    of the database's integers its rows bear, too.
/// 3. The content is imported into the copy. Rows of both that are the same row are one now, so what is missing in the sum
///    was the same; of those, rows with two versions of a cell are in doubt.
struct JoinPreview {
    private let scan: ContainerScan
    private let folder: ContentFolder
    private let founder: Founder
    private let scratch: ScratchFolder
    private let stateDirectory: StateDirectory

    private var configuration: SyncConfiguration { founder.configuration }
    private var copy: String { scratch.path + "/own.db" }
    private var content: String { scratch.path + "/content.db" }

    init(
        _ scan: ContainerScan, in folder: ContentFolder, scratch: ScratchFolder, founder: Founder
    ) throws {
        self.scan = scan
        self.folder = folder
        self.founder = founder
        self.scratch = scratch
        stateDirectory = StateDirectory(scratch.path + "/state")
        try stateDirectory.create()
    }

    /// - Parameters:
    ///   - path: the database.
    ///   - plan: by which it would join.
    ///   - contentPlan: by which a store of the content alone is made.
    /// - Returns: the counts of each replicated table, and how many rows could not be shown beside the content's, by table.
    func counts(
        of path: String, plan: InitializePlan, contentPlan: InitializePlan,
        isolation: isolated (any Actor)? = #isolation
    ) async throws -> (counts: [String: TableReport.JoinCounts], parked: [String: Int]) {
        try DatabaseCopy.make(of: path, at: copy)
        let made = try Store.initialize(copy, plan: plan, configuration: configuration.storeConfiguration)
        let schema = try made.store.schemaText().text
        let own = try rows(made.store)
        founder.closeQuietly(made.store)
        let alone = try Store.createForReplay(
            content, schema: schema, plan: contentPlan, configuration: configuration.storeConfiguration)
        // Its rows bear the integers that their authors gave them.
        try alone.beginFilling()
        founder.closeQuietly(alone)
        let (others, _) = try await replay(content)
        let numbers = try sharedIntegers(own.keys.filter { own[$0]?.isSurrogate == true })
        let (all, contested) = try await replay(copy)
        let parked = all.compactMapValues { $0.parked > 0 ? $0.parked : nil }
            .reduce(into: [String: Int]()) { $0[$1.key] = max(0, $1.value - (others[$1.key]?.parked ?? 0)) }
            .filter { $0.value > 0 }
        let counts = own.reduce(into: [String: TableReport.JoinCounts]()) { counts, table in
            let (name, rows) = (table.key, table.value.count)
            let both = min(rows, max(0, rows + (others[name]?.count ?? 0) - (all[name]?.count ?? 0)))
            let changed = min(both, contested[name] ?? 0)
            let renumbered = min(rows - both, max(0, (numbers[name] ?? 0) - both))
            counts[name] = TableReport.JoinCounts(
                same: both - changed, new: rows - both - renumbered, doubt: changed + renumbered)
        }
        return (counts, parked)
    }

    private typealias Rows = [String: (count: Int, parked: Int, isSurrogate: Bool)]

    /// Imports the content. Returns how many rows there are then, and how many with two versions of a cell.
    private func replay(
        _ path: String, isolation: isolated (any Actor)? = #isolation
    ) async throws -> (rows: Rows, contested: [String: Int]) {
        let store = try Store.open(path, configuration: configuration.storeConfiguration)
        var known: Set<SchemaFingerprint> = []
        try store.learnKeys(scan, in: folder, known: &known, configuration.logger)
        founder.closeQuietly(store)
        var replay = try Replay(path, scan, configuration: configuration, stateDirectory: stateDirectory)
        let replica = replay.replica.store
        defer { founder.closeQuietly(replica) }
        // What cannot be imported is what the real thing would hold, too.
        _ = try await replay.run(comparing: nil) { _ in }
        var contested: [String: Set<RowIdentity>] = [:]
        for conflict in try replica.conflicts(table: nil, all: true) {
            contested[conflict.table, default: []].insert(conflict.identity)
        }
        return (try rows(replica), contested.mapValues(\.count))
    }

    /// With rows that cannot be shown.
    private func rows(_ store: Store) throws -> Rows {
        let parked = Dictionary(grouping: try store.parkedRows(table: nil), by: \.table).mapValues(\.count)
        return try store.tables().filter { !["local", "skipped"].contains($0.identity) }.reduce(into: [:]) {
            rows, table in
            let parked = parked[table.table] ?? 0
            rows[table.table] = (table.rows + parked, parked, table.identity == "surrogate")
        }
    }

    /// How many integers name a row both in the database and in the content.
    private func sharedIntegers(_ tables: [String]) throws -> [String: Int] {
        let queue = try DatabaseQueue(path: content)
        defer { try? queue.close() }
        return try queue.writeWithoutTransaction { database in
            try database.execute(sql: "ATTACH ? AS own", arguments: [copy])
            return try tables.reduce(into: [:]) { shared, table in
                guard let column = try database.primaryKey(table).rowIDColumn else { return }
                let (name, key) = (table.quotedDatabaseIdentifier, column.quotedDatabaseIdentifier)
                shared[table] = try Int.fetchOne(
                    database, sql: "SELECT count(*) FROM main.\(name) JOIN own.\(name) AS own USING (\(key))")
            }
        }
    }
}
