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

    /// Of copies that nobody else has.
    private var configuration: SyncConfiguration { founder.configuration.unshared }
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
    /// - Returns: the counts of each replicated table, and how many rows could not be shown beside the content's, by table:
    ///   all of them, and those alone whose UNIQUE keys others have.
    func counts(
        of path: String, plan: InitializePlan, contentPlan: InitializePlan,
        isolation: isolated (any Actor)? = #isolation
    ) async throws -> (counts: [String: TableReport.JoinCounts], parked: [String: Int], rivals: [String: Int]) {
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
        let numbers = try sharedIntegers().filter { own[$0.key]?.isSurrogate == true }
        let (all, contested) = try await replay(copy)
        func more(_ count: KeyPath<Counts, Int>) -> [String: Int] {
            all.reduce(into: [String: Int]()) {
                $0[$1.key] = max(0, $1.value[keyPath: count] - (others[$1.key]?[keyPath: count] ?? 0))
            }.filter { $0.value > 0 }
        }
        let merged = more(\.merged)
        let counts = own.reduce(into: [String: TableReport.JoinCounts]()) { counts, table in
            let (name, rows) = (table.key, table.value.count)
            let both = min(rows, max(0, rows + (others[name]?.count ?? 0) - (all[name]?.count ?? 0)))
            // Rows of a key are one, and rows that only came to have one are as different as they were.
            let changed = min(both, (contested[name] ?? 0) + (table.value.isNatural ? 0 : merged[name] ?? 0))
            let renumbered = min(rows - both, max(0, (numbers[name] ?? 0) - both))
            counts[name] = TableReport.JoinCounts(
                same: both - changed, new: rows - both - renumbered, doubt: changed + renumbered)
        }
        return (counts, more(\.parked), more(\.rivals))
    }

    private struct Counts {
        /// With rows that cannot be shown, and without rows that were made one with others.
        var count: Int
        var parked = 0
        /// Those parked because others have their UNIQUE keys.
        var rivals = 0
        var merged = 0
        var isNatural: Bool
        var isSurrogate: Bool
    }

    private typealias Rows = [String: Counts]

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

    private func rows(_ store: Store) throws -> Rows {
        let hidden = Dictionary(grouping: try store.parkedRows(table: nil, all: true), by: \.table)
        return try store.tables().filter { !["local", "skipped"].contains($0.identity) }.reduce(into: [:]) {
            rows, table in
            var counts = Counts(
                count: table.rows, isNatural: table.identity == "natural", isSurrogate: table.identity == "surrogate")
            for row in hidden[table.table] ?? [] {
                guard row.reason != "merged" else {
                    counts.merged += 1
                    continue
                }
                counts.parked += 1
                if row.reason == "unique" { counts.rivals += 1 }
            }
            counts.count += counts.parked
            rows[table.table] = counts
        }
    }

    /// How many integers name a row both in the database and in the content.
    private func sharedIntegers() throws -> [String: Int] {
        let own = try Store.open(copy, configuration: configuration.storeConfiguration)
        defer { founder.closeQuietly(own) }
        let others = try Store.open(content, configuration: configuration.storeConfiguration)
        defer { founder.closeQuietly(others) }
        return try own.sharedIntegers(with: others)
    }
}
