package import LogSyncFormat
package import LogSyncModel

/// What one recording made.
package struct RecordedTransaction: Sendable, Equatable {
    package var dot: Dot
    package var chain: ChainHash
    package var counts: [String: ChangeCounts]
}
