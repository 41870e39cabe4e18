package import LogSyncFormat
package import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Whether a snapshot can be joined, and what for.
package enum Joinability: Sendable, Equatable {
    /// It brings this many transactions that have not been imported.
    case ready(UInt64)
    /// Everything in it has been imported.
    case nothingNew
    /// The same, and a peer's history in it goes by the id of a branch here: its author did not know of another one.
    case knownOtherwise
    /// Its history of this peer is another than the one imported here (one dot, different bytes), or it does not say that it
    /// is the same.
    case fork(PeerID)
    /// It has transactions of this store's own peer that this store never recorded, up to this sequence.
    case ahead(UInt64)
}

/// A snapshot has rows of a table that cannot be written here; nothing of it was taken.
package struct UnwritableSnapshot: Error {
    /// As a sentence without its end.
    package var detail: String
    /// Whether it is a trigger of this store's program that refuses a row.
    package var isOfTrigger = false
}

/// What joining a snapshot changed in the store.
package struct JoinedSnapshot: Sendable {
    /// The local changes that were recorded first, if there were any.
    package var recorded: RecordedTransaction?
    /// How many transactions are in the store now that were not before.
    package var transactions: UInt64
    package var tables: [String: TableChanges]
    /// The columns of which values are not known here any more, because the snapshot's author had lost them.
    package var lost: Set<ColumnName>
}

/// Joining snapshots that other peers have taken (Documentation/model.md, joining a snapshot).
extension Store {
    /// What the snapshot says of branches is taken over first.
    ///
    /// - Throws: `malformedLog` where that contradicts itself or what is known here.
    package func joinability(of manifest: SnapshotManifest) throws -> Joinability {
        let isNamedAsHere = try blamingSnapshot { try adoptBranches(of: manifest) }
        return try database.read { store in
            let joinability =
                isNamedAsHere
                ? try Self.joinability(of: manifest, store)
                : .fork(manifest.branches.first?.origin ?? manifest.peers.first?.id ?? PeerID(high: 0, low: 0))
            guard case .fork = joinability, try manifest.peers.allSatisfy({ try Self.hasImported($0, store) })
            else { return joinability }
            return .knownOtherwise
        }
    }

    /// Whether the last transaction of a peer's, and with it all before that, is here, under whichever id.
    private static func hasImported(_ peer: SnapshotManifest.Peer, _ store: OpenStore) throws -> Bool {
        let offset = store.peers[peer.id].map { store.peers.branches.offset(of: $0.number) } ?? 0
        return try knows(peer.id, offset + peer.sequence, peer.chain.mark, store) == .imported
    }

    private static func joinability(of manifest: SnapshotManifest, _ store: OpenStore) throws -> Joinability {
        var count: UInt64 = 0
        for peer in manifest.peers {
            let known = store.peers[peer.id]
            let sequence = known?.sequence ?? 0
            if peer.id == store.ownID, peer.sequence > sequence { return .ahead(peer.sequence) }
            if let known, sequence > 0, try !isSame(peer, manifest, as: known, store) { return .fork(peer.id) }
            if peer.sequence > sequence { count += peer.sequence - sequence }
        }
        return count == 0 ? .nothingNew : .ready(count)
    }

    /// Whether a snapshot's history of a peer and the one imported here are one, as far as both go. Where nobody says which
    /// transaction the last one is that both have, it is not known, and what only one side has of it would go.
    private static func isSame(
        _ peer: SnapshotManifest.Peer, _ manifest: SnapshotManifest, as known: PeerTable.Entry, _ store: OpenStore
    ) throws -> Bool {
        let last = min(peer.sequence, known.sequence)
        if let theirs = manifest.mark(of: peer.id, last) {
            return try store.peers.mark(of: known, last, on: store.connection) == theirs
        }
        // Snapshots of former versions name nothing before the first fork. A chain hash runs over all that comes before it, so
        // what is here of a branch that goes off there tells.
        let offset = manifest.branches.first { $0.id == peer.id }?.offset ?? 0
        return manifest.branches.contains {
            $0.parent == peer.id && $0.offset - offset == last && store.peers[$0.id]?.sequence ?? 0 > 0
        }
    }

    /// Whether a snapshot has all that this store has of the transactions for which it stands, with the same values, and as
    /// far as that can be told nothing beyond: so that files which hold them may go for it.
    ///
    /// - Parameters:
    ///   - record: records what is pending; called again where programs have written meanwhile. nil to write nothing.
    ///   - open: opens the snapshot, whose bytes have been verified; called once or more.
    /// - Returns: false, too, where it stands for transactions that have not been imported here, or for another history; nil
    ///   where programs have written what is not recorded, so that it cannot be told.
    /// - Throws: what the closures and reading throw.
    package func agrees(
        recording record: (() throws -> Void)? = nil, with open: () throws -> SnapshotReader
    ) throws -> Bool? {
        let manifest = try open().manifest
        // What it says of branches that are not known here is not taken over for this.
        guard try manifest.branches.allSatisfy(branches().contains), try joinability(of: manifest) == .nothingNew
        else { return false }
        // What a program has written, and nobody recorded, would be taken for what the transactions hold.
        func agrees(_ store: OpenStore) throws -> Bool {
            // A peer of which nothing was imported has no number.
            guard manifest.peers.allSatisfy({ store.peers[$0.id] != nil }) else { return false }
            let (reader, agreement) = (try open(), try SnapshotAgreement(store, manifest))
            while let rows = try reader.next() {
                guard try agreement.holds(rows) else { return false }
            }
            return try agreement.lacksNone() && agreement.hasNoneBeyond(manifest.vector)
        }
        if let record { return try whereAllIsRecorded(record, agrees) }
        return try database.read { store in
            if try agrees(store) { return true }
            return try Self.isAllRecorded(store) ? false : nil
        }
    }

    /// Joins a snapshot into a store that has rows of its own.
    ///
    /// What differs is found and put aside while writers go on; then local changes are recorded and it is joined in
    /// one SQLite transaction.
    ///
    /// - Parameters:
    ///   - blobs: gives the blobs that it names.
    ///   - dot: its author, and up to which of the author's transactions it goes, for the history.
    ///   - open: opens the snapshot, whose bytes have been verified; called once or more.
    /// - Throws: `malformedLog` where its rows make no sense or do not add up to its digest, or ``joinability(of:)`` is not `ready`;
    ///   ``SnapshotAhead`` where its rows lie in the future; ``UnwritableSnapshot``; `locked` where another process goes on importing; what `open`
    ///   and reading throw. Nothing is changed then.
    package func join(
        blobs: BlobSource? = nil, of dot: Dot? = nil, _ open: () throws -> SnapshotReader
    ) throws -> JoinedSnapshot {
        try blamingSnapshot { try preparingTables { try joinOnce(blobs, dot, open) } }
    }

    /// What taking in a snapshot throws is the snapshot's fault, unless it is the disk's, a lock's or the database's: another
    /// is used instead, and nothing else stops for it.
    func blamingSnapshot<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as LogSyncError {
            guard let refused = try database.withConnection({ try RefusedTransaction(error, on: $0) }) else {
                throw error
            }
            if refused.isOfProgram || refused.isOfTrigger {
                throw UnwritableSnapshot(detail: refused.detail, isOfTrigger: refused.isOfTrigger)
            }
            throw LogSyncError(
                .malformedLog, "the rows of a snapshot make no sense (\(refused.detail)); nothing of it was imported",
                help: "Another snapshot or the log files are used instead.")
        }
    }

    private func joinOnce(
        _ blobs: BlobSource?, _ dot: Dot?, _ open: () throws -> SnapshotReader
    ) throws -> JoinedSnapshot {
        for _ in 0..<Self.joinsToTry {
            let reader = try open()
            guard try adoptBranches(of: reader.manifest) else {
                throw LogSyncError(
                    .malformedLog, "a snapshot knows other branches of histories than this store; it was not joined",
                    help: "A newer snapshot, or the log files, are used instead.")
            }
            // Peers that are new here get their numbers, so that what is put aside can name them.
            try database.write { _ = try SnapshotTerms(reader.manifest, $0) }
            let (stage, vector, latest) = try put(aside: reader)
            if let joined = try join(stage, reader.manifest, comparedAt: vector, latest, blobs, dot) { return joined }
        }
        throw LogSyncError(
            .locked, "another logsync goes on importing into \(path); the snapshot was not joined",
            help: "Run the command again.")
    }

    private static let joinsToTry = 5

    /// - Returns: the rows, the vector by which they were compared, and the latest time of what will be taken.
    private func put(aside reader: SnapshotReader) throws -> (SnapshotStage, VersionVector, HybridTime) {
        try database.read { store in
            let stage = try SnapshotStage()
            let comparison = try SnapshotComparison(store, reader.manifest, stage)
            let times = try SnapshotTimes(store, reader.manifest, by: reader.header.peer)
            while let rows = try reader.next() {
                try times.check(rows)
                try comparison.compare(rows)
            }
            guard comparison.digest == reader.manifest.digest else { throw Self.anotherDigest }
            try comparison.findAbsent()
            return (stage, Self.imported(store), times.latest)
        }
    }

    static let anotherDigest = LogSyncError(
        .malformedLog, "the entries of a snapshot do not add up to what it says; nothing of it was imported",
        help: "Another snapshot or the log files are used instead.")

    /// The vector without this peer's own place, which moves whenever something is recorded.
    private static func imported(_ store: OpenStore) -> VersionVector {
        var vector = store.peers.vector
        vector[store.ownID] = 0
        return vector
    }

    /// nil where something was imported since the rows were compared.
    private func join(
        _ stage: SnapshotStage, _ manifest: SnapshotManifest, comparedAt vector: VersionVector, _ latest: HybridTime,
        _ blobs: BlobSource?, _ dot: Dot?
    ) throws -> JoinedSnapshot? {
        try database.write { store in
            guard Self.imported(store) == vector else { return nil }
            let recorded = try RecordStep(store).run()
            guard case .ready(let count) = try Self.joinability(of: manifest, store) else {
                throw LogSyncError(.malformedLog, "a snapshot cannot be joined now; nothing of it was imported")
            }
            try store.noteImport()
            store.noteTime(latest)
            let joiner = try Joiner(store, manifest, blobs: blobs)
            var deferred: [Int64] = []
            try stage.forEachRow { number, row in
                if try !joiner.join(row, mayDefer: true) { deferred.append(number) }
            }
            for number in deferred {
                guard let row = try stage.row(number) else { continue }
                try joiner.reserve(row.identity, row.integer, in: row.table)
            }
            for number in deferred {
                if let row = try stage.row(number) { try joiner.join(row, mayDefer: false) }
            }
            // What is recorded to bring rows back has seen the snapshot.
            try store.advance(to: manifest)
            try joiner.settle()
            try store.noteMerged()
            try store.keepHistory(joiner.tables, cause: .snapshot, from: dot, time: manifest.taken)
            return JoinedSnapshot(
                recorded: recorded, transactions: count, tables: joiner.tables,
                lost: joiner.lostColumns)
        }
    }
}

extension OpenStore {
    /// Raises the version vector to a snapshot's where that is further, with what goes along with each place in it.
    func advance(to manifest: SnapshotManifest) throws {
        for run in manifest.marks {
            let number = try peers.number(of: run.peer, on: connection)
            for (index, mark) in run.marks.enumerated() {
                try note(mark, of: number, at: run.first + UInt64(index))
            }
        }
        try NewPeers(store: self).add(manifest.peers.count { peers[$0.id]?.sequence ?? 0 == 0 })
        for peer in manifest.peers {
            let number = try peers.number(of: peer.id, on: connection)
            guard peer.sequence > peers.entries[number]?.sequence ?? 0 else { continue }
            try note(peer.chain.mark, of: number, at: peer.sequence)
            try peers.advance(number, to: peer.sequence, chain: peer.chain, on: connection)
            try peers.join(peer.dependencies, of: number, at: peer.sequence, on: connection)
        }
    }

    private func note(_ mark: ChainMark, of peer: Int64, at sequence: UInt64) throws {
        try connection.run(
            "INSERT OR IGNORE INTO logsync_mark(peer, sequence, mark) VALUES(?, ?, ?)", .integer(peer),
            .integer(Int64(sequence)), .integer(Int64(bitPattern: mark.rawValue)))
    }
}
