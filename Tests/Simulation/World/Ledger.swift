import LogSyncFormat
import LogSyncModel
import LogSyncStore

/// Every transaction that any peer has recorded: as bytes, for others to import, and decoded, for the oracle.
final class Ledger {
    private struct Sent {
        var transaction: OracleTransaction
        var header: TransactionHeader
        var chainBefore: ChainHash
        var chain: ChainHash
        var blocks: [[UInt8]]
    }

    private var sent: [Dot: Sent] = [:]
    private(set) var lasts = VersionVector()
    /// The dependencies of each author's last transaction.
    private var dependencies: [PeerID: VersionVector] = [:]
    /// Is told of each transaction when it is found.
    var trace: (String) -> Void = { _ in }
    /// The latest time of any transaction, in milliseconds.
    private(set) var latest: Int64 = 0

    subscript(dot: Dot) -> OracleTransaction? { sent[dot]?.transaction }

    func time(of dot: Dot) -> Int64 { sent[dot]?.header.time.milliseconds ?? 0 }

    var count: Int { sent.count }

    /// Reads what a store has recorded since the last time; returns it in order.
    func harvest(_ store: Store) throws -> [OracleTransaction] {
        var found: [OracleTransaction] = []
        for entry in try store.outbox(unpublishedOnly: false) where entry.dot.sequence > lasts[entry.dot.peer] {
            var blocks: [[UInt8]] = []
            try store.forEachOutboxBlock(of: entry.dot) { blocks.append($0) }
            found.append(try add(entry.dot, chainBefore: entry.chainBefore, chain: entry.chain, blocks))
        }
        return found
    }

    /// Reads log files of a peer for what has left its outbox since the last time: one sync may record a transaction,
    /// publish it, and let a snapshot stand for it.
    func harvest(files: [[UInt8]]) throws {
        let readers = try files.map { try LogFileReader(MemorySource($0)) }
        for reader in readers.sorted(by: { $0.header.sequences.lowerBound < $1.header.sequences.lowerBound }) {
            var chain = reader.header.chainBefore
            var blocks: [[UInt8]] = []
            while let segment = try reader.nextTransaction(onBlock: { blocks.append(Array($0)) }) {
                let after = try segment.finish().chain
                defer {
                    chain = after
                    blocks = []
                }
                guard segment.header.dot.sequence == lasts[segment.header.dot.peer] + 1 else { continue }
                _ = try add(segment.header.dot, chainBefore: chain, chain: after, blocks)
            }
        }
    }

    /// Forgets what a store had recorded and nobody was given, because another takes the store's place.
    func forget(_ dots: [Dot]) {
        for dot in dots.sorted(by: >) where dot.sequence == lasts[dot.peer] && sent[dot] != nil {
            sent[dot] = nil
            lasts[dot.peer] = dot.sequence - 1
            var vector = self[Dot(dot.peer, dot.sequence - 1)]?.dependencies ?? VersionVector()
            if dot.sequence > 1 { vector[dot.peer] = dot.sequence - 1 }
            dependencies[dot.peer] = vector
        }
    }

    private func add(
        _ dot: Dot, chainBefore: ChainHash, chain: ChainHash, _ blocks: [[UInt8]]
    ) throws -> OracleTransaction {
        let reader = try Self.reader(dot, chainBefore, blocks)
        var groups: [RowGroup] = []
        while let frame = try reader.nextFrame() { groups += frame }
        guard try reader.finish().chain == chain else {
            throw Failure(.error, "the chain hash of \(dot) is not the one that its store keeps")
        }
        guard dot.sequence == lasts[dot.peer] + 1 else {
            throw Failure(.error, "\(dot) follows on \(lasts[dot.peer]): a gap among a peer's own transactions")
        }
        var vector = dependencies[dot.peer] ?? VersionVector()
        for change in reader.header.dependencyChanges { vector[change.dot.peer] = change.dot.sequence }
        vector[dot.peer] = dot.sequence - 1
        dependencies[dot.peer] = vector
        lasts[dot.peer] = dot.sequence
        let transaction = OracleTransaction(dot: dot, dependencies: vector, groups: groups)
        trace("    \(transaction)")
        latest = max(latest, reader.header.time.milliseconds)
        for time in groups.flatMap(\.times) { latest = max(latest, time.milliseconds) }
        sent[dot] = Sent(
            transaction: transaction, header: reader.header, chainBefore: chainBefore, chain: chain, blocks: blocks)
        return transaction
    }

    /// Applies to the oracle's state of a peer whatever it lacks up to a vector, in an order in which it may have come,
    /// and looks at each recording of the peer itself as it comes.
    func advance(_ oracle: inout OracleState, of own: PeerID, to vector: VersionVector) throws {
        while oracle.vector != vector {
            guard let next = next(oracle, own, vector) else {
                throw Failure(
                    .error, "a store is at \(vector), to which no transactions lead from \(oracle.vector)")
            }
            if next.dot.peer == own, let fault = OracleRecording.fault(of: next, in: oracle) {
                throw Failure(.recording, fault)
            }
            oracle.apply(next)
        }
    }

    /// The peer's own next transaction where it has seen no more than this; else one that it had seen.
    private func next(_ oracle: OracleState, _ own: PeerID, _ vector: VersionVector) -> OracleTransaction? {
        var limit = vector
        if oracle.vector[own] < vector[own], let mine = self[Dot(own, oracle.vector[own] + 1)] {
            if mine.dependencies == oracle.vector { return mine }
            limit = mine.dependencies
        }
        for (peer, sequence) in limit.sequences.sorted(by: { $0.key < $1.key }) where oracle.vector[peer] < sequence {
            if let next = self[Dot(peer, oracle.vector[peer] + 1)], oracle.canApply(next) { return next }
        }
        return nil
    }

    /// A transaction as an importer gets it.
    func incoming(_ dot: Dot) -> IncomingTransaction? {
        guard let sent = sent[dot] else { return nil }
        return IncomingTransaction(header: sent.header, chainBefore: sent.chainBefore, chain: sent.chain) { body in
            let reader = try Self.reader(dot, sent.chainBefore, sent.blocks)
            while let groups = try reader.nextFrame() { try groups.forEach(body) }
        }
    }

    private static func reader(_ dot: Dot, _ previous: ChainHash, _ blocks: [[UInt8]]) throws -> SegmentReader {
        var queue = blocks[...]
        return try SegmentReader(peer: dot.peer, previous: previous) { queue.popFirst() }
    }
}
