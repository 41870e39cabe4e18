/// SQL text helpers.
package enum SQL {
    /// A name as a quoted identifier.
    package static func name(_ name: String) -> String {
        // Most names have none.
        name.utf8.contains(UInt8(ascii: "\"")) ? "\"" + name.replacing("\"", with: "\"\"") + "\"" : "\"\(name)\""
    }

    /// A text as a string literal.
    package static func literal(_ text: String) -> String {
        "'" + text.replacing("'", with: "''") + "'"
    }

    package static func list(_ names: [String]) -> String {
        names.map(name).joined(separator: ", ")
    }

    package static func placeholders(_ count: Int) -> String {
        Array(repeating: "?", count: count).joined(separator: ", ")
    }

    /// Unix milliseconds as the triggers capture them.
    package static let milliseconds = "CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER)"
}
