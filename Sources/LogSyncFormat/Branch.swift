import Crypto
package import LogSyncModel

/// A part of a peer's history that goes by another id, because two stores have written under the peer's
/// (Documentation/forks.md).
///
/// Where two transactions of one dot follow on the same one, that with the lower chain hash keeps the peer's id; the
/// other, with all that follows on it, is a branch: its transactions are known by the branch's id, from sequence 1 on.
package struct Branch: Hashable, Sendable {
    package var id: PeerID
    /// The peer in whose folder its transactions lie.
    package var origin: PeerID
    /// The sequence that its first transaction has there.
    package var start: UInt64
    /// The mark of its first transaction.
    package var mark: ChainMark
    /// What it branches off: the origin, or another branch of it.
    package var parent: PeerID
    /// The mark of the transaction with which the parent goes on beside it.
    package var kept: ChainMark

    package init(origin: PeerID, start: UInt64, mark: ChainMark, parent: PeerID, kept: ChainMark) {
        self.id = Self.id(of: mark, origin: origin)
        self.origin = origin
        self.start = start
        self.mark = mark
        self.parent = parent
        self.kept = kept
    }

    /// How far its sequences lie behind the origin's.
    package var offset: UInt64 { start - 1 }

    /// The same wherever it is made: the first 16 bytes of a SHA-256.
    package static func id(of mark: ChainMark, origin: PeerID) -> PeerID {
        var sha = SHA256()
        sha.update(Array("logsync branch 1\0".utf8))
        sha.update(origin.bytes)
        withUnsafeBytes(of: mark.rawValue.bigEndian) { sha.update(bufferPointer: $0) }
        let digest = Array(sha.finalize())
        func word(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        return PeerID(high: word(digest[0..<8]), low: word(digest[8..<16]))
    }
}
