package import LogSyncFormat

/// A transaction in a peer's log files, as far as telling branches needs it.
package struct BranchPlace: Hashable, Sendable {
    /// The sequence it has in its file.
    package var sequence: UInt64
    /// The chain hashes before and after it.
    package var before: ChainHash
    package var after: ChainHash

    package init(sequence: UInt64, before: ChainHash, after: ChainHash) {
        self.sequence = sequence
        self.before = before
        self.after = after
    }
}
