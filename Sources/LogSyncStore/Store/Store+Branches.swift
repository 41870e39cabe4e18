package import LogSyncFormat
package import LogSyncModel
import LogSyncSQLite

/// What is known here of a transaction that a peer or file names.
package enum Acquaintance: Sendable {
    case imported
    /// Its dot has not been imported, or nobody said which transaction that was.
    case unknown
    /// Another transaction of the same dot has been imported.
    case contradicted
}

/// Two stores that wrote under one id (Documentation/model.md, particular rules, forks).
extension Store {
    /// The branches known here, by ascending id.
    package func branches() throws -> [Branch] {
        try database.read { $0.branches }
    }

    /// Whether the transaction that has this sequence in the folder of `origin`, and this mark, is one imported here.
    package func knows(_ origin: PeerID, _ sequence: UInt64, _ mark: ChainMark) throws -> Acquaintance {
        try database.read { try Self.knows(origin, sequence, mark, $0) }
    }

    /// Whether a transaction that others depend on is another one than the one imported here.
    package func isOther(_ dependency: Dependency) throws -> Bool {
        try database.read { store in
            if case .otherBranch = try store.peers.resolve(dependency, on: store.connection) { true } else { false }
        }
    }

    /// Whether it is known here which transaction an imported one is, so that a snapshot can say so.
    package func tells(_ dot: Dot) throws -> Bool {
        try database.read { store in
            guard let entry = store.peers[dot.peer], dot.sequence <= entry.sequence else { return false }
            return try store.peers.mark(of: entry, dot.sequence, on: store.connection) != nil
        }
    }

    /// Of the last transactions that peers say they have published, those whose dot is another transaction here.
    package func contradicted(_ said: [PeerID: (sequence: UInt64, mark: ChainMark)]) throws -> Set<PeerID> {
        try database.read { store in
            Set(try said.filter { try Self.knows($0, $1.sequence, $1.mark, store) == .contradicted }.keys)
        }
    }

    static func knows(
        _ origin: PeerID, _ sequence: UInt64, _ mark: ChainMark, _ store: OpenStore
    ) throws -> Acquaintance {
        let peers = store.peers
        guard let number = peers[origin]?.number else { return .unknown }
        // Mostly it is the last one that is named.
        if let entry = peers.entries[number], entry.sequence == sequence, entry.chain.mark == mark { return .imported }
        var isContradicted = false
        for line in peers.branches.family(of: number) ?? [number] {
            let offset = peers.branches.offset(of: line)
            guard let entry = peers.entries[line], sequence > offset, sequence - offset <= entry.sequence else {
                continue
            }
            guard let known = try peers.mark(of: entry, sequence - offset, on: store.connection) else {
                return .unknown
            }
            if known == mark { return .imported }
            isContradicted = true
        }
        return isContradicted ? .contradicted : .unknown
    }

    /// Finds the branches among the transactions in a peer's files, and gives each its id: in what has been imported
    /// and in what will be.
    ///
    /// - Parameter places: all transactions of sound files, however many of one dot.
    /// - Returns: the branches that were not known before.
    package func adoptBranches(of origin: PeerID, _ places: [BranchPlace]) throws -> [Branch] {
        guard try origin != registration().peer else { return [] }
        return try database.write { store in
            let known = store.branches
            let adoption = try BranchAdoption(store, origin: origin)
            try adoption.adopt(places)
            try store.noteMerged()
            return store.branches.filter { branch in !known.contains { $0.id == branch.id } }
        }
    }

    /// Takes over what a snapshot says of branches. False where it cannot be told what they are here, or where more is
    /// known here than its author knew, so that its names mean something else: it cannot be joined then.
    ///
    /// - Throws: `malformedLog` where they contradict each other or what is known.
    func adoptBranches(of manifest: SnapshotManifest) throws -> Bool {
        let known = try branches()
        if !manifest.branches.allSatisfy(known.contains) {
            do {
                try database.write { store in
                    guard !manifest.branches.contains(where: { $0.origin == store.ownID }),
                        try store.adoptBranches(of: manifest)
                    else { throw UnknownBranch() }
                }
            } catch is UnknownBranch { return false }
        }
        return manifest.knows(try branches())
    }

    /// Undoes what was adopted of a manifest's branches before one that cannot be.
    private struct UnknownBranch: Error {}

    /// A line of a forked history.
    package struct Line {
        /// The id under which its transactions are known here.
        package var id: PeerID
        /// How far its sequences lie behind those in the files.
        package var offset: UInt64
        /// Which files lead to it: what is in them is on it, or on what it branches off.
        package var files: [Int] = []
    }

    /// Which log files lead to which line of a forked history.
    ///
    /// - Parameter ends: the last transactions of files in the folder of `origin`.
    package func lines(of origin: PeerID, _ ends: [(sequence: UInt64, mark: ChainMark)]) throws -> [Line] {
        try database.read { store in
            let peers = store.peers
            guard let number = peers[origin]?.number else { return [] }
            return try (peers.branches.family(of: number) ?? [number]).compactMap { number in
                guard let entry = peers.entries[number] else { return nil }
                var line = Line(id: entry.id, offset: peers.branches.offset(of: number))
                let path = [(number, entry.sequence)] + peers.branches.ancestors(of: number)
                for (index, end) in ends.enumerated() {
                    // A transaction of which nobody said what it is counts by its place.
                    let isOnPath = try path.contains { number, last in
                        let offset = peers.branches.offset(of: number)
                        guard let entry = peers.entries[number], end.sequence > offset, end.sequence - offset <= last
                        else { return false }
                        let known = try peers.mark(of: entry, end.sequence - offset, on: store.connection)
                        return known ?? end.mark == end.mark
                    }
                    if isOnPath { line.files.append(index) }
                }
                return line
            }
        }
    }

    /// Which log files of a peer had their ends compared with what was imported; nil for none.
    package func comparedFiles() throws -> [PeerID: UInt64] {
        try database.read { store in
            var compared: [PeerID: UInt64] = [:]
            for row in try store.connection.rows(
                "SELECT id, files FROM logsync_peer WHERE files IS NOT NULL")
            {
                guard case .blob(let bytes) = row[0], let id = PeerID(bytes: bytes) else { continue }
                compared[id] = UInt64(bitPattern: row[1].asInteger)
            }
            return compared
        }
    }

    package func setComparedFiles(_ files: [PeerID: UInt64]) throws {
        guard !files.isEmpty else { return }
        try database.write { store in
            for (peer, value) in files {
                try Self.setComparedFiles(value, of: peer, on: store.connection)
            }
        }
    }

    static func setComparedFiles(_ files: UInt64, of peer: PeerID, on connection: Connection) throws {
        try connection.run(
            "UPDATE logsync_peer SET files = ?2 WHERE id = ?1", .blob(peer.bytes[...]),
            .integer(Int64(bitPattern: files)))
    }
}

extension OpenStore {
    /// Takes over what a snapshot says of branches; false where it cannot be told what they are here.
    func adoptBranches(of manifest: SnapshotManifest) throws -> Bool {
        // What goes off further on may go off a branch.
        for branch in manifest.branches.sorted(by: { ($0.origin, $0.start) < ($1.origin, $1.start) }) {
            guard try BranchAdoption(self, origin: branch.origin).adopt(branch, manifest) else { return false }
        }
        return true
    }

    /// The branches known here, by ascending id.
    var branches: [Branch] {
        peers.branches.entries.values.map {
            Branch(
                origin: peers.id($0.origin), start: $0.start, mark: $0.mark, parent: peers.id($0.parent),
                kept: $0.kept)
        }.sorted { $0.id < $1.id }
    }
}

extension SnapshotManifest {
    /// Whether this names everything as a peer does that knows these branches: all of them, as far as it reaches beyond
    /// where they go off.
    package func knows(_ known: [Branch]) -> Bool {
        known.allSatisfy { branch in
            let offset = known.first { $0.id == branch.parent }?.offset ?? 0
            return branches.contains(branch) || vector[branch.parent] < branch.start - offset
        }
    }
}
