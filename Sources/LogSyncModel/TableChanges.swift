/// The rows of one table that an import changed, by their keys as the store shows them.
public struct TableChanges: Sendable, Equatable {
    /// Each key is the primary key's values in key order (the integer of an `INTEGER PRIMARY KEY`).
    public var inserted: [[Value]] = []
    public var updated: [[Value]] = []
    public var deleted: [[Value]] = []
    /// How many rows changed in all; the keys are listed for the first ``maximumKeys`` of each kind.
    public var counts = ChangeCounts()

    /// How many keys of each kind are listed; beyond it only ``counts`` goes on.
    public static let maximumKeys = 10_000

    /// Whether rows changed whose keys nobody knows, as another process changed them.
    package var isUnlisted = false

    /// Whether rows changed whose keys are not listed, because there were too many, or another process changed them.
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

    /// These changes, and then others.
    package func adding(_ more: TableChanges) -> TableChanges {
        var all = self
        func add(_ keys: [[Value]], to list: inout [[Value]]) {
            list.append(contentsOf: keys.prefix(max(0, Self.maximumKeys - list.count)))
        }
        add(more.inserted, to: &all.inserted)
        add(more.updated, to: &all.updated)
        add(more.deleted, to: &all.deleted)
        all.counts += more.counts
        all.isUnlisted = isUnlisted || more.isUnlisted
        return all
    }
}
