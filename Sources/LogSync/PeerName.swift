public import LogModel

/// A peer as people and JSON see it: its id and its name.
public struct PeerName: Hashable, Sendable, Encodable {
    public var id: PeerID
    /// The name that people gave it; the id's first eight digits where none is known.
    public var name: String

    public init(id: PeerID, name: String?) {
        self.id = id
        self.name = name ?? String(id.description.prefix(8))
    }
}
