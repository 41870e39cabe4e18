import Foundation

/// Says that two rows on two peers are the same row of a table.
///
/// An identity is a short canonical byte string, so that it can be compared, hashed, indexed and ordered as it is:
///
/// - surrogate: the byte 0, then 16 bytes;
/// - natural: the byte 1, then the key's parts in key order, each a tag byte and its content
///   (1 integer: 8 bytes, big endian, sign bit flipped; 2 real: 8 bytes of IEEE 754, big endian;
///   3 text and 4 blob: a 4-byte big-endian count and the bytes; 5 reference: a 4-byte count and an identity).
///
/// Equal keys have equal bytes because ``KeyPart`` values are normalised before they get here (Documentation/model.md,
/// natural keys).
public struct RowIdentity: Hashable, Sendable {
    public let bytes: Bytes

    /// Takes bytes that were checked to be canonical, see ``init(checking:)``.
    package init(unchecked bytes: Bytes) {
        self.bytes = bytes
    }

    /// Reads an identity from bytes of unknown origin. Returns nil unless they are canonical,
    /// which a whole number written as a real is not, nor a key without parts.
    public init?(checking bytes: Bytes) {
        self.init(checking: bytes, depth: 0)
    }

    /// The same for one that stands within others, which are so many already.
    package init?(checking bytes: Bytes, depth: Int) {
        guard bytes.withUnsafeBytes({ Self.isCanonical($0, depth: depth) }) else { return nil }
        self.bytes = bytes
    }

    /// Whether `bytes` are an identity, found without allocating anything.
    private static func isCanonical(_ bytes: UnsafeRawBufferPointer, depth: Int) -> Bool {
        if bytes.first == 0 { return bytes.count == 17 }
        guard bytes.first == 1, bytes.count > 1, depth < Limits.identityDepth else { return false }
        var position = 1
        while position < bytes.count {
            let tag = bytes[position]
            position += 1
            let remaining = bytes.count - position
            switch tag {
            case 1, 2:
                guard remaining >= 8 else { return false }
                let word = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
                if tag == 2, Int64(exactly: Double(bitPattern: word)) != nil { return false }
                position += 8
            case 3, 4, 5:
                guard remaining >= 4 else { return false }
                let count = Int(UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt32.self)))
                guard count <= remaining - 4 else { return false }
                position += 4
                if tag == 5 {
                    let content = UnsafeRawBufferPointer(rebasing: bytes[position..<position + count])
                    guard isCanonical(content, depth: depth + 1) else { return false }
                }
                position += count
            default:
                return false
            }
        }
        return true
    }

    /// A surrogate identity of 16 bytes.
    public init(surrogate: some Collection<UInt8>) {
        precondition(surrogate.count == 16)
        bytes = ([0] + surrogate)[...]
    }

    public init(natural parts: [KeyPart]) {
        var bytes: [UInt8] = []
        bytes.beginNaturalKey()
        for part in parts { part.append(to: &bytes) }
        self.bytes = bytes[...]
    }

    public func hash(into hasher: inout Hasher) { bytes.withUnsafeBytes { hasher.combine(bytes: $0) } }

    public var isSurrogate: Bool { bytes.first == 0 }

    /// Whether this is a natural identity whose first part is a BLOB.
    package var beginsWithBlob: Bool { bytes.first == 1 && bytes.dropFirst().first == 4 }

    /// The key's parts, or nil for a surrogate identity.
    public var naturalParts: [KeyPart]? {
        guard bytes.first == 1 else { return nil }
        return Self.parse(bytes.dropFirst(), depth: 0)
    }

    private static func parse(_ bytes: Bytes, depth: Int) -> [KeyPart]? {
        guard depth < Limits.identityDepth else { return nil }
        return bytes.withUnsafeBytes { raw in
            var parts: [KeyPart] = []
            var offset = 0
            /// Where the next `count` bytes are, among ``bytes``.
            func take(_ count: Int) -> Range<Int>? {
                guard count <= raw.count - offset else { return nil }
                defer { offset += count }
                return offset..<offset + count
            }
            func word() -> UInt64? {
                take(8).map { UInt64(bigEndian: raw.loadUnaligned(fromByteOffset: $0.lowerBound, as: UInt64.self)) }
            }
            func counted() -> Bytes? {
                guard let place = take(4) else { return nil }
                let count = UInt32(bigEndian: raw.loadUnaligned(fromByteOffset: place.lowerBound, as: UInt32.self))
                return take(Int(count)).map { bytes.dropFirst($0.lowerBound).prefix($0.count) }
            }
            while offset < raw.count {
                let tag = raw[offset]
                offset += 1
                switch tag {
                case 1:
                    guard let word = word() else { return nil }
                    parts.append(.integer(Int64(bitPattern: word ^ 1 << 63)))
                case 2:
                    guard let word = word() else { return nil }
                    parts.append(.real(Double(bitPattern: word)))
                case 3:
                    guard let content = counted() else { return nil }
                    parts.append(.text(content))
                case 4:
                    guard let content = counted() else { return nil }
                    parts.append(.blob(content))
                case 5:
                    guard let content = counted(), let identity = RowIdentity(checking: content, depth: depth + 1)
                    else { return nil }
                    parts.append(.reference(identity))
                default:
                    return nil
                }
            }
            return parts
        }
    }
}

extension RowIdentity {
    /// Whether this is the natural identity of a key without references.
    ///
    /// Asked of every row that comes, so nothing is made of texts to be compared.
    ///
    /// - Parameters:
    ///   - row: its values by column position.
    ///   - key: the positions of the key's columns, in key order.
    package func isSpelled(by row: [Value], at key: [Int], _ collations: [Collation]) -> Bool {
        bytes.withUnsafeBytes { bytes in
            guard bytes.first == 1 else { return false }
            var offset = 1
            for index in key.indices {
                let value = row[key[index]]
                let isSame: Bool
                if case .text(let text) = value, collations[index] == .binary {
                    isSame = text.withUnsafeBytes { Self.holds($0, in: bytes, from: &offset) }
                } else {
                    guard let part = KeyPart(value, collation: collations[index]) else { return false }
                    let expected = RowIdentity(natural: [part]).bytes.dropFirst()
                    isSame = bytes.dropFirst(offset).starts(with: expected)
                    offset += expected.count
                }
                guard isSame else { return false }
            }
            return offset == bytes.count
        }
    }

    /// Whether the part of an identity at an offset is a text; the offset moves behind it.
    private static func holds(
        _ text: UnsafeRawBufferPointer, in bytes: UnsafeRawBufferPointer, from offset: inout Int
    ) -> Bool {
        let start = offset + 5
        guard bytes.count >= start + text.count, bytes[offset] == 3,
            UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset + 1, as: UInt32.self)) == text.count
        else { return false }
        offset = start + text.count
        guard let given = text.baseAddress, let own = bytes.baseAddress else { return true }
        return memcmp(given, own + start, text.count) == 0
    }
}

extension RowIdentity: Comparable {
    public static func < (a: RowIdentity, b: RowIdentity) -> Bool {
        a.bytes.withUnsafeBytes { a in b.bytes.withUnsafeBytes { a.lexicographicallyPrecedes($0) } }
    }

    /// Whether any of them is there twice. Logs have rows in order, mostly, and then nothing is kept to find out.
    package static func repeats(in identities: [RowIdentity]) -> Bool {
        if zip(identities, identities.dropFirst()).allSatisfy(<) { return false }
        return Set(identities).count < identities.count
    }
}

extension RowIdentity: CustomStringConvertible {
    public var description: String { Hex.encode(bytes) }
}

/// One part of a natural key, normalised so that keys which SQLite calls equal are equal.
public enum KeyPart: Hashable, Sendable {
    case integer(Int64)
    case real(Double)
    case text(Bytes)
    case blob(Bytes)
    case reference(RowIdentity)

    /// Normalises a key column's value: a real that is a whole number within Int64 becomes that integer
    /// (1 = 1.0, -0.0 = 0), and text is folded by the column's collation. NULL has no part, nor has a value whose
    /// bytes are elsewhere; returns nil.
    public init?(_ value: Value, collation: Collation) {
        switch value {
        case .null: return nil
        case .integer(let integer): self = .integer(integer)
        case .real(let real):
            if let integer = Int64(exactly: real) { self = .integer(integer) } else { self = .real(real) }
        case .text(let bytes): self = .text(collation.normalize(bytes))
        case .blob(let bytes): self = .blob(bytes)
        case .reference(let identity): self = .reference(identity)
        case .external: return nil
        }
    }

    /// The value that this part stands for where the key was written in its normal spelling.
    public var value: Value {
        switch self {
        case .integer(let integer): .integer(integer)
        case .real(let real): .real(real)
        case .text(let bytes): .text(bytes)
        case .blob(let bytes): .blob(bytes)
        case .reference(let identity): .reference(identity)
        }
    }

    package func append(to bytes: inout some KeyBytes) {
        switch self {
        case .integer(let integer): bytes.appendKey(integer: integer)
        case .real(let real): bytes.appendKey(real: real)
        case .text(let content): content.withUnsafeBytes { bytes.appendKey(text: $0) }
        case .blob(let content): content.withUnsafeBytes { bytes.appendKey(blob: $0) }
        case .reference(let identity): identity.bytes.withUnsafeBytes { bytes.appendKey(reference: $0) }
        }
    }
}

/// SQLite's built-in collations, and Anki's. Source: <https://www.sqlite.org/datatype3.html#collating_sequences>.
public enum Collation: String, Hashable, Sendable, Codable {
    case binary = "BINARY"
    case nocase = "NOCASE"
    case rtrim = "RTRIM"
    /// Logsync brings it to its connections: see ``FoldedText``.
    case unicase = "UNICASE"

    /// Maps texts that compare equal under this collation to the same bytes.
    ///
    /// NOCASE folds ASCII A to Z only and, as its comparison stops at a NUL and then compares the lengths, sees of what
    /// follows a NUL nothing but its length; RTRIM ignores trailing spaces.
    public func normalize(_ text: Bytes) -> Bytes {
        switch self {
        case .binary: return text
        case .nocase:
            guard text.contains(where: { (0x41...0x5A).contains($0) || $0 == 0 }) else { return text }
            let end = text.firstIndex(of: 0) ?? text.endIndex
            let folded = text[..<end].map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
            return (folded + Array(repeating: 0, count: text.endIndex - end))[...]
        case .rtrim:
            var text = text
            while text.last == 0x20 { text = text.dropLast() }
            return text
        case .unicase: return FoldedText.fold(text)[...]
        }
    }
}
