/// Names one store that takes part in replication: 128 random bits, written as 32 lower-case hex digits.
///
/// Peers are ordered by their bytes, most significant first; that order breaks ties wherever two times are equal.
public struct PeerID: Hashable, Comparable, Sendable {
    public let high: UInt64
    public let low: UInt64

    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Reads 16 bytes, most significant first. Returns nil for any other count.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 16 else { return nil }
        var words: (UInt64, UInt64) = (0, 0)
        for (index, byte) in bytes.enumerated() {
            if index < 8 { words.0 = words.0 << 8 | UInt64(byte) } else { words.1 = words.1 << 8 | UInt64(byte) }
        }
        self.init(high: words.0, low: words.1)
    }

    /// Reads exactly 32 lower-case hex digits. Returns nil for anything else, upper case included.
    public init?(_ description: some StringProtocol) {
        guard let bytes = Hex.decode(description), let peer = PeerID(bytes: bytes) else { return nil }
        self = peer
    }

    /// A new random id.
    public static func random(using generator: inout some RandomNumberGenerator) -> PeerID {
        PeerID(high: generator.next(), low: generator.next())
    }

    /// The id's 16 bytes, most significant first.
    public var bytes: [UInt8] {
        withUnsafeBytes(of: high.bigEndian, Array.init) + withUnsafeBytes(of: low.bigEndian, Array.init)
    }

    public static func < (a: PeerID, b: PeerID) -> Bool {
        (a.high, a.low) < (b.high, b.low)
    }
}

extension PeerID: CustomStringConvertible {
    public var description: String { Hex.encode(bytes) }
}

extension PeerID: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let peer = PeerID(text) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "a peer id is 32 lower-case hex digits, not \(text.debugDescription)")
        }
        self = peer
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
