/// An object of the content's schema that a store does not have, or does not run, and why.
public struct UnmadeObject: Hashable, Sendable, Codable {
    /// The table, index, view or trigger, by its name in the schema.
    public var object: String
    /// Why, as a sentence without its end; it names what would have it made.
    public var reason: String
    /// Whether the store has no such object: a clone that was made without it, whose program has not made it since.
    public var isMissing: Bool

    public init(object: String, reason: String, isMissing: Bool = false) {
        self.object = object
        self.reason = reason
        self.isMissing = isMissing
    }

    enum CodingKeys: String, CodingKey {
        case object, reason
        case isMissing = "missing"
    }
}
