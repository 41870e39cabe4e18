import LogSyncModel

/// Goes over the blocks of a file's segments, reading ahead a little so that small blocks cost few reads.
final class FileBlocks {
    private let source: any ByteSource
    /// Where the next block stands.
    private(set) var offset: Int
    /// Where the trailer begins.
    let end: Int
    private var window: Bytes = []

    private static let readAhead = 64 * 1024

    init(_ source: any ByteSource, _ range: Range<Int>) {
        self.source = source
        offset = range.lowerBound
        end = range.upperBound
    }

    /// The next block, unchecked; nil after the last.
    func next() throws -> (bytes: Bytes, offset: Int)? {
        guard let header = try peek() else { return nil }
        let count = BlockHeader.length + header.storedLength
        try fill(count)
        defer {
            window = window.dropFirst(count)
            offset += count
        }
        return (window.prefix(count), offset)
    }

    /// The next block's header; the block is not passed over. Nil after the last.
    func peek() throws -> BlockHeader? {
        guard offset < end else { return nil }
        guard end - offset >= BlockHeader.length else {
            throw LogFileError.damaged("a block header is cut off by the trailer", offset: offset)
        }
        try fill(BlockHeader.length)
        let header = try BlockHeader(window, offset: offset)
        guard header.storedLength <= end - offset - BlockHeader.length else {
            throw LogFileError.damaged("a block is cut off by the trailer", offset: offset)
        }
        return header
    }

    /// Passes over a block without reading it.
    func skip(_ header: BlockHeader) {
        let count = BlockHeader.length + header.storedLength
        window = window.dropFirst(count)
        offset += count
    }

    /// Makes the window hold at least `count` bytes from `offset` on, which are within the file's segments.
    private func fill(_ count: Int) throws {
        guard window.count < count else { return }
        let wanted = min(max(count, Self.readAhead), end - offset)
        window = try source.exactly(at: offset, count: wanted)[...]
    }
}

extension ByteSource {
    /// Reads exactly that many bytes; a file that has become shorter is incomplete.
    func exactly(at offset: Int, count: Int) throws -> [UInt8] {
        let bytes = try read(at: offset, count: count)
        guard bytes.count == count else {
            throw LogFileError.incomplete(found: offset + bytes.count, expected: offset + count)
        }
        return bytes
    }
}
