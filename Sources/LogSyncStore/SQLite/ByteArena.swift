import LogSyncModel

/// Bytes of many values, one after the other, in one piece of memory.
///
/// For loops over hundreds of thousands of rows, where an array a value would be most of the work.
struct ByteArena {
    private(set) var bytes: [UInt8] = []

    var count: Int { bytes.count }

    mutating func reserve(_ capacity: Int) { bytes.reserveCapacity(capacity) }

    mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

    @inline(__always)
    mutating func append(_ content: UnsafeRawBufferPointer) { bytes.append(contentsOf: content) }

    @inline(__always)
    mutating func append(_ byte: UInt8) { bytes.append(byte) }

    @inline(__always)
    mutating func append(bigEndian word: UInt64) {
        withUnsafeBytes(of: word.bigEndian) { bytes.append(contentsOf: $0) }
    }

    @inline(__always)
    mutating func append(bigEndian word: UInt32) {
        withUnsafeBytes(of: word.bigEndian) { bytes.append(contentsOf: $0) }
    }
}
