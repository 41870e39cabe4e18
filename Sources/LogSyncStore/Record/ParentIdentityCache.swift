import LogSyncModel

/// The identities of the rows that a table's references name, once all that was captured is recorded; each is looked up
/// once.
final class ParentIdentityCache {
    private let recorder: Recorder
    /// By column position: nil where there is no reference.
    private let parents: [TrackedTable?]
    private var known: [[Int64: RowIdentity]]

    /// How many identities of a column are remembered at a time.
    private static let limit = 1 << 16

    init(_ table: TrackedTable, _ recorder: Recorder) {
        self.recorder = recorder
        parents = table.columns.map { $0.reference.flatMap { recorder.store.catalog[$0] } }
        known = [[Int64: RowIdentity]](repeating: [:], count: table.columns.count)
    }

    /// A value as logs have it: the integer of a referenced row becomes its identity.
    @inline(__always)
    func logged(_ value: Value, at position: Int) throws -> Value {
        guard let parent = parents[position], case .integer(let integer) = value else { return value }
        if let identity = known[position][integer] { return .reference(identity) }
        guard case .reference(let identity) = try recorder.logged(integer, in: parent) else { return value }
        if known[position].count >= Self.limit { known[position].removeAll(keepingCapacity: true) }
        known[position][integer] = identity
        return .reference(identity)
    }
}
