import LogSyncFormat
import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// The peers known to a store, by their local numbers, with the version vector.
final class PeerTable {
    struct Entry {
        var number: Int64
        var id: PeerID
        var sequence: UInt64
        var chain: ChainHash
        var declared: UInt64
        var acceptsClock: Bool
        /// Up to here a snapshot brought it.
        var joined: UInt64 = 0
    }

    private(set) var entries: [Int64: Entry] = [:]
    private(set) var branches: Branches
    private var numbers: [PeerID: Int64] = [:]
    /// Per author, the dependencies of its last imported transaction; read when first needed.
    private var dependencies: [Int64: VersionVector] = [:] {
        didSet { seen = nil }
    }
    /// What was told last of a transaction's dependencies: it is asked for twice, and has an entry for each of a thousand
    /// peers.
    private var seen: (header: TransactionHeader, vector: VersionVector, coverage: Coverage)?

    init(on connection: Connection) throws {
        branches = try Branches(on: connection)
        for row in try connection.rows(
            "SELECT number, id, sequence, chain, declared, accepts_clock, joined FROM logsync_peer")
        {
            guard case .blob(let bytes) = row[1], let id = PeerID(bytes: bytes) else { continue }
            var chain = ChainHash.zero
            if case .blob(let bytes) = row[3], let stored = ChainHash(bytes: Array(bytes)) { chain = stored }
            add(
                Entry(
                    number: row[0].asInteger, id: id, sequence: UInt64(row[2].asInteger), chain: chain,
                    declared: UInt64(row[4].asInteger), acceptsClock: row[5].asInteger != 0,
                    joined: UInt64(row[6].asInteger)))
        }
    }

    private func add(_ entry: Entry) {
        entries[entry.number] = entry
        numbers[entry.id] = entry.number
    }

    var vector: VersionVector {
        VersionVector(Dictionary(entries.values.map { ($0.id, $0.sequence) }, uniquingKeysWith: max))
    }

    subscript(id: PeerID) -> Entry? { numbers[id].flatMap { entries[$0] } }

    func id(_ number: Int64) -> PeerID {
        entries[number]?.id ?? PeerID(high: 0, low: 0)
    }

    /// The number of a peer, given to it now if it is new here.
    func number(of id: PeerID, on connection: Connection) throws -> Int64 {
        if let number = numbers[id] { return number }
        try connection.run("INSERT INTO logsync_peer(id) VALUES(?)", .blob(id.bytes[...]))
        let number = connection.lastInsertedRow
        add(Entry(number: number, id: id, sequence: 0, chain: .zero, declared: 0, acceptsClock: false))
        return number
    }

    /// Moves a peer's place in the vector.
    func advance(_ number: Int64, to sequence: UInt64, chain: ChainHash, on connection: Connection) throws {
        try connection.run(
            "UPDATE logsync_peer SET sequence = ?2, chain = ?3 WHERE number = ?1", .integer(number),
            .integer(Int64(sequence)), .blob(chain.bytes[...]))
        entries[number]?.sequence = sequence
        entries[number]?.chain = chain
    }

    /// The entries that moved since our last transaction said so; marks them as said.
    func declareDependencies(of own: Int64, on connection: Connection) throws -> [Dependency] {
        var changes: [Dependency] = []
        for entry in entries.values where entry.number != own && entry.sequence != entry.declared {
            // 0 has nothing to say: what was seen of it goes by another id now, which says so.
            if entry.sequence > 0 {
                changes.append(Dependency(Dot(entry.id, entry.sequence), mark: entry.chain.mark))
            }
            try connection.run(
                "UPDATE logsync_peer SET declared = ?2 WHERE number = ?1", .integer(entry.number),
                .integer(Int64(entry.sequence)))
            entries[entry.number]?.declared = entry.sequence
        }
        return changes.sorted { $0.dot < $1.dot }
    }

    func reloadBranches(on connection: Connection) throws {
        branches = try Branches(on: connection)
        (dependencies, seen) = ([:], nil)
    }

    func acceptClock(of number: Int64, on connection: Connection) throws {
        try connection.run("UPDATE logsync_peer SET accepts_clock = 1 WHERE number = ?", .integer(number))
        entries[number]?.acceptsClock = true
    }

    // MARK: Dependencies of imported transactions

    /// What a transaction depends on.
    enum Dependencies {
        /// All of it has been imported.
        case seen(VersionVector)
        case missing([Dot])
        /// This dot has been imported, and is another transaction.
        case otherBranch(Dot)
    }

    /// What `header`'s transaction depends on: its author's previous dependencies with its changes,
    /// and the author's own previous transaction.
    func dependencies(of header: TransactionHeader, on connection: Connection) throws -> Dependencies {
        if let seen, seen.header == header { return .seen(seen.vector) }
        if let vector = follow(header) { return .seen(vector) }
        let found = try findDependencies(of: header, on: connection)
        if case .seen(let vector) = found { seen = (header, vector, Coverage(vector, peers: self)) }
        return found
    }

    /// Of a transaction that names no news, right after the one that was last asked about: what that had seen, and that one.
    /// Raised in place, because a thousand peers' entries are a lot to copy for each.
    private func follow(_ header: TransactionHeader) -> VersionVector? {
        guard header.dependencyChanges.isEmpty,
            seen?.header.dot == Dot(header.dot.peer, header.dot.sequence - 1),
            let author = self[header.dot.peer], author.sequence == header.dot.sequence - 1
        else { return nil }
        seen?.header = header
        seen?.vector[header.dot.peer] = header.dot.sequence - 1
        seen?.coverage.raise(author.number, to: header.dot.sequence - 1)
        return seen?.vector
    }

    /// What that covers; to be asked for when ``dependencies(of:on:)`` has said that all of it is here.
    func coverage(of header: TransactionHeader) -> Coverage? {
        seen?.header == header ? seen?.coverage : nil
    }

    private func findDependencies(of header: TransactionHeader, on connection: Connection) throws -> Dependencies {
        var vector = VersionVector()
        if let author = self[header.dot.peer] {
            if let branch = branches.entries[author.number], author.sequence == 0 {
                let last = Dot(id(branch.parent), branch.offset - branches.offset(of: branch.parent))
                guard self.vector.covers(last) else { return .missing([last]) }
            }
            guard let last = try lastDependencies(of: author.number, on: connection) else {
                return .otherBranch(header.dot)
            }
            vector = last
        }
        var missing: [Dot] = []
        for change in header.dependencyChanges where change.dot.peer != header.dot.peer {
            switch try resolve(change, on: connection) {
            case .seen(let seen): vector.formUnion(seen)
            case .missing: missing.append(change.dot)
            case .otherBranch(let dot): return .otherBranch(dot)
            }
        }
        vector[header.dot.peer] = header.dot.sequence - 1
        return missing.isEmpty ? .seen(vector) : .missing(missing)
    }

    /// nil where a branch goes off so early that nobody here knows what came before.
    func lastDependencies(of author: Int64, on connection: Connection) throws -> VersionVector? {
        if let known = dependencies[author] { return known }
        if entries[author]?.sequence == 0, let branch = branches.entries[author] {
            // A branch begins with what its parent had seen where it goes off.
            let last = branch.offset - branches.offset(of: branch.parent)
            guard var vector = try dependencies(of: branch.parent, at: last, on: connection) else { return nil }
            vector[id(branch.parent)] = last
            dependencies[author] = vector
            return vector
        }
        var vector = VersionVector()
        for row in try connection.rows(
            "SELECT other, sequence FROM logsync_dependency WHERE peer = ?", .integer(author))
        {
            vector[id(row[0].asInteger)] = UInt64(row[1].asInteger)
        }
        dependencies[author] = vector
        return vector
    }

    /// Remembers an imported transaction's dependencies for its author's next one.
    ///
    /// - Parameter hasNews: whether it named any that its author's previous one had not.
    func keepDependencies(
        _ vector: VersionVector, hasNews: Bool, of author: Int64, on connection: Connection
    ) throws {
        // A branch's first transaction writes down what it begins with.
        let isFirst = vector[id(author)] == 0
        guard hasNews || isFirst else { return }
        let former = try isFirst ? VersionVector() : lastDependencies(of: author, on: connection) ?? VersionVector()
        let ownID = id(author)
        for (peer, sequence) in vector.sequences where peer != ownID && former[peer] != sequence {
            try connection.run(
                "INSERT OR REPLACE INTO logsync_dependency(peer, other, sequence) VALUES(?, ?, ?)",
                .integer(author), .integer(try number(of: peer, on: connection)), .integer(Int64(sequence)))
        }
        dependencies[author] = vector
        dependencies[author]?[ownID] = 0
    }

    /// Takes the dependencies of a snapshot's peer, as they were where the snapshot has it.
    func join(_ vector: VersionVector, of author: Int64, at sequence: UInt64, on connection: Connection) throws {
        for table in ["logsync_dependency", "logsync_joined"] {
            try connection.run("DELETE FROM \(table) WHERE peer = ?", .integer(author))
            for dot in vector.dots where dot.peer != id(author) {
                try connection.run(
                    "INSERT INTO \(table)(peer, other, sequence) VALUES(?, ?, ?)", .integer(author),
                    .integer(try number(of: dot.peer, on: connection)), .integer(Int64(dot.sequence)))
            }
        }
        try connection.run(
            "UPDATE logsync_peer SET joined = ?2 WHERE number = ?1", .integer(author), .integer(Int64(sequence)))
        entries[author]?.joined = sequence
        dependencies[author] = nil
    }
}

extension Coverage {
    init(_ vector: VersionVector, peers: PeerTable) { self.init(vector) { peers[$0]?.number } }
}
