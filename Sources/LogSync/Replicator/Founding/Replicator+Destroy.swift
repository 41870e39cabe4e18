import LogSyncContainer
import LogSyncModel
import LogSyncStore

extension Replicator {
    /// Removes a content folder with everything that every peer has published in it.
    ///
    /// Every store keeps its rows, and can write the folder anew (``rebuild(dryRun:)``); what was published and is in no
    /// store is gone.
    ///
    /// - Parameter dryRun: whether only to say what would be removed.
    /// - Throws: `containerUnavailable` where no such folder is there; `configuration` where it belongs to another
    ///   content; `newerFormat`; `noPermission`; `ioError`.
    public static func destroy(
        container: String, content: String, dryRun: Bool = false, configuration: SyncConfiguration
    ) async throws -> DestroyReport {
        let founder = Founder(configuration: configuration, container: container, content: content)
        return try await founder.destroy(dryRun: dryRun)
    }
}

extension Founder {
    fileprivate func destroy(dryRun: Bool) throws -> DestroyReport {
        let folder = ContentFolder(
            container: container, name: try ContentName(checking: content), fileSystem: configuration.fileSystem,
            purpose: .removal)
        let contents = try folder.contents()
        // Names are for people: a folder without its marker, or with damaged descriptions, is removed all the same.
        let scan = try? ContainerScanner(content: folder).scan(full: true)
        let report = DestroyReport(
            content: content, container: container, dryRun: dryRun, files: contents.files, bytes: contents.bytes,
            peers: contents.peers.map { PeerName(id: $0, name: scan?.peers[$0]?.description.value?.name) })
        if !dryRun { try folder.destroy() }
        return report
    }
}
