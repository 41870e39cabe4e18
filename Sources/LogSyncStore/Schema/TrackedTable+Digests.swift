import LogSyncModel
import LogSyncState

extension TrackedTable {
    /// The digest of the natural key of a table whose records are found by it.
    func keyDigest(_ identity: RowIdentity) -> Int32 { Self.keyDigest(identity) }

    static func keyDigest(_ identity: RowIdentity) -> Int32 {
        fold(Digest.of(bytes: identity.bytes, seed: Digest.blobSeed))
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
