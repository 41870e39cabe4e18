import LogSyncFormat
import LogSyncModel
import Testing

@Suite struct RoundTripTests {
    @Test(arguments: UInt64(1)...UInt64(60))
    func `random transactions come back as they were, from blocks and from files`(seed: UInt64) throws {
        var generator = Generator(seed: seed)
        let transactions = (UInt64(1)...3).map { sequence in
            let count = generator.random.below(5)
            return Transaction(
                header: generator.header(Dot(.a, sequence)),
                groups: (0..<count).map { _ in
                    let rows = 1 + generator.random.below(generator.random.pick([1, 5, 200]))
                    return generator.group(rows: rows)
                })
        }
        let file = try file(transactions)
        #expect(try readAll(file.bytes) == transactions)
        #expect(FileHash(bytes: sha256(file.bytes)) == file.hash)
        let segment = try encode(transactions[0])
        let (decoded, end) = try decode(segment.blocks, peer: .a)
        #expect(decoded == transactions[0])
        #expect(end.chain == segment.chain)
        #expect(end.counts == segment.counts)
    }

    @Test func `every storage class comes back bit for bit`() throws {
        let values: [Value] = [
            .null, .integer(1), .real(1), .text("1"), .blob([0x31]), .integer(.min), .integer(.max), .integer(0),
            .real(0.0), .real(-0.0), .real(.infinity), .real(-.infinity),
            .real(Double(bitPattern: 0x7FF8_0000_DEAD_BEEF)),
            .real(Double(bitPattern: 0xFFF0_0000_0000_0001)), .real(.leastNonzeroMagnitude), .text(""), .blob([]),
            .text([0x61, 0, 0x62]), .text([0xFF, 0xFE, 0xC0]), .blob([0, 0, 0]),
            .reference(RowIdentity(surrogate: [UInt8](repeating: 7, count: 16))),
            .reference(RowIdentity(natural: [.text([]), .integer(-1)])),
        ]
        // Alone, all alike, and together, so that each is met in its own encoding and in a mixed column.
        for column in values.map({ [$0] }) + values.map({ [$0, $0, $0] }) + [values] {
            let group = RowGroup(
                table: "t", kind: .insert, columns: [.init(name: "c", values: column)],
                identities: column.indices.map { RowIdentity(natural: [.integer(Int64($0))]) },
                times: column.map { _ in .zero })
            let transaction = Transaction(header: TransactionHeader(dot: Dot(.a, 1), time: .zero), groups: [group])
            let (decoded, _) = try decode(try encode(transaction).blocks, peer: .a)
            #expect(decoded == transaction)
        }
    }

    @Test func `a transaction without rows, only a header and an end, comes back`() throws {
        let transaction = Transaction(header: TransactionHeader(dot: Dot(.a, Limits.sequence), time: .zero), groups: [])
        let file = try file([transaction])
        #expect(try readAll(file.bytes) == [transaction])
    }

    @Test func `values larger than a frame are split over blocks and come back`() throws {
        var random = SeededGenerator(seed: 3)
        let noise = random.bytes(3 << 20)
        let zeros = [UInt8](repeating: 0, count: 5 << 20)
        let time = HybridTime(milliseconds: 1_700_000_000_000)
        let transaction = Transaction(
            header: TransactionHeader(dot: Dot(.a, 1), time: time),
            groups: [
                RowGroup(
                    table: "file", kind: .insert,
                    columns: [
                        .init(name: "content", values: [.blob(noise[...]), .text("small"), .blob(zeros[...]), .null])
                    ],
                    identities: (0..<4).map { RowIdentity(natural: [.integer($0)]) },
                    times: [time, time, time, time])
            ])
        let segment = try encode(transaction)
        #expect(segment.blocks.allSatisfy { $0.count <= 1 << 20 + 19 })
        #expect(segment.blocks.count(where: { $0[0] == 2 && $0[2] == 1 }) == 8)
        let (decoded, end) = try decode(segment.blocks, peer: .a)
        #expect(decoded.joined == transaction.groups)
        #expect(end.chain == segment.chain)
        let file = try file([transaction])
        #expect(try readAll(file.bytes).map(\.joined) == [transaction.groups])
    }

    @Test func `a large group spans many frames, none much larger than a mebibyte`() throws {
        var random = SeededGenerator(seed: 4)
        let rows = 40_000
        let time = HybridTime(milliseconds: 1_700_000_000_000)
        let texts = (0..<rows).map { _ in Value.blob(random.bytes(100 + random.below(100))[...]) }
        let group = RowGroup(
            table: "note", kind: .update,
            columns: [
                .init(name: "body", values: texts),
                .init(name: "rank", values: (0..<rows).map { .integer(Int64($0)) }),
            ],
            identities: (0..<rows).map { _ in RowIdentity(surrogate: random.bytes(16)) },
            times: (0..<rows).map { HybridTime(rawValue: time.rawValue + UInt64($0)) },
            integers: (0..<rows).map { Int64($0) * 3 })
        let transaction = Transaction(header: TransactionHeader(dot: Dot(.a, 9), time: time), groups: [group])
        let segment = try encode(transaction)
        let frames = segment.blocks.filter { $0[0] == 2 }
        #expect(frames.count > 5)
        #expect(frames.allSatisfy { $0[2] == 0 }, "no frame needs a second block")
        let (decoded, end) = try decode(segment.blocks, peer: .a)
        #expect(decoded.groups.count < 3 * frames.count)
        #expect(decoded.joined == [group])
        #expect(end.frames == frames.count)
        #expect(end.counts == ["note": ChangeCounts(updated: rows)])
    }

    @Test func `rows that take hardly any bytes are bounded by their cells`() throws {
        let rows = 300_000
        let group = RowGroup(
            table: "flag", kind: .insert,
            columns: (0..<9).map { .init(name: "c\($0)", values: Array(repeating: .null, count: rows)) },
            identities: (0..<rows).map { RowIdentity(natural: [.integer(Int64($0))]) },
            times: Array(repeating: .zero, count: rows))
        let transaction = Transaction(header: TransactionHeader(dot: Dot(.a, 1), time: .zero), groups: [group])
        let segment = try encode(transaction)
        let (decoded, _) = try decode(segment.blocks, peer: .a)
        #expect(decoded.groups.allSatisfy { $0.rowCount * 10 <= 1 << 20 })
        #expect(decoded.joined == [group])
    }

    @Test func `deletes of integer keys, a byte each, fill a frame to its bound and come back`() throws {
        let rows = 1_300_000
        let group = RowGroup(
            table: "event", kind: .delete,
            identities: (0..<rows).map { RowIdentity(natural: [.integer(Int64($0))]) },
            times: Array(repeating: .zero, count: rows))
        let segment = try encode(
            Transaction(header: TransactionHeader(dot: Dot(.a, 1), time: .zero), groups: [group]))
        let (decoded, end) = try decode(segment.blocks, peer: .a)
        #expect(end.frames == 2)
        #expect(decoded.groups.map(\.rowCount).reduce(0, +) == rows)
        #expect(decoded.groups.last?.identities.last == group.identities.last)
    }

    @Test func `a frame read in part, or not at all, still gives the end and the chain`() throws {
        let transactions = smallTransactions(3)
        let file = try file(transactions)
        let reader = try LogFileReader(MemorySource(file.bytes))
        let first = try #require(try reader.nextTransaction())
        #expect(try first.nextFrame() == transactions[0].groups)
        _ = try #require(try reader.nextTransaction())
        let third = try #require(try reader.nextTransaction())
        let end = try third.finish()
        #expect(end.chain == file.chain)
        #expect(end.counts == ["note": ChangeCounts(inserted: 2)])
        #expect(try reader.nextTransaction() == nil)
        #expect(try reader.chainAfter() == file.chain)
    }

    @Test func `a visitor is told everything in order`() throws {
        struct Recorder: LogFileVisitor {
            var seen: [String] = []
            mutating func visit(_ header: LogFileHeader) { seen.append("file \(header.content) \(header.sequences)") }
            mutating func visit(_ transaction: TransactionHeader) {
                seen.append("transaction \(transaction.dot.sequence)")
            }
            mutating func visit(_ groups: [RowGroup]) { seen.append("frame \(groups.map(\.rowCount))") }
            mutating func visit(_ end: TransactionEnd) { seen.append("end \(end.frames)") }
            mutating func visit(chainAfter: ChainHash, fileHash: FileHash) { seen.append(fileHash.nameDigits) }
        }
        let file = try file(smallTransactions())
        var recorder = Recorder()
        try LogFileReader.visit(MemorySource(file.bytes), &recorder)
        #expect(
            recorder.seen == [
                "file notes 1...2", "transaction 1", "frame [2]", "end 1", "transaction 2", "frame [2]", "end 1",
                Hex.encode(sha256(file.bytes).prefix(16)),
            ])
    }

    @Test func `names that a log cannot hold are refused before anything is written`() throws {
        let sink = Sink()
        var encoder = try TransactionEncoder(
            header: TransactionHeader(dot: Dot(.a, 1), time: .zero), previous: .zero
        ) { sink.blocks.append($0.bytes) }
        for name in ["", "a\0b"] {
            let error = #expect(throws: LogSyncError.self) {
                try encoder.append(
                    RowGroup(
                        table: name, kind: .delete, identities: [RowIdentity(natural: [.integer(1)])], times: [.zero]))
            }
            #expect(error?.code == .unsupportedTable)
        }
        #expect(sink.blocks.count == 1)
    }

    @Test func `dependencies that could not be read back are refused`() {
        for changes in [[Dot(.a, 1)], [Dot(.b, 0)], [Dot(.b, 1), Dot(.b, 2)]] {
            #expect(throws: LogSyncError.self) {
                try TransactionEncoder(
                    header: TransactionHeader(
                        dot: Dot(.a, 2), time: .zero, dependencyChanges: changes.map { Dependency($0) }),
                    previous: .zero
                ) { _ in }
            }
        }
    }
}
