import LogSyncContainer
import LogSyncFormat
public import LogSyncModel
import LogSyncStore
import Logging

/// Looking at a store without changing anything.
extension Replicator {
    /// Where the store stands: what waits, who takes part, what is held.
    ///
    /// It records, publishes and imports nothing.
    public func status() async throws -> StoreStatus {
        try look { store in
            let look = Look(store, isFull: true)
            if let error = look.error { try check(error) }
            return try store.status(look.scan)
        }
    }

    /// A container that is not there is something to show; a store that cannot be read is not.
    private func check(_ error: any Error) throws {
        guard let error = error as? LogSyncError else { throw error }
        let shown: [LogSyncError.Code] = [.containerUnavailable, .noPermission, .newerFormat, .configuration, .ioError]
        guard shown.contains(error.code) else { throw error }
        configuration.logger.notice("\(error)")
    }

    /// The store's transactions, newest first; with `after` those with greater tokens, oldest first.
    ///
    /// - Parameters:
    ///   - limit: no more than this many; nil for all.
    ///   - token: a ``LoggedTransaction/token``.
    ///   - peer: an id, or a name that is unique.
    public func log(
        limit: Int? = nil, after token: Int64? = nil, author: String? = nil, peer: String? = nil, table: String? = nil
    ) async throws -> [LoggedTransaction] {
        let id = try peer.map { try find($0).id }
        return try look { store in
            let names = try store.names()
            return try store.store.history(limit: limit, after: token, author: author, peer: id, table: table).map {
                LoggedTransaction(
                    token: $0.token, peer: names[$0.dot.peer], sequence: $0.dot.sequence,
                    time: Timestamp(milliseconds: $0.time.milliseconds), author: $0.author, context: $0.context,
                    changes: $0.counts)
            }
        }
    }

    /// Finds a peer by its id, or by its name where that is unique.
    ///
    /// - Throws: `usage` where there is none, or more than one.
    public func peer(named text: String) async throws -> PeerName { try find(text) }

    private func find(_ text: String) throws -> PeerName {
        try look { store in
            // Names in the folder help where the content's settings have not come yet; without it, they have to do.
            if store.folderNames.isEmpty { _ = try? store.scan(full: false) }
            let names = try store.names()
            if let id = PeerID(text) { return names[id] }
            let found = names.names.filter { $0.value == text }.keys.sorted()
            switch found.count {
            case 1: return names[found[0]]
            case 0:
                throw LogSyncError(
                    .usage, "no peer is named \(text.debugDescription)", help: "logsync peers list shows them all")
            default:
                throw LogSyncError(
                    .usage, "\(found.count) peers are named \(text.debugDescription)",
                    help: "Give one's id: \(found.map(\.description).joined(separator: ", "))")
            }
        }
    }

    /// Lets transactions of this peer in, however far ahead of this machine's clock their times lie.
    public func acceptClock(of peer: PeerID) async throws {
        try await step(settles: true) { store in
            guard try store.names().names[peer] != nil else {
                throw LogSyncError(
                    .usage, "peer \(peer) is not known here", help: "logsync peers list shows them all")
            }
            try store.store.acceptClock(of: peer)
        }
    }
}

extension ReplicatedStore {
    func status(_ scan: ContainerScan?) throws -> StoreStatus {
        let summary = try store.summary()
        let names = try names()
        var items: [HeldItem] = []
        if let scan {
            let plan = try plan(scan)
            try plan.begin(vector: summary.vector) { try store.chain(of: $0) }
            var isProgress = true
            while isProgress {
                while try plan.skip() {}
                isProgress = try acceptClocks(plan)
            }
            items = try heldItems(plan, scan)
        }
        let trouble = try files.load(peer)?.trouble
        return StoreStatus(
            store: place.path, content: registration.content,
            container: StoreStatus.ContainerStatus(path: registration.container, available: scan != nil),
            peer: names[peer], pending: summary.pending,
            outbox: try store.outbox(unpublishedOnly: true).count, vector: summary.vector,
            peers: try peers(scan, summary.vector, names), held: items, conflicts: summary.conflicts,
            parked: summary.parked, digest: summary.digest, keptForSchema: summary.keptForUnknownSchema,
            unenforced: summary.unenforced, succeeds: registration.succeeds.map { names[$0] }, identity: trouble,
            lacks: try scan.map(lacks) ?? [])
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
