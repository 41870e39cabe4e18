import LogSyncModel

/// The replicated state S = (V, entries) of Documentation/model.md, as sets: slow, and as near to the page as can be.
///
/// X(r) is left out. It only tells to which delete an edit was lost, and a delete that comes before the edit leaves
/// nothing behind that could tell: two peers with the same vector may know different ones.
struct OracleState: Equatable {
    /// I(r)'s members.
    struct Entry: Hashable {
        var dot: Dot
        var time: HybridTime
    }

    /// W(r, c)'s members.
    struct Version: Hashable {
        var dot: Dot
        var time: HybridTime
        var value: Value
    }

    /// A(r, c): what says whose additions to what they are.
    struct AdditionKey: Hashable {
        var base: Dot
        var peer: PeerID
    }

    struct Addition: Hashable {
        var dot: Dot
        var cumulative: Value
    }

    struct Cell: Equatable {
        var versions: Set<Version> = []
        var additions: [AdditionKey: Addition] = [:]

        var isEmpty: Bool { versions.isEmpty && additions.isEmpty }
    }

    struct Row: Equatable {
        var inserts: Set<Entry> = []
        var cells: [String: Cell] = [:]

        var isAlive: Bool { !inserts.isEmpty }
        var isEmpty: Bool { inserts.isEmpty && cells.isEmpty }
    }

    private(set) var vector = VersionVector()
    private(set) var rows: [String: [RowIdentity: Row]] = [:]
    /// Names of key columns, in key order, of tables with natural keys: an insert need not spell out what its identity
    /// says.
    let keys: [String: [String]]

    init(keys: [String: [String]]) { self.keys = keys }

    func canApply(_ transaction: OracleTransaction) -> Bool {
        vector[transaction.dot.peer] == transaction.dot.sequence - 1 && vector.includes(transaction.dependencies)
    }

    mutating func apply(_ transaction: OracleTransaction) {
        precondition(canApply(transaction))
        for group in transaction.groups {
            for index in 0..<group.rowCount { apply(group, index, transaction) }
        }
        vector[transaction.dot.peer] = transaction.dot.sequence
    }

    private mutating func apply(_ group: RowGroup, _ index: Int, _ transaction: OracleTransaction) {
        let identity = group.identities[index]
        let time = group.times[index]
        let dot = transaction.dot
        var row = rows[group.table]?[identity] ?? Row()
        switch group.kind {
        case .insert:
            row.drop(coveredBy: transaction.dependencies)
            row.inserts.insert(Entry(dot: dot, time: time))
            for (column, value, own) in cells(group, index) {
                row.cells[column, default: Cell()].versions.insert(Version(dot: dot, time: own, value: value))
            }
        case .delete:
            row.drop(coveredBy: transaction.dependencies)
        case .update:
            for column in group.columns {
                let own = column.times.isEmpty ? time : column.times[index]
                var cell = row.cells[column.name] ?? Cell()
                switch column.operation {
                case .set:
                    cell.drop(coveredBy: transaction.dependencies)
                    cell.versions.insert(Version(dot: dot, time: own, value: column.values[index]))
                case .fill:
                    cell.versions.insert(Version(dot: dot, time: .zero, value: column.values[index]))
                case .add:
                    cell.additions[AdditionKey(base: column.bases[index], peer: dot.peer)] = Addition(
                        dot: dot, cumulative: column.values[index])
                }
                row.cells[column.name] = cell
            }
        }
        rows[group.table, default: [:]][identity] = row.isEmpty ? nil : row
    }

    /// What an insert sets, with its time.
    private func cells(_ group: RowGroup, _ index: Int) -> [(column: String, value: Value, time: HybridTime)] {
        var cells = group.columns.map { column in
            (column.name, column.values[index], column.times.isEmpty ? group.times[index] : column.times[index])
        }
        let given = Set(group.columns.map(\.name))
        let key = keys[group.table] ?? []
        // It was given under another key than the first one.
        if case .blob(let bytes)? = group.identities[index].naturalParts?.first, bytes.count == 8 { return cells }
        for (name, part) in zip(key, group.identities[index].naturalParts ?? []) where !given.contains(name) {
            cells.append((name, part.value, group.times[index]))
        }
        return cells
    }
}

extension OracleState.Row {
    fileprivate mutating func drop(coveredBy vector: VersionVector) {
        inserts = inserts.filter { !vector.covers($0.dot) }
        for name in Array(cells.keys) {
            cells[name]?.drop(coveredBy: vector)
            if cells[name]?.isEmpty ?? false { cells[name] = nil }
        }
    }
}

extension OracleState.Cell {
    fileprivate mutating func drop(coveredBy vector: VersionVector) {
        versions = versions.filter { !vector.covers($0.dot) }
        additions = additions.filter { !vector.covers($0.value.dot) }
    }
}
