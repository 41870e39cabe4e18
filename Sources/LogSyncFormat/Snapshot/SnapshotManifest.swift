package import LogSyncModel

/// What a snapshot says before its rows: at which version vector it was taken, and what a store needs besides rows.
package struct SnapshotManifest: Hashable, Sendable {
    /// When it was taken, Unix milliseconds by its author's clock.
    package var taken: Int64
    /// The digest of the replicated state: what joining it into an empty store gives.
    package var digest: UInt64
    package var schema: SchemaFingerprint
    /// The app's schema as its author has it.
    package var schemaText: String
    /// Everybody in the version vector, by ascending id.
    package var peers: [Peer] { didSet { vector = Self.vector(peers) } }
    /// The same as a vector. There may be very many, and it is asked for each of them.
    package private(set) var vector: VersionVector
    /// The greatest number that each AUTOINCREMENT table gave out at the author, by the table's name in logs; read only where
    /// it is within ``Limits/rowNumbers``.
    package var sequences: [String: Int64]
    /// The branches of peers under whose ids two stores have written, by ascending id.
    package var branches: [Branch]
    /// Which transactions some of those in the vector are: the last ones of each peer, and of a forked peer and its branches
    /// all from the first fork on, so that who joins this can tell whether its own history is the same.
    package var marks: [Marks]
    /// The columns of which its author has lost values: its app dropped them, or it joined a snapshot of one whose app had.
    /// For a peer that shows one of them, or knows one that does, the snapshot is partial. At most ``maximumLost``.
    package var lost: Set<ColumnName>

    /// How many columns a snapshot can say to be lost.
    package static let maximumLost = 1 << 20

    /// The marks of consecutive transactions.
    package struct Marks: Hashable, Sendable {
        package var peer: PeerID
        /// The sequence of the first.
        package var first: UInt64
        package var marks: [ChainMark]

        package init(peer: PeerID, first: UInt64, marks: [ChainMark]) {
            self.peer = peer
            self.first = first
            self.marks = marks
        }
    }

    /// Which transaction one in the vector is; nil where this does not say.
    package func mark(of peer: PeerID, _ sequence: UInt64) -> ChainMark? {
        if let place = peers.first(where: { $0.id == peer }), place.sequence == sequence { return place.chain.mark }
        for run in marks where run.peer == peer && run.first <= sequence {
            let index = sequence - run.first
            if index < UInt64(run.marks.count) { return run.marks[Int(index)] }
        }
        return nil
    }

    /// A peer's place in the vector.
    package struct Peer: Hashable, Sendable {
        package var id: PeerID
        /// At least 1.
        package var sequence: UInt64
        /// The peer's chain hash there.
        package var chain: ChainHash
        /// What that transaction depended on, its own peer left out: the next one says only what moved since.
        package var dependencies: VersionVector

        package init(id: PeerID, sequence: UInt64, chain: ChainHash, dependencies: VersionVector) {
            self.id = id
            self.sequence = sequence
            self.chain = chain
            self.dependencies = dependencies
        }
    }

    package init(
        taken: Int64, digest: UInt64, schema: SchemaFingerprint, schemaText: String, peers: [Peer],
        sequences: [String: Int64] = [:], branches: [Branch] = [], marks: [Marks] = [],
        lost: Set<ColumnName> = []
    ) {
        self.taken = taken
        self.digest = digest
        self.schema = schema
        self.schemaText = schemaText
        self.peers = peers.sorted { $0.id < $1.id }
        vector = Self.vector(peers)
        self.sequences = sequences
        self.branches = branches.sorted { $0.id < $1.id }
        self.marks = marks
        self.lost = lost
    }
}

extension SnapshotManifest {
    private static func vector(_ peers: [Peer]) -> VersionVector {
        VersionVector(Dictionary(peers.map { ($0.id, $0.sequence) }, uniquingKeysWith: max))
    }

    private static func places(_ peers: [Peer]) -> [PeerID: Int] {
        Dictionary(peers.enumerated().map { ($1.id, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// - Throws: `LogSyncError.Code.malformedLog` where it could not be read back.
    func encode(to out: ByteWriter) throws {
        let places = Self.places(peers)
        guard places.count == peers.count, (0...HybridTime.maximumMilliseconds).contains(taken),
            peers.allSatisfy({ peer in
                (1...Limits.sequence).contains(peer.sequence) && peer.dependencies[peer.id] == 0
                    && vector.includes(peer.dependencies)
            })
        else { throw LogSyncError(.malformedLog, "An impossible version vector; no snapshot was made of it") }
        out.append(varint: UInt64(taken))
        out.append(word: digest)
        out.append(schema.bytes)
        out.append(schemaText)
        out.append(varint: UInt64(peers.count))
        for peer in peers {
            out.append(peer.id.bytes)
            out.append(varint: peer.sequence)
            out.append(peer.chain.bytes)
        }
        for peer in peers {
            out.append(varint: UInt64(peer.dependencies.sequences.count))
            for dependency in peer.dependencies.dots {
                out.append(varint: UInt64(places[dependency.peer] ?? 0))
                out.append(varint: dependency.sequence)
            }
        }
        out.append(varint: UInt64(sequences.count))
        for (table, number) in sequences.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
            out.append(table)
            out.append(zigzag: number)
        }
        if !branches.isEmpty || !marks.isEmpty || !lost.isEmpty { encodeBranches(to: out) }
        if !lost.isEmpty { try encodeLost(to: out) }
        guard out.count <= Limits.recordLength else {
            throw LogSyncError(
                .unsupportedTable, "The schema, with what its local tables hold, is larger than a snapshot can hold",
                help: "Leave large tables out with --skip instead of --local")
        }
    }

    init(from reader: inout ByteReader) throws {
        let taken = try reader.varint()
        guard taken <= UInt64(HybridTime.maximumMilliseconds) else { throw reader.damaged("a time out of range") }
        let digest = try reader.word()
        guard let schema = SchemaFingerprint(bytes: reader.bytes(try reader.take(16))) else {
            throw reader.damaged("no fingerprint")
        }
        let text = try reader.text("the schema")
        var peers: [Peer] = []
        for _ in 0..<(try reader.count(of: "peers", size: 49)) {
            let id = try reader.peer()
            let sequence = try reader.sequence()
            guard let chain = ChainHash(bytes: reader.bytes(try reader.take(32))) else {
                throw reader.damaged("no chain hash")
            }
            guard peers.last.map({ $0.id < id }) ?? true else {
                throw reader.damaged("the vector cannot have \(id) at \(sequence) here")
            }
            peers.append(Peer(id: id, sequence: sequence, chain: chain, dependencies: VersionVector()))
        }
        for place in peers.indices {
            var last = -1
            for _ in 0..<(try reader.count(of: "dependencies", size: 2)) {
                let (other, sequence) = (try reader.varint(), try reader.varint())
                guard other < UInt64(peers.count), Int(other) != place, Int(other) > last, sequence >= 1,
                    sequence <= peers[Int(other)].sequence
                else { throw reader.damaged("dependencies that the vector does not cover") }
                last = Int(other)
                peers[place].dependencies[peers[last].id] = sequence
            }
        }
        var sequences: [String: Int64] = [:]
        var tables: Set<String> = []
        for _ in 0..<(try reader.count(of: "tables", size: 3)) {
            let table = try reader.name("table")
            guard tables.insert(table).inserted else { throw reader.damaged("a table stands twice") }
            let number = try reader.zigzag()
            if Limits.rowNumbers.contains(number) { sequences[table] = number }
        }
        let (branches, marks) = reader.isAtEnd ? ([], []) : try Self.branches(from: &reader)
        // What follows was added by a later version that this one may read without.
        let lost = reader.isAtEnd ? [] : try Self.lost(from: &reader)
        self.init(
            taken: Int64(taken), digest: digest, schema: schema, schemaText: text, peers: peers, sequences: sequences,
            branches: branches, marks: marks, lost: lost)
    }
}
