import GRDB
import LogSyncStore

/// One table whose changes can be taken back: the triggers that note them, and the values before and after.
struct UndoTable: Sendable {
    let name: String
    private let number: Int
    /// The columns that can be written: what is generated comes by itself.
    private let columns: [String]
    /// The primary key, or the rowid.
    private let key: [String]
    /// The columns of which no two rows have the same values, other than the key.
    private let uniques: [[String]]
    let references: UndoReferences
    /// The columns, by their places, that hold the integer of a row of another table or of this one.
    private let pointers: [Pointer]

    private struct Pointer: Sendable {
        var index: Int
        var parent: String
    }

    /// Whether the program has SQLite tell triggers of the rows that `REPLACE` displaces.
    private let hearsOfReplaced: Bool

    init(_ name: String, number: Int, _ db: Database) throws {
        self.name = name
        self.number = number
        // It throws where there is no such table.
        key = try db.primaryKey(name).columns
        columns = try String.fetchAll(
            db, sql: "SELECT name FROM pragma_table_xinfo(?, 'main') WHERE hidden = 0 ORDER BY cid", arguments: [name])
        let key = Set(key.map { $0.lowercased() })
        uniques = try db.indexes(on: name).filter(\.isUnique).map(\.columns)
            .filter { Set($0.map { $0.lowercased() }) != key }
        references = try UndoReferences(name, db)
        let stored = Self.stored(columns, self.key)
        pointers = try references.pointers(db).compactMap { column, parent in
            stored.firstIndex { $0.lowercased() == column.lowercased() }.map { Pointer(index: $0, parent: parent) }
        }
        hearsOfReplaced = try Bool.fetchOne(db, sql: "PRAGMA recursive_triggers") ?? false
    }

    /// What the triggers and the values depend on.
    var shape: String { "\(name) \(key) \(columns) \(uniques) \(pointers) \(hearsOfReplaced)" }

    private var quoted: String { name.quotedDatabaseIdentifier }
    private var values: String { "undo_log_values_\(number)" }
    private var rivals: String { "undo_log_rival_\(number)" }
    private var stored: [String] { Self.stored(columns, key) }

    private static func stored(_ columns: [String], _ key: [String]) -> [String] {
        key.allSatisfy(columns.contains) ? columns : key + columns
    }

    /// The place of the key where it is of one column.
    private var keyIndex: Int? { key.count == 1 ? stored.firstIndex(of: key[0]) : nil }

    // MARK: Triggers

    private static let kinds = [("insert", false, true), ("update", true, true), ("delete", true, false)]

    /// `REPLACE` deletes rows without a word. So a row's rivals, which have a key or unique value of it, are noted
    /// before it is written, and are deleted rows where they are gone afterwards, or another row has their key.
    func install(_ db: Database) throws {
        let declared = stored.indices.flatMap { ["old\($0)", "new\($0)"] }.joined(separator: ", ")
        try db.execute(
            sql: """
                CREATE TEMP TABLE IF NOT EXISTS \(values)(
                    number INTEGER PRIMARY KEY, \(declared), identity\(pointers.indices.map { ", parent\($0)" }.joined()));
                CREATE TEMP TABLE IF NOT EXISTS \(rivals)(number INTEGER PRIMARY KEY, \(declared));
                """)
        for (kind, hasOld, hasNew) in Self.kinds {
            let given = stored.flatMap { column in
                let column = column.quotedDatabaseIdentifier
                return [hasOld ? "OLD.\(column)" : "NULL", hasNew ? "NEW.\(column)" : "NULL"]
            }
            let displaced = hasNew && !hearsOfReplaced
            let identities = hasOld ? identities(kind) { "OLD.\(stored[$0].quotedDatabaseIdentifier)" } : noIdentities
            try db.execute(
                sql: """
                    CREATE TEMP TRIGGER IF NOT EXISTS undo_log_\(kind)_\(number) AFTER \(kind.uppercased()) ON main.\(quoted)
                    WHEN EXISTS (SELECT 1 FROM undo_log_open)
                    BEGIN
                        \(displaced ? noteDisplaced : "")
                        INSERT INTO undo_log_change(group_id, tbl, kind)
                            SELECT id, \(number), '\(kind)' FROM undo_log_open;
                        INSERT INTO \(values) VALUES(last_insert_rowid(), \(given.joined(separator: ", ")), \(identities));
                    END
                    """)
            guard displaced else { continue }
            try db.execute(
                sql: """
                    CREATE TEMP TRIGGER IF NOT EXISTS undo_log_before_\(kind)_\(number)
                    BEFORE \(kind.uppercased()) ON main.\(quoted) WHEN EXISTS (SELECT 1 FROM undo_log_open)
                    BEGIN
                        DELETE FROM \(rivals);
                        INSERT INTO \(rivals) SELECT NULL, \(pairs("t")) FROM main.\(quoted) AS t
                            WHERE (\(isRival))\(hasOld ? " AND NOT (\(same("t", "OLD")))" : "");
                    END
                    """)
        }
    }

    /// Removes what any log has installed on the connection, and the values that it has kept.
    static func uninstallAll(_ db: Database) throws {
        let made = try Row.fetchAll(
            db,
            sql: """
                SELECT type, name FROM temp.sqlite_master WHERE type = 'trigger' AND name LIKE 'undo!_log!_%' ESCAPE '!'
                OR type = 'table' AND (name LIKE 'undo!_log!_values!_%' ESCAPE '!' OR name LIKE 'undo!_log!_rival!_%' ESCAPE '!')
                ORDER BY type DESC
                """)
        for row in made {
            let (type, name): (String, String) = (row[0], row[1])
            try db.execute(sql: "DROP \(type) IF EXISTS temp.\(name.quotedDatabaseIdentifier)")
        }
    }

    /// Forgets the values of changes.
    func forget(_ changes: String, _ db: Database) throws {
        try db.execute(sql: "DELETE FROM temp.\(values) WHERE number IN (\(changes))")
    }

    /// Values of a row that is gone.
    private func pairs(_ row: String) -> String {
        stored.map { "\(row).\($0.quotedDatabaseIdentifier), NULL" }.joined(separator: ", ")
    }

    private func same(_ row: String, _ other: String) -> String {
        key.map { "\(row).\($0.quotedDatabaseIdentifier) IS \(other).\($0.quotedDatabaseIdentifier)" }
            .joined(separator: " AND ")
    }

    private var isRival: String {
        ([key] + uniques).map { columns in
            columns.map { "t.\($0.quotedDatabaseIdentifier) = NEW.\($0.quotedDatabaseIdentifier)" }
                .joined(separator: " AND ")
        }.map { "(\($0))" }.joined(separator: " OR ")
    }

    private var noteDisplaced: String {
        let its = key.map { column in "s.old\(stored.firstIndex(of: column) ?? 0)" }
        let isThere = zip(key, its).map { "t.\($0.quotedDatabaseIdentifier) IS \($1)" }.joined(separator: " AND ")
        let isNew = zip(key, its).map { "NEW.\($0.quotedDatabaseIdentifier) IS \($1)" }.joined(separator: " AND ")
        let list = stored.indices.map { "s.old\($0), NULL" }.joined(separator: ", ")
        let last = "(SELECT coalesce(max(number), 0) FROM undo_log_change)"
        return """
            DELETE FROM \(rivals) WHERE number IN (
                SELECT s.number FROM \(rivals) AS s
                WHERE NOT (\(isNew)) AND EXISTS (SELECT 1 FROM main.\(quoted) AS t WHERE \(isThere)));
            INSERT INTO \(values) SELECT \(last) + s.number, \(list), \(identities("delete") { "s.old\($0)" }) FROM \(rivals) AS s;
            INSERT INTO undo_log_change(number, group_id, tbl, kind)
                SELECT \(last) + s.number, id, \(number), 'delete' FROM \(rivals) AS s, undo_log_open;
            DELETE FROM \(rivals);
            """
    }

    private var noIdentities: String { Array(repeating: "NULL", count: 1 + pointers.count).joined(separator: ", ") }

    /// SQL for the identities of a row that is deleted, and of the rows that it refers to, or has referred to.
    ///
    /// - Parameter value: SQL for what a column held.
    private func identities(_ kind: String, _ value: (Int) -> String) -> String {
        func identity(_ table: String, _ index: Int) -> String {
            "\(ReturnedRows.function)('\(table.replacing("'", with: "''"))', \(value(index)))"
        }
        let own = kind == "delete" ? keyIndex.map { identity(name, $0) } : nil
        let parents = pointers.map { pointer in
            let parent = identity(pointer.parent, pointer.index)
            guard kind == "update" else { return parent }
            let column = stored[pointer.index].quotedDatabaseIdentifier
            return "CASE WHEN OLD.\(column) IS NOT NEW.\(column) THEN \(parent) END"
        }
        return ([own ?? "NULL"] + parents).joined(separator: ", ")
    }

    // MARK: Taking back

    /// One change, as the triggers have noted it.
    private struct Change {
        var before: [DatabaseValue]
        var after: [DatabaseValue]
        /// Of a deleted row.
        var identity: DatabaseValue
        /// Of what ``UndoTable/pointers`` referred to before.
        var parents: [DatabaseValue]
    }

    private func change(_ number: Int64, _ db: Database) throws -> Change? {
        try Row.fetchOne(db, sql: "SELECT * FROM temp.\(values) WHERE number = ?", arguments: [number]).map { row in
            let end = 1 + 2 * stored.count
            return Change(
                before: stored.indices.map { row[1 + 2 * $0] }, after: stored.indices.map { row[2 + 2 * $0] },
                identity: row[end], parents: pointers.indices.map { row[end + 1 + $0] })
        }
    }

    /// Finds an integer for a deleted row that comes back, where it is the integer of another row by now.
    func findPlace(of number: Int64, _ db: Database, _ reversal: inout UndoReversal) throws {
        guard let keyIndex, let change = try change(number, db), !change.identity.isNull,
            reversal.places[change.identity] == nil,
            let former = Int64.fromDatabaseValue(change.before[keyIndex]), let returned = try ReturnedRows(name, db)
        else { return }
        if let standing = try returned.integer(of: change.identity, db),
            try standing == former || present([standing.databaseValue], db) != nil
        {
            // Its deletion is not recorded yet, or another peer has brought it back.
            return reversal.give(standing, to: change.identity, of: self)
        }
        guard
            try present([change.before[keyIndex]], db) != nil
                || returned.isPromised(former, toOtherThan: change.identity, db)
        else { return reversal.give(former, to: change.identity, of: self) }
        let highest = try Int64.fetchOne(
            db, sql: "SELECT max(\(key[0].quotedDatabaseIdentifier)) FROM main.\(quoted)")
        var free = max(highest ?? 0, former) + 1
        while try returned.isPromised(free, toOtherThan: change.identity, db) { free += 1 }
        reversal.give(free, to: change.identity, of: self)
    }

    /// What a column that refers to a row has to hold for that: its integer may be another one by now. Nil where the row is
    /// not there, and its integer another row's.
    private func integer(
        of identity: DatabaseValue, formerly integer: DatabaseValue, _ parent: String, _ db: Database,
        _ reversal: UndoReversal
    ) throws -> DatabaseValue? {
        guard !identity.isNull else { return integer }
        if let place = reversal.places[identity] { return place.databaseValue }
        guard let rows = try ReturnedRows(parent, db) else { return integer }
        if let place = try rows.integer(of: identity, db) { return place.databaseValue }
        return try rows.identity(at: integer, db) == nil ? integer : nil
    }

    /// Takes one change back, as far as nothing was written since.
    func revert(_ number: Int64, _ kind: String, _ db: Database, _ reversal: inout UndoReversal) throws {
        guard var change = try change(number, db) else { return }
        if kind == "insert" { return try remove(change.after, db, &reversal) }
        // The columns that refer to rows that are not there.
        var dangling: Set<Int> = []
        for (pointer, identity) in zip(pointers, change.parents) {
            let former = change.before[pointer.index]
            if let place = try integer(of: identity, formerly: former, pointer.parent, db, reversal) {
                change.before[pointer.index] = place
            } else {
                dangling.insert(pointer.index)
            }
        }
        if kind == "delete" {
            guard dangling.isEmpty else { return reversal.leave(self, key(of: change.before)) }
            try bringBack(change.before, as: change.identity, db, &reversal)
        } else {
            try restore(change.before, change.after, besides: dangling, db, &reversal)
        }
    }

    func key(of row: [DatabaseValue]) -> [DatabaseValue] {
        key.compactMap { column in stored.firstIndex(of: column).map { row[$0] } }
    }

    private var condition: String {
        key.map { "\($0.quotedDatabaseIdentifier) IS ?" }.joined(separator: " AND ")
    }

    private func present(_ key: [DatabaseValue], _ db: Database) throws -> [DatabaseValue]? {
        let list = stored.map(\.quotedDatabaseIdentifier).joined(separator: ", ")
        let row = try Row.fetchOne(
            db, sql: "SELECT \(list) FROM main.\(quoted) WHERE \(condition)", arguments: StatementArguments(key))
        return row.map { row in stored.indices.map { row[$0] } }
    }

    private func remove(_ inserted: [DatabaseValue], _ db: Database, _ reversal: inout UndoReversal) throws {
        let key = key(of: inserted)
        guard let present = try present(key, db) else { return }
        guard zip(present, inserted).allSatisfy({ Optional($0).isSame(as: $1) }) else {
            return reversal.leave(self, key)
        }
        if try !removeUnlessReferred(present, db) {
            reversal.referred.append((self, present))
        } else {
            reversal.rows += 1
        }
    }

    /// Deletes a row, unless rows refer to it that this group did not bring: they would go, or lose what they refer to.
    func removeUnlessReferred(_ row: [DatabaseValue], _ db: Database) throws -> Bool {
        guard try !references.areThere(to: row, stored, db) else { return false }
        try delete(key(of: row), db)
        return true
    }

    func delete(_ key: [DatabaseValue], _ db: Database) throws {
        try db.execute(sql: "DELETE FROM main.\(quoted) WHERE \(condition)", arguments: StatementArguments(key))
    }

    private func bringBack(
        _ deleted: [DatabaseValue], as identity: DatabaseValue, _ db: Database, _ reversal: inout UndoReversal
    ) throws {
        var deleted = deleted
        if let keyIndex, let place = reversal.places[identity] { deleted[keyIndex] = place.databaseValue }
        let returned = try ReturnedRows(name, db)
        let last = try returned?.lastNumber(db) ?? 0
        let list = stored.map(\.quotedDatabaseIdentifier).joined(separator: ", ")
        let marks = stored.map { _ in "?" }.joined(separator: ", ")
        // Another row may have its key, or a unique value of it.
        try db.execute(
            sql: "INSERT OR IGNORE INTO main.\(quoted)(\(list)) VALUES(\(marks))",
            arguments: StatementArguments(deleted))
        let key = key(of: deleted)
        guard db.changesCount > 0 else { return reversal.leave(self, key) }
        reversal.rows += 1
        try returned?.note(after: last, at: key.count == 1 ? key[0] : nil, as: identity, db)
        reversal.written.append(UndoReversal.Written(table: self, key: key, columns: nil))
    }

    private func restore(
        _ before: [DatabaseValue], _ after: [DatabaseValue], besides dangling: Set<Int>, _ db: Database,
        _ reversal: inout UndoReversal
    ) throws {
        let key = key(of: after)
        let changed = stored.indices.filter { !Optional(before[$0]).isSame(as: after[$0]) }
        guard let present = try present(key, db) else {
            if !changed.isEmpty { reversal.leave(self, key) }
            return
        }
        let own = changed.filter { !dangling.contains($0) && Optional(present[$0]).isSame(as: after[$0]) }
        for index in changed where !own.contains(index) { reversal.leave(self, key, stored[index]) }
        guard !own.isEmpty else { return }
        // Another row may have a unique value of it by now: then the other columns are restored one by one.
        var done = try write(before, own, key, db) ? own : []
        if done.isEmpty, own.count > 1 {
            // Those of the key last, for the row is found by it.
            let (others, keys) = (
                own.filter { !self.key.contains(stored[$0]) }, own.filter { self.key.contains(stored[$0]) }
            )
            done = try (others + keys).filter { try write(before, [$0], key, db) }
        }
        for index in own where !done.contains(index) { reversal.leave(self, key, stored[index]) }
        guard !done.isEmpty else { return }
        reversal.rows += 1
        let now = zip(self.key, key).map { column, value in
            stored.firstIndex(of: column).map { done.contains($0) ? before[$0] : value } ?? value
        }
        reversal.follow(self, key, to: now)
        reversal.written.append(
            UndoReversal.Written(
                table: self, key: now, columns: Dictionary(uniqueKeysWithValues: done.map { (stored[$0], after[$0]) })))
    }

    private func write(
        _ values: [DatabaseValue], _ indices: [Int], _ key: [DatabaseValue], _ db: Database
    ) throws -> Bool {
        try set(indices.map { (stored[$0], values[$0]) }, key, db)
    }

    /// - Returns: whether no constraint is in the way.
    func set(_ values: [(column: String, value: DatabaseValue)], _ key: [DatabaseValue], _ db: Database) throws -> Bool
    {
        let list = values.map { "\($0.column.quotedDatabaseIdentifier) = ?" }.joined(separator: ", ")
        try db.execute(
            sql: "UPDATE OR IGNORE main.\(quoted) SET \(list) WHERE \(condition)",
            arguments: StatementArguments(values.map(\.value) + key))
        return db.changesCount > 0
    }

    /// The columns by which a row refers to rows that are not there; empty where the row itself is gone.
    func dangling(_ key: [DatabaseValue], _ db: Database) throws -> Set<String>? {
        guard let row = try present(key, db) else { return nil }
        return try references.dangling(row, stored, db)
    }
}
