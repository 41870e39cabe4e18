import LogSyncModel
import LogSyncSQLite

// What a rebuild looks like in the middle.
//
// The problem. Many programs and tools make a table anew to change it: they create a copy of another name, fill it, drop the
// table, and give its name to the copy. Others set the table aside under another name, create one of its own name, fill
// that, and drop the former. Where they do so without a transaction, logsync may look in between, or they may die there. A
// copy that is taken for a new table has its rows recorded a second time, and a table that is taken for dropped has lost
// its values, though both are one table a moment later. Rows that refer to a table that was set aside would refer to none.
//
// The rule. A table that came beside another, has a name made of that one's and most of its columns, is left alone for a
// minute. Where the other one is gone meanwhile, nothing is recorded or imported for as long: the store is as good as
// locked by the program. So it is while a table has another name and a new one its own, to which foreign keys refer that
// were there before, as they only do where a program asks for it, or which holds most of its rows; a new one that is empty
// is left alone. A copy that has rows already would undo what others' transactions change in the table, on every peer, when
// it takes its place: so none of them is imported for as long. After that minute all is what it looks like, a new table and
// one that was dropped or renamed.
//
// The exception. A program that takes longer ends all the same with one table: where the table that was set aside is
// dropped, what holds its rows under its former name is that table again (`SchemaReconciliation.returnNames`).

/// Tables that are being made anew, as it seems.
struct UnfinishedRebuild {
    let store: OpenStore

    private var connection: Connection { store.connection }

    /// For how long, in milliseconds, a copy is left alone.
    static let patience: Int64 = 60_000
    private static let prefix = "copy "

    /// A table that is being made anew.
    private struct Copy {
        /// What holds its rows for the time being, in lower case.
        var name: String
        /// Its own name.
        var original: String
        /// Whether the rows are under that name as well, so that the other one is all that has to be left alone.
        var isOriginalHere: Bool
    }

    /// Remembers since when copies have been there.
    func note() throws { try note(found()) }

    private func note(_ found: [Copy]) throws {
        store.hasCopies = nil
        for copy in found where try store.facts.value(Self.prefix + copy.name) == nil {
            try store.facts.set(Self.prefix + copy.name, .integer(store.configuration.clock.now()))
        }
    }

    /// Whether some copy has been left alone for long enough, or is none any more.
    static func isOver(_ store: OpenStore) throws -> Bool {
        // Notes come and go where the schema has changed.
        if store.hasCopies == false { return false }
        let now = store.configuration.clock.now()
        let copies = try store.facts.values(under: prefix)
        store.hasCopies = !copies.isEmpty
        let waiting = copies.filter { $0.value != over }
        guard !waiting.isEmpty, waiting.allSatisfy({ isWaiting($0.value, now) }) else { return !waiting.isEmpty }
        let found = Set(try UnfinishedRebuild(store: store).found().map(\.name))
        return !waiting.allSatisfy { found.contains($0.name) }
    }

    /// In place of the time, where a copy is a table like any other.
    private static let over = Value.integer(-1)

    private static func isWaiting(_ since: Value, _ now: Int64) -> Bool {
        since != over && 0..<patience ~= now - since.asInteger
    }

    /// The names, in lower case, of tables to leave alone.
    ///
    /// - Throws: `locked` where the rows of one that is being made anew are nowhere else.
    func copies() throws -> Set<String> {
        let found = try found()
        try note(found)
        for (name, _) in try store.facts.values(under: Self.prefix) where !found.contains(where: { $0.name == name }) {
            try store.facts.remove(Self.prefix + name)
        }
        let now = store.configuration.clock.now()
        let waiting = try found.filter { copy in
            let isWaiting = try Self.isWaiting(store.facts.value(Self.prefix + copy.name) ?? Self.over, now)
            if !isWaiting { try store.facts.set(Self.prefix + copy.name, Self.over) }
            return isWaiting
        }
        if let copy = waiting.first(where: { !$0.isOriginalHere }) {
            throw LogSyncError(
                .locked,
                "a program seems to be making the table \(copy.original) anew: \(copy.name) is in its place meanwhile; "
                    + "nothing was changed",
                help:
                    "Run the command again when the program is done; after a minute the tables are what they are called."
            )
        }
        return Set(waiting.map(\.name))
    }

    /// Copies that have rows already, beside their tables, by these tables' names in lower case. What others' transactions
    /// change in such a table the copy, which takes its place next, would undo on every peer.
    func filledCopies() throws -> [String: String] {
        if store.hasCopies == false { return [:] }
        let now = store.configuration.clock.now()
        let notes = try store.facts.values(under: Self.prefix)
        store.hasCopies = !notes.isEmpty
        let waiting = Set(notes.filter { Self.isWaiting($0.value, now) }.map(\.name))
        guard !waiting.isEmpty else { return [:] }
        var copies: [String: String] = [:]
        for copy in try found() where copy.isOriginalHere && waiting.contains(copy.name) {
            guard let schema = try TableSchema.read(copy.name, on: connection),
                try !FormerRows.isEmpty(schema, on: connection)
            else { continue }
            copies[copy.original.folded] = copy.name
        }
        return copies
    }

    /// The names, in lower case, of tables that are left alone until it is seen what becomes of them.
    func leftAlone() throws -> Set<String> {
        Set(try store.facts.values(under: Self.prefix).filter { $0.value != Self.over }.map(\.name))
    }

    private func found() throws -> [Copy] {
        let tables = try connection.rows("SELECT id, name FROM logsync_table")
        let registered = Set(tables.map { String(text: $0[1]).folded })
        var copies = try setAside()
        for name in try TableSchema.tableNames(on: connection) where !registered.contains(name.folded) {
            for table in tables {
                let original = String(text: table[1])
                guard CopyName.isCopy(name, of: original),
                    try hasMostColumns(name, of: table[0]), try !hasMoved(table[0], from: original)
                else { continue }
                let isHere = try TableSchema.read(original, on: connection) != nil
                copies.append(Copy(name: name.folded, original: original, isOriginalHere: isHere))
                break
            }
        }
        return copies
    }

    /// Tables that have been given another name, and whose own name is not done with.
    private func setAside() throws -> [Copy] {
        let moved = try connection.rows(
            """
            SELECT t.id, t.name, m.tbl_name FROM logsync_table AS t
            JOIN sqlite_master AS m ON m.type = 'trigger' AND m.name = 'logsync_insert_' || t.id
            WHERE m.tbl_name <> t.name COLLATE NOCASE
            """
        ).map { (id: $0[0].asInteger, former: String(text: $0[1]), name: String(text: $0[2])) }
        // Two tables may have exchanged their names.
        let renamed = moved.filter { table in !moved.contains { $0.name.folded == table.former.folded } }
        return try (renamed + FormerNames(connection).present()).compactMap { table in
            guard let schema = try TableSchema.read(table.former, on: connection),
                try !isRegistered(table.former, besides: table.id)
            else { return nil }
            if try isReferred(table.former, or: table.name) {
                return Copy(name: table.name.folded, original: table.former, isOriginalHere: false)
            }
            return try renewed(schema, of: table.id, table.name)
        }
    }

    /// Whether tables that were here refer to a table by its former name: ALTER TABLE takes their foreign keys along, unless
    /// it was told not to. Source: <https://www.sqlite.org/pragma.html#pragma_legacy_alter_table>.
    private func isReferred(_ former: String, or name: String) throws -> Bool {
        try connection.integer(
            """
            SELECT EXISTS(
                SELECT 1 FROM sqlite_master AS m, pragma_foreign_key_list(m.name) AS f
                WHERE m.type = 'table' AND f."table" = ?1 COLLATE NOCASE AND m.name <> ?1 COLLATE NOCASE
                AND (m.name = ?2 COLLATE NOCASE OR m.name COLLATE NOCASE IN (SELECT name FROM logsync_table)))
            """, .text(former), .text(name)) == 1
    }

    /// A new table of the name that another one had, which is empty yet or holds most of what that one's records say.
    private func renewed(_ schema: TableSchema, of id: Int64, _ name: String) throws -> Copy? {
        guard let table = store.catalog.tables.first(where: { $0.id == id }),
            // Others say that it is another table: they have archived theirs.
            try Renames(connection).toldLogName(ofTable: schema.name).map({ $0.folded == table.name.folded }) ?? true
        else { return nil }
        // This is asked at every look until there is something in it.
        if try FormerRows.isEmpty(schema, on: connection) {
            let hasRecords = try !connection.rows("SELECT 1 FROM \(table.clock) LIMIT 1").isEmpty
            return hasRecords ? Copy(name: schema.name.folded, original: name, isOriginalHere: true) : nil
        }
        guard try FormerRows(of: table, on: connection).areMost(in: schema) else { return nil }
        return Copy(name: name.folded, original: schema.name, isOriginalHere: false)
    }

    private func isRegistered(_ name: String, besides id: Int64) throws -> Bool {
        try connection.integer(
            "SELECT 1 FROM logsync_table WHERE name = ? COLLATE NOCASE AND id <> ?", .text(name), .integer(id)) != nil
    }

    private func hasMostColumns(_ name: String, of table: Value) throws -> Bool {
        guard let schema = try TableSchema.read(name, on: connection) else { return false }
        let columns = try connection.rows(
            "SELECT name FROM logsync_column WHERE table_id = ? AND NOT dropped", table)
        let same = columns.count { schema.column(String(text: $0[0])) != nil }
        return same * 2 >= columns.count
    }

    /// Whether the table is called something else by now, so that the other one is no copy of it.
    private func hasMoved(_ table: Value, from name: String) throws -> Bool {
        try connection.integer(
            "SELECT 1 FROM sqlite_master WHERE type = 'trigger' AND name = ?1 AND tbl_name <> ?2 COLLATE NOCASE",
            .text("logsync_insert_\(table.asInteger)"), .text(name)) != nil
    }
}
