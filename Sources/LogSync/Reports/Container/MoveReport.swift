import LogSyncContainer
import LogSyncStore

/// What ``Replicator/move(to:content:)`` did.
public struct MoveReport: Sendable, Encodable {
    /// A content in a container.
    public struct Place: Hashable, Sendable, Encodable {
        public var content: String
        public var container: String
    }

    public let format = 1
    public var store: String
    public var place: Place
    public var former: Place
    /// Whether that is the folder that the store was in before, by another path: nothing was copied, and nobody stays behind.
    public var isSameFolder = false
    /// Log files copied from the former folder that the new one did not have.
    public var copied = 0
    /// The peers that take part in the former folder and not in the new one, until they are moved, too; none where the
    /// former folder was not there to say.
    public var staying: [PeerName] = []
    /// The snapshot that was written because the logs that could be copied would not give the whole state; nil where
    /// none was needed.
    public var snapshot: String?
    /// What is in the store, and in neither logs nor snapshots in the new folder; normally nothing.
    public var missing: [RebuildReport.Missing] = []
    /// What the sync with the new container brought.
    public var result: SyncResult

    /// Whether the store was elsewhere before.
    public var changed: Bool { place != former }

    init(_ registration: StoreRegistration, store: String, _ target: ContentFolder) {
        self.store = store
        place = Place(content: target.name.description, container: target.container)
        former = Place(content: registration.content, container: registration.container)
        result = SyncResult(store: store)
    }

    private enum CodingKeys: String, CodingKey {
        case format, store, content, container, former, changed, sameFolder, copied, staying, snapshot, missing,
            recorded,
            published,
            imported, held
    }

    public func encode(to encoder: any Encoder) throws {
        var document = encoder.container(keyedBy: CodingKeys.self)
        try document.encode(format, forKey: .format)
        try document.encode(store, forKey: .store)
        try document.encode(place.content, forKey: .content)
        try document.encode(place.container, forKey: .container)
        try document.encode(former, forKey: .former)
        try document.encode(changed, forKey: .changed)
        try document.encode(isSameFolder, forKey: .sameFolder)
        try document.encode(copied, forKey: .copied)
        try document.encode(staying, forKey: .staying)
        try document.encode(snapshot, forKey: .snapshot)
        try document.encode(missing, forKey: .missing)
        try document.encode(result.recorded, forKey: .recorded)
        try document.encode(result.published, forKey: .published)
        try document.encode(result.imported, forKey: .imported)
        try document.encode(result.held, forKey: .held)
    }
}
