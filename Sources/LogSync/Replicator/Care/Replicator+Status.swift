import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore
import Logging

extension Replicator {
    /// Where the store stands: what waits, who takes part, what is held.
    ///
    /// It records, publishes and imports nothing. A folder that is slow, or hangs, keeps only this call waiting.
    public func status() async throws -> StoreStatus {
        let isAtWork = isRunning
        if isAtWork { beginWork() }
        defer { if isAtWork { endWork() } }
        while true {
            let (folder, count) = try inspect { ($0.folder, $0.inbox.scanCount) }
            let scan = await Result { try await folder.scan() }
            if let status = try status(scan, of: folder, asOf: count) { return status }
            try Task.checkCancellation()
        }
    }

    /// nil where the content has come to be elsewhere since the listing began.
    private func status(
        _ scan: Result<ContainerScan, any Error>, of folder: FolderListing, asOf count: Int
    ) throws -> StoreStatus? {
        // Where it was let go of meanwhile, it is not to stay open.
        let wasClosed = opened == nil
        defer { if wasClosed { closeStore() } }
        return try inspect { store in
            guard store.content.path == folder.path else { return nil }
            if case .failure(let error) = scan { try check(error) }
            let found = try? scan.get()
            if let found { store.inbox.note(found, asOf: count) }
            return try store.status(found)
        }
    }

    /// A container that is not there is something to show; a store that cannot be read is not.
    private func check(_ error: any Error) throws {
        guard let error = error as? LogSyncError else { throw error }
        let shown: [LogSyncError.Code] = [.containerUnavailable, .noPermission, .newerFormat, .configuration, .ioError]
        guard shown.contains(error.code) else { throw error }
        configuration.logger.notice("\(error)")
    }
}

extension ReplicatedStore {
    func status(_ scan: ContainerScan?) throws -> StoreStatus {
        let summary = try store.summary()
        let names = try names()
        let state = try stateDirectory.load(peer)
        let trouble = state?.claim ?? state?.trouble
        return StoreStatus(
            store: place.path, content: registration.content,
            container: StoreStatus.ContainerStatus(
                path: registration.container, available: scan.map { !$0.isUnreadable } ?? false),
            peer: names[peer], pending: summary.pending,
            outbox: try store.outbox(unpublishedOnly: true).count,
            waitingSince: summary.waitingSince.map { Timestamp(milliseconds: $0) }, vector: summary.vector,
            peers: try peers(scan, summary.vector, names), held: try scan.map { try inbox.heldItems($0) } ?? [],
            lastImport: summary.lastImport.map { Timestamp(milliseconds: $0) }, conflicts: summary.conflicts,
            parked: summary.parked, digest: summary.digest, keptForSchema: summary.hiddenForUnknownSchema,
            unenforced: summary.unenforced,
            heldReferences: summary.heldReferences.map {
                StoreStatus.HeldReference(table: $0.table, column: $0.column, parents: $0.parents, of: place.path)
            },
            undecided: summary.undecided.map {
                StoreStatus.UndecidedTable(table: $0.table, columns: $0.columns, of: place.path)
            },
            otherTables: summary.otherTables.map {
                StoreStatus.OtherTable(table: $0.table, here: $0.here, there: $0.there, of: place.path)
            },
            succeeds: registration.succeeds.map { names[$0] }, identity: trouble,
            setBack: WorkNotes(stateDirectory: configuration.stateDirectory, clock: configuration.clock)
                .setBack(of: place.path),
            lacks: try scan.map(coverage.lackedColumns) ?? [], unmade: try store.unmadeObjects(),
            unwritable: try store.unwritableTables().map {
                StoreStatus.UnwritableTable(table: $0.table, reason: $0.reason)
            },
            recipe: try store.recipe(),
            missingPolicies: try store.lackingPolicies().map {
                MergePolicy.Setting(target: $0.target, policy: $0.policy)
            },
            schemas: try scan.map(coverage.schemaDifferences) ?? [])
    }

    private func peers(
        _ scan: ContainerScan?, _ vector: VersionVector, _ names: PeerNames
    ) throws -> [StoreStatus.Peer] {
        let retired = try scan.map(retiredPeers) ?? store.retiredPeers()
        let overviews = scan?.peers.mapValues(\.overview) ?? [:]
        // A branch is a part of what its origin published.
        let branches = try store.branches()
        let others = Set(overviews.keys).union(vector.sequences.keys).subtracting([peer] + branches.map(\.id))
        return others.sorted().map { id in
            let further = branches.filter { $0.origin == id && vector[$0.id] > 0 }.map { vector[$0.id] + $0.offset }
            let imported = max(vector[id], further.max() ?? 0)
            let published = max(overviews[id]?.published ?? 0, imported)
            return StoreStatus.Peer(
                id: id, name: names[id].name, published: published, imported: imported, behind: published - imported,
                seenAt: overviews[id]?.seenAt.map { Timestamp(milliseconds: $0) }, retired: retired.contains(id))
        }
    }
}
