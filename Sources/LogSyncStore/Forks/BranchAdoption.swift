import LogSyncFormat
import LogSyncModel
import LogSyncSQLite

/// Gives the branches of one peer's history their ids (``Branch``), within the caller's write transaction.
///
/// The outcome is a function of the transactions alone, in whatever order the branches come to be known: at each fork
/// the transaction with the lowest mark goes on under the id of what comes before it.
struct BranchAdoption {
    private let store: OpenStore
    private let origin: Int64
    private var connection: Connection { store.connection }
    private var peers: PeerTable { store.peers }

    init(_ store: OpenStore, origin: PeerID) throws {
        self.store = store
        self.origin = try store.peers.number(of: origin, on: store.connection)
    }

    /// A place in the history: right after a transaction, by the number of the peer or branch that it is of.
    private struct Node: Hashable {
        var number: Int64
        var sequence: UInt64
    }

    // MARK: From files

    func adopt(_ places: [BranchPlace]) throws {
        let places = Set(places).sorted { ($0.sequence, $0.after) < ($1.sequence, $1.after) }
        // What one fork moves, the next looks up again.
        while let (node, before, marks) = try nextFork(places) {
            guard try fork(after: node, into: marks, before: before) else { break }
        }
    }

    /// The first place where transactions follow of which one is not known yet, with the marks of all that do.
    private func nextFork(_ places: [BranchPlace]) throws -> (Node, before: ChainHash, Set<ChainMark>)? {
        var start = places.startIndex
        while start < places.endIndex {
            let end = places[start...].firstIndex { $0.sequence != places[start].sequence } ?? places.endIndex
            let groups = Dictionary(grouping: places[start..<end], by: \.before).sorted { $0.key < $1.key }
            for (before, siblings) in groups {
                guard let node = try node(at: places[start].sequence - 1, before) else { continue }
                guard let known = try marks(after: node) else { continue }
                let all = known.union(siblings.map(\.after.mark))
                // The next transaction of a peer is no fork, as long as it is alone.
                if all.count > max(known.count, 1) { return (node, before, all) }
            }
            start = end
        }
        return nil
    }

    /// Where a chain hash is that of a transaction imported here.
    private func node(at place: UInt64, _ chain: ChainHash) throws -> Node? {
        if place == 0 { return chain == .zero ? Node(number: origin, sequence: 0) : nil }
        for number in peers.branches.family(of: origin) ?? [origin] {
            let offset = peers.branches.offset(of: number)
            guard let entry = peers.entries[number], place > offset, place - offset <= entry.sequence,
                try peers.mark(of: entry, place - offset, on: connection) == chain.mark
            else { continue }
            return Node(number: number, sequence: place - offset)
        }
        return nil
    }

    /// The marks of what is known to follow; nil where something does and nobody said what.
    private func marks(after node: Node) throws -> Set<ChainMark>? {
        var marks: Set<ChainMark> = []
        for branch in branches(after: node) { marks.formUnion([branch.mark, branch.kept]) }
        guard let entry = peers.entries[node.number], entry.sequence > node.sequence else { return marks }
        guard let mark = try peers.mark(of: entry, node.sequence + 1, on: connection) else { return nil }
        marks.insert(mark)
        return marks
    }

    private func branches(after node: Node) -> [Branches.Entry] {
        peers.branches.entries.values.filter { $0.parent == node.number && $0.start == start(after: node) }
    }

    /// The sequence in its file of a transaction that follows.
    private func start(after node: Node) -> UInt64 { peers.branches.offset(of: node.number) + node.sequence + 1 }

    // MARK: From a snapshot

    /// False where it cannot be told whether what was imported here is that branch.
    ///
    /// - Throws: `malformedLog` where what has the branch's id here is another thing.
    func adopt(_ branch: Branch, _ manifest: SnapshotManifest) throws -> Bool {
        if let known = store.branches.first(where: { $0.id == branch.id }) {
            if known == branch { return true }
            guard known.start == branch.start else { throw contradiction(branch) }
        } else if peers[branch.id].map({ $0.sequence > 0 }) ?? false {
            throw contradiction(branch)
        }
        let parent = try peers.number(of: branch.parent, on: connection)
        let offset = peers.branches.offset(of: parent)
        guard branch.start > offset, peers.branches.origin(of: parent) == origin else { return false }
        let node = Node(number: parent, sequence: branch.start - offset - 1)
        guard let known = try marks(after: node), try isSame(branch, at: node, known, manifest),
            try fork(after: node, into: known.union([branch.kept, branch.mark]), before: nil, manifest)
        else { return false }
        return true
    }

    /// Whether a snapshot's author means by what comes before a branch what was imported here. Where that is another history,
    /// the two part before the place of which the author knows, and its names mean other transactions here.
    ///
    /// - Parameter known: the marks of what is known to follow.
    private func isSame(
        _ branch: Branch, at node: Node, _ known: Set<ChainMark>, _ manifest: SnapshotManifest
    ) throws -> Bool {
        let last = min(node.sequence, peers.entries[node.number]?.sequence ?? 0)
        guard last > 0, let entry = peers.entries[node.number] else { return true }
        // A chain hash runs over all that comes before it, so what follows tells, too.
        if !known.isDisjoint(with: [branch.kept, branch.mark]) { return true }
        guard let mark = manifest.mark(of: branch.parent, last) else { return false }
        return try peers.mark(of: entry, last, on: connection) == mark
    }

    private func contradiction(_ branch: Branch) -> LogSyncError {
        LogSyncError(
            .malformedLog,
            "what a snapshot says of a branch of \(branch.origin) contradicts what is known of it here; nothing of it was "
                + "imported", help: "Another snapshot or the log files are used instead.")
    }

    // MARK: One fork

    /// Gives all but the first of what follows on a transaction ids of their own.
    ///
    /// - Parameters:
    ///   - marks: of all that is known to follow; at least two.
    ///   - before: the chain hash of that transaction; nil where unknown.
    ///   - manifest: of the snapshot that says so, which knows more than this store.
    /// - Returns: false where this store does not know enough, because a snapshot brought what it has; nothing is
    ///   changed then.
    private func fork(
        after node: Node, into marks: Set<ChainMark>, before: ChainHash?, _ manifest: SnapshotManifest? = nil
    ) throws -> Bool {
        guard let lowest = marks.min(), let entry = peers.entries[node.number] else { return false }
        let siblings = branches(after: node)
        let isFurther = entry.sequence > node.sequence
        let going =
            try isFurther ? peers.mark(of: entry, node.sequence + 1, on: connection) : siblings.first?.kept
        let chain = try before ?? chain(at: node, entry)
        var dependencies: VersionVector?
        if let going, going != lowest, isFurther {
            dependencies = try peers.dependencies(of: node.number, at: node.sequence, on: connection)
            guard dependencies != nil || manifest != nil else { return false }
        }
        let start = start(after: node)
        for mark in marks.sorted() where mark != lowest && !siblings.contains(where: { $0.mark == mark }) {
            let id = Branch.id(of: mark, origin: peers.id(origin))
            let number = try peers.number(of: id, on: connection)
            // It goes off from somewhere else here.
            guard peers.branches.entries[number] == nil else { return false }
            try peers.add(
                Branches.Entry(
                    number: number, origin: origin, start: start, mark: mark, parent: node.number, kept: lowest),
                chain: chain, on: connection)
        }
        guard let going, going != lowest else { return true }
        let id = Branch.id(of: going, origin: peers.id(origin))
        let branch = try peers.number(of: id, on: connection)
        try peers.reparent(from: node.number, after: start, to: branch, kept: lowest, on: connection)
        if isFurther {
            try peers.moveTail(
                of: node.number, after: node.sequence, to: branch, chain: chain, dependencies ?? VersionVector(),
                on: connection)
            try store.reloadPeers()
            try BranchRows(store, from: node.number, after: node.sequence, to: branch).move()
        }
        if let place = manifest?.peers.first(where: { $0.id == peers.id(node.number) }), place.sequence == node.sequence
        {
            try peers.advance(node.number, to: node.sequence, chain: place.chain, on: connection)
            try peers.join(place.dependencies, of: node.number, at: node.sequence, on: connection)
        }
        return true
    }

    private func chain(at node: Node, _ entry: PeerTable.Entry) throws -> ChainHash {
        if node.sequence == entry.sequence { return entry.chain }
        return ChainHash(try peers.mark(of: entry, node.sequence, on: connection) ?? ChainMark(rawValue: 0))
    }
}
