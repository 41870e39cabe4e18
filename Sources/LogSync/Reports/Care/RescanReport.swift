public import LogSyncModel

/// What ``Replicator/rescan()`` found.
public struct RescanReport: Sendable, Encodable {
    public struct Nameless: Hashable, Sendable, Encodable {
        public var table: String
        public var rows: Int
    }

    public let format = 1
    public var store: String
    /// What triggers had captured, before and while rows were compared, and was recorded first, by table.
    public var pending: [String: ChangeCounts]
    /// What the comparison found, by table.
    public var found: [String: ChangeCounts]
    /// The tables whose triggers were gone and are back.
    public var capturedAgain: [String]
    /// Rows that are gone and that nothing within reach names: this store does not show them, and the others go on
    /// showing them.
    public var nameless: [Nameless]
    /// The container was there, so that its logs could be asked for names.
    public var containerAvailable: Bool

    /// Held where rows are left that nothing names.
    public var outcome: Outcome { nameless.isEmpty ? .complete : .held }

    private enum CodingKeys: String, CodingKey {
        case format, store, pending, found, capturedAgain, nameless, containerAvailable
    }
}
