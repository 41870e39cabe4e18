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

    /// Whether rows changed whose keys are not listed, because there were too many.
    public var isTruncated: Bool {
        [(inserted, counts.inserted), (updated, counts.updated), (deleted, counts.deleted)].contains { keys, count in
            keys.count >= Self.maximumKeys && count > keys.count
        }
    }

    public init() {}
}
