package import LogSyncModel

/// The highest counter that was read in any receipt of each peer, by this process or an earlier one.
///
/// A receipt with a lower counter is one that a sync engine has brought back: it says what its peer takes back long since,
/// such as that it has left.
package struct ReceiptCounters: Sendable {
    private var highest: [PeerID: UInt64]
    /// The counters that have risen and are not kept yet for the next process.
    package private(set) var risen: [PeerID: UInt64] = [:]

    /// - Parameter highest: what earlier processes kept.
    package init(_ highest: [PeerID: UInt64] = [:]) {
        self.highest = highest
    }

    /// 0 for a peer of which no receipt was read.
    package subscript(peer: PeerID) -> UInt64 { highest[peer] ?? 0 }

    /// Notes a counter that was read. Returns whether it is that of the newest receipt.
    package mutating func accept(_ counter: UInt64, of peer: PeerID) -> Bool {
        guard counter >= self[peer] else { return false }
        if counter > self[peer] {
            highest[peer] = counter
            risen[peer] = counter
        }
        return true
    }

    /// Says that ``risen`` was kept.
    package mutating func forgetRisen() { risen = [:] }
}
