/// Bytes that may be a part of a larger buffer, so that decoding a frame copies nothing.
public typealias Bytes = ArraySlice<UInt8>

/// One cell's value: SQLite's five storage classes bit for bit, or a reference to a row.
///
/// Equality is of bits: `.integer(1)`, `.real(1)` and `.text("1")` differ, `0.0` and `-0.0` differ,
/// and text may hold NUL or bytes that are not UTF-8. Source: <https://www.sqlite.org/datatype3.html>.
public enum Value: Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text(Bytes)
    case blob(Bytes)
    /// A foreign-key column that points at a row whose integer is local: the row's identity stands for it.
    case reference(RowIdentity)
    /// A text or BLOB too large for a log: its bytes are in a blob file. Logs and snapshots hold it so; what a store
    /// holds, shows or merges has its bytes.
    case external(BlobReference)

    public static func text(_ string: String) -> Value {
        .text(Array(string.utf8)[...])
    }

    public var isNull: Bool {
        if case .null = self { true } else { false }
    }
}

extension Value: Hashable {
    public static func == (a: Value, b: Value) -> Bool {
        switch (a, b) {
        case (.null, .null): true
        case (.integer(let a), .integer(let b)): a == b
        case (.real(let a), .real(let b)): a.bitPattern == b.bitPattern
        case (.text(let a), .text(let b)), (.blob(let a), .blob(let b)): a == b
        case (.reference(let a), .reference(let b)): a == b
        case (.external(let a), .external(let b)): a == b
        default: false
        }
    }

    public func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .integer(let value): hasher.combine(value)
        case .real(let value): hasher.combine(value.bitPattern)
        case .text(let bytes), .blob(let bytes): hasher.combine(bytes)
        case .reference(let identity): hasher.combine(identity)
        case .external(let reference): hasher.combine(reference)
        }
    }
}
