import GRDBSQLite
import LogSyncModel

/// What the expressions in a table's or an index's declaration come to whatever row they are for.
///
/// A default, a generated column or an indexed expression is evaluated for each row that is filled in: a line of schema takes
/// gigabytes there. Each call of a function that needs no row is evaluated for itself, under a limit, whatever condition
/// it stands behind. Of `printf` the widths are looked at, because SQLite takes its time for them and then gives NULL.
struct ConstantExpressions {
    private let connection: Connection
    private let tokens: SQLTokens

    init(_ sql: String, on connection: Connection) {
        self.connection = connection
        tokens = SQLTokens(sql)
    }

    /// Whether all calls together come to more than some bytes.
    func exceed(_ bytes: Int) -> Bool {
        var left = bytes
        var known: [String: Int] = [:]
        for call in tokens.calls where left >= 0 {
            let text = tokens.text(call)
            let size = known[text] ?? (isWide(call) ? .max : size(of: text))
            known[text] = size
            left = size > left ? -1 : left - size
        }
        return left < 0
    }

    /// How many bytes a call comes to: none where it needs a row, or fails.
    private func size(of call: String) -> Int {
        let limit = Int32(clamping: Limits.schemaConstants + call.utf8.count)
        let before = sqlite3_limit(connection.handle, SQLITE_LIMIT_LENGTH, limit)
        defer { sqlite3_limit(connection.handle, SQLITE_LIMIT_LENGTH, before) }
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        var code = sqlite3_prepare_v2(connection.handle, "SELECT \(call)", -1, &statement, nil)
        if code == SQLITE_OK { code = sqlite3_step(statement) }
        if [SQLITE_TOOBIG, SQLITE_NOMEM].contains(code & 0xFF) { return .max }
        return code == SQLITE_ROW ? Int(sqlite3_column_bytes(statement, 0)) : 0
    }

    /// Whether a call of `printf` pads to more than a value may have, or as an argument says that is itself so great.
    ///
    /// Source: <https://www.sqlite.org/printf.html>.
    private func isWide(_ call: Range<Int>) -> Bool {
        guard ["printf", "format"].contains(tokens.name(call.lowerBound).folded) else { return false }
        var takesWidth = false
        var hasGreatNumber = false
        for index in call.dropFirst(2) {
            let text = tokens.text(index..<index + 1)
            if text.hasPrefix("'") {
                for directive in text.split(separator: "%").dropFirst() {
                    let padding = directive.prefix { "-+ 0#!,.*".contains($0) || $0.isNumber }
                    takesWidth = takesWidth || padding.contains("*")
                    if padding.split(whereSeparator: { !$0.isNumber }).contains(where: Self.isGreat) { return true }
                }
            } else if Self.isGreat(text[...]) {
                hasGreatNumber = true
            }
        }
        return takesWidth && hasGreatNumber
    }

    private static func isGreat(_ digits: Substring) -> Bool {
        guard digits.first?.isNumber == true else { return false }
        return Double(digits).map { $0 > Double(Limits.schemaConstants) } ?? true
    }
}
