import LogSyncModel
import LogSyncState

/// What migrations have put into columns, and what they had seen.
struct MigrationFills {
    /// What a migration has put into a column.
    private struct Fill {
        /// nil where rows were given different ones.
        private(set) var value: Value?

        init(_ value: Value) { self.value = value }

        mutating func add(_ value: Value) {
            if self.value != value { self.value = nil }
        }
    }

    private let store: OpenStore
    /// By table and column id.
    private var fills: [Int64: [Int: Fill]] = [:]
    /// What transactions had seen, by one of their stamps at time 0.
    private var coverages: [Stamp: Coverage?] = [:]

    init(_ store: OpenStore) {
        self.store = store
    }

    /// Notes what was put into a row.
    mutating func note(_ value: Value, of column: Int, in table: TrackedTable) {
        fills[table.id, default: [:]][column, default: Fill(value)].add(value)
    }

    /// What all rows were given in a column, by its id; nil where they were given nothing, or different values.
    func value(of column: Int, in table: TrackedTable) -> Value? { fills[table.id]?[column]?.value }

    /// What the transaction of a fill had seen, itself included; nil where too little is known of it.
    mutating func coverage(of fill: Stamp) throws -> Coverage? {
        if let known = coverages[fill] { return known }
        let seen = try store.peers.dependencies(of: fill.peer, at: fill.sequence, on: store.connection)
        var coverage = seen.map { Coverage($0, peers: store.peers) }
        coverage?.raise(fill.peer, to: fill.sequence)
        coverages[fill] = .some(coverage)
        return coverage
    }
}
