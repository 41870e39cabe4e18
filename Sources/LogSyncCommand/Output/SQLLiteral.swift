import LogSync
import LogSyncModel

/// Values as SQL writes them, for people. Source: <https://www.sqlite.org/lang_expr.html#literal_values_constants_>.
enum SQLLiteral {
    static func text(_ value: Value) -> String {
        switch value {
        case .null: "NULL"
        case .integer(let integer): String(integer)
        case .real(let real): real.isFinite ? String(real) : real > 0 ? "9e999" : real < 0 ? "-9e999" : "NULL"
        case .text(let bytes): quoted(bytes)
        case .blob(let bytes): "X'" + hex(bytes) + "'"
        case .reference(let identity): "[\(identity)]"
        case .external(let reference): "[\(reference.kind) \(reference.id), \(reference.id.length.counted("byte"))]"
        }
    }

    /// Text that is not UTF-8, or holds a NUL that would end the literal, is shown as the bytes that it is.
    private static func quoted(_ bytes: Bytes) -> String {
        guard !bytes.contains(0), let text = String(validating: bytes, as: UTF8.self) else {
            return "CAST(X'" + hex(bytes) + "' AS TEXT)"
        }
        return "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''") + "'"
    }

    private static func hex(_ bytes: Bytes) -> String {
        let digits = Array("0123456789abcdef")
        return String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
    }
}
