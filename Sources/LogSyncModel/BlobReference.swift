/// Names the content of a blob file: the bytes of one large value, on whatever peer and in however many rows.
public struct BlobID: Hashable, Sendable {
    /// The SHA-256 of the bytes: 32 bytes.
    public let hash: [UInt8]
    /// How many bytes there are; at most ``maximumLength``.
    public let length: Int

    /// SQLite takes no larger text or BLOB. Source: <https://www.sqlite.org/limits.html#max_length>.
    public static let maximumLength = 1_000_000_000

    /// Returns nil unless the hash has 32 bytes and the length is within 0 … ``maximumLength``.
    public init?(hash: some Collection<UInt8>, length: Int) {
        guard hash.count == 32, (0...Self.maximumLength).contains(length) else { return nil }
        self.hash = Array(hash)
        self.length = length
    }
}

extension BlobID: Comparable {
    public static func < (a: BlobID, b: BlobID) -> Bool {
        a.hash == b.hash ? a.length < b.length : a.hash.lexicographicallyPrecedes(b.hash)
    }
}

extension BlobID: CustomStringConvertible {
    /// The name of its blob file: the first 32 hex digits of the hash.
    public var description: String { Hex.encode(hash.prefix(16)) }
}

/// A value whose bytes are in a blob file (Documentation/design.md, section 7).
public struct BlobReference: Hashable, Sendable {
    /// What SQLite takes the bytes for. The same bytes may be a text in one row and a BLOB in another.
    public enum Kind: UInt8, Hashable, Sendable, CaseIterable {
        case text = 1
        case blob = 2
    }

    public var id: BlobID
    public var kind: Kind

    public init(_ id: BlobID, _ kind: Kind) {
        self.id = id
        self.kind = kind
    }

    /// The value that these bytes are.
    public func value(_ bytes: Bytes) -> Value {
        switch kind {
        case .text: .text(bytes)
        case .blob: .blob(bytes)
        }
    }
}
