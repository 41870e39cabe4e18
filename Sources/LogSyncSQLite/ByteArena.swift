public import LogSyncModel

/// Bytes of many values, one after the other, in one piece of memory.
///
/// For loops over hundreds of thousands of rows, where an array a value would be most of the work.
@usableFromInline
package struct ByteArena {
    @usableFromInline package internal(set) var bytes: [UInt8] = []

    package init(bytes: [UInt8] = []) {
        self.bytes = bytes
    }

    @inlinable package var count: Int { bytes.count }

    package mutating func reserve(_ capacity: Int) { bytes.reserveCapacity(capacity) }

    package mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

    @inlinable @inline(__always)
    package mutating func append(_ content: UnsafeRawBufferPointer) { bytes.append(contentsOf: content) }

    @inlinable @inline(__always)
    package mutating func append(_ byte: UInt8) { bytes.append(byte) }
}

extension ByteArena: KeyBytes {}
