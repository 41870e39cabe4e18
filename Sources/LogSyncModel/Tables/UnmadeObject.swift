/// An object of the content's schema that a store does not have, or does not run, and why.
public struct UnmadeObject: Hashable, Sendable, Codable {
    /// The table, index, view or trigger, by its name in the schema.
    public var object: String
    /// Why, as a sentence without its end; it names what would have it made.
    public var reason: String

    public init(object: String, reason: String) {
        self.object = object
        self.reason = reason
    }
}
