import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore
import Logging

/// What the snapshots in the folder stand for.
///
/// A snapshot whose author has dropped columns that another peer still shows is partial: a store that joined it would lack
/// their values, so it stands for no peer's log files. Whether one is partial therefore depends on what every peer shows
/// now, as far as its schema has arrived here.
final class SnapshotCoverage {
    private unowned let owner: ReplicatedStore
    private let library: ContentLibrary
    /// The snapshots that were held against this store, and whether they were found to be true.
    private var compared: [SnapshotName: Bool] = [:]
    /// The tables and columns that published schemas make.
    private var schemaColumns: [SchemaFingerprint: SchemaColumns] = [:]

    private var store: Store { owner.store }
    private var peer: PeerID { owner.peer }

    init(_ owner: ReplicatedStore) {
        self.owner = owner
        library = owner.library
    }

    // MARK: Snapshots

    /// The snapshots that can be read, as they are for this store now: whole ones first.
    func snapshots(_ scan: ContainerScan) throws -> [FoundSnapshot] {
        try library.snapshots.found(scan) { try shownColumns(scan) }
    }

    /// The snapshots that can be read and stand for log files.
    func wholeSnapshots(_ scan: ContainerScan) throws -> [FoundSnapshot] {
        try snapshots(scan).filter { !$0.isPartial }
    }

    /// Whether files may go for a snapshot: it can be read to its end, and has all that this store has of what it stands for.
    ///
    /// One that says more than has been imported here is not believed yet. Each is compared once: it takes as long as joining
    /// it would. What programs have written meanwhile is recorded first.
    ///
    /// - Parameter isDry: whether nothing is recorded. Where something would have to be, nothing goes for a snapshot that does
    ///   not agree with the rows as programs have written them.
    func isTrue(_ snapshot: FoundSnapshot, isDry: Bool = false) throws -> Bool {
        guard try library.snapshots.isIntact(snapshot.name, of: snapshot.peer) else { return false }
        if let known = compared[snapshot.name] { return known }
        guard try store.vector().includes(snapshot.vector) else { return false }
        do {
            let isTrue = try store.agrees(recording: isDry ? nil : { try self.owner.record() }) {
                try library.snapshots.reader(snapshot.name, of: snapshot.peer)
            }
            guard let isTrue else {
                owner.logger.notice(
                    "\(owner.place.path) has changes that are not recorded, so a snapshot was not compared; nothing goes for it now",
                    metadata: ["file": "\(library.content.peer(snapshot.peer).path(snapshot.name))"])
                return false
            }
            if !isTrue {
                owner.logger.warning(
                    "A snapshot holds something else than \(owner.place.path) has of the same transactions; nothing goes for it",
                    metadata: ["file": "\(library.content.peer(snapshot.peer).path(snapshot.name))"])
            }
            compared[snapshot.name] = isTrue
            return isTrue
        } catch let error as LogSyncError where error.code == .malformedLog {
            return passOver(snapshot, error)
        } catch let error as LogFileError {
            return passOver(snapshot, error)
        }
    }

    private func passOver(_ snapshot: FoundSnapshot, _ error: any Error) -> Bool {
        owner.logger.warning(
            "A snapshot could not be compared; nothing goes for it: \(error)",
            metadata: ["file": "\(library.content.peer(snapshot.peer).path(snapshot.name))"])
        return false
    }

    /// Notes a snapshot that was taken of this store just now.
    func noteTaken(_ name: SnapshotName) { compared[name] = true }

    /// The highest sequence of a peer up to which a snapshot in the folder stands for its transactions.
    ///
    /// - Parameters:
    ///   - damaged: own snapshots that count for nothing.
    ///   - orPartly: whether a snapshot counts that lacks values which are shown.
    func reach(
        of id: PeerID, _ scan: ContainerScan, except damaged: [SnapshotName] = [], orPartly: Bool = false
    ) throws -> UInt64 {
        let found = try orPartly ? library.snapshots.found(scan) : wholeSnapshots(scan)
        return found.filter { !($0.peer == peer && damaged.contains($0.name)) }.map { $0.vector[id] }.max() ?? 0
    }

    /// The highest sequence of a peer beyond which a snapshot of this store would tell the other peers more: where that
    /// would be partial, another partial one is as good.
    func bridge(of id: PeerID, _ scan: ContainerScan, except damaged: [SnapshotName] = []) throws -> UInt64 {
        try reach(of: id, scan, except: damaged, orPartly: !lackedColumns(scan).isEmpty)
    }

    // MARK: Columns

    /// What a snapshot of this store would lack of what other peers show; it is whole where that is nothing.
    func lackedColumns(_ scan: ContainerScan) throws -> [StoreStatus.LackedColumn] {
        let lost = try store.lostColumns()
        guard !lost.isEmpty else { return [] }
        let names = try owner.names()
        return try shownColumns(scan).showing(lost, besides: peer).sorted { $0.key < $1.key }.map { column, peers in
            StoreStatus.LackedColumn(table: column.table, column: column.column, peers: peers.map { names[$0] })
        }
    }

    /// The columns that this store shows, and the columns of the other peers that take part, as far as they are known. A peer
    /// whose schema has not arrived may show anything.
    func shownColumns(_ scan: ContainerScan) throws -> ShownColumns {
        var shown = ShownColumns(peers: [peer: .columns(try store.shownColumns())])
        for id in try participants(scan) {
            if let other = scan.peers[id], let schemas = try schemas(of: other) {
                let without = other.description.value?.without ?? []
                shown.peers[id] = .columns(try store.shownColumns(in: schemas, without: without))
            } else {
                shown.peers[id] = .anything
            }
        }
        return shown
    }

    /// The other peers that take part, peers that only read included. A peer whose folder is gone may come back.
    private func participants(_ scan: ContainerScan) throws -> [PeerID] {
        let vector = try store.vector()
        let others = Set(scan.peers.keys).union(vector.sequences.keys)
            .subtracting(try owner.retiredPeers(scan)).subtracting(try store.branches().map(\.id)).subtracting([peer])
        return others.filter { id in
            guard let other = scan.peers[id] else { return vector[id] > 0 }
            return !other.isSeed && (other.hasSpoken || vector[id] > 0)
        }
    }

    /// In which points the schemas of the peers that take part differ from this store's, as far as they have arrived: of
    /// each what it says that it has now.
    func schemaDifferences(_ scan: ContainerScan) throws -> [StoreStatus.PeerSchema] {
        let own = scan.peers[peer]?.description.value?.schema
        let names = try owner.names()
        var known: [SchemaFingerprint: [SchemaDifference]] = [:]
        return try participants(scan).sorted().compactMap { id in
            guard let other = scan.peers[id], let now = other.description.value?.schema, now != own,
                let file = other.schemas.first(where: { $0.name.fingerprint == now }),
                let text = library.content.schema(file.name, of: id)
            else { return nil }
            do {
                let differences = try known[now] ?? store.schemaDifferences(from: text)
                known[now] = differences
                return differences.isEmpty ? nil : StoreStatus.PeerSchema(peer: names[id], differences: differences)
            } catch let error as LogSyncError where error.code == .invalidStore {
                owner.configuration.logger.notice("the schema of \(names[id].name) was passed over: \(error)")
                return nil
            }
        }
    }

    /// The tables and columns of the schema that a peer has now, or of all that it ever had where it does not say which;
    /// nil where that has not arrived.
    private func schemas(of other: PeerScan) throws -> [SchemaColumns]? {
        let now = other.description.value?.schema
        let files = other.schemas.filter { now == nil || $0.name.fingerprint == now }
        var schemas: [SchemaColumns] = []
        for file in files {
            guard let schema = try columns(of: file.name, of: other.id) else { return nil }
            schemas.append(schema)
        }
        return schemas.isEmpty ? nil : schemas
    }

    private func columns(of name: SchemaFileName, of id: PeerID) throws -> SchemaColumns? {
        if let known = schemaColumns[name.fingerprint] { return known }
        guard let text = library.content.schema(name, of: id) else { return nil }
        let columns = try Store.columns(ofSchema: text, configuration: owner.configuration.storeConfiguration)
        schemaColumns[name.fingerprint] = columns
        return columns
    }
}
