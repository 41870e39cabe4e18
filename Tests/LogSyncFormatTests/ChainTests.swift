import LogSyncFormat
import LogSyncModel
import Testing

@Suite struct ChainTests {
    @Test func `the chain hash is what the format says, worked out by hand`() throws {
        let transaction = smallTransactions()[0]
        let segment = try encode(transaction, compresses: false)
        var hashed = Array("logsync chain 1".utf8) + [0] + [UInt8](repeating: 0, count: 32) + PeerID.a.bytes
        hashed += littleEndian(UInt64(1))
        for block in segment.blocks {
            hashed += [block[0], block[2]] + block[3..<7] + block.dropFirst(19)
        }
        #expect(segment.chain.bytes == sha256(hashed))
    }

    @Test func `the chain hash does not depend on compression`() throws {
        var generator = Generator(seed: 5)
        let transaction = Transaction(
            header: generator.header(Dot(.a, 1)), groups: (0..<5).map { _ in generator.group(rows: 300) })
        let compressed = try encode(transaction)
        let plain = try encode(transaction, compresses: false)
        #expect(compressed.blocks != plain.blocks)
        #expect(compressed.chain == plain.chain)
        #expect(try decode(plain.blocks, peer: .a).1 == decode(compressed.blocks, peer: .a).1)
    }

    @Test func `the chain hash tells everything apart that could differ`() throws {
        let transaction = smallTransactions()[0]
        let segment = try encode(transaction)
        var chains: Set<ChainHash> = [segment.chain]
        chains.insert(try encode(transaction, after: segment.chain).chain)
        var other = transaction
        other.header.dot = Dot(.b, 1)
        other.header.dependencyChanges = []
        chains.insert(try encode(other).chain)
        other.header.dot = Dot(.a, 1)
        chains.insert(try encode(other).chain)
        other.header.time = other.header.time.successor
        chains.insert(try encode(other).chain)
        other.groups[0].columns[1].values[1] = .integer(0)
        chains.insert(try encode(other).chain)
        #expect(chains.count == 6)
    }

    @Test func `the same groups in the same portions give the same bytes`() throws {
        var generator = Generator(seed: 6)
        let transaction = Transaction(
            header: generator.header(Dot(.a, 1)), groups: (0..<3).map { _ in generator.group(rows: 50) })
        #expect(try encode(transaction).blocks == encode(transaction).blocks)
    }

    @Test func `files merged by concatenating their segments have the same transactions and chain`() throws {
        let transactions = smallTransactions(5)
        let first = try file(Array(transactions[..<2]))
        let second = try file(Array(transactions[2...]), after: first.chain)
        var segments: [[UInt8]] = []
        for part in [first, second] {
            let source = MemorySource(part.bytes)
            try LogFileReader(source).forEachSummary { summary in
                segments.append(source.read(at: summary.range.lowerBound, count: summary.range.count))
            }
        }
        let merged = try file(segments: segments, peer: .a, 1...5, before: .zero, after: second.chain)
        #expect(merged.bytes == (try file(transactions)).bytes)
        #expect(try readAll(merged.bytes) == transactions)
        #expect(try LogFileReader(MemorySource(merged.bytes)).chainAfter() == second.chain)
        // And a part of a file is a file.
        let part = try file(segments: [segments[2]], peer: .a, 3...3, before: first.chain, after: try chain(second, 3))
        #expect(try readAll(part.bytes) == [transactions[2]])
    }

    private func chain(_ file: (bytes: [UInt8], hash: FileHash, chain: ChainHash), _ sequence: UInt64) throws
        -> ChainHash
    {
        let reader = try LogFileReader(MemorySource(file.bytes))
        while let segment = try reader.nextTransaction() {
            let end = try segment.finish()
            if segment.header.dot.sequence == sequence { return end.chain }
        }
        return .zero
    }

    @Test func `blocks seen while reading are the segment, verbatim`() throws {
        let transactions = smallTransactions(2)
        let file = try file(transactions)
        let reader = try LogFileReader(MemorySource(file.bytes))
        var seen: [UInt8] = []
        let first = try #require(try reader.nextTransaction { seen += $0 })
        while try first.nextFrame() != nil {}
        #expect(seen == (try encode(transactions[0])).bytes)
        seen = []
        let second = try #require(try reader.nextTransaction { seen += $0 })
        _ = try second.finish()
        #expect(seen == (try encode(transactions[1], after: first.finish().chain)).bytes)
    }

    @Test func `summaries tell header, counts and place without reading frames`() throws {
        let transactions = smallTransactions(3)
        let bytes = try file(transactions).bytes
        var summaries: [TransactionSummary] = []
        try LogFileReader(MemorySource(bytes)).forEachSummary { summaries.append($0) }
        #expect(summaries.map(\.header) == transactions.map(\.header))
        #expect(summaries.allSatisfy { $0.counts == ["note": ChangeCounts(inserted: 2)] && $0.frames == 1 })
        #expect(zip(summaries, summaries.dropFirst()).allSatisfy { $0.range.upperBound == $1.range.lowerBound })
    }

    @Test func `a writer refuses segments that are not as long as announced`() throws {
        var writer = try LogFileWriter(
            content: "notes", peer: .a, sequences: 1...1, chainBefore: .zero, segmentBytes: 10
        ) { _ in }
        try writer.append([1, 2, 3])
        #expect(throws: LogSyncError.self) { try writer.append([UInt8](repeating: 0, count: 8)) }
        #expect(throws: LogSyncError.self) { _ = try writer.finish(chainAfter: .zero) }
    }

    @Test(arguments: ["", "Notes", ".notes", "no tes", "no/tes", String(repeating: "a", count: 64)])
    func `a writer refuses what is not a content name`(name: String) {
        #expect(throws: LogSyncError.self) {
            try LogFileWriter(content: name, peer: .a, sequences: 1...1, chainBefore: .zero, segmentBytes: 1) { _ in }
        }
    }
}
