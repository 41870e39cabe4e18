import LogSyncModel
import LogSyncSQLite

extension OpenStore {
    /// This peer, and the peers that it was before it was restored from a backup, by their numbers here.
    func formerSelves() throws -> Set<Int64> {
        let former = (try facts.text("succeeds") ?? "").split(separator: ",").map(String.init)
        let retired = try Settings(self).values("retired")
        let numbers = former.filter { retired[$0] != nil }.compactMap { PeerID($0) }.compactMap { peers[$0]?.number }
        return Set(numbers + [own])
    }
}
