import LogSyncModel

/// A place in one store's history. A program keeps it to go on from there at its next start; it is of no use in another
/// store, or once the store has another history: where it was made anew, restored from a backup or copied.
public struct HistoryToken: Hashable, Comparable, Sendable, Codable {
    /// Grows with everything that changes the store; the same number as in `logsync log`.
    public let value: Int64
    /// Which peer the store was: one that begins another history becomes another peer. Nil where a program says the number
    /// alone.
    let peer: PeerID?

    /// The beginning, of any history.
    public static let zero = HistoryToken(0)

    /// - Parameter value: a ``value``, or a ``LoggedTransaction/token``.
    public init(_ value: Int64) { self.init(value, of: nil) }

    init(_ value: Int64, of peer: PeerID?) {
        self.value = value
        self.peer = peer
    }

    // MARK: Coding

    /// A number alone, or one and the peer: `57@` and 32 hex digits.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let value = try? container.decode(Int64.self) {
            self.init(value)
            return
        }
        let parts = try container.decode(String.self).split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, let value = Int64(parts[0]), let peer = PeerID(parts[1]) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "this is no history token")
        }
        self.init(value, of: peer)
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if let peer { try container.encode("\(value)@\(peer)") } else { try container.encode(value) }
    }

    // MARK: Comparing

    public static func < (a: HistoryToken, b: HistoryToken) -> Bool { a.value < b.value }

    /// Whether they are one place, of one history.
    public static func == (a: HistoryToken, b: HistoryToken) -> Bool { a.value == b.value }

    public func hash(into hasher: inout Hasher) { hasher.combine(value) }
}
