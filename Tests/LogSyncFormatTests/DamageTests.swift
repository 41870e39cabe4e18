import LogSyncFormat
import LogSyncModel
import Testing

@Suite struct DamageTests {
    @Test func `every truncation of a file is reported as incomplete`() throws {
        let bytes = try file(smallTransactions()).bytes
        for count in bytes.indices {
            #expect(try verdict { try readAll(Array(bytes[..<count])) } == .incomplete, "\(count) bytes")
        }
        #expect(try verdict { try readAll(bytes) } == .sound)
    }

    @Test(arguments: [false, true])
    func `every flipped bit is detected by verifying alone`(compresses: Bool) throws {
        var transactions = smallTransactions()
        if compresses {
            transactions[0].groups[0].columns[0].values[0] = .text(String(repeating: "again and ", count: 30))
        }
        let bytes = try file(transactions, compresses: compresses).bytes
        var verdicts: [Verdict: Int] = [:]
        for position in bytes.indices {
            for bit in 0..<8 {
                var flipped = bytes
                flipped[position] ^= 1 << bit
                let verdict = try verdict { _ = try LogFileReader(MemorySource(flipped)).verify() }
                #expect(verdict != .sound, "bit \(bit) of byte \(position)")
                verdicts[verdict, default: 0] += 1
            }
        }
        #expect(verdicts[.newerFormat] == nil, "hashes are checked before versions are believed")
        // The header's length, and nothing else, can make an intact file look unfinished.
        #expect(verdicts[.incomplete, default: 0] <= 24)
    }

    @Test func `bytes after the end are damage`() throws {
        let bytes = try file(smallTransactions()).bytes
        #expect(try verdict { try readAll(bytes + [0]) } == .damaged)
    }

    @Test func `something that is not a log file is damage, however short`() throws {
        #expect(try verdict { try readAll(Array("SQLite format 3\0".utf8)) } == .damaged)
        #expect(try verdict { try readAll([0]) } == .damaged)
        #expect(try verdict { try readAll([UInt8](repeating: 0, count: 10_000)) } == .damaged)
        #expect(try verdict { try readAll([]) } == .incomplete)
    }

    @Test func `transactions missing, doubled, swapped or of another chain are damage though every hash is right`()
        throws
    {
        let transactions = smallTransactions(3)
        var chain = ChainHash.zero
        let segments = try transactions.map { transaction in
            let segment = try encode(transaction, after: chain)
            chain = segment.chain
            return segment.bytes
        }
        func read(_ order: [Int], _ sequences: ClosedRange<UInt64> = 1...3, before: ChainHash = .zero) throws -> Verdict
        {
            try verdict {
                try readAll(
                    try file(segments: order.map { segments[$0] }, peer: .a, sequences, before: before, after: chain)
                        .bytes)
            }
        }
        #expect(try read([0, 1, 2]) == .sound)
        #expect(try read([0, 1]) == .damaged)
        #expect(try read([1, 2]) == .damaged)
        #expect(try read([0, 2]) == .damaged)
        #expect(try read([0, 1, 1, 2]) == .damaged)
        #expect(try read([1, 0, 2]) == .damaged)
        #expect(try read([0, 1, 2], 1...2) == .damaged)
        #expect(try read([0, 1, 2], 1...4) == .damaged)
        #expect(try read([0, 1, 2], before: chain) == .damaged)
    }

    @Test(arguments: [[1, 3], [1, 1], [2, 1], [1, 2, 4], [2, 3]] as [[UInt64]])
    func `sequences that do not follow one another are damage though the chain is right`(sequences: [UInt64]) throws {
        var chain = ChainHash.zero
        let segments = try sequences.map { sequence in
            let header = TransactionHeader(dot: Dot(.a, sequence), time: .zero)
            let segment = try encode(Transaction(header: header, groups: []), after: chain)
            chain = segment.chain
            return segment.bytes
        }
        let last = try #require(sequences.max())
        let bytes = try file(segments: segments, peer: .a, 1...last, before: .zero, after: chain).bytes
        #expect(try verdict { try readAll(bytes) } == .damaged)
    }

    @Test func `an end that counts other frames or rows than there are is damage`() throws {
        let blocks = try encode(smallTransactions()[0]).blocks
        func read(_ end: [UInt8]) throws -> Verdict {
            try verdict { _ = try decode([blocks[0], blocks[1], block(type: 3, end)], peer: .a) }
        }
        let note: [UInt8] = [4, 0x6E, 0x6F, 0x74, 0x65]
        #expect(try read([1, 1] + note + [2, 0, 0]) == .sound)
        #expect(try read([2, 1] + note + [2, 0, 0]) == .damaged, "frames")
        #expect(try read([1, 1] + note + [1, 0, 0]) == .damaged, "inserted")
        #expect(try read([1, 1] + note + [2, 1, 0]) == .damaged, "updated")
        #expect(try read([1, 0]) == .damaged, "no table")
        #expect(try read([1, 2] + note + [2, 0, 0] + note + [0, 0, 0]) == .damaged, "a table twice")
        #expect(try read([1, 1] + note + [2, 0, 0, 0]) == .damaged, "bytes left over")
        let tooMany: [UInt8] = [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1]
        #expect(try read([1, 1] + note + tooMany + [0, 0]) == .damaged, "a count that cannot be")
    }

    @Test func `a header that contradicts itself is damage, and unknown flags are a newer format`() throws {
        let end = block(type: 3, [0, 0])
        func read(sequence: UInt64 = 5, flags: UInt8 = 0, _ rest: [UInt8]) throws -> Verdict {
            var header: [UInt8] = littleEndian(sequence) + littleEndian(UInt64(0))
            header.append(flags)
            header += rest
            return try verdict { _ = try decode([block(type: 1, header), end], peer: .a) }
        }
        func read(dependencies: [Dot], count: UInt8? = nil) throws -> Verdict {
            var rest: [UInt8] = [count ?? UInt8(dependencies.count)]
            for dot in dependencies {
                rest += dot.peer.bytes
                rest.append(UInt8(dot.sequence))
            }
            return try read(rest)
        }
        let c = PeerID(high: 0xC, low: 3)
        #expect(try read(dependencies: [Dot(.b, 1), Dot(c, 9)]) == .sound)
        #expect(try read(dependencies: [Dot(c, 1), Dot(.b, 9)]) == .damaged, "out of order")
        #expect(try read(dependencies: [Dot(c, 1), Dot(c, 9)]) == .damaged, "a peer twice")
        #expect(try read(dependencies: [Dot(.a, 4)]) == .damaged, "the author itself")
        #expect(try read(dependencies: [Dot(c, 0)]) == .damaged, "sequence 0")
        #expect(try read(dependencies: [Dot(c, 1)], count: 2) == .damaged, "one missing")
        #expect(try read(sequence: 0, [0]) == .damaged, "transaction 0")
        #expect(try read([0, 0]) == .damaged, "bytes left over")
        #expect(try read(flags: 2, [0, 1, 0x61]) == .sound)
        #expect(try read(flags: 2, [0, 1, 0xFF]) == .damaged, "an author that is not UTF-8")
        #expect(try read(flags: 1, [0, 1, 2, 3]) == .damaged, "a fingerprint cut off")
        #expect(try read(flags: 16, [0]) == .newerFormat)
    }

    @Test func `a segment whose blocks are missing or out of order is damage`() throws {
        let blocks = try encode(smallTransactions()[0]).blocks
        #expect(blocks.count == 3)
        for order in [[], [0], [0, 1], [1], [1, 2], [0, 2], [0, 0, 1, 2], [0, 1, 1, 2], [0, 1, 0, 2]] {
            #expect(try verdict { _ = try decode(order.map { blocks[$0] }, peer: .a) } == .damaged, "\(order)")
        }
        #expect(try verdict { _ = try decode(blocks, peer: .a) } == .sound)
        #expect(try verdict { _ = try decode(blocks.map { $0 + [0] }, peer: .a) } == .damaged)
        #expect(try verdict { _ = try decode(blocks.map { $0.dropLast() }, peer: .a) } == .damaged)
    }

    @Test func `a read that fails is passed on, and one cut short is incomplete`() throws {
        struct Failing: ByteSource {
            struct Failure: Error {}
            let count = 5000
            func read(at offset: Int, count: Int) throws -> [UInt8] { throw Failure() }
        }
        struct Shrinking: ByteSource {
            let whole: MemorySource
            var count: Int { whole.count }
            func read(at offset: Int, count: Int) throws -> [UInt8] {
                offset == 0 ? whole.read(at: offset, count: count) : whole.read(at: offset, count: count - 1)
            }
        }
        #expect(throws: Failing.Failure.self) { try LogFileReader(Failing()) }
        let shrinking = Shrinking(whole: MemorySource(try file(smallTransactions()).bytes))
        #expect(try verdict { _ = try LogFileReader(shrinking).verify() } == .incomplete)
    }

    @Test func `messages say what is wrong and where`() throws {
        var bytes = try file(smallTransactions()).bytes
        let start = try LogFileReader(MemorySource(bytes)).header.headerLength
        bytes[start + 25] ^= 1
        let error = try #require(throws: LogFileError.self) { try readAll(bytes) }
        #expect(error == .damaged("a block's hash does not match its bytes", offset: start))
        let shown = error.logSyncError(file: "1-2.tlog")
        #expect(shown.code == .malformedLog)
        #expect(shown.message.contains("1-2.tlog") && shown.message.contains("byte \(start)"))
        #expect(LogFileError.newerFormat("x", offset: 0).logSyncError(file: "f").code == .newerFormat)
    }
}

@Suite struct NewerFormatTests {
    private func changed(at offset: Int, to bytes: [UInt8]) throws -> [UInt8] {
        var file = try file(smallTransactions()).bytes
        let headerLength = try LogFileReader(MemorySource(file)).header.headerLength
        file.replaceSubrange(offset..<offset + bytes.count, with: bytes)
        return rehashed(file, headerLength: headerLength)
    }

    @Test func `an unknown version is a newer format, and version 0 is damage`() throws {
        #expect(try verdict { try readAll(try changed(at: 8, to: [1, 0])) } == .sound)
        #expect(try verdict { try readAll(try changed(at: 8, to: [2, 0])) } == .newerFormat)
        #expect(try verdict { try readAll(try changed(at: 8, to: [1, 1])) } == .newerFormat)
        #expect(try verdict { try readAll(try changed(at: 8, to: [0, 0])) } == .damaged)
    }

    @Test(arguments: 0..<16)
    func `each file flag, encrypted and signed included, is a newer format`(bit: UInt16) throws {
        let file = try changed(at: 10, to: littleEndian(1 << bit as UInt16))
        #expect(try verdict { try readAll(file) } == .newerFormat)
    }

    @Test func `fields that a later version adds to the header are passed over`() throws {
        let bytes = try file(smallTransactions()).bytes
        let header = try LogFileReader(MemorySource(bytes)).header
        var longer = Array(bytes[..<(header.headerLength - 8)]) + [1, 2, 3] + bytes[(header.headerLength - 8)...]
        longer.replaceSubrange(12..<16, with: littleEndian(UInt32(header.headerLength + 3)))
        longer.replaceSubrange(16..<24, with: littleEndian(UInt64(longer.count)))
        longer = rehashed(longer, headerLength: header.headerLength + 3)
        #expect(try readAll(longer) == smallTransactions())
    }

    @Test func `an unknown block type, codec or flag is a newer format when its hash is right`() throws {
        let blocks = try encode(smallTransactions()[0]).blocks
        for foreign in [
            block(type: 4, [1]), block(type: 0, [1]), block(type: 2, codec: 2, [1]), block(type: 2, flags: 2, [1]),
        ] {
            let segment = [blocks[0], foreign, blocks[2]]
            #expect(try verdict { _ = try decode(segment, peer: .a) } == .newerFormat)
            let file = try file(segments: segment, peer: .a, 1...1, before: .zero, after: .zero)
            #expect(try verdict { _ = try LogFileReader(MemorySource(file.bytes)).verify() } == .newerFormat)
            var broken = foreign
            broken[broken.count - 1] ^= 1
            #expect(try verdict { _ = try decode([blocks[0], broken, blocks[2]], peer: .a) } == .damaged)
        }
    }

    /// A frame of one group: delete from t, one row, identity 1, at the transaction's time, and then what is given.
    private func frame(
        kind: UInt8 = 3, groupFlags: UInt8 = 0, identities: [UInt8] = [2, 1, 1, 2], times: [UInt8] = [0, 0, 0],
        columns: [UInt8] = [0]
    ) throws -> Verdict {
        let blocks = try encode(smallTransactions()[0]).blocks
        let payload = [kind, groupFlags, 1, 0x74, 1] + identities + times + columns
        let end: [UInt8] = [1, 1, 1, 0x74] + [kind == 1 ? 1 : 0, kind == 2 ? 1 : 0, kind == 3 ? 1 : 0]
        return try verdict {
            _ = try decode([blocks[0], block(type: 2, payload), block(type: 3, end)], peer: .a)
        }
    }

    @Test func `an unknown kind, flag, operation or encoding is a newer format`() throws {
        #expect(try frame() == .sound)
        #expect(try frame(kind: 4) == .newerFormat)
        #expect(try frame(groupFlags: 2) == .newerFormat)
        #expect(try frame(identities: [3, 1, 1, 2]) == .newerFormat)
        #expect(try frame(identities: [2, 1, 6, 2]) == .newerFormat)
        #expect(try frame(times: [3, 0, 0]) == .newerFormat)
        let null: [UInt8] = [0]
        #expect(try frame(columns: [1, 1, 0x63, 1, 0] + null) == .sound)
        #expect(try frame(columns: [1, 1, 0x63, 4, 0] + null) == .newerFormat)
        #expect(try frame(columns: [1, 1, 0x63, 1, 8] + null) == .newerFormat)
        #expect(try frame(columns: [1, 1, 0x63, 1, 0] + [10]) == .newerFormat)
        #expect(try frame(columns: [1, 1, 0x63, 1, 0] + [7, 8]) == .newerFormat)
    }

    @Test func `what makes no sense is damage`() throws {
        let column: [UInt8] = [1, 0x63, 1, 0, 0]
        #expect(try frame(identities: [2, 0, 1, 2]) == .damaged, "no parts")
        #expect(try frame(identities: [0, 13] + [UInt8](repeating: 0, count: 16)) == .damaged, "a prefix too long")
        #expect(try frame(identities: [1, 1, 5]) == .damaged, "not canonical")
        #expect(try frame(identities: [2, 1, 2] + [0, 0, 0, 0, 0, 0, 0xF0, 0x3F]) == .damaged, "1.0 in a key")
        #expect(try frame(times: [0, 1, 0]) == .sound, "a millisecond earlier")
        #expect(try frame(times: [0] + [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1] + [0]) == .damaged)
        #expect(try frame(times: [0, 0, 0x80, 0x80, 4]) == .damaged, "a counter of 17 bits")
        #expect(try frame(times: [0, 0, 0x80, 0]) == .damaged, "a number longer than it needs to be")
        #expect(try frame(columns: [2] + column + column) == .damaged, "a column twice")
        #expect(try frame(columns: [1, 0, 1, 0, 0]) == .damaged, "a column without a name")
        #expect(try frame(columns: [1, 1, 0, 1, 0, 0]) == .damaged, "NUL in a name")
        #expect(try frame(columns: [1, 1, 0xFF, 1, 0, 0]) == .damaged, "a name that is not UTF-8")
        #expect(try frame(columns: [1, 1, 0x63, 2, 0, 1, 2]) == .damaged, "an amount without a base")
        #expect(try frame(columns: [1, 1, 0x63, 1, 0, 8, 1]) == .damaged, "a key part that is not there")
        #expect(try frame(columns: [0, 3]) == .damaged, "bytes left over")
    }
}
