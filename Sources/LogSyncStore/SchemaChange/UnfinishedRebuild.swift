import LogSyncModel
import LogSyncSQLite

// What a rebuild looks like in the middle.
//
// The problem. Many programs and tools make a table anew to change it: they create a copy of another name, fill it, drop the
// table, and give its name to the copy. Where they do so without a transaction, logsync may look in between, or they may
// die there. A copy that is taken for a new table has its rows recorded a second time, and a table that is taken for
// dropped has lost its values, though both are one table a moment later.
//
// The rule. A table that came beside another, has a name made of that one's and most of its columns, is left alone for a
// minute. Where the other one is gone meanwhile, nothing is recorded or imported for as long: the store is as good as
// locked by the program. After that minute it is what it looks like, a new table and one that was dropped.

/// Tables that seem to be copies of others which are being made anew.
struct UnfinishedRebuild {
    let store: OpenStore

    private var connection: Connection { store.connection }

    /// For how long, in milliseconds, a copy is left alone.
    static let patience: Int64 = 60_000
    private static let prefix = "copy "

    /// A copy, by lower-case name, and the table that is made anew, both as the database has them.
    private struct Copy {
        var name: String
        var original: String
        var isOriginalHere: Bool
    }

    /// Remembers since when copies have been there.
    func note() throws {
        store.hasCopies = nil
        let copies = try found()
        for (name, _) in try StoreFacts(connection).values(under: Self.prefix)
        where !copies.contains(where: { $0.name == name }) {
            try store.facts.remove(Self.prefix + name)
        }
        for copy in copies where try store.facts.value(Self.prefix + copy.name) == nil {
            try store.facts.set(Self.prefix + copy.name, .integer(store.configuration.clock.now()))
        }
    }

    /// Whether some copy has been left alone for long enough.
    static func isOver(_ store: OpenStore) throws -> Bool {
        // Notes come and go where the schema has changed.
        if store.hasCopies == false { return false }
        let now = store.configuration.clock.now()
        let copies = try store.facts.values(under: prefix)
        store.hasCopies = !copies.isEmpty
        return copies.contains { $0.value != over && !isWaiting($0.value, now) }
    }

    /// In place of the time, where a copy is a table like any other.
    private static let over = Value.integer(-1)

    private static func isWaiting(_ since: Value, _ now: Int64) -> Bool {
        since != over && 0..<patience ~= now - since.asInteger
    }

    /// The names, in lower case, of tables to leave alone.
    ///
    /// - Throws: `locked` where the table is gone that one of them is a copy of.
    func copies() throws -> Set<String> {
        try note()
        let now = store.configuration.clock.now()
        let waiting = try found().filter { copy in
            let isWaiting = try Self.isWaiting(store.facts.value(Self.prefix + copy.name) ?? Self.over, now)
            if !isWaiting { try store.facts.set(Self.prefix + copy.name, Self.over) }
            return isWaiting
        }
        if let copy = waiting.first(where: { !$0.isOriginalHere }) {
            throw LogSyncError(
                .locked,
                "a program seems to be making the table \(copy.original) anew: it is gone, and \(copy.name) holds its columns; "
                    + "nothing was changed",
                help:
                    "Run the command again when the program is done; after a minute \(copy.original) counts as dropped."
            )
        }
        return Set(waiting.map(\.name))
    }

    /// Whether a name is what tools call the copy of a table that they make anew: the table's own, and something before or
    /// after it that says so.
    static func isCopyName(_ name: String, of original: String) -> Bool {
        let (name, original) = (name.folded, original.folded)
        guard name.count > original.count else { return false }
        let words: Set<Substring> = ["new", "tmp", "temp", "temporary", "alembic_tmp", "copy", "redef", "rebuild"]
        let rest: Substring
        if name.hasSuffix(original) {
            rest = name.dropLast(original.count)
        } else if name.hasPrefix(original) {
            rest = name.dropFirst(original.count)
        } else {
            return false
        }
        var word = rest
        while word.first == "_" { word.removeFirst() }
        while word.last == "_" { word.removeLast() }
        return word.count < rest.count && words.contains(word)
    }

    private func found() throws -> [Copy] {
        let tables = try connection.rows("SELECT id, name FROM logsync_table")
        let registered = Set(tables.map { String(text: $0[1]).folded })
        var copies: [Copy] = []
        for name in try TableSchema.tableNames(on: connection) where !registered.contains(name.folded) {
            for table in tables {
                let original = String(text: table[1])
                guard Self.isCopyName(name, of: original),
                    try hasMostColumns(name, of: table[0]), try !hasMoved(table[0], from: original)
                else { continue }
                let isHere = try TableSchema.read(original, on: connection) != nil
                copies.append(Copy(name: name.folded, original: original, isOriginalHere: isHere))
                break
            }
        }
        return copies
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
