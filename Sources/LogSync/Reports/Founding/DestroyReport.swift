/// What ``Replicator/destroy(container:content:dryRun:configuration:)`` removed, or would remove.
public struct DestroyReport: Sendable, Encodable {
    public let format = 1
    public var content: String
    public var container: String
    public var dryRun: Bool
    public var files: Int
    public var bytes: UInt64
    /// The peers that had published there.
    public var peers: [PeerName]

    private enum CodingKeys: String, CodingKey {
        case format, content, container, dryRun, files, bytes, peers
    }
}
