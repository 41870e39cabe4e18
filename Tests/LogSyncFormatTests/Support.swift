import Forgery
import LogSyncFormat
import LogSyncModel
import Testing

/// A transaction with its groups, as values.
struct Transaction: Equatable {
    var header: TransactionHeader
    var groups: [RowGroup]

    /// The groups put together again where a frame split them.
    var joined: [RowGroup] {
        groups.reduce(into: []) { joined, group in
            guard var last = joined.last, last.canTake(group) else { return joined.append(group) }
            joined.removeLast()
            last.identities += group.identities
            last.times += group.times
            last.integers += group.integers
            for index in last.columns.indices {
                last.columns[index].values += group.columns[index].values
                last.columns[index].times += group.columns[index].times
                last.columns[index].bases += group.columns[index].bases
            }
            joined.append(last)
        }
    }
}

extension RowGroup {
    fileprivate func canTake(_ other: RowGroup) -> Bool {
        table == other.table && kind == other.kind && integers.isEmpty == other.integers.isEmpty
            && columns.count == other.columns.count
            && zip(columns, other.columns).allSatisfy {
                $0.name == $1.name && $0.operation == $1.operation && $0.referencedTable == $1.referencedTable
                    && $0.times.isEmpty == $1.times.isEmpty && $0.bases.isEmpty == $1.bases.isEmpty
            }
    }
}

/// A segment's blocks and what the encoder said at its end.
struct Segment {
    var blocks: [[UInt8]] = []
    var chain = ChainHash.zero
    var counts: [String: ChangeCounts] = [:]

    var bytes: [UInt8] { blocks.flatMap { $0 } }
}

final class Sink {
    var blocks: [[UInt8]] = []
    var bytes: [UInt8] = []
}

func encode(_ transaction: Transaction, after previous: ChainHash = .zero, compresses: Bool = true) throws -> Segment {
    let sink = Sink()
    var encoder = try TransactionEncoder(header: transaction.header, previous: previous, compresses: compresses) {
        sink.blocks.append($0.bytes)
    }
    for group in transaction.groups { try encoder.append(group) }
    let (chain, counts) = try encoder.finish()
    return Segment(blocks: sink.blocks, chain: chain, counts: counts)
}

/// A log file of these transactions, which follow one another.
func file(
    _ transactions: [Transaction], after previous: ChainHash = .zero, compresses: Bool = true, content: String = "notes"
) throws -> (bytes: [UInt8], hash: FileHash, chain: ChainHash) {
    var chain = previous
    var segments: [Segment] = []
    for transaction in transactions {
        segments.append(try encode(transaction, after: chain, compresses: compresses))
        chain = segments[segments.count - 1].chain
    }
    let dots = transactions.map(\.header.dot)
    return try file(
        segments: segments.map(\.bytes), peer: dots[0].peer, dots[0].sequence...dots[dots.count - 1].sequence,
        before: previous, after: chain, content: content)
}

func file(
    segments: [[UInt8]], peer: PeerID, _ sequences: ClosedRange<UInt64>, before: ChainHash, after: ChainHash,
    content: String = "notes"
) throws -> (bytes: [UInt8], hash: FileHash, chain: ChainHash) {
    let sink = Sink()
    var writer = try LogFileWriter(
        content: content, peer: peer, sequences: sequences, chainBefore: before,
        segmentBytes: segments.map(\.count).reduce(0, +)
    ) { sink.bytes += $0 }
    for segment in segments { try writer.append(segment) }
    let hash = try writer.finish(chainAfter: after)
    return (sink.bytes, hash, after)
}

/// Everything that a file says; checks all that a reader can.
@discardableResult
func readAll(_ bytes: [UInt8]) throws -> [Transaction] {
    let reader = try LogFileReader(MemorySource(bytes))
    _ = try reader.verify()
    var transactions: [Transaction] = []
    while let segment = try reader.nextTransaction() {
        var groups: [RowGroup] = []
        while let frame = try segment.nextFrame() { groups += frame }
        _ = try segment.finish()
        transactions.append(Transaction(header: segment.header, groups: groups))
    }
    return transactions
}

func decode(_ blocks: [[UInt8]], peer: PeerID, after previous: ChainHash = .zero) throws -> (
    Transaction, TransactionEnd
) {
    var rest = blocks[...]
    let segment = try SegmentReader(peer: peer, previous: previous) { rest.popFirst() }
    var groups: [RowGroup] = []
    while let frame = try segment.nextFrame() { groups += frame }
    return (Transaction(header: segment.header, groups: groups), try segment.finish())
}

/// The case of an error, without its details.
enum Verdict: Equatable { case sound, incomplete, damaged, newerFormat, tooLarge }

func verdict(_ body: () throws -> Void) rethrows -> Verdict {
    do {
        try body()
        return .sound
    } catch let error as LogFileError {
        return switch error {
        case .incomplete: .incomplete
        case .damaged: .damaged
        case .newerFormat: .newerFormat
        case .tooLarge: .tooLarge
        }
    }
}

extension PeerID {
    static let a = PeerID(high: 0xA, low: 1)
    static let b = PeerID(high: 0xB, low: 2)
}

/// A few small transactions of peer a.
func smallTransactions(_ count: Int = 2) -> [Transaction] {
    (1...UInt64(count)).map { sequence in
        let time = HybridTime(milliseconds: 1_700_000_000_000 + Int64(sequence))
        return Transaction(
            header: TransactionHeader(
                dot: Dot(.a, sequence), time: time, dependencyChanges: [Dependency(Dot(.b, sequence))], author: "ann"),
            groups: [
                RowGroup(
                    table: "note", kind: .insert,
                    columns: [
                        .init(name: "title", values: [.text("first"), .text("second")]),
                        .init(name: "stars", values: [.integer(5), .null]),
                    ],
                    identities: [
                        RowIdentity(natural: [.text(Array("k1".utf8)[...])]),
                        RowIdentity(natural: [.text(Array("k2".utf8)[...])]),
                    ],
                    times: [time, time])
            ])
    }
}

func sha256(_ bytes: [UInt8]) -> [UInt8] { Forge.sha256(bytes) }

func littleEndian(_ number: some FixedWidthInteger) -> [UInt8] { Forge.littleEndian(number) }

/// A block made by hand, its check hash right.
func block(type: UInt8, codec: UInt8 = 0, flags: UInt8 = 0, rawLength: Int? = nil, _ stored: [UInt8]) -> [UInt8] {
    Forge.block(type: type, codec: codec, flags: flags, rawLength: rawLength, stored)
}

/// The file with its header's check hash and its trailer's hash put right after a change.
func rehashed(_ bytes: [UInt8], headerLength: Int) -> [UInt8] {
    var bytes = bytes
    bytes.replaceSubrange(headerLength - 8..<headerLength, with: sha256(Array(bytes[..<(headerLength - 8)])).prefix(8))
    bytes.replaceSubrange(bytes.count - 40..<bytes.count - 8, with: sha256(Array(bytes.dropLast(40))))
    return bytes
}
