import LogSyncModel
import LogSyncState

/// The digest of a dot.
struct DotDigest {
    var peer: Int64 = -1
    var sequence: UInt64 = 0
    var digest: UInt64 = 0

    @inline(__always)
    func isOf(_ stamp: Stamp) -> Bool { stamp.peer == peer && stamp.sequence == sequence }
}

/// What a change adds to the state digest, and takes from it (Documentation/model.md, particular rules).
extension OpenStore {
    /// Adds (or with `sign` −1 takes away) one entry's share of the state digest.
    @inline(__always)
    func count(_ sign: Int, row: UInt64, column: UInt64, _ stamp: Stamp) {
        let share = StateDigest.share(row: row, column: column, dot: dotDigest(stamp))
        stateDigest = sign > 0 ? stateDigest &+ share : stateDigest &- share
    }

    @inline(__always)
    func dotDigest(_ stamp: Stamp) -> UInt64 {
        if lastDots.0.isOf(stamp) { return lastDots.0.digest }
        if lastDots.1.isOf(stamp) { return lastDots.1.digest }
        let digest = StateDigest.dot(peers.id(stamp.peer), stamp.sequence)
        lastDots = (DotDigest(peer: stamp.peer, sequence: stamp.sequence, digest: digest), lastDots.0)
        return digest
    }

    func rowDigest(_ table: String, _ identity: RowIdentity) -> UInt64 { StateDigest.row(table, identity) }

    func rowDigest(_ table: TrackedTable, _ identity: RowIdentity) -> UInt64 {
        StateDigest.row(table.nameDigest, identity)
    }

    /// Adds or takes away the shares of all of a row's entries.
    func count(_ sign: Int, _ state: RowClock, row: UInt64, table: TrackedTable) {
        for stamp in state.insertEntries { count(sign, row: row, column: StateDigest.insertColumn, stamp) }
        for column in 0..<max(state.columnCount, (state.cells.keys.max() ?? -1) + 1) {
            count(sign, state.cell(column), row: row, column: table.columnDigests[column])
        }
        for (name, cell) in state.cellsByName { count(sign, cell, row: row, column: StateDigest.column(name)) }
    }

    func count(_ sign: Int, _ cell: CellState, row: UInt64, column: UInt64) {
        for version in cell.versions { count(sign, row: row, column: column, version.stamp) }
        for addition in cell.additions { count(sign, row: row, column: column, addition.stamp) }
    }
}
