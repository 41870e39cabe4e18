public import LogSyncModel

/// The digest by which a store tells a changed value from an unchanged one: SipHash-1-3 under a key that never leaves the
/// store, so that nobody who may put values into cells can find two that it takes for one.
///
/// Not what peers compare: that is ``Digest``, which is the same everywhere and says nothing of values.
@usableFromInline
package struct ValueDigest: Hashable, Sendable {
    @usableFromInline let low: UInt64
    @usableFromInline let high: UInt64
    /// Whether it is that of a store which has taken no key yet: ``Digest``, as stores of format 6 and below have it.
    @usableFromInline let isUnkeyed: Bool

    /// What stores of format 6 and below keep.
    package static let unkeyed = ValueDigest()

    private init() {
        low = 0
        high = 0
        isUnkeyed = true
    }

    /// - Parameter key: its first 16 bytes count; shorter ones are filled up with zeros.
    package init(key: some Sequence<UInt8>) {
        let bytes = Array(key.prefix(16)) + [UInt8](repeating: 0, count: 16)
        func word(_ first: Int) -> UInt64 {
            (0..<8).reduce(0) { $0 | UInt64(bytes[first + $1]) << (8 * UInt64($1)) }
        }
        low = word(0)
        high = word(8)
        isUnkeyed = false
    }

    /// A key that nobody knows and nobody keeps.
    package static func random() -> ValueDigest {
        var generator = SystemRandomNumberGenerator()
        return ValueDigest(key: (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }

    @inlinable
    package func of(integer: Int64) -> UInt64 {
        if isUnkeyed { return Digest.of(integer: integer) }
        var hash = State(self, kind: 1)
        hash.take(UInt64(bitPattern: integer))
        return hash.finish(count: 8)
    }

    @inlinable
    package func of(real: Double) -> UInt64 {
        if isUnkeyed { return Digest.of(real: real) }
        var hash = State(self, kind: 2)
        hash.take(real.bitPattern)
        return hash.finish(count: 8)
    }

    @inlinable
    package func of(bytes: UnsafeRawBufferPointer, isText: Bool) -> UInt64 {
        if isUnkeyed { return Digest.of(bytes: bytes, seed: isText ? Digest.textSeed : Digest.blobSeed) }
        var hash = State(self, kind: isText ? 3 : 4)
        var offset = 0
        while offset + 8 <= bytes.count {
            hash.take(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)))
            offset += 8
        }
        var tail: UInt64 = 0
        var shift: UInt64 = 0
        while offset < bytes.count {
            tail |= UInt64(bytes[offset]) << shift
            shift += 8
            offset += 1
        }
        return hash.finish(count: bytes.count, tail: tail)
    }

    /// The same under every key.
    @inlinable package var ofNull: UInt64 { Digest.null }

    @inlinable
    package func of(_ value: Value) -> UInt64 {
        switch value {
        case .null: ofNull
        case .integer(let integer): of(integer: integer)
        case .real(let real): of(real: real)
        case .text(let bytes): bytes.withUnsafeBytes { of(bytes: $0, isText: true) }
        case .blob(let bytes): bytes.withUnsafeBytes { of(bytes: $0, isText: false) }
        case .reference(let identity): identity.bytes.withUnsafeBytes { of(bytes: $0, isText: false) }
        case .external: preconditionFailure("digests are of what a table returns")
        }
    }

    /// SipHash's four words (Aumasson and Bernstein, 2012), one round a word and three at the end. What kind of value it is
    /// stands in the key, so that a text and a blob of the same bytes differ.
    @usableFromInline
    package struct State {
        @usableFromInline var v0: UInt64
        @usableFromInline var v1: UInt64
        @usableFromInline var v2: UInt64
        @usableFromInline var v3: UInt64

        @inlinable @inline(__always)
        package init(_ key: ValueDigest, kind: UInt64) {
            v0 = 0x736F_6D65_7073_6575 ^ key.low
            v1 = 0x646F_7261_6E64_6F6D ^ key.high
            v2 = 0x6C79_6765_6E65_7261 ^ key.low ^ kind
            v3 = 0x7465_6462_7974_6573 ^ key.high
        }

        @inlinable @inline(__always)
        package mutating func take(_ word: UInt64) {
            v3 ^= word
            round()
            v0 ^= word
        }

        @inlinable @inline(__always)
        package mutating func finish(count: Int, tail: UInt64 = 0) -> UInt64 {
            take(UInt64(truncatingIfNeeded: count) << 56 | tail)
            v2 ^= 0xFF
            round()
            round()
            round()
            return v0 ^ v1 ^ v2 ^ v3
        }

        @inlinable @inline(__always)
        mutating func round() {
            v0 &+= v1
            v1 = v1 << 13 | v1 >> 51
            v1 ^= v0
            v0 = v0 << 32 | v0 >> 32
            v2 &+= v3
            v3 = v3 << 16 | v3 >> 48
            v3 ^= v2
            v0 &+= v3
            v3 = v3 << 21 | v3 >> 43
            v3 ^= v0
            v2 &+= v1
            v1 = v1 << 17 | v1 >> 47
            v1 ^= v2
            v2 = v2 << 32 | v2 >> 32
        }
    }
}
