import LogFormat
import LogModel
import LogStore

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
        for change in reader.header.dependencyChanges { vector[change.peer] = change.sequence }
        vector[dot.peer] = dot.sequence - 1
        dependencies[dot.peer] = vector
        lasts[dot.peer] = dot.sequence
        let transaction = OracleTransaction(dot: dot, dependencies: vector, groups: groups)
        latest = max(latest, reader.header.time.milliseconds)
        for time in groups.flatMap(\.times) { latest = max(latest, time.milliseconds) }
        sent[dot] = Sent(
            transaction: transaction, header: reader.header, chainBefore: chainBefore, chain: chain, blocks: blocks)
        return transaction
    }

    /// Applies to an oracle's state whatever it lacks up to a vector.
    func advance(_ oracle: inout OracleState, to vector: VersionVector) throws {
        while oracle.vector != vector {
            let before = oracle.vector
            for (peer, sequence) in vector.sequences.sorted(by: { $0.key < $1.key }) {
                while oracle.vector[peer] < sequence, let next = self[Dot(peer, oracle.vector[peer] + 1)],
                    oracle.canApply(next)
                { oracle.apply(next) }
            }
            guard oracle.vector != before else {
                throw Failure(.error, "a store is at a vector to which no transactions lead")
            }
        }
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
