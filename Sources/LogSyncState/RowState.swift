package import LogSyncModel

/// A row with all its entries and every version's value, whatever table it is of and wherever it stands.
///
/// This is the model's replicated state of one row, and the operations on it are the model's table, literally. Fast
/// paths elsewhere have to give the same. Cells are by column name; the base is spelled out.
package struct RowState {
    package var table: String
    package var identity: RowIdentity
    /// No base, no cells by id: ``RowClock/inserts``, ``RowClock/cellsByName`` and ``RowClock/deletes`` say it all.
    package var state: RowClock {
        didSet { spellings = nil }
    }
    /// The integer it had, or has at its author.
    package var integer: Int64?
    /// The names of its cells, by what they are when folded; nil until it is asked for, and where cells may have changed
    /// since. A change may name ever so many columns that are not here.
    private var spellings: [String: String]?

    package var isAlive: Bool { !state.inserts.isEmpty }
    package var hasCells: Bool { state.cellsByName.values.contains { !$0.isEmpty } }

    package init(table: String, identity: RowIdentity, state: RowClock = RowClock(), integer: Int64? = nil) {
        self.table = table
        self.identity = identity
        self.state = state
        self.integer = integer
    }

    // MARK: Operations

    package mutating func insert(
        _ stamp: Stamp, cells: [(name: String, time: HybridTime, value: Value)], _ coverage: Coverage
    ) {
        drop(coverage)
        state.inserts.append(stamp)
        let hasCells = !state.cellsByName.isEmpty
        for cell in cells {
            var own = stamp
            own.time = cell.time
            // An insert's own columns are told apart by more than their spelling.
            let version = Version(stamp: own, value: cell.value)
            if hasCells {
                withCell(cell.name) { $0.versions.append(version) }
            } else {
                state.cellsByName[cell.name, default: CellState()].versions.append(version)
            }
        }
    }

    package mutating func delete(_ stamp: Stamp, _ coverage: Coverage) {
        drop(coverage)
        if !isAlive && hasCells { state.deletes.append(stamp) }
    }

    package mutating func set(_ name: String, _ value: Value, _ stamp: Stamp, _ coverage: Coverage) {
        withCell(name) { cell in
            cell.drop(coverage)
            cell.versions.append(Version(stamp: stamp, value: value))
        }
    }

    /// - Parameter ancestors: what the adding branch goes off from; its sum counts what they had added by then.
    package mutating func add(
        _ name: String, _ addition: Addition, replacing ancestors: [(number: Int64, sequence: UInt64)] = []
    ) {
        withCell(name) { cell in
            cell.additions.removeAll { old in
                old.basePeer == addition.basePeer && old.baseSequence == addition.baseSequence
                    && (old.peer == addition.peer
                        || ancestors.contains { $0.number == old.peer && $0.sequence >= old.stamp.sequence })
            }
            cell.additions.append(addition)
        }
    }

    package mutating func fill(_ name: String, _ value: Value, _ stamp: Stamp) {
        var stamp = stamp
        stamp.time = .zero
        withCell(name) { $0.versions.append(Version(stamp: stamp, value: value)) }
    }

    /// Changes the cell of a column, be it the column's first, and leaves it with an entry.
    private mutating func withCell(_ name: String, _ body: (inout CellState) -> Void) {
        let name = spelling(of: name)
        var known = spellings
        spellings = nil
        body(&state.cellsByName[name, default: CellState()])
        known?[name.folded] = name
        spellings = known
    }

    /// What a column is called in this row, which may have cells of it under another spelling: of two names that are one to
    /// SQLite, or the same letters in other bytes, the lesser, whichever came first.
    mutating func spelling(of name: String) -> String {
        guard !state.cellsByName.isEmpty, !state.hasCell(spelled: name) else { return name }
        let folded = name.folded
        var all = spellings ?? Dictionary(state.cellsByName.keys.map { ($0.folded, $0) }) { first, _ in first }
        spellings = nil
        defer { spellings = all }
        guard let known = all[folded] else { return name }
        guard name.isLesserSpelling(than: known) else { return known }
        state.cellsByName[name] = state.cellsByName.removeValue(forKey: known)
        all[folded] = name
        return name
    }

    /// Takes away every covered entry.
    private mutating func drop(_ coverage: Coverage) {
        state.inserts.removeAll(where: coverage.covers)
        for name in Array(state.cellsByName.keys) {
            state.cellsByName[name]?.drop(coverage)
            if state.cellsByName[name]?.isEmpty ?? false { state.cellsByName[name] = nil }
        }
        if !hasCells { state.deletes = [] }
    }
}

extension RowClock {
    /// Whether there is a cell of this name, in just these bytes.
    func hasCell(spelled name: String) -> Bool {
        cellsByName.index(forKey: name).map { cellsByName.keys[$0].hasSameBytes(as: name) } ?? false
    }
}

extension CellState {
    package mutating func drop(_ coverage: Coverage) {
        versions.removeAll { coverage.covers($0.stamp) }
        additions.removeAll { coverage.covers($0.stamp) }
    }

    package func isCovered(by coverage: Coverage) -> Bool {
        versions.allSatisfy { coverage.covers($0.stamp) } && additions.allSatisfy { coverage.covers($0.stamp) }
    }
}
