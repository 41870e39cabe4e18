import LogSyncModel
import LogSyncSQLite

/// A UNIQUE index as SQL has it: its terms, and the condition of a partial one.
struct UniqueKey {
    struct Term {
        /// A column's name or an expression over the table's columns.
        var sql: String
        var collation: Collation
    }

    /// For people: the index's, or what the table's declaration says in place of one.
    var name: String
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
    /// row is folded into another. So is any where identities were given under another key.
    static func read(_ table: TrackedTable, on connection: Connection) throws -> [UniqueKey] {
        let identity = Set(table.keyColumnNames.map { $0.folded })
        // It has no index of its own.
        let integer = table.integerIsUnique ? table.schema.integerKey : nil
        let own = integer.map { UniqueKey(name: "PRIMARY KEY", terms: [Term(sql: SQL.name($0), collation: .binary)]) }
        return try [own].compactMap(\.self)
            + table.schema.uniqueIndexes.compactMap { index in
                if let columns = index.columns {
                    let isOwn = table.kind != .surrogate && Set(columns.map { $0.name.folded }) == identity
                    if isOwn && !table.keyHasReference && !table.keepsIdentities { return nil }
                    let isNamed = !index.name.hasPrefix("sqlite_")
                    return UniqueKey(
                        name: isNamed ? index.name : "(\(columns.map(\.name).joined(separator: ", ")))",
                        terms: columns.map { Term(sql: SQL.name($0.name), collation: $0.collation) })
                }
                return try declared(index.name, on: connection)
            }
    }

    /// The columns of each key but the identity's own; empty for one that is not of columns alone.
    static func others(of table: TrackedTable, on connection: Connection) throws -> [[String]] {
        let identity = table.kind == .surrogate ? [] : Set(table.keyColumnNames.map { $0.folded })
        return table.schema.uniqueIndexes.compactMap { index in
            let columns = index.columns?.map(\.name) ?? []
            return !columns.isEmpty && Set(columns.map { $0.folded }) == identity ? nil : columns
        }
    }

    /// Whether an index is over an expression of the rows' own integers, which each store gives to rows itself.
    static func isOfInteger(_ table: TrackedTable, on connection: Connection) throws -> Bool {
        guard let integer = table.localInteger else { return false }
        let names = Set([integer.folded, "rowid", "oid", "_rowid_"])
        return try read(table, on: connection).contains { key in
            (key.terms.map(\.sql) + [key.condition].compactMap(\.self)).contains { sql in
                let tokens = SQLTokens(sql)
                return (0..<tokens.count).contains { names.contains(tokens.name($0).folded) }
            }
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
            name: name, terms: zip(parsed.terms, collations).map { Term(sql: $0, collation: $1) },
            condition: parsed.condition)
    }
}

extension TrackedTable {
    func hasUniqueOfInteger(on connection: Connection) throws -> Bool {
        try hasOpaqueUnique && UniqueKey.isOfInteger(self, on: connection)
    }
}
