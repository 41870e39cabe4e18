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
        let container = StorePlace.absolute(container: container, configuration.fileSystem)
        // Who this is can be asked only where the container is: at the new place, when it is known to be the right one.
        var report = try await step(settles: true) { store in
            try store.attach(to: container)
        }
        report.result = try await sync()
        return report
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
            try relocate(to: container, content.name)
            logger.info("\(place.path) is with \(container) from now on; it was with \(former)")
        }
        return AttachReport(
            store: place.path, content: registration.content, container: container, former: former,
            result: SyncResult(store: place.path))
    }
}
