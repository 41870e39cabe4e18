import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore

/// What apps have dropped and others still show: a snapshot without it stands for nobody's log files.
extension ReplicatedStore {
    /// What a snapshot of this store would lack of what others show; it is whole where there is nothing.
    func lacks(_ scan: ContainerScan) throws -> [LackedColumn] {
        let lost = try store.lostColumns()
        guard !lost.isEmpty else { return [] }
        let names = try names()
        return try shown(scan).showing(lost, besides: peer).sorted { $0.key < $1.key }.map { column, peers in
            LackedColumn(table: column.table, column: column.column, peers: peers.map { names[$0] })
        }
    }

    /// The snapshots that can be read, as they are for this store now: whole ones first.
    func places(_ scan: ContainerScan) throws -> [SnapshotPlace] {
        try snapshots.places(scan) { try shown(scan) }
    }

    /// The whole snapshots that can be read: those that stand for log files.
    func wholePlaces(_ scan: ContainerScan) throws -> [SnapshotPlace] {
        try places(scan).filter { !$0.isPartial }
    }

    /// What this store shows, and the others that take part as far as they are known. A peer whose schema is not may show
    /// anything.
    func shown(_ scan: ContainerScan) throws -> ShownColumns {
        var shown = ShownColumns(peers: [peer: .columns(try store.shownColumns())])
        for id in try showing(scan) {
            if let other = scan.peers[id], let schemas = try schemas(of: other) {
                let without = other.description.value?.without ?? []
                shown.peers[id] = .columns(try store.shownColumns(in: schemas, without: without))
            } else {
                shown.peers[id] = .anything
            }
        }
        return shown
    }

    /// The other peers that take part, those included that only read. One whose folder is gone may come back.
    private func showing(_ scan: ContainerScan) throws -> [PeerID] {
        let vector = try store.vector()
        let others = Set(scan.peers.keys).union(vector.sequences.keys)
            .subtracting(try retiredPeers(scan)).subtracting(try store.branches().map(\.id)).subtracting([peer])
        return others.filter { id in
            guard let other = scan.peers[id] else { return vector[id] > 0 }
            return !other.isSeed && (other.hasSpoken || vector[id] > 0)
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
        guard let text = content.schema(name, of: id) else { return nil }
        let columns = try Store.columns(ofSchema: text)
        schemaColumns[name.fingerprint] = columns
        return columns
    }

    /// What this peer says of itself in the folder.
    func description() throws -> PeerDescription {
        var without = try store.namesWithout()
        // What is left out counts as shown.
        while without.reduce(0, { $0 + $1.reduce(4) { $0 + 6 * $1.utf8.count } }) > PeerDescription.maximumWithout {
            without.removeLast()
        }
        return PeerDescription(
            name: registration.name, created: registration.created, succeeds: registration.succeeds.last,
            schema: try store.schemaText().fingerprint, without: without)
    }
}

extension [LackedColumn] {
    /// The columns, for people.
    var columns: String { map(\.name).joined(separator: ", ") }

    /// The peers that show any of them, each once.
    var peers: [PeerName] {
        var seen: Set<PeerID> = []
        return flatMap(\.peers).filter { seen.insert($0.id).inserted }
    }
}
