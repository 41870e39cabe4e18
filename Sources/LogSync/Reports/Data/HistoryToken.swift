/// A place in one store's history. A program keeps it to go on from there at its next start; it is of no use in another
/// store.
public struct HistoryToken: Hashable, Comparable, Sendable, Codable {
    /// Grows with everything that changes the store; the same number as in `logsync log`.
    public let value: Int64

    /// The beginning.
    public static let zero = HistoryToken(0)

    /// - Parameter value: a ``value``, or a ``LoggedTransaction/token``.
    public init(_ value: Int64) { self.value = value }

    public init(from decoder: any Decoder) throws {
        value = try decoder.singleValueContainer().decode(Int64.self)
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(value)
    }

    public static func < (a: HistoryToken, b: HistoryToken) -> Bool { a.value < b.value }
}
