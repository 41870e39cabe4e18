import CLogSyncZstd
import LogSyncFormat
import LogSyncModel
import Testing

@Suite struct HostileTests {
    private func header(total: UInt64, length: UInt32? = nil) throws -> [UInt8] {
        let bytes = try file(smallTransactions()).bytes
        let headerLength = try LogFileReader(MemorySource(bytes)).header.headerLength
        var header = Array(bytes[..<headerLength])
        header.replaceSubrange(12..<16, with: littleEndian(length ?? UInt32(headerLength)))
        header.replaceSubrange(16..<24, with: littleEndian(total))
        header.replaceSubrange(headerLength - 8..<headerLength, with: sha256(header.dropLast(8)).prefix(8))
        return header
    }

    @Test func `headers with absurd lengths are judged without reading what they promise`() throws {
        /// Fails the test when more than a header is asked for.
        struct Guarded: ByteSource {
            let bytes: [UInt8]
            var count: Int { bytes.count }
            func read(at offset: Int, count: Int) throws -> [UInt8] {
                #expect(count <= LogFileHeader.maximumLength)
                return MemorySource(bytes).read(at: offset, count: count)
            }
        }
        func open(_ bytes: [UInt8]) throws -> Verdict { try verdict { _ = try LogFileReader(Guarded(bytes: bytes)) } }
        #expect(try open(try header(total: .max)) == .damaged)
        #expect(try open(try header(total: UInt64(Int.max))) == .incomplete)
        #expect(try open(try header(total: 0)) == .damaged)
        #expect(try open(try header(total: 174)) == .damaged)
        #expect(try open(try header(total: 1 << 40, length: .max)) == .damaged)
        #expect(try open(try header(total: 1 << 40, length: 0)) == .damaged)
        #expect(try open(try header(total: 1 << 40, length: 25)) == .damaged)
        #expect(try open(try header(total: 1 << 40, length: 4096)) == .incomplete)
    }

    private func decodeFrame(_ payload: [UInt8]) throws -> Verdict {
        let blocks = try encode(smallTransactions()[0]).blocks
        return try verdict { _ = try decode([blocks[0], block(type: 2, payload), blocks[2]], peer: .a) }
    }

    private let huge: [UInt8] = [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1]

    @Test func `counts are not believed beyond the bytes that follow`() throws {
        let start: [UInt8] = [1, 0]
        #expect(try decodeFrame(start + huge) == .damaged, "a name's length")
        #expect(try decodeFrame(start + [1, 0x74] + huge) == .damaged, "a row count")
        #expect(try decodeFrame(start + [1, 0x74] + [0]) == .damaged, "no rows")
        let group = start + [1, 0x74, 1]
        let identity: [UInt8] = [2, 1, 1, 2]
        let time: [UInt8] = [0, 0, 0]
        #expect(try decodeFrame(group + [0, 0] + [1]) == .damaged, "a surrogate's bytes")
        #expect(try decodeFrame(group + [1] + huge) == .damaged, "an identity's length")
        #expect(try decodeFrame(group + [2, 1, 3] + huge) == .damaged, "a key text's length")
        #expect(try decodeFrame(group + identity + time + huge) == .damaged, "a column count")
        for encoding: [UInt8] in [[4] + huge, [5] + huge, [7, 3] + huge, [9, 4] + huge, [3, 1], [6, 1] + huge] {
            #expect(try decodeFrame(group + identity + time + [1, 1, 0x63, 1, 0] + encoding) == .damaged)
        }
        let bases = group + identity + time + [1, 1, 0x63, 2, 4, 1, 2]
        #expect(try decodeFrame(bases + huge) == .damaged, "a count of peers")
        #expect(try decodeFrame(bases + [0, 0, 1]) == .damaged, "a peer that is not listed")
    }

    @Test func `rows that cost a byte each cannot be multiplied by columns that cost none`() throws {
        let rows = 200_000
        var payload: [UInt8] = [1, 0, 1, 0x74, 0xC0, 0x9A, 0x0C, 2, 1, 1]
        payload += [UInt8](repeating: 2, count: rows) + [0, 0, 0, 100]
        for column in UInt8(0)..<100 { payload += [2, 0x61 + column / 26, 0x61 + column % 26, 1, 0, 0] }
        let error = try #require(throws: LogFileError.self) {
            let blocks = try encode(smallTransactions()[0]).blocks
            _ = try decode([blocks[0], block(type: 2, payload), blocks[2]], peer: .a)
        }
        #expect("\(error)".contains("cells"))
    }

    @Test func `a block cannot expand beyond what it says, nor say more than a mebibyte`() throws {
        let zeros = [UInt8](repeating: 0, count: 4 << 20)
        var packed = [UInt8](repeating: 0, count: 1 << 16)
        let count = ZSTD_compress(&packed, packed.count, zeros, zeros.count, 3)
        #expect(ZSTD_isError(count) == 0)
        packed.removeSubrange(count...)
        let blocks = try encode(smallTransactions()[0]).blocks
        for rawLength in [1 << 20, 4 << 20, Int(UInt32.max), count + 1] {
            let bomb = block(type: 2, codec: 1, rawLength: rawLength, packed)
            #expect(try verdict { _ = try decode([blocks[0], bomb, blocks[2]], peer: .a) } == .damaged)
        }
    }

    @Test func `a block longer than the file is damage`() throws {
        var bytes = try file(smallTransactions()).bytes
        let headerLength = try LogFileReader(MemorySource(bytes)).header.headerLength
        for length: UInt32 in [.max, 1 << 20, 1000] {
            bytes.replaceSubrange(headerLength + 7..<headerLength + 11, with: littleEndian(length))
            let broken = rehashed(bytes, headerLength: headerLength)
            #expect(try verdict { try readAll(broken) } == .damaged)
            #expect(try verdict { try LogFileReader(MemorySource(broken)).forEachSummary { _ in } } == .damaged)
        }
    }
}

/// Whether a group keeps what ``RowGroup`` promises.
private func isConsistent(_ group: RowGroup) -> Bool {
    let rows = group.rowCount
    return rows > 0 && group.times.count == rows && [0, rows].contains(group.integers.count) && !group.table.isEmpty
        && group.identities.allSatisfy { RowIdentity(checking: $0.bytes) != nil }
        && group.columns.allSatisfy { column in
            column.values.count == rows && [0, rows].contains(column.times.count) && !column.name.isEmpty
                && column.bases.count == (column.operation == .add ? rows : 0)
                && column.values.allSatisfy {
                    if case .reference(let identity) = $0 { RowIdentity(checking: identity.bytes) != nil } else { true }
                }
        }
}

@Suite struct MutationTests {
    /// Changes a few bytes: flips, replacements, insertions, removals, repetitions.
    private func mutate(_ bytes: inout [UInt8], _ random: inout SeededGenerator) {
        for _ in 0...random.below(3) where !bytes.isEmpty {
            let position = random.below(bytes.count)
            switch random.below(6) {
            case 0: bytes[position] ^= 1 << random.below(8)
            case 1: bytes[position] = random.pick([0, 1, 2, 0x7F, 0x80, 0xFF])
            case 2: bytes.insert(UInt8(random.below(256)), at: position)
            case 3: bytes.remove(at: position)
            case 4: bytes.removeSubrange(position..<min(bytes.count, position + 1 + random.below(20)))
            default: bytes.insert(contentsOf: bytes[position...].prefix(1 + random.below(20)), at: position)
            }
        }
    }

    @Test(arguments: UInt64(1)...UInt64(8))
    func `frames changed at random, hashes put right, never trap and never give inconsistent groups`(seed: UInt64)
        throws
    {
        var generator = Generator(seed: seed)
        var survivors = 0
        for _ in 0..<400 {
            let groups = (0...generator.random.below(2)).map { _ in
                let rows = 1 + generator.random.below(8)
                return generator.group(rows: rows)
            }
            let transaction = Transaction(header: generator.header(Dot(.a, 1)), groups: groups)
            var blocks = try encode(transaction, compresses: false).blocks
            for _ in 0..<4 {
                let index = generator.random.chance(4) ? generator.random.below(3) : 1
                var payload = Array(blocks[index].dropFirst(19))
                mutate(&payload, &generator.random)
                let kept = blocks[index]
                blocks[index] = block(type: kept[0], payload)
                var rest = blocks[...]
                _ = try verdict {
                    let segment = try SegmentReader(peer: .a, previous: .zero) { rest.popFirst() }
                    while let frame = try segment.nextFrame() {
                        survivors += 1
                        let areConsistent = frame.allSatisfy(isConsistent)
                        #expect(areConsistent)
                        // What is consistent can be encoded again, and means the same.
                        let again = Transaction(header: segment.header, groups: frame)
                        #expect(try decode(try encode(again).blocks, peer: .a).0 == again)
                    }
                    _ = try segment.finish()
                }
                blocks[index] = kept
            }
        }
        #expect(survivors > 100, "mutations that all fail at once would test little")
    }

    @Test(arguments: UInt64(1)...UInt64(4))
    func `files changed at random never trap`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var transactions = smallTransactions()
        transactions[0].groups[0].columns[0].values[0] = .text(String(repeating: "again and ", count: 30))
        let bytes = try file(transactions).bytes
        let headerLength = try LogFileReader(MemorySource(bytes)).header.headerLength
        for _ in 0..<1500 {
            var changed = bytes
            mutate(&changed, &random)
            if random.chance(2), changed.count > 200 { changed = rehashed(changed, headerLength: headerLength) }
            _ = try verdict {
                // The chain hash covers all but the content name.
                let read = try readAll(changed)
                #expect(read == transactions)
            }
            _ = try verdict { try LogFileReader(MemorySource(changed)).forEachSummary { _ in } }
        }
    }

    @Test func `compressed payloads changed at random, hashes put right, never trap`() throws {
        var random = SeededGenerator(seed: 11)
        var transaction = smallTransactions()[0]
        transaction.groups[0].columns[0].values[0] = .text(String(repeating: "again and again, ", count: 200))
        let blocks = try encode(transaction).blocks
        #expect(blocks[1][1] == 1)
        let rawLength = blocks[1].withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 3, as: UInt32.self) }
        for _ in 0..<3000 {
            var stored = Array(blocks[1].dropFirst(19))
            mutate(&stored, &random)
            let changed = block(type: 2, codec: 1, rawLength: Int(rawLength), stored)
            _ = try verdict { _ = try decode([blocks[0], changed, blocks[2]], peer: .a) }
        }
    }
}
