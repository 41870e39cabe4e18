import LogSyncModel
import LogSyncState

/// What a row holds, and when it was changed, as the transaction says it.
extension Recorder {
    /// What an integer that a reference holds means, as logs have it, once all that was captured is recorded.
    func logged(_ integer: Int64, in parent: TrackedTable) throws -> Value {
        if let identity = recording(of: parent)?.identity(at: integer) { return .reference(identity) }
        return try IdentityMap(store: store).logged(integer, in: parent)
    }

    /// A value as logs have it: the integer of a referenced row becomes its identity.
    func translated(_ value: Value, _ position: Int, in table: TrackedTable) throws -> Value {
        guard case .integer(let integer) = value, let name = table.columns[position].reference,
            let parent = store.catalog[name]
        else { return value }
        return try logged(integer, in: parent)
    }

    /// A row's cells as the log has them.
    ///
    /// - Parameter leavesOutKey: whether a key column is left out whose spelling is the identity's.
    func cells(
        of row: TableReader.Row, _ identity: RowIdentity, at positions: some Sequence<Int>,
        leavesOutKey: Bool = false, in table: TrackedTable
    ) throws -> [TransactionWriter.Cell] {
        let parts = leavesOutKey ? identity.naturalParts ?? [] : []
        var cells: [TransactionWriter.Cell] = []
        for position in positions {
            let value = try translated(row.values[position], position, in: table)
            if let part = table.key.firstIndex(where: { $0.index == position }), parts.indices.contains(part),
                parts[part].value == value
            {
                continue
            }
            let column = table.columns[position]
            cells.append(TransactionWriter.Cell(column: column.name, reference: column.reference, value: value))
        }
        return cells
    }

    /// The time of a row change: when it was captured, no later than now and above everything that it supersedes.
    func time(captured: Int64, above stamps: [Stamp]) -> HybridTime {
        time(captured: captured, above: stamps.lazy.map(\.time).max())
    }

    /// - Parameter latest: the latest time of what it supersedes; nil where that is nothing.
    func time(captured: Int64, above latest: HybridTime?) -> HybridTime {
        let limit = milliseconds + store.configuration.maximumDrift
        let base = captured > limit ? milliseconds : min(captured, milliseconds)
        let time = HybridTime(milliseconds: base)
        guard let latest, latest >= time else { return time }
        return latest.successor
    }
}
