package import LogSyncModel

extension String {
    /// The text of a value that SQL promises to be text; other values give the empty string.
    package init(text value: Value) {
        if case .text(let bytes) = value { self.init(decoding: bytes, as: UTF8.self) } else { self = "" }
    }
}

extension Value {
    /// The integer of a value that SQL promises to be one; other values give 0.
    package var asInteger: Int64 {
        if case .integer(let integer) = self { integer } else { 0 }
    }
}
