import LogSyncModel

/// What can be said of a recording from the transaction alone and the state that its author had
/// (Documentation/model.md, recording).
enum OracleRecording {
    /// Returns what is wrong with a transaction; nil where nothing is.
    ///
    /// - Parameters:
    ///   - state: the author's, before it.
    ///   - shown: what the author showed before it.
    static func fault(of transaction: OracleTransaction, in state: OracleState) -> String? {
        var seen: Set<OracleShown.RowName> = []
        guard transaction.dependencies == state.vector else {
            return "\(transaction.dot) does not depend on all that its author had seen"
        }
        for group in transaction.groups {
            for index in 0..<group.rowCount {
                let name = OracleShown.RowName(table: group.table, identity: group.identities[index])
                guard seen.insert(name).inserted else {
                    return "\(transaction.dot) says twice what happened to \(name.table) \(name.identity)"
                }
                let row = state.rows[name.table]?[name.identity]
                if let fault = fault(of: group, index, row) {
                    return "\(transaction.dot) \(fault) \(name.table) \(name.identity)"
                }
            }
        }
        return nil
    }

    private static func fault(of group: RowGroup, _ index: Int, _ row: OracleState.Row?) -> String? {
        let time = group.times[index]
        switch group.kind {
        case .insert:
            // A row that is inserted again as it was keeps the times of its cells, and not that of its insert.
            return isAbove(time, row) ? nil : "inserts, at a time below what it covers,"
        case .delete:
            guard let row, row.isAlive else { return "deletes what was not there," }
            return isAbove(time, row) ? nil : "deletes, at a time below what it covers,"
        case .update:
            guard let row, row.isAlive else { return "updates what was not there," }
            for column in group.columns where column.operation == .set {
                let own = column.times.isEmpty ? time : column.times[index]
                let covered = row.cells[column.name]?.versions ?? []
                // What takes the place of fills is of their time.
                guard covered.allSatisfy({ $0.time < own || own == .zero && $0.time == .zero }) else {
                    return "updates, at a time below what it covers,"
                }
            }
            return nil
        }
    }

    private static func isAbove(_ time: HybridTime, _ row: OracleState.Row?) -> Bool {
        guard let row else { return true }
        return row.inserts.allSatisfy { $0.time < time }
            && row.cells.values.allSatisfy { $0.versions.allSatisfy { $0.time < time } }
    }
}
