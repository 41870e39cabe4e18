/// The order of natural keys in the bytes of their identities: about that in which a table's index has them.
///
/// Any order of keys would be right; this is the one in which an index is read and written place by place.
@usableFromInline
package struct KeyOrder {
    /// Where a key is one text, its length would come first.
    @usableFromInline let skipped: Int

    /// - Parameter parts: how many columns the key has.
    package init(parts: Int) { skipped = parts == 1 ? 6 : 1 }

    /// Keys are in order where these differ.
    @inlinable @inline(__always)
    package func prefix(_ key: UnsafeRawBufferPointer) -> UInt64 {
        guard skipped < key.count else { return 0 }
        if skipped + 8 <= key.count {
            return UInt64(bigEndian: key.loadUnaligned(fromByteOffset: skipped, as: UInt64.self))
        }
        var prefix: UInt64 = 0
        for position in skipped..<skipped + 8 {
            prefix = prefix << 8 | (position < key.count ? UInt64(key[position]) : 0)
        }
        return prefix
    }

    package func precedes(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Bool {
        var position = skipped
        while position < a.count && position < b.count {
            if a[position] != b[position] { return a[position] < b[position] }
            position += 1
        }
        return a.count == b.count ? a.lexicographicallyPrecedes(b) : a.count < b.count
    }
}
