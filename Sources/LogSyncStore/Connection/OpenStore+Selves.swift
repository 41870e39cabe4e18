import LogSyncModel
import LogSyncSQLite
import LogSyncState

extension OpenStore {
    /// This peer, and the peers that it was before it was restored from a backup, by their numbers here.
    func formerSelves() throws -> Set<Int64> {
        let former = (try facts.text("succeeds") ?? "").split(separator: ",").map(String.init)
        let retired = try Settings(self).values("retired")
        let numbers = former.filter { retired[$0] != nil }.compactMap { PeerID($0) }.compactMap { peers[$0]?.number }
        return Set(numbers + [own])
    }

    /// Whether one of some peers wrote the version of a cell that its row shows.
    ///
    /// - Parameters:
    ///   - cell: of a row that shows what was recorded of it. Of what migrations have put there, and of what several have
    ///     written, the record has the value.
    ///   - authors: by their numbers here.
    func wrote(_ cell: CellState, of column: TrackedTable.Column, in table: TrackedTable, _ authors: Set<Int64>) -> Bool
    {
        let left = cell.versions.filter { $0.value == nil }
        guard left.isEmpty else { return left.contains { authors.contains($0.stamp.peer) } }
        let shown = shown(cell, table.name, column.name)
        return cell.versions.contains { $0.value == shown && authors.contains($0.stamp.peer) }
    }
}
