import LogSyncModel
import LogSyncState

extension TrackedTable {
    /// The digest of the natural key of a table whose records are found by it.
    func keyDigest(_ identity: RowIdentity) -> Int32 { Self.keyDigest(identity) }

    static func keyDigest(_ identity: RowIdentity) -> Int32 {
        identity.bytes.withUnsafeBytes { fold(StateDigest.identity($0)) }
    }

    /// The digest of a whole row, from its columns' digests by position.
    ///
    /// - Parameter limit: columns of this id and above do not count.
    @inline(__always)
    func digest(ofRow digests: [UInt64], below limit: Int = .max) -> UInt64 {
        var sum: UInt64 = 0
        for (position, digest) in digests.enumerated() where columns[position].id < limit {
            sum &+= Digest.mix(digest, UInt64(columns[position].id))
        }
        return sum
    }

    /// The digests by which a row's record is found.
    func uniques(of identity: RowIdentity, _ value: (Int) -> Value) -> [Int32] {
        findsByKeyDigest ? (identity.isSurrogate ? [] : [keyDigest(identity)]) : uniqueDigests(value)
    }

    /// The digests of a row's unique keys, by slot; 0 where a NULL keeps the key out of its index.
    func uniqueDigests(_ value: (Int) -> Value) -> [Int32] {
        uniqueSlots.enumerated().map { slot, columns in
            var state = UInt64(slot)
            for column in columns {
                guard let part = KeyPart(value(column.index), collation: column.collation) else { return 0 }
                state = Digest.mix(state, Digest.of(part.value))
            }
            return Self.fold(state)
        }
    }

    @inline(__always)
    static func fold(_ digest: UInt64) -> Int32 {
        let folded = Int32(truncatingIfNeeded: digest ^ digest >> 32)
        return folded == 0 ? 1 : folded
    }
}
