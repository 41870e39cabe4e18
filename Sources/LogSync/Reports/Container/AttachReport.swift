/// What ``Replicator/attach(to:)`` did.
public struct AttachReport: Sendable, Encodable {
    public let format = 1
    public var store: String
    public var content: String
    public var container: String
    /// The container before.
    public var former: String
    /// What the sync with the container brought.
    public var result: SyncResult

    /// Whether the store was with another path before.
    public var changed: Bool { former != container }

    private enum CodingKeys: String, CodingKey {
        case format, store, content, container, former, changed, recorded, published, imported, held
    }

    public func encode(to encoder: any Encoder) throws {
        var document = encoder.container(keyedBy: CodingKeys.self)
        try document.encode(format, forKey: .format)
        try document.encode(store, forKey: .store)
        try document.encode(content, forKey: .content)
        try document.encode(container, forKey: .container)
        try document.encode(former, forKey: .former)
        try document.encode(changed, forKey: .changed)
        try document.encode(result.recorded, forKey: .recorded)
        try document.encode(result.published, forKey: .published)
        try document.encode(result.imported, forKey: .imported)
        try document.encode(result.held, forKey: .held)
    }
}
