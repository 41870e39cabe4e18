import LogSyncModel

/// The last payload of a segment or a snapshot: what its frames hold, so that none can be missing unnoticed.
struct FrameEnd<Count: FrameCount>: Equatable {
    var frames: Int
    /// By table.
    var counts: [String: Count]
    /// The blobs that the frames name, by ascending hash.
    var blobs: [BlobID] = []

    init(frames: Int, counts: [String: Count]) {
        self.frames = frames
        self.counts = counts
    }

    /// The blobs are the ones that were named in what the writer wrote.
    func encode(to out: ByteWriter) {
        out.append(varint: UInt64(frames))
        out.append(varint: UInt64(counts.count))
        for (table, count) in counts.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
            out.append(table)
            for number in count.numbers { out.append(varint: UInt64(number)) }
        }
        out.append(sorted: out.blobs)
    }

    init(from reader: inout ByteReader) throws {
        func number(_ reader: inout ByteReader) throws -> Int {
            let value = try reader.varint()
            // Leaves room to add counts up without overflow.
            guard value < 1 << 48 else { throw reader.damaged("a count cannot be \(value)") }
            return Int(value)
        }
        frames = try number(&reader)
        counts = [:]
        var previous: String?
        // A table takes at least a name's length, a letter and its numbers.
        for _ in 0..<(try reader.count(of: "tables", size: 2 + Count.numberCount)) {
            let table = try reader.name("table")
            if let previous, !previous.utf8.lexicographicallyPrecedes(table.utf8) {
                throw reader.damaged("the tables are out of order")
            }
            previous = table
            var numbers: [Int] = []
            for _ in 0..<Count.numberCount { numbers.append(try number(&reader)) }
            counts[table] = Count(numbers: numbers)
        }
        blobs = try reader.sortedBlobs()
        guard reader.isAtEnd else { throw reader.damaged("bytes after the end") }
    }
}

/// What an end says of one table.
protocol FrameCount: Equatable {
    static var numberCount: Int { get }
    var numbers: [Int] { get }
    /// - Parameter numbers: exactly ``numberCount``.
    init(numbers: [Int])
}

/// Rows inserted, updated and deleted.
extension ChangeCounts: FrameCount {
    static let numberCount = 3
    var numbers: [Int] { [inserted, updated, deleted] }
    init(numbers: [Int]) { self.init(inserted: numbers[0], updated: numbers[1], deleted: numbers[2]) }
}

/// Rows.
extension Int: FrameCount {
    static let numberCount = 1
    var numbers: [Int] { [self] }
    init(numbers: [Int]) { self = numbers[0] }
}

typealias SegmentEnd = FrameEnd<ChangeCounts>
typealias SnapshotEnd = FrameEnd<Int>
