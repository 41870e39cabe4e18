public import LogSyncModel

/// What `snapshot` published.
public struct SnapshotReport: Sendable, Encodable {
    public let format = 1
    /// The store's path.
    public var store: String
    /// The snapshot's name in this peer's folder.
    public var file: String
    /// Its length in bytes.
    public var bytes: UInt64
    /// Everything that it has.
    public var vector: VersionVector
    /// Whether it was taken now; false where the newest one had everything already.
    public var isNew: Bool
    /// Whether it lacks values that other peers show: then it stands for no peer's log files.
    public var isPartial: Bool

    private enum CodingKeys: String, CodingKey {
        case format, store, file, bytes, vector
        case isNew = "new"
        case isPartial = "partial"
    }
}
