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

    package enum Verdict: Hashable, Sendable {
        case newest
        case older
        /// So far above all before it that the peer cannot have written so many receipts since.
        case impossible
    }

    /// Notes a counter that was read.
    package mutating func accept(_ counter: UInt64, of peer: PeerID) -> Verdict {
        let known = self[peer]
        guard counter >= known else { return .older }
        guard counter - known <= Limits.counterRise else { return .impossible }
        if counter > known {
            highest[peer] = counter
            risen[peer] = counter
        }
        return .newest
    }

    /// Says that ``risen`` was kept.
    package mutating func forgetRisen() { risen = [:] }
}
