import GRDBSQLite
package import LogSyncModel

/// The schema that another peer published, the only SQL of a shared folder that reaches SQLite, and only from here.
///
/// A program's schema is needed to make a store of a folder, and to know what columns its tables have. But SQL is a
/// program: `ATTACH` and `VACUUM INTO` write any file, `fts3_tokenizer` calls any address, a view that selects from itself
/// twenty times over is a bomb, and a trigger that calls `edit` runs a command when its owner looks at the table with the
/// sqlite3 shell. So the text is cut into statements, and each
///
/// 1. has to be one that a store publishes: a table, index, view or trigger is created, one of five pragmas is set,
///    or a row of literals inserted into a table that was created before. Anything else refuses the schema as a whole;
/// 2. is prepared and run alone, under an authorizer that knows what kind it is of (``SchemaAuthorizer``), with lower
///    limits, without triggers, and not for longer than ``Limits/schemaTime``;
/// 3. is asked afterwards what it would do: a view is prepared, a trigger is prepared by a statement that fires it, a
///    table by one that takes its defaults. What calls a function that SQLite does not hold harmless, or one that this
///    machine does not have, is taken back.
///
/// What is taken back or cannot be made, because a module, tokenizer or function is missing here, is named in the outcome;
/// the rest is made without it. A collation that is missing is no hindrance: a table without rows is in any order.
package struct ForeignSchema {
    private let tokens: SQLTokens
    private let statements: [(kind: Kind, tokens: Range<Int>)]

    enum Kind: Equatable {
        case table, virtualTable, index, view, trigger, pragma
        case insert(table: String)

        var makesObject: Bool {
            switch self {
            case .table, .virtualTable, .index, .view, .trigger: true
            case .pragma, .insert: false
            }
        }
    }

    /// - Throws: `invalidStore` where a statement is none that a published schema has.
    package init(_ text: String) throws {
        guard !text.utf8.contains(0) else { throw Self.refusal("has a zero byte in it") }
        let tokens = SQLTokens(text)
        self.tokens = tokens
        statements = try tokens.statements.enumerated().map { number, range in
            guard let kind = Self.kind(tokens, range) else {
                throw Self.refusal(
                    "has a statement, the \(number + 1)th, that is none of a schema: \(Self.excerpt(tokens, range))")
            }
            return (kind, range)
        }
    }

    /// Makes all of it in a database that is empty.
    ///
    /// - Parameter functions: functions of this user's own programs that triggers, views, indexes and tables may call
    ///   though SQLite does not have them here.
    /// - Returns: what was not made.
    /// - Throws: `invalidStore` where it tries what a schema must not, or takes too long; then part of it has been made.
    package func make(on connection: Connection, functions: Set<String> = []) throws -> [UnmadeObject] {
        try SchemaLoader(connection, functions: functions).run(statements.map { ($0.kind, tokens.text($0.tokens)) })
    }

    /// The statement that makes an object; nil where it is none of this schema's.
    package func statement(making object: String) -> String? {
        statements.lazy.filter { $0.kind.makesObject }.map { ($0.kind, tokens.text($0.tokens)) }
            .first { kind, sql in SchemaLoader.objectName(sql, kind).folded == object.folded }?.1
    }

    /// What its statements declare, as they are written.
    package var declarations: [Declaration] {
        statements.filter(\.kind.makesObject).compactMap { Declaration(tokens.text($0.tokens)) }
    }

    /// Makes the tables and what is unique in them, as far as they can be made: what a reader needs to compare them or to
    /// know their columns.
    ///
    /// - Returns: what was not made.
    @discardableResult package func makeTables(on connection: Connection) throws -> [UnmadeObject] {
        let tables = statements.filter { kind, range in
            kind == .table || kind == .index && tokens.word(range.lowerBound + 1) == "UNIQUE"
        }
        return try SchemaLoader(connection, functions: []).run(tables.map { ($0.kind, tokens.text($0.tokens)) })
    }

    static func refusal(_ why: String) -> LogSyncError {
        LogSyncError(
            .invalidStore, "a schema in the shared folder was refused: it \(why); nothing of it was used",
            help: "logsync doctor on the folder names the peer that published it; ask its owner")
    }

    static func excerpt(_ tokens: SQLTokens, _ range: Range<Int>) -> String {
        String(tokens.text(range).prefix(40).map { $0.isNewline ? " " : $0 })
    }

    // MARK: What a schema consists of

    private static func kind(_ tokens: SQLTokens, _ range: Range<Int>) -> Kind? {
        let words = range.prefix(3).map(tokens.word)
        guard words.count == 3 else { return nil }
        switch (words[0], words[1], words[2]) {
        case ("CREATE", "TABLE", _): return .table
        case ("CREATE", "VIRTUAL", "TABLE"): return .virtualTable
        case ("CREATE", "INDEX", _), ("CREATE", "UNIQUE", "INDEX"): return .index
        case ("CREATE", "VIEW", _): return .view
        case ("CREATE", "TRIGGER", _): return .trigger
        case ("PRAGMA", let name, "=") where pragmas.contains(name):
            return isLiterals(tokens, range.dropFirst(3)) ? .pragma : nil
        case ("INSERT", "INTO", _): return insertion(tokens, range)
        default: return nil
        }
    }

    /// What a new database may be told before anything is in it.
    private static let pragmas: Set<String> = [
        "ENCODING", "PAGE_SIZE", "AUTO_VACUUM", "APPLICATION_ID", "USER_VERSION",
    ]

    /// `INSERT INTO table(columns) VALUES (literals)`.
    private static func insertion(_ tokens: SQLTokens, _ range: Range<Int>) -> Kind? {
        let columns = range.lowerBound + 3
        guard columns < range.upperBound, tokens.word(columns) == "(",
            let close = tokens.closing(columns), close + 2 < range.upperBound,
            tokens.word(close + 1) == "VALUES", tokens.word(close + 2) == "(",
            tokens.word(range.upperBound - 1) == ")",
            isLiterals(tokens, range[(close + 3)..<(range.upperBound - 1)])
        else { return nil }
        return .insert(table: tokens.name(range.lowerBound + 2).folded)
    }

    private static func isLiterals(_ tokens: SQLTokens, _ range: Range<Int>.SubSequence) -> Bool {
        range.allSatisfy { index in
            let word = tokens.word(index)
            return word == "NULL" || word == "X" || word.utf8.first.map { "'+-.,0123456789".utf8.contains($0) } ?? false
        }
    }
}
