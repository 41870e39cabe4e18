package import LogSyncModel

/// Writes what a store keeps in one column: varints, texts, lists and values one after the other.
///
/// The bytes never leave the store, but a store lives for years: what reads them goes on reading what was written.
package struct RecordWriter {
    package var bytes: [UInt8]

    package init(bytes: [UInt8] = []) { self.bytes = bytes }

    package mutating func append(_ integer: UInt64) {
        var rest = integer
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    package mutating func append(counted content: Bytes) {
        append(UInt64(content.count))
        bytes.append(contentsOf: content)
    }

    package mutating func append(_ text: String) { append(counted: Array(text.utf8)[...]) }

    package mutating func append<Element>(
        list: some Collection<Element>, _ body: (inout RecordWriter, Element) -> Void
    ) {
        append(UInt64(list.count))
        for element in list { body(&self, element) }
    }

    package mutating func append(_ value: Value) {
        switch value {
        case .null: bytes.append(0)
        case .integer(let integer):
            bytes.append(1)
            append(UInt64(bitPattern: integer << 1 ^ integer >> 63))
        case .real(let real):
            bytes.append(2)
            withUnsafeBytes(of: real.bitPattern.littleEndian) { bytes.append(contentsOf: $0) }
        case .text(let content):
            bytes.append(3)
            append(counted: content)
        case .blob(let content):
            bytes.append(4)
            append(counted: content)
        case .reference(let identity):
            bytes.append(5)
            append(counted: identity.bytes)
        case .external(let blob):
            bytes.append(blob.kind == .text ? 6 : 7)
            append(counted: blob.id.hash[...])
            append(UInt64(blob.id.length))
        }
    }
}

/// Reads what ``RecordWriter`` wrote.
///
/// Everything throws `invalidStore` where the bytes say something else.
package struct RecordReader {
    package var rest: Bytes

    package init(rest: Bytes) { self.rest = rest }

    package static let malformed = LogSyncError(
        .invalidStore, "a clock record of the store is malformed; nothing was changed",
        help: "Check the database with PRAGMA integrity_check, or clone the store again from its container.")

    package mutating func byte() throws -> UInt8 {
        guard let byte = rest.popFirst() else { throw Self.malformed }
        return byte
    }

    package mutating func integer() throws -> UInt64 {
        var result: UInt64 = 0
        for shift in stride(from: 0, to: 64, by: 7) {
            let byte = try byte()
            result |= UInt64(byte & 0x7F) << UInt64(shift)
            if byte < 0x80 { return result }
        }
        throw Self.malformed
    }

    private mutating func take(_ count: Int) throws -> Bytes {
        guard count >= 0, rest.count >= count else { throw Self.malformed }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    package mutating func counted() throws -> Bytes {
        guard let count = Int(exactly: try integer()) else { throw Self.malformed }
        return try take(count)
    }

    package mutating func text() throws -> String { String(decoding: try counted(), as: UTF8.self) }

    package mutating func list<Element>(_ body: (inout RecordReader) throws -> Element) throws -> [Element] {
        var elements: [Element] = []
        for _ in 0..<(try integer()) { elements.append(try body(&self)) }
        return elements
    }

    package mutating func value() throws -> Value {
        switch try byte() {
        case 0: return .null
        case 1:
            let raw = try integer()
            return .integer(Int64(bitPattern: raw >> 1) ^ -Int64(bitPattern: raw & 1))
        case 2:
            let word = try take(8).reversed().reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
            return .real(Double(bitPattern: word))
        case 3: return .text(try counted())
        case 4: return .blob(try counted())
        case 5:
            guard let identity = RowIdentity(checking: try counted()) else { throw Self.malformed }
            return .reference(identity)
        case 6: return .external(BlobReference(try blob(), .text))
        case 7: return .external(BlobReference(try blob(), .blob))
        default: throw Self.malformed
        }
    }

    /// Where rows of a snapshot are put aside; a store's own records have the bytes.
    private mutating func blob() throws -> BlobID {
        let hash = try counted()
        guard let length = Int(exactly: try integer()), let id = BlobID(hash: hash, length: length) else {
            throw Self.malformed
        }
        return id
    }
}
