import LogSyncContainer
import LogSyncModel
import LogSyncStore
import Logging

extension Replicator {
    /// Says that the store's content is now at another path, and syncs with it there.
    ///
    /// Nothing is copied and nothing made: the content has to be there already, as after a move of the shared folder.
    /// To take a store to a place where its content is not yet, see ``move(to:content:)``.
    ///
    /// - Parameter container: the shared folder that holds the content's folder.
    /// - Throws: `containerUnavailable` where the content is not there; `configuration` where another content of the
    ///   same name is there, or the store lies within that folder; `locked`. The store then stays with the former one.
    public func attach(to container: String) async throws -> AttachReport {
        let container = StorePlace.absolute(container)
        // Who this is can be asked only where the container is: at the new place, when it is known to be the right one.
        var report = try await step(settles: true) { store in
            try store.attach(to: container)
        }
        report.result = try await sync()
        return report
    }
}

/// What ``Replicator/attach(to:)`` did.
public struct AttachReport: Sendable, Encodable {
    public let format = 1
    public var store: String
    public var content: String
    public var container: String
    /// The container before.
    public var former: String
    /// What the sync with the container brought.
    public var result: SyncResult

    /// Whether the store was with another path before.
    public var changed: Bool { former != container }

    private enum CodingKeys: String, CodingKey {
        case format, store, content, container, former, changed, recorded, published, imported, held
    }

    public func encode(to encoder: any Encoder) throws {
        var document = encoder.container(keyedBy: CodingKeys.self)
        try document.encode(format, forKey: .format)
        try document.encode(store, forKey: .store)
        try document.encode(content, forKey: .content)
        try document.encode(container, forKey: .container)
        try document.encode(former, forKey: .former)
        try document.encode(changed, forKey: .changed)
        try document.encode(result.recorded, forKey: .recorded)
        try document.encode(result.published, forKey: .published)
        try document.encode(result.imported, forKey: .imported)
        try document.encode(result.held, forKey: .held)
    }
}

extension ReplicatedStore {
    fileprivate func attach(to container: String) throws -> AttachReport {
        let former = registration.container
        try StorePlace.checkSuitable(place.path, container: container, fileSystem: configuration.fileSystem)
        let folder = ContentFolder(
            container: container, name: content.name, fileSystem: configuration.fileSystem)
        try folder.checkAvailable()
        try checkHistory(of: try ContainerScanner(content: folder).scan(full: true), at: folder.path)
        if container != former {
            try store.setContainer(container)
            try refresh()
            logger.info("\(place.path) is with \(container) from now on; it was with \(former)")
        }
        return AttachReport(
            store: place.path, content: registration.content, container: container, former: former,
            result: SyncResult(store: place.path))
    }

    /// Refuses a folder whose peers and this store have nothing in common: another content of the same name.
    ///
    /// One in which nobody has published anything yet says nothing; it may be on its way, or just rebuilt.
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
