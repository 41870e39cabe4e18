import LogSyncModel
import LogSyncSQLite

/// Tells what SQLite would make of a row without writing it to its table: whether NOT NULL and types hold, whether an
/// expression raises an error, and what its unique keys are, in a TEMP table of the same declaration, with the same indexes, that
/// never holds more than one row.
final class ConstraintProbe {
    private let store: OpenStore
    private let shownRows: ShownRows
    private var made: [Int64: String] = [:]
    /// Integers that stand for rows while their own are not known.
    private var integers: [RowIdentity: Int64] = [:]
    /// What the next row has for an integer of its own: far from that of any other, so that expressions of two are not equal.
    private var ownInteger = -(Int64(1) << 61)
    private var connection: Connection { store.connection }

    init(_ store: OpenStore, shownRows: ShownRows) {
        self.store = store
        self.shownRows = shownRows
    }

    /// - Parameters:
    ///   - values: by column position, as logs have them.
    ///   - followsFolded: whether a reference to a row that was folded so far means the row that shows in its place. It
    ///     may be decided that it stands itself.
    func keys(of values: [Value], in table: TrackedTable, followsFolded: Bool = false) throws -> RowKeys {
        let keys = try store.uniqueKeys(of: table)
        let name = try made[table.id] ?? make(table)
        var names: [String] = []
        var arguments: [Value] = []
        if let integer = table.localInteger {
            names.append(integer)
            arguments.append(.integer(ownInteger))
            ownInteger += 1 << 32
        }
        for (column, value) in zip(table.columns, values) {
            names.append(column.local)
            arguments.append(try local(value, column.reference, followsFolded))
        }
        let insert = try connection.prepare(
            "INSERT OR ABORT INTO temp.\(name)(\(SQL.list(names))) VALUES(\(SQL.placeholders(names.count)))")
        for (index, argument) in arguments.enumerated() { insert.bind(argument, at: index + 1) }
        guard try insert.write() != .refused else { return insert.raised == nil ? .unfit : .raising }
        let found: [[KeyPart]?] = try keys.map { key in
            let statement = try connection.prepare("SELECT \(key.selection) FROM temp.\(name)")
            defer { statement.reset() }
            guard try statement.step(), statement.integer(key.terms.count) != 0 else { return nil }
            var parts: [KeyPart] = []
            for (index, term) in key.terms.enumerated() {
                guard let part = KeyPart(statement.value(index), collation: term.collation) else { return nil }
                parts.append(part)
            }
            return parts
        }
        try connection.run("DELETE FROM temp.\(name)")
        return RowKeys(keys: found)
    }

    /// A reference as an integer that tells rows apart: the row's own, or one that stands for it here alone.
    /// NULL where rows have no integers to show.
    private func local(_ value: Value, _ reference: String?, _ followsFolded: Bool) throws -> Value {
        guard case .reference(let identity) = value else { return value }
        guard let parent = store.catalog.numbered(reference) else { return .null }
        let identities = IdentityMap(store: store)
        if let integer = try identities.integer(of: identity, in: parent, followsFolded: followsFolded) {
            return .integer(integer)
        }
        if let integer = try shownRows.integers.formerInteger(of: identity, in: parent) { return .integer(integer) }
        if let integer = integers[identity] { return .integer(integer) }
        let integer = Int64.min + Int64(integers.count)
        integers[identity] = integer
        return .integer(integer)
    }

    private func make(_ table: TrackedTable) throws -> String {
        let version = try connection.integer("PRAGMA main.schema_version") ?? 0
        let name = "logsync_mirror_\(table.id)_\(version)"
        let sql = try connection.scalar(
            "SELECT sql FROM main.sqlite_master WHERE type = 'table' AND name = ?", .text(table.schema.name))
        guard case .text(let text)? = sql,
            let body = SQLName.rest(of: String(decoding: text, as: UTF8.self), after: "TABLE")
        else {
            throw LogSyncError(.invalidStore, "the declaration of \(table.name) cannot be read; nothing was changed")
        }
        if try connection.integer("SELECT 1 FROM temp.sqlite_master WHERE name = ?", .text(name)) == nil {
            try connection.execute("CREATE TEMP TABLE \(name)\(body)")
            for (number, index) in try evaluatedIndexes(of: table).enumerated() {
                try connection.execute("CREATE INDEX temp.\(name)_\(number) ON \(name)\(index)")
            }
        }
        made[table.id] = name
        return name
    }

    /// What follows the table's name in the declarations of indexes for which SQLite evaluates something.
    private func evaluatedIndexes(of table: TrackedTable) throws -> [String] {
        try connection.rows(
            """
            SELECT m.sql FROM main.sqlite_master AS m JOIN pragma_index_list(m.tbl_name) AS l ON l.name = m.name
            WHERE m.type = 'index' AND m.sql IS NOT NULL AND m.tbl_name = ? COLLATE NOCASE
              AND (l.partial OR EXISTS (
                SELECT 1 FROM pragma_index_xinfo(m.name) AS i LEFT JOIN pragma_table_xinfo(m.tbl_name) AS c ON c.cid = i.cid
                WHERE i.key AND (i.cid = -2 OR c.hidden >= 2)))
            """, .text(table.schema.name)
        ).compactMap { row in
            let tokens = SQLTokens(String(text: row[0]))
            return tokens.firstIndex(of: "ON").map { tokens.text($0 + 2..<tokens.count) }
        }
    }
}
