import LogSyncModel

/// How much of the content folder a scan lists again.
enum ScanExtent: Equatable {
    /// All of it.
    case full
    /// All of it that is not known to stand as an earlier scan, of this process or another, found it.
    case cached
    /// Folders whose modification times have changed; nil for the folders of all peers.
    case changes(in: Set<PeerID>?)

    /// Folders of any peer whose modification times have changed.
    static let changes = ScanExtent.changes(in: nil)

    /// Whether the scan tells of all peers what there is to be known.
    var isFull: Bool { if case .changes = self { false } else { true } }
}
