/// Takes the bytes of natural keys as ``RowIdentity`` has them: there is one spelling, whether a key is made of values
/// or read by a loop over many rows.
@usableFromInline
package protocol KeyBytes {
    mutating func append(_ byte: UInt8)
    mutating func append(_ content: UnsafeRawBufferPointer)
}

extension KeyBytes {
    /// The byte before a natural key's parts.
    @inlinable @inline(__always)
    package mutating func beginNaturalKey() { append(1 as UInt8) }

    @inlinable @inline(__always)
    package mutating func appendKey(integer: Int64) {
        append(1 as UInt8)
        append(word: UInt64(bitPattern: integer) ^ 1 << 63)
    }

    @inlinable @inline(__always)
    package mutating func appendKey(real: Double) {
        append(2 as UInt8)
        append(word: real.bitPattern)
    }

    @inlinable @inline(__always)
    package mutating func appendKey(text: UnsafeRawBufferPointer) { append(tag: 3, text) }

    @inlinable @inline(__always)
    package mutating func appendKey(blob: UnsafeRawBufferPointer) { append(tag: 4, blob) }

    /// - Parameter reference: the bytes of an identity.
    @inlinable @inline(__always)
    package mutating func appendKey(reference: UnsafeRawBufferPointer) { append(tag: 5, reference) }

    @inlinable @inline(__always)
    mutating func append(word: UInt64) { withUnsafeBytes(of: word.bigEndian) { append($0) } }

    @inlinable @inline(__always)
    mutating func append(tag: UInt8, _ content: UnsafeRawBufferPointer) {
        append(tag)
        withUnsafeBytes(of: UInt32(content.count).bigEndian) { append($0) }
        append(content)
    }
}

extension [UInt8]: KeyBytes {
    @inlinable
    package mutating func append(_ content: UnsafeRawBufferPointer) { append(contentsOf: content) }
}
