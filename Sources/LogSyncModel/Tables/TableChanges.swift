/// The rows of one table that a transaction changed, by their keys as the store shows them.
public struct TableChanges: Sendable, Equatable {
    /// Each key is the primary key's values in key order (the integer of an `INTEGER PRIMARY KEY`).
    public var inserted: [[Value]] = []
    public var updated: [[Value]] = []
    public var deleted: [[Value]] = []
    /// Of each row in ``updated``, in that order, the columns that were changed, by their names in this store; empty where
    /// that is not known.
    public package(set) var updatedColumns: [[String]] = []
    /// What deleted rows held in the columns that the program asked to keep, by their key.
    public package(set) var tombstones: [[Value]: [String: Value]] = [:]
    /// How many rows changed in all; the keys are listed for the first ``maximumKeys`` of each kind.
    public var counts = ChangeCounts()

    /// How many keys of each kind are listed; beyond it only ``counts`` goes on.
    public static let maximumKeys = 10_000

    /// Whether rows changed whose keys nobody knows, as another process changed them.
    package var isUnlisted = false

    /// Whether rows changed whose keys are not listed, because there were too many, or they are not known any more.
    public var isTruncated: Bool {
        if isUnlisted { return true }
        let lists = [(inserted, counts.inserted), (updated, counts.updated), (deleted, counts.deleted)]
        return lists.contains { keys, count in keys.count >= Self.maximumKeys && count > keys.count }
    }

    public init() {}

    /// Changes of which nothing is known but their number.
    package init(unlisted counts: ChangeCounts) {
        self.counts = counts
        isUnlisted = true
    }

    /// The columns that updates changed, by their names in this store. Inserts and deletes add none.
    public var columns: Set<String> { updatedColumns.reduce(into: []) { $0.formUnion($1) } }

    /// These changes, and then others.
    package func adding(_ more: TableChanges) -> TableChanges {
        var all = self
        func add<Element>(_ elements: [Element], to list: inout [Element]) {
            list.append(contentsOf: elements.prefix(max(0, Self.maximumKeys - list.count)))
        }
        add(more.inserted, to: &all.inserted)
        add(more.updated, to: &all.updated)
        add(more.updatedColumns, to: &all.updatedColumns)
        add(more.deleted, to: &all.deleted)
        if all.tombstones.count + more.tombstones.count <= Self.maximumKeys {
            all.tombstones.merge(more.tombstones) { $1 }
        }
        all.counts += more.counts
        all.isUnlisted = isUnlisted || more.isUnlisted
        return all
    }
}
