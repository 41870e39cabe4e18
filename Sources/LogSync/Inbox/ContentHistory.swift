import LogSyncContainer
import LogSyncModel
import LogSyncStore

extension ReplicatedStore {
    /// Refuses a folder whose peers and this store have nothing in common: another content of the same name.
    ///
    /// A folder in which no peer has published anything yet says nothing; it may be on its way, or just rebuilt.
    ///
    /// - Throws: `configuration`.
    func checkHistory(of scan: ContainerScan, at path: String) throws {
        let published = scan.peers.values.filter { $0.overview.published > 0 }
        guard !published.isEmpty else { return }
        let selves = Set(registration.succeeds).union([peer])
        let known = Set(try store.vector().sequences.keys).union(selves)
        let isCommon = published.contains { other in
            known.contains(other.id)
                || !(other.overview.imported ?? VersionVector()).sequences.keys.allSatisfy {
                    !known.contains($0)
                }
        }
        guard !isCommon else { return }
        throw LogSyncError(
            .configuration,
            "\(path) is another content of the same name: no peer there is known to \(place.path); nothing was changed",
            help: "Name the container that holds the content of this store")
    }
}
