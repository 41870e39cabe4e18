package import LogSyncModel

/// The 64-bit digests that tell changed cells from unchanged ones and make up the state digest.
///
/// They are kept in stores and compared between peers, so this function never changes. It is a multiply-and-fold hash
/// over 8-byte words, little endian; it guards against chance, not against a writer who makes collisions.
@usableFromInline
package enum Digest {
    @inlinable package static var null: UInt64 { 0x9E37_79B9_7F4A_7C15 }
    @inlinable package static var textSeed: UInt64 { 0xA076_1D64_78BD_642F }
    @inlinable package static var blobSeed: UInt64 { 0xE703_7ED1_A0B4_28DB }
    @inlinable package static var integerSeed: UInt64 { 0x8EBC_6AF0_9C88_C6E3 }
    @inlinable package static var realSeed: UInt64 { 0x5899_65CC_7537_4CC3 }
    @inlinable package static var fold: UInt64 { 0x1D8E_4E27_C47D_124F }

    @inlinable @inline(__always)
    package static func mix(_ a: UInt64, _ b: UInt64) -> UInt64 {
        let product = (a ^ fold).multipliedFullWidth(by: b ^ 0xEB44_ACCA_B455_D165)
        return product.high ^ product.low ^ (a &+ b.byteSwapped)
    }

    @inlinable
    package static func of(integer: Int64) -> UInt64 {
        mix(UInt64(bitPattern: integer), integerSeed)
    }

    @inlinable
    package static func of(real: Double) -> UInt64 {
        mix(real.bitPattern, realSeed)
    }

    @inlinable
    package static func of(bytes: UnsafeRawBufferPointer, seed: UInt64) -> UInt64 {
        var state = mix(seed, UInt64(bytes.count))
        var offset = 0
        while offset + 8 <= bytes.count {
            let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            state = mix(state, word)
            offset += 8
        }
        var tail: UInt64 = 0
        var shift: UInt64 = 0
        while offset < bytes.count {
            tail |= UInt64(bytes[offset]) << shift
            shift += 8
            offset += 1
        }
        return mix(state, tail)
    }

    package static func of(bytes: Bytes, seed: UInt64) -> UInt64 {
        bytes.withUnsafeBytes { of(bytes: $0, seed: seed) }
    }

    package static func of(_ text: String) -> UInt64 {
        of(bytes: Array(text.utf8)[...], seed: textSeed)
    }

    package static func of(_ value: Value) -> UInt64 {
        switch value {
        case .null: null
        case .integer(let integer): of(integer: integer)
        case .real(let real): of(real: real)
        case .text(let bytes): of(bytes: bytes, seed: textSeed)
        case .blob(let bytes): of(bytes: bytes, seed: blobSeed)
        case .reference(let identity): of(bytes: identity.bytes, seed: blobSeed)
        case .external: preconditionFailure("digests are of what a table returns")
        }
    }
}
