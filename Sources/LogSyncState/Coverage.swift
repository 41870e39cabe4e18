package import LogSyncModel

/// A version vector by local peer numbers, for asking of each entry whether it is covered.
@usableFromInline
package struct Coverage: Sendable {
    @usableFromInline var sequences: [UInt64] = []
    @usableFromInline let isEverything: Bool

    /// - Parameter numbers: a peer's local number; nil for a peer of which nothing is here.
    package init(_ vector: VersionVector, numbers: (PeerID) -> Int64?) {
        isEverything = false
        for (id, sequence) in vector.sequences {
            if let number = numbers(id) { raise(number, to: sequence) }
        }
    }

    private init(isEverything: Bool) { self.isEverything = isEverything }

    /// A local write has seen all that is here.
    package static let everything = Coverage(isEverything: true)

    /// Raises one peer's entry.
    package mutating func raise(_ number: Int64, to sequence: UInt64) {
        while sequences.count <= Int(number) { sequences.append(0) }
        sequences[Int(number)] = sequence
    }

    /// Up to where the transactions of a peer are covered; 0 for none.
    package func sequence(of number: Int64) -> UInt64 {
        isEverything ? .max : number < sequences.count ? sequences[Int(number)] : 0
    }

    @inlinable @inline(__always)
    package func covers(_ stamp: Stamp) -> Bool {
        isEverything || (stamp.peer < sequences.count && stamp.sequence <= sequences[Int(stamp.peer)])
    }
}
