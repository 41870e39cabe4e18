/// How a column's values are encoded (Documentation/log-format.md, values).
enum ValueEncoding: UInt8 {
    case nulls = 0
    case integers = 1
    case integerDeltas = 2
    case reals = 3
    case texts = 4
    case blobs = 5
    case references = 6
    case mixed = 7
    /// The same as a part of each row's natural key.
    case keyPart = 8
    /// One value for all rows.
    case constant = 9
}

/// The storage classes, as they stand in a mixed column.
enum ValueTag {
    static let null: UInt8 = 0
    static let integer: UInt8 = 1
    static let real: UInt8 = 2
    static let text: UInt8 = 3
    static let blob: UInt8 = 4
    static let reference: UInt8 = 5
    /// A text, and a BLOB, whose bytes are in a blob file.
    static let externalText: UInt8 = 6
    static let externalBlob: UInt8 = 7
}
