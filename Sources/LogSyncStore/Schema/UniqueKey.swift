import LogSyncModel

/// A UNIQUE index as SQL has it: its terms, and the condition of a partial one.
struct UniqueKey {
    struct Term {
        /// A column's name or an expression over the table's columns.
        var sql: String
        var collation: Collation
    }

    var terms: [Term]
    var condition: String?

    /// What a row has to meet to share a key with other values.
    var sharing: String {
        let equalities = terms.map { "(\($0.sql)) COLLATE \($0.collation.rawValue) = ?" }
        return (equalities + (condition.map { ["(\($0))"] } ?? [])).joined(separator: " AND ")
    }

    /// The key of one row: its terms, and whether the condition holds.
    var selection: String {
        let terms = terms.map { "(\($0.sql))" }
        return (terms + [condition.map { "(\($0)) IS TRUE" } ?? "1"]).joined(separator: ", ")
    }
}

extension UniqueKey {
    /// The keys of which no two rows of a table may share one, beside the identity's own.
    ///
    /// A primary key with references in it is among them: rows of two identities show the same key where one referenced
    /// row is folded into another.
    static func read(_ table: TrackedTable, on connection: Connection) throws -> [UniqueKey] {
        let identity = Set(table.keyColumnNames.map { $0.lowercased() })
        return try table.schema.uniqueIndexes.compactMap { index in
            if let columns = index.columns {
                let isOwn = table.kind != .surrogate && Set(columns.map { $0.name.lowercased() }) == identity
                if isOwn && !table.keyHasReference { return nil }
                return UniqueKey(terms: columns.map { Term(sql: SQL.name($0.name), collation: $0.collation) })
            }
            return try declared(index.name, on: connection)
        }
    }

    /// An index with expressions or a WHERE clause, from its declaration.
    private static func declared(_ name: String, on connection: Connection) throws -> UniqueKey? {
        let sql = try connection.scalar("SELECT sql FROM sqlite_master WHERE type = 'index' AND name = ?", .text(name))
        guard case .text(let text)? = sql,
            let parsed = IndexDeclaration(String(decoding: text, as: UTF8.self))
        else { return nil }
        let collations = try connection.rows(
            "SELECT coll FROM pragma_index_xinfo(?) WHERE key ORDER BY seqno", .text(name)
        ).map { Collation(rawValue: String(text: $0[0]).uppercased()) ?? .binary }
        guard collations.count == parsed.terms.count else { return nil }
        return UniqueKey(
            terms: zip(parsed.terms, collations).map { Term(sql: $0, collation: $1) }, condition: parsed.condition)
    }
}

/// The parts of a `CREATE INDEX` statement.
struct IndexDeclaration {
    var terms: [String]
    var condition: String?

    init?(_ sql: String) {
        let tokens = SQLTokens(sql)
        guard let on = tokens.firstIndex(of: "ON"), let open = tokens.firstIndex(of: "(", from: on) else { return nil }
        guard let close = tokens.closing(open) else { return nil }
        var terms: [String] = []
        var start = open + 1
        for comma in tokens.commas(in: open + 1..<close) + [close] {
            var end = comma
            if end > start, ["ASC", "DESC"].contains(tokens.word(end - 1)) { end -= 1 }
            terms.append(tokens.text(start..<end))
            start = comma + 1
        }
        self.terms = terms
        if tokens.count > close + 2, tokens.word(close + 1) == "WHERE" {
            condition = tokens.text(close + 2..<tokens.count)
        }
    }
}

/// SQL cut into tokens: names, literals and marks, without what lies between them.
///
/// Source: <https://www.sqlite.org/lang_keywords.html>, <https://www.sqlite.org/lang_comment.html>.
struct SQLTokens {
    private let source: [UInt8]
    private var ranges: [Range<Int>] = []

    init(_ sql: String) {
        source = Array(sql.utf8)
        var index = 0
        while index < source.count {
            let end = Self.end(of: source, from: index)
            if !Self.isBetween(source, index, end) { ranges.append(index..<end) }
            index = end
        }
    }

    var count: Int { ranges.count }

    /// A token that is no quoted name or literal, in upper case.
    func word(_ index: Int) -> String {
        String(decoding: source[ranges[index]], as: UTF8.self).uppercased()
    }

    func text(_ tokens: Range<Int>) -> String {
        guard !tokens.isEmpty else { return "" }
        let bytes = source[ranges[tokens.lowerBound].lowerBound..<ranges[tokens.upperBound - 1].upperBound]
        return String(decoding: bytes, as: UTF8.self)
    }

    func firstIndex(of token: String, from start: Int = 0) -> Int? {
        guard start < count else { return nil }
        return (start..<count).first { word($0) == token }
    }

    /// What closes the parenthesis at `open`.
    func closing(_ open: Int) -> Int? {
        var depth = 0
        for index in open..<count {
            if word(index) == "(" { depth += 1 }
            if word(index) == ")" { depth -= 1 }
            if depth == 0 { return index }
        }
        return nil
    }

    /// The commas that stand outside any parenthesis.
    func commas(in range: Range<Int>) -> [Int] {
        var depth = 0
        return range.filter { index in
            if word(index) == "(" { depth += 1 }
            if word(index) == ")" { depth -= 1 }
            return depth == 0 && word(index) == ","
        }
    }

    private static func isBetween(_ bytes: [UInt8], _ start: Int, _ end: Int) -> Bool {
        if isSpace(bytes[start]) { return true }
        return end - start >= 2
            && (bytes[start...].starts(with: [0x2D, 0x2D]) || bytes[start...].starts(with: [0x2F, 0x2A]))
    }

    private static func isSpace(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0C, 0x0D].contains(byte) }

    private static func isWord(_ byte: UInt8) -> Bool {
        byte >= 0x80 || byte == 0x5F || byte == 0x24 || (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
            || (0x61...0x7A).contains(byte)
    }

    /// Where the token that begins at `start` ends.
    private static func end(of bytes: [UInt8], from start: Int) -> Int {
        let first = bytes[start]
        let rest = bytes[start...]
        switch first {
        case 0x22, 0x27, 0x60: return quoted(bytes, start, by: first)
        case 0x5B: return (rest.firstIndex(of: 0x5D) ?? bytes.count - 1) + 1
        case _ where rest.starts(with: [0x2D, 0x2D]): return (rest.firstIndex(of: 0x0A) ?? bytes.count - 1) + 1
        case _ where rest.starts(with: [0x2F, 0x2A]):
            var index = start + 2
            while index + 1 < bytes.count, !(bytes[index] == 0x2A && bytes[index + 1] == 0x2F) { index += 1 }
            return min(index + 2, bytes.count)
        case _ where isSpace(first): return rest.firstIndex { !isSpace($0) } ?? bytes.count
        case _ where isWord(first): return rest.firstIndex { !isWord($0) } ?? bytes.count
        default: return start + 1
        }
    }

    /// A doubled quote stands for itself.
    private static func quoted(_ bytes: [UInt8], _ start: Int, by quote: UInt8) -> Int {
        var index = start + 1
        while index < bytes.count {
            if bytes[index] == quote {
                guard index + 1 < bytes.count, bytes[index + 1] == quote else { return index + 1 }
                index += 1
            }
            index += 1
        }
        return bytes.count
    }
}
