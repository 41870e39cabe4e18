import LogSyncModel

extension Value {
    /// Whether two rows that hold it are likely to be one. Small numbers are held by rows that have nothing to do with each
    /// other: places in a list, states, amounts, references.
    var tellsRows: Bool {
        switch self {
        case .null, .reference: false
        case .integer(let integer): integer.magnitude > 1 << 16
        case .real, .external: true
        case .text(let bytes), .blob(let bytes): !bytes.isEmpty
        }
    }
}
