import Foundation
import LogSyncFormat
import LogSyncModel
import Testing

@Suite struct BlobFormatTests {
    private static let time = HybridTime(milliseconds: 1_700_000_000_000)

    private static func blob(_ number: UInt8, _ length: Int = 300_000) -> BlobID {
        guard let blob = BlobID(hash: [UInt8](repeating: number, count: 32), length: length) else {
            preconditionFailure("32 bytes are a hash")
        }
        return blob
    }

    /// A text and a BLOB in blob files, alone, repeated, and beside other values.
    static let transaction: Transaction = {
        let text = Value.external(BlobReference(blob(2), .text))
        let bytes = Value.external(BlobReference(blob(1, 1_000_000_000), .blob))
        let identities = (Int64(0)..<3).map { RowIdentity(natural: [.integer($0)]) }
        return Transaction(
            header: TransactionHeader(dot: Dot(.a, 1), time: time),
            groups: [
                RowGroup(
                    table: "file", kind: .insert,
                    columns: [
                        .init(name: "alone", values: [text, bytes, text]),
                        .init(name: "mixed", values: [.null, bytes, .text("small")]),
                        .init(name: "same", values: [text, text, text]),
                    ], identities: identities, times: [time, time, time])
            ])
    }()

    @Test func `values in blob files are read back, and a transaction's end lists them by hash`() throws {
        let segment = try encode(Self.transaction)
        let (read, end) = try decode(segment.blocks, peer: .a)
        #expect(read == Self.transaction)
        #expect(end.blobs == [Self.blob(1, 1_000_000_000), Self.blob(2)])
        var summaries: [TransactionSummary] = []
        try LogFileReader(MemorySource(file([Self.transaction]).bytes)).forEachSummary { summaries.append($0) }
        #expect(summaries.map(\.blobs) == [end.blobs], "without decoding a row")
        #expect(try decode(encode(smallTransactions()[0]).blocks, peer: .a).1.blobs.isEmpty)
    }

    @Test func `an end that lists other blobs than the frames name, or lists them badly, is damage`() throws {
        let blocks = try encode(Self.transaction, compresses: false).blocks
        let one = [UInt8](repeating: 1, count: 32) + [0x80, 0x94, 0xEB, 0xDC, 3]
        let two = [UInt8](repeating: 2, count: 32) + [0xE0, 0xA7, 0x12]
        let counts: [UInt8] = [1, 1, 4] + Array("file".utf8) + [3, 0, 0]
        func read(_ list: [UInt8]) throws -> Verdict {
            try verdict { _ = try decode([blocks[0], blocks[1], block(type: 3, counts + list)], peer: .a) }
        }
        #expect(try read([2] + one + two) == .sound)
        #expect(try read([]) == .damaged, "none")
        #expect(try read([0]) == .damaged, "a list of none")
        #expect(try read([1] + one) == .damaged, "one too few")
        #expect(try read([2] + two + one) == .damaged, "out of order")
        #expect(try read([3] + one + two + two) == .damaged, "one twice")
        #expect(try read([3] + one + two + [UInt8](repeating: 3, count: 32) + [1]) == .damaged, "one that nobody names")
        #expect(try read([2] + one + two.dropLast()) == .damaged, "cut off")
        #expect(try read([2] + one + two + [0]) == .damaged, "bytes after it")
        #expect(try read([2] + one.dropLast(5) + [0x81, 0x94, 0xEB, 0xDC, 3] + two) == .damaged, "too long a blob")
        let huge: [UInt8] = [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1]
        #expect(try read(huge + one + two) == .damaged, "a count")
        #expect(try read([2] + one + two.dropLast(3) + huge) == .damaged, "a length")
    }

    @Test func `counts and lengths in frames are not believed`() throws {
        let blocks = try encode(smallTransactions()[0]).blocks
        func frame(_ values: [UInt8]) throws -> Verdict {
            let payload: [UInt8] = [3, 0, 1, 0x74, 1, 2, 1, 1, 2, 0, 0, 0, 1, 1, 0x63, 1, 0] + values
            let list: [UInt8] = [1] + [UInt8](repeating: 9, count: 32) + [5]
            let end: [UInt8] = [1, 1, 1, 0x74, 0, 0, 1] + list
            return try verdict {
                _ = try decode([blocks[0], block(type: 2, payload), block(type: 3, end)], peer: .a)
            }
        }
        let hash = [UInt8](repeating: 9, count: 32)
        #expect(try frame([7, 6] + hash + [5]) == .sound)
        #expect(try frame([7, 7] + hash + [5]) == .sound)
        #expect(try frame([7, 6] + hash + [6]) == .damaged, "another length than the end says")
        #expect(try frame([7, 6] + hash) == .damaged)
        #expect(try frame([7, 6] + hash.dropLast() + [5]) == .damaged)
        #expect(try frame([7, 8]) == .newerFormat)
        #expect(try frame([9, 6] + hash + [5]) == .sound, "one for all rows")
    }

    @Test func `an amount is never in a blob file`() throws {
        let blocks = try encode(smallTransactions()[0]).blocks
        let column: [UInt8] = [1, 0x63, 2, 4, 7, 6] + [UInt8](repeating: 9, count: 32) + [5, 1]
        let payload: [UInt8] = [2, 0, 1, 0x74, 1, 2, 1, 1, 2, 0, 0, 0, 1] + column + [UInt8](repeating: 0, count: 18)
        let read = try verdict { _ = try decode([blocks[0], block(type: 2, payload), blocks[2]], peer: .a) }
        #expect(read == .damaged)
    }

    @Test func `snapshots name blobs in the same way`() throws {
        let stamp = EntryStamp(peer: 0, sequence: 1, time: Self.time)
        let external = Value.external(BlobReference(Self.blob(5), .text))
        let rows: [SnapshotRows] = [
            .plain(
                PlainRows(
                    table: "file", identities: [RowIdentity(natural: [.integer(1)])], stamps: [stamp],
                    columns: [.init(name: "content", values: [external])])),
            .spelled(
                SpelledRows(
                    table: "file",
                    rows: [
                        .init(
                            identity: RowIdentity(natural: [.integer(2)]), inserts: [stamp],
                            cells: [.init(column: "content", versions: [.init(stamp: stamp, value: external)])])
                    ])),
        ]
        let bytes = try snapshot(SnapshotFormatTests.manifest, rows).bytes
        #expect(try readSnapshot(bytes).rows == rows)
        #expect(try SnapshotReader(MemorySource(bytes)).blobs() == [Self.blob(5)])
        let none = try snapshot(SnapshotFormatTests.manifest, SnapshotFormatTests.rows).bytes
        #expect(try SnapshotReader(MemorySource(none)).blobs().isEmpty)
    }
}
