package import LogSyncModel

/// The dot and time of one entry, its peer by local number.
@usableFromInline
package struct Stamp: Hashable {
    @usableFromInline package var peer: Int64
    @usableFromInline package var sequence: UInt64
    package var time: HybridTime

    package init(peer: Int64, sequence: UInt64, time: HybridTime) {
        self.peer = peer
        self.sequence = sequence
        self.time = time
    }
}

/// A version of a cell.
package struct Version: Hashable {
    package var stamp: Stamp
    /// What the transaction gave to the cell; nil where the table shows just that.
    package var value: Value?

    package init(stamp: Stamp, value: Value? = nil) {
        self.stamp = stamp
        self.value = value
    }
}

/// One peer's additions to a counter since a base version.
package struct Addition: Hashable {
    package var basePeer: Int64
    package var baseSequence: UInt64
    package var peer: Int64
    package var stamp: Stamp
    package var cumulative: Value

    package init(basePeer: Int64, baseSequence: UInt64, peer: Int64, stamp: Stamp, cumulative: Value) {
        self.basePeer = basePeer
        self.baseSequence = baseSequence
        self.peer = peer
        self.stamp = stamp
        self.cumulative = cumulative
    }
}

/// The entries of one cell: W(r, c) and A(r, c) of the model.
package struct CellState: Hashable {
    package var versions: [Version] = []
    package var additions: [Addition] = []

    package init(versions: [Version] = [], additions: [Addition] = []) {
        self.versions = versions
        self.additions = additions
    }

    package var isEmpty: Bool { versions.isEmpty && additions.isEmpty }
}

/// The entries of one row (Documentation/model.md, replicated state), as a clock record keeps them.
///
/// A row that one transaction inserted and nobody changed is just its base: every column below ``columnCount`` has
/// the base as its one version, with the value that the table shows. What differs is listed.
package struct RowClock: Hashable {
    /// The insert entry that columns refer to by default; nil where none is left.
    package var base: Stamp?
    /// Whether the base is an entry of I(r), and not just of the cells.
    package var baseIsInsert = true
    /// Columns with ids below this have the base as their version unless ``cells`` lists them.
    package var columnCount = 0
    /// Entries of I(r) beside the base.
    package var inserts: [Stamp] = []
    /// Cells that differ from the base, by column id.
    package var cells: [Int: CellState] = [:]
    /// Cells of columns that this store does not have, by name; every version has its value.
    package var cellsByName: [String: CellState] = [:]
    /// Deletes that left edits standing: X(r).
    package var deletes: [Stamp] = []

    /// A row as one insert makes it.
    package init(insertedBy stamp: Stamp, columnCount: Int) {
        base = stamp
        self.columnCount = columnCount
    }

    package init() {}

    /// Whether I(r) has entries.
    package var isAlive: Bool { (base != nil && baseIsInsert) || !inserts.isEmpty }

    package var insertEntries: [Stamp] {
        (baseIsInsert ? base.map { [$0] } ?? [] : []) + inserts
    }

    /// The entries of a column that this store has.
    package func cell(_ column: Int) -> CellState {
        if let cell = cells[column] { return cell }
        if let base, column < columnCount { return CellState(versions: [Version(stamp: base, value: nil)]) }
        return CellState()
    }

    package mutating func setCell(_ column: Int, _ cell: CellState) {
        let implied =
            base.map { column < columnCount ? CellState(versions: [Version(stamp: $0, value: nil)]) : CellState() }
            ?? CellState()
        cells[column] = cell == implied ? nil : cell
    }

    /// Whether some cell has more than one version, edits were lost, or the like: what `conflicts` looks at.
    package var isContested: Bool {
        inserts.count > (base != nil && baseIsInsert ? 0 : 1) || !deletes.isEmpty
            || cells.values.contains { $0.versions.count > 1 } || cellsByName.values.contains { $0.versions.count > 1 }
    }
}

extension RowClock {
    /// Every entry's stamp.
    package var allStamps: [Stamp] {
        var stamps = inserts + deletes + [base].compactMap { $0 }
        for cell in cells.values { stamps += cell.stamps }
        for cell in cellsByName.values { stamps += cell.stamps }
        return stamps
    }
}

extension CellState {
    package var stamps: [Stamp] { versions.map(\.stamp) + additions.map(\.stamp) }
}
