import LogSyncModel
import LogSyncSQLite

/// The names that logs have for tables and columns that are called something else here.
///
/// A table or column keeps its first name in logs, digests and settings for ever, so that peers which rename sooner or
/// later, or never, go on meaning the same. The setting `rename` says it to peers that come after: its target is the new
/// name (of a column: the table's name in logs, a dot, the new name), its value the name in logs.
///
/// Where names go from one column to another, a name by itself says nothing: it means one column in this version of the
/// schema, and another in the next. The setting `columns` says of a table whose columns are precisely these, in this order,
/// what each of them is. The same list may come to mean others in a later version: what was said of it counts once.
///
/// No name in logs is given twice: what went under another name is not what comes under the first one.
struct Renames {
    private let connection: Connection
    /// What logs call tables of which only rows are here, by folded name.
    private let absent: [String: String]

    init(_ connection: Connection, absent: [String: String] = [:]) {
        self.connection = connection
        self.absent = absent
    }

    func logName(ofTable local: String) throws -> String {
        func isFree(_ name: String) throws -> Bool {
            guard try !isTaken(name) else { return false }
            let last = try FormerNames(connection).last(of: name)
            if last == nil || last == local.folded || last == name.folded { return true }
            // One that has run several releases at once has deleted what others dropped with the table, and goes on with it.
            return try name.folded == local.folded && setting(local) == nil
                && !FormerNames(connection).hasRows(of: name)
        }
        // What was said of another table that was called so is no more.
        let name = try setting(local) ?? absent[local.folded] ?? local
        if try isFree(name) { return name }
        return try isFree(local)
            ? local
            : free(local) { name in
                try !isTaken(name) && FormerNames(connection).last(of: name) == nil && absent[name.folded] == nil
                    && !isSaid(name)
            }
    }

    /// Whether a table is called so in logs.
    private func isTaken(_ name: String) throws -> Bool {
        try connection.integer("SELECT 1 FROM logsync_table WHERE log_name = ? COLLATE NOCASE", .text(name)) != nil
    }

    /// Whether anybody has said that a table or column is called so in logs.
    ///
    /// - Parameter table: the name in logs of a column's table.
    private func isSaid(_ name: String, in table: String? = nil) throws -> Bool {
        let prefix = table.map { $0.folded + "." } ?? ""
        return try connection.rows(
            "SELECT target FROM logsync_setting WHERE kind = 'rename' AND value = ? COLLATE NOCASE", .text(name)
        ).contains { String(text: $0[0]).folded.hasPrefix(prefix) }
    }

    /// The tables whose name is another one's for other peers: theirs has been archived, or made anew, in steps that this store's
    /// has not gone. Only where there are rows that some peer does not show: theirs are kept here, or there are some in a table
    /// that no other peer has ever had.
    ///
    /// - Returns: the table as it is called here, and what logs call it and the others.
    func otherTables(_ catalog: Catalog) throws -> [(table: String, here: String, there: String)] {
        try catalog.programTables.compactMap { table in
            guard let told = try setting(table.schema.name), told.folded != table.name.folded, catalog[told] == nil
            else { return nil }
            let kept = absent[told.folded]
            guard try kept != nil || isOfNoOther(table) else { return nil }
            return (table.schema.name, table.name, kept ?? told)
        }
    }

    /// Whether a table has rows that no other peer shows: none calls its own so in logs, by whatever name of its database.
    private func isOfNoOther(_ table: TrackedTable) throws -> Bool {
        try connection.integer(
            """
            SELECT EXISTS(SELECT 1 FROM \(table.quoted)) AND NOT EXISTS(
                SELECT 1 FROM logsync_setting WHERE kind = 'rename' AND value = ?1 COLLATE NOCASE
                AND instr(target, '.') = 0)
            """, .text(table.name)) == 1
    }

    /// The name in logs that a setting gives to tables of this name; nil where none does.
    func toldLogName(ofTable local: String) throws -> String? { try setting(local) }

    /// The name in logs of a table that is registered.
    func currentLogName(_ local: String) throws -> String {
        try registeredName(local) ?? local
    }

    private func registeredName(_ local: String) throws -> String? {
        try connection.scalar("SELECT log_name FROM logsync_table WHERE name = ? COLLATE NOCASE", .text(local))
            .map { String(text: $0) }
    }

    /// The name in logs that a table has, or is going to have where it has just come.
    func logName(ofReferred local: String) throws -> String {
        try registeredName(local) ?? logName(ofTable: local)
    }

    func logName(ofColumn local: String, in table: String) throws -> String {
        try setting("\(table).\(local)") ?? local
    }

    /// The setting that names all columns of a table at once.
    static let list = "columns"

    /// What the setting `columns` is called of a table that has these columns.
    ///
    /// - Parameter table: the name in logs.
    static func target(_ schema: TableSchema, _ table: String) throws -> String {
        try "\(table) " + KeyList.encode(schema.columns.filter { !$0.isGenerated }.map { $0.name.asciiFolded })
    }

    /// What the content says of a list of columns.
    ///
    /// - Parameter target: of the setting.
    func said(of target: String) throws -> String? {
        guard
            let value = try connection.scalar(
                "SELECT value FROM logsync_setting WHERE kind = ? AND target = ?", .text(Self.list), .text(target)),
            case .text = value
        else { return nil }
        return String(text: value)
    }

    /// The names in logs of a table's columns, by lower-case name, where they are known of precisely these columns, and this
    /// store has not followed that before.
    func names(of schema: TableSchema, in table: String) throws -> [String: String]? {
        let target = try Self.target(schema, table)
        guard let value = try said(of: target),
            try !UnfollowedRename.isNoted(Self.list, target, value, on: connection),
            try FollowedLists(connection).value(target) != value,
            let names = try? KeyList.decode(value)
        else { return nil }
        let columns = schema.columns.filter { !$0.isGenerated }.map { $0.name.folded }
        // It may come from anybody.
        guard names.count == columns.count, Set(names.map { $0.folded }).count == names.count,
            Set(columns).count == columns.count
        else { return nil }
        return Dictionary(uniqueKeysWithValues: zip(columns, names))
    }

    /// Whether it depends on a table's other columns what a name means: it has been one column's, and is another's.
    func isTangled(_ local: String, in table: String) throws -> Bool {
        let prefix = table + " "
        return try connection.rows(
            "SELECT target FROM logsync_setting WHERE kind = ? AND substr(target, 1, ?) = ? COLLATE NOCASE",
            .text(Self.list), .integer(Int64(prefix.unicodeScalars.count)), .text(prefix)
        ).contains { row in
            let names = try? KeyList.decode(String(String(text: row[0]).dropFirst(prefix.count)))
            return names?.contains { $0.folded == local.folded } ?? true
        }
    }

    /// The name in logs that a setting gives to a column; nil where none does.
    func told(_ local: String, in table: String) throws -> String? { try setting("\(table).\(local)") }

    /// The name for a column that comes to a registered table, where another may have its first name.
    func logName(ofNewColumn local: String, in table: String, id: Int64) throws -> String {
        func isFree(_ name: String) throws -> Bool {
            guard try !isTaken(name, in: id) else { return false }
            let last = try connection.scalar(
                """
                SELECT name FROM logsync_column WHERE table_id = ? AND log_name = ? COLLATE NOCASE ORDER BY id DESC LIMIT 1
                """, .integer(id), .text(name)
            ).map { String(text: $0).folded }
            return last == nil || last == local.folded || last == name.folded
        }
        let name = try logName(ofColumn: local, in: table)
        if try isFree(name) { return name }
        // What was said of another column that was called so says nothing of this one.
        return try isFree(local) ? local : free(local) { try isNew($0, in: id) }
    }

    /// Whether a table's column is called so in logs.
    func isTaken(_ name: String, in table: Int64) throws -> Bool {
        try connection.integer(
            "SELECT 1 FROM logsync_column WHERE table_id = ? AND log_name = ? COLLATE NOCASE AND NOT dropped",
            .integer(table), .text(name)) != nil
    }

    /// A numbered name of a column that nobody has, and none of some others.
    func freeName(like name: String, in table: Int64, besides others: Set<String>) throws -> String {
        try free(name) { try !others.contains($0) && isNew($0, in: table) }
    }

    /// Whether no column of a table has ever been called so in logs, as far as is known.
    private func isNew(_ name: String, in table: Int64) throws -> Bool {
        guard
            try connection.integer(
                "SELECT 1 FROM logsync_column WHERE table_id = ? AND log_name = ? COLLATE NOCASE", .integer(table),
                .text(name)) == nil,
            let called = try connection.scalar("SELECT log_name FROM logsync_table WHERE id = ?", .integer(table))
        else { return false }
        return try !isSaid(name, in: String(text: called))
    }

    private func free(_ name: String, _ isFree: (String) throws -> Bool) throws -> String {
        var number = 2
        while try !isFree("\(name) \(number)") { number += 1 }
        return "\(name) \(number)"
    }

    private func setting(_ target: String) throws -> String? {
        let value = try connection.scalar(
            "SELECT value FROM logsync_setting WHERE kind = 'rename' AND target = ? COLLATE NOCASE", .text(target)
        ).map { String(text: $0) }
        guard let value, try !UnfollowedRename.isNoted("rename", target, value, on: connection) else { return nil }
        return value
    }
}
