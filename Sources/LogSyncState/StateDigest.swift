package import LogSyncModel

/// The state digest (Documentation/model.md, particular rules): the sum of one share for each entry of the replicated
/// state, so that peers with the same vector have the same digest. It says nothing of values.
@usableFromInline
package enum StateDigest {
    /// The part of a share that table and identity make.
    package static func row(_ table: String, _ identity: RowIdentity) -> UInt64 { row(Digest.of(table), identity) }

    /// - Parameter table: the digest of the table's name.
    package static func row(_ table: UInt64, _ identity: RowIdentity) -> UInt64 {
        identity.bytes.withUnsafeBytes { row(table, identity: Self.identity($0)) }
    }

    /// - Parameters:
    ///   - table: the digest of the table's name.
    ///   - identity: that of the identity's bytes, see ``identity(_:)``.
    @inlinable @inline(__always)
    package static func row(_ table: UInt64, identity: UInt64) -> UInt64 { Digest.mix(table, identity) }

    /// The digest of an identity's bytes.
    @inlinable @inline(__always)
    package static func identity(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        Digest.of(bytes: bytes, seed: Digest.blobSeed)
    }

    /// The part that a column makes; I(r) counts as the column with the empty name.
    package static func column(_ name: String) -> UInt64 { Digest.of(name) }
    package static let insertColumn = column("")

    /// The part that the entry's dot makes.
    package static func dot(_ peer: PeerID, _ sequence: UInt64) -> UInt64 {
        Digest.mix(Digest.mix(peer.high, peer.low), sequence)
    }

    @inlinable @inline(__always)
    package static func share(row: UInt64, column: UInt64, dot: UInt64) -> UInt64 { Digest.mix(row &+ column, dot) }
}
