/// Names one transaction: the peer that made it and that peer's sequence number, which runs 1, 2, 3 … without gaps.
public struct Dot: Hashable, Comparable, Sendable, Codable {
    public var peer: PeerID
    public var sequence: UInt64

    public init(_ peer: PeerID, _ sequence: UInt64) {
        self.peer = peer
        self.sequence = sequence
    }

    public static func < (a: Dot, b: Dot) -> Bool {
        (a.peer, a.sequence) < (b.peer, b.sequence)
    }
}

extension Dot: CustomStringConvertible {
    /// `PEER:SEQUENCE`, as the command line takes it.
    public var description: String { "\(peer):\(sequence)" }
}
