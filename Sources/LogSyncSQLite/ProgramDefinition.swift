import LogSyncModel

/// A function or collation that a program defines on its own connections, and that SQLite lacks on this one.
///
/// A table whose CHECK constraints, generated columns or indexes need one can be written by its program alone.
package struct ProgramDefinition: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable { case function, collation }

    package var kind: Kind
    package var name: String

    /// How SQLite says that it lacks something.
    private static let complaints: [(words: String, kind: Kind)] = [
        ("no such function: ", .function), ("unknown function: ", .function),
        ("no such collation sequence: ", .collation),
    ]

    package init(_ kind: Kind, _ name: String) { (self.kind, self.name) = (kind, name) }

    /// - Parameter message: SQLite's, or one of ``SQLiteFailure`` that quotes it; nil where it says something else.
    package init?(lackedBy message: String) {
        for (words, kind) in Self.complaints {
            guard let said = message.firstRange(of: words) else { continue }
            let rest = message[said.upperBound...]
            let end = rest.firstRange(of: SQLiteFailure.codeWords)?.lowerBound ?? rest.endIndex
            // A function comes with its parentheses, or without them.
            name = String(rest[..<end])
            if kind == .function, name.hasSuffix("()") { name.removeLast(2) }
            self.kind = kind
            return
        }
        return nil
    }

    /// As in `the function norm`.
    package var words: String { "\(kind.rawValue) \(name)" }

    /// The tables and indexes of the main database whose declarations name it, for people: `the index i of t`.
    package func objects(on connection: Connection) throws -> [String] {
        try connection.rows(
            """
            SELECT type, name, tbl_name, sql FROM main.sqlite_master WHERE type IN ('table', 'index') AND sql IS NOT NULL
            AND name NOT LIKE 'logsync\\_%' ESCAPE '\\' ORDER BY tbl_name, type DESC, name
            """
        ).compactMap { row in
            guard isNamed(in: SQLTokens(String(text: row[3]))) else { return nil }
            let isIndex = String(text: row[0]) == "index"
            return isIndex
                ? "the index \(String(text: row[1])) of \(String(text: row[2]))" : "the table \(String(text: row[1]))"
        }
    }

    private func isNamed(in tokens: SQLTokens) -> Bool {
        (0..<tokens.count).contains { index in
            guard tokens.name(index).folded == name.folded else { return false }
            return switch kind {
            case .function: index + 1 < tokens.count && tokens.word(index + 1) == "("
            case .collation: index > 0 && tokens.word(index - 1) == "COLLATE"
            }
        }
    }

    /// What cannot be written here, and why, as a sentence without its end.
    package func obstacle(on connection: Connection) throws -> String {
        let objects = try objects(on: connection)
        guard !objects.isEmpty else { return "the schema needs the \(words), which only its own program has" }
        return "\(objects.joined(separator: ", ")) \(objects.count == 1 ? "needs" : "need") the \(words), which only "
            + "its own program has"
    }
}
