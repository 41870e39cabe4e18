import Foundation
import LogSyncContainer
import LogSyncFormat
import LogSyncModel

/// A peer without a store: its transactions are written straight into log files, so that a folder of a thousand peers or
/// of a hundred thousand files is made in seconds. Nothing is synchronized; nobody pulls the plug on a benchmark.
struct FabricatedPeer {
    let id: PeerID
    let content: ContentFolder
    let schema: SchemaFingerprint
    private(set) var sequence: UInt64 = 0
    private var chain = ChainHash.zero
    private var time: Int64 = 1_700_000_000_000

    /// What a transaction says that has seen all of this peer's.
    var seen: Dependency { Dependency(dot, mark: chain.mark) }
    private var dot: Dot { Dot(id, sequence) }

    /// Makes its folder.
    init(_ number: Int, content: ContentFolder, schema: SchemaFingerprint) throws {
        id = PeerID(high: 0xFAB_0000 + UInt64(number), low: UInt64(number) &* 0x9E37_79B9_7F4A_7C15)
        self.content = content
        self.schema = schema
        let folder = content.peer(id)
        for name in ["logs", "schemas", "snapshots", "blobs"] {
            try FileManager.default.createDirectory(
                atPath: "\(folder.path)/\(name)", withIntermediateDirectories: true)
        }
        try write(PeerDescription(name: "peer \(number)", created: time).encoded(), to: folder.descriptionPath)
    }

    /// Publishes transactions that insert one item each, as one log file.
    ///
    /// - Parameter dependencies: what the first of them has seen.
    mutating func publish(_ items: some Collection<Workload.Item>, seen dependencies: [Dependency] = []) throws {
        let first = (sequence: sequence + 1, chain: chain)
        var segments: [UInt8] = []
        for item in items {
            sequence += 1
            time += 1
            let header = TransactionHeader(
                dot: dot, time: HybridTime(milliseconds: time),
                dependencyChanges: sequence == first.sequence ? dependencies : [], schema: schema)
            var blocks: [UInt8] = []
            var encoder = try TransactionEncoder(header: header, previous: chain) { blocks += $0.bytes }
            try encoder.append(item.insertion(HybridTime(milliseconds: time)))
            chain = try encoder.finish().chain
            segments += blocks
        }
        var bytes: [UInt8] = []
        var writer = try LogFileWriter(
            content: content.name.description, peer: id, sequences: first.sequence...sequence,
            chainBefore: first.chain, segmentBytes: segments.count
        ) { bytes += $0 }
        try writer.append(segments)
        let hash = try writer.finish(chainAfter: chain)
        guard let digits = LogSyncContainer.FileHash(hash.nameDigits),
            let name = LogFileName(first: first.sequence, last: sequence, fileHash: digits)
        else { throw BenchmarkError("a log file without a name") }
        try write(bytes, to: content.peer(id).path(name))
    }

    /// Says that it has imported so much.
    func acknowledge(_ vector: VersionVector) throws {
        let said = Receipt.Content(published: sequence, chain: chain.description, imported: vector)
        let receipt = Receipt(peer: id, counter: 1, nonce: "f", written: time, content: said)
        try write(receipt.encoded(), to: content.peer(id).receiptPath)
    }

    private func write(_ bytes: [UInt8], to path: String) throws {
        guard FileManager.default.createFile(atPath: path, contents: Data(bytes)) else {
            throw BenchmarkError("\(path) could not be written")
        }
    }
}

extension Workload.Item {
    /// As a log has it.
    fileprivate func insertion(_ time: HybridTime) -> RowGroup {
        RowGroup(
            table: "items", kind: .insert,
            columns: [
                .init(name: "id", values: [.text(id)]), .init(name: "title", values: [.text(title)]),
                .init(name: "body", values: [.text(body)]), .init(name: "qty", values: [.integer(quantity)]),
                .init(name: "price", values: [.real(price)]), .init(name: "done", values: [.integer(done)]),
            ],
            identities: [RowIdentity(natural: [.text(Array(id.utf8)[...])])], times: [time])
    }
}
