/// What ``Replicator/seed(from:)`` brought in.
public struct SeedReport: Sendable, Encodable {
    public let format = 1
    public var store: String
    public var from: String
    /// The pseudo-peer.
    public var peer: PeerName
    /// The same rows had been seeded before, here or on another peer.
    public var alreadySeeded: Bool
    /// The rows in the file, by table.
    public var rows: [String: Int]

    private enum CodingKeys: String, CodingKey {
        case format, store, from, peer, alreadySeeded, rows
    }
}
