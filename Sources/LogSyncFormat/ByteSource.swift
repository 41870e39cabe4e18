/// Where the bytes of a log file come from: all that this module knows of files.
package protocol ByteSource {
    /// How many bytes there are.
    var count: Int { get }
    /// Reads `count` bytes from `offset` on, or fewer where the source ends before that.
    func read(at offset: Int, count: Int) throws -> [UInt8]
}

/// A log file in memory.
package struct MemorySource: ByteSource {
    package var bytes: [UInt8]

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    package var count: Int { bytes.count }

    package func read(at offset: Int, count: Int) -> [UInt8] {
        let start = min(max(offset, 0), bytes.count)
        return Array(bytes[start...].prefix(max(count, 0)))
    }
}
