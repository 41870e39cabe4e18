public import GRDB
public import LogSyncModel

/// What changed in a store at once: a transaction that was recorded or imported here, or what changed rows without one.
public struct HistoryTransaction: Sendable, Identifiable {
    public var token: HistoryToken
    /// Why: `recorded`, `imported`, `joinedSnapshot` or `settled`.
    public var cause: StoreChange.Cause
    /// The transaction; of a snapshot the last of its author that it holds; of what was settled this peer, and 0.
    public var dot: Dot
    public var peer: PeerName
    /// Who made the change, as ``Replicator/write(in:author:context:_:)`` said at that peer.
    public var author: String?
    public var context: String?
    public var time: Timestamp
    /// The rows changed, by the table's name in the database. Where ``TableChanges/isTruncated`` their keys are not all known, because there were too
    /// many, or an older logsync recorded them: then the table has to be read.
    public var tables: [String: TableChanges]
    /// The columns of primary keys, by table.
    var keys: [String: [String]]

    public var id: HistoryToken { token }
    /// Whether a program at this store made the change.
    public var isLocal: Bool { cause == .recorded }
    /// Whether every row that changed is among ``changes``.
    public var isComplete: Bool { !tables.values.contains(where: \.isTruncated) }

    /// The rows that changed, one by one: by table, and within each inserts, then updates, then deletes.
    public var changes: [Change] {
        tables.sorted { $0.key < $1.key }.flatMap { table, changes in
            func key(_ values: [Value]) -> RowKey { RowKey(columns: keys[table] ?? [], values: values) }
            let inserted = changes.inserted.map { Change(table: table, kind: .insert, key: key($0)) }
            let updated = changes.updated.enumerated().map { index, values in
                Change(
                    table: table, kind: .update, key: key(values),
                    columns: changes.updatedColumns.indices.contains(index) ? Set(changes.updatedColumns[index]) : [])
            }
            let deleted = changes.deleted.map { values in
                Change(
                    table: table, kind: .delete, key: key(values),
                    tombstone: changes.tombstones[values]?.mapValues(\.databaseValue) ?? [:])
            }
            return inserted + updated + deleted
        }
    }
}

extension HistoryTransaction {
    /// One row that changed.
    public struct Change: Sendable, Hashable {
        public enum Kind: String, Sendable, Hashable {
            case insert, update, delete
        }

        public var table: String
        public var kind: Kind
        /// The row's key in this store, also of one that is gone.
        public var key: RowKey
        /// Of an update the columns that were changed, by their names in this store; empty where that is not known.
        public var columns: Set<String> = []
        /// Of a row that others deleted, what it held in the columns that ``Replicator/keepTombstones(of:columns:)`` names.
        public var tombstone: [String: DatabaseValue] = [:]
    }
}

/// Which part of the history is wanted. One that says nothing wants all of it.
public struct HistoryFilter: Sendable, Hashable {
    /// Which names.
    public enum Names: Sendable, Hashable {
        case all
        case only(Set<String>)
        /// All others, and what has no name.
        case except(Set<String>)

        func contains(_ name: String?) -> Bool { contains(anyOf: [name].compactMap(\.self)) }

        func contains(anyOf names: [String]) -> Bool {
            switch self {
            case .all: true
            case .only(let wanted): names.contains(where: wanted.contains)
            case .except(let others): !names.contains(where: others.contains)
            }
        }
    }

    /// What came after this, without it.
    public var after: HistoryToken
    /// What was written before this moment, by the author's clock.
    public var before: Timestamp?
    public var authors: Names
    /// Peers by their names or ids.
    public var peers: Names
    /// What changed one of these, by their names in the database; nil for any.
    public var tables: Set<String>?
    /// Whether a program at this store made the change; nil for either.
    public var isLocal: Bool?
    /// No more than this many, the oldest; nil for all.
    public var limit: Int?

    public init(
        after: HistoryToken = .zero, before: Timestamp? = nil, authors: Names = .all, peers: Names = .all,
        tables: Set<String>? = nil, isLocal: Bool? = nil, limit: Int? = nil
    ) {
        self.after = after
        self.before = before
        self.authors = authors
        self.peers = peers
        self.tables = tables
        self.isLocal = isLocal
        self.limit = limit
    }

    func contains(_ transaction: HistoryTransaction) -> Bool {
        if let before, transaction.time >= before { return false }
        if let isLocal, transaction.isLocal != isLocal { return false }
        if let tables {
            let wanted = Set(tables.map(\.folded))
            guard transaction.tables.keys.contains(where: { wanted.contains($0.folded) }) else { return false }
        }
        return authors.contains(transaction.author)
            && peers.contains(anyOf: [transaction.peer.name, transaction.peer.id.description])
    }
}
