import LogSyncModel
import LogSyncSQLite
import LogSyncState

// What becomes of rows when the key of their table becomes another.
//
// The problem. A row's identity is made of its key, and every log that was ever written names rows by identities. A
// program's next release may give a table another key: a column joins it, two change places, a collation or a type
// changes, an integer takes the place of a name, or the other way round. Other peers migrate sooner, later or never, and
// go on writing rows under the key that they know.
//
// The rule. An identity is given once. The rows that are there keep the identities that they have, whatever their key
// becomes; from then on the table's records say them (`TrackedTable.keepsIdentities`), and the key is a constraint like any
// UNIQUE: where two rows come to have the same, one is shown and one is parked. What the key says by now is only how a new
// row is named. Where it consists of other columns than the content's first one, a part before it keeps such names from
// meaning older rows (`KeyHistory`).
//
// The steps, at the first write transaction after the schema has changed:
//
//   1. `reconcileHandedKeys`: what was the key has another name, and an integer of the table's own has its name.
//   2. `reconcileKinds`, before columns are looked at: an integer came to be the key, or is it no more. Which columns are
//      replicated depends on that.
//   3. `reconcileKeys`, when columns have their names in logs: the key consists of others, or compares in another way.
//   4. `ClockLayoutChange` lays the table's records out anew, and finds each one's row by its former key
//      (`FormerKey.origin`).
//
// An example. `w(name PRIMARY KEY, v)` becomes `w(id INTEGER PRIMARY KEY, name UNIQUE, v)`. The table is one of columns
// from then on, (name), and goes on naming rows by them. `n(id INTEGER PRIMARY KEY, v)` becomes `n(id TEXT PRIMARY KEY, v)`:
// its rows keep the identities that they were given at their inserts, and new ones are named by their texts.

extension SchemaReconciliation {
    /// What `logsync_table` says of a table's key.
    private struct Registered {
        var id: Int64
        var logName: String
        var schema: TableSchema
        var kind: TrackedTable.IdentityKind
        /// By names in logs.
        var key: [String]
        /// The same by names in the database, as far as the columns are there.
        var local: [String]
        var shape: String

        /// As they were when records were laid out.
        var collations: [Collation] { TrackedTable.Shape(shape).collations }

        var former: FormerKey {
            let collations = collations
            return FormerKey(
                kind: kind, names: key,
                collations: key.indices.map { $0 < collations.count ? collations[$0] : .binary },
                isInteger: shape.split(separator: " ").dropFirst().first == "false" && collations.isEmpty)
        }

        /// Whether a column of the key is not here under the name that it had: it has gone, or is called something else.
        var lacksColumns: Bool { local.count < key.count }

        /// Whether an integer was the key, which is the same on every peer.
        var wasInteger: Bool { kind == .natural && key.count == 1 && collations.isEmpty }

        /// Whether no two rows can have the same values in the key's columns.
        var isUnique: Bool {
            let wanted = Set(local.map { $0.folded })
            return !wanted.isEmpty && local.count == key.count
                && schema.uniqueIndexes.contains { index in
                    index.columns.map { Set($0.map { $0.name.folded }) == wanted } ?? false
                }
        }

        var isIntegerKey: Bool {
            schema.integerKey.map { local.map { $0.folded } == [$0.folded] } ?? false
        }
    }

    private func registered() throws -> [Registered] {
        try connection.rows("SELECT id, name, log_name, identity, key_columns, shape FROM logsync_table ORDER BY id")
            .compactMap { row in
                guard let schema = try TableSchema.read(String(text: row[1]), on: connection), !row[5].isNull else {
                    return nil
                }
                let key = row[4].isNull ? [] : try KeyList.decode(String(text: row[4]))
                let names = try connection.rows(
                    "SELECT name, log_name FROM logsync_column WHERE table_id = ? AND NOT dropped", row[0])
                let local = key.compactMap { name in
                    names.first { String(text: $0[1]).folded == name.folded }
                        .flatMap { schema.column(String(text: $0[0]))?.name }
                }
                return Registered(
                    id: row[0].asInteger, logName: String(text: row[2]), schema: schema,
                    kind: TrackedTable.IdentityKind(rawValue: String(text: row[3])) ?? .natural, key: key, local: local,
                    shape: String(text: row[5]))
            }
    }

    /// Follows keys that have gone to columns which have just come, and have left their names to integers of the tables' own:
    /// `id TEXT PRIMARY KEY` becomes `id INTEGER PRIMARY KEY, uuid TEXT UNIQUE`, and `id INTEGER PRIMARY KEY REFERENCES p`
    /// becomes `id INTEGER PRIMARY KEY, p_id INT REFERENCES p`.
    ///
    /// - Returns: whether there are such keys.
    func reconcileHandedKeys() throws -> Bool {
        let history = try ReferenceHistory(connection)
        var isAny = false
        for row in try registered() where row.kind == .natural && row.key.count == 1 {
            guard let table = store.catalog.tables.first(where: { $0.id == row.id }) else { continue }
            let known = try columns(of: table)
            guard let key = known.first(where: { logName(of: $0, in: table)?.folded == row.key[0].folded }) else {
                continue
            }
            guard row.isIntegerKey else {
                isAny = try handOn(key, among: known, in: table, row.schema) || isAny
                continue
            }
            let parent = history.parent(of: Int(key.id), in: row.id)
            let referring = row.schema.foreignKeys.filter {
                $0.from.count == 1 && (store.catalog[local: $0.parent]?.name ?? $0.parent).folded == parent?.folded
            }
            .map { $0.from[0].folded }
            guard row.wasInteger ? parent != nil && !referring.contains(key.name.folded) : true else { continue }
            let names = known.map(\.name.folded)
            let heirs = try row.schema.columns.filter { column in
                guard !column.isGenerated, !names.contains(column.name.folded) else { return false }
                let isTold = try isToldRename(of: key, to: column.name, table)
                let isReference = row.wasInteger && referring.contains(column.name.folded)
                if !isTold {
                    guard try Renames(connection).told(column.name, in: table.name) == nil,
                        isReference || !row.wasInteger && column.declaredType == key.type
                    else { return false }
                }
                let moved = try agreement(of: key, with: column.name, in: table, row.schema, countsWritten: true)
                if moved.isEmpty || moved.records == 0 {
                    return isTold || isReference || row.schema.isUnique(column.name)
                }
                let stayed = try agreement(of: key, with: key.name, in: table, row.schema, countsWritten: true)
                return moved.same > 0 && moved.same >= stayed.same
            }
            guard heirs.count == 1 else { continue }
            try rename(key, to: heirs[0], in: table)
            isAny = true
        }
        return isAny
    }

    /// Tables of which an integer has come to be the key, or is it no more, and those whose chosen columns are unique no
    /// more.
    ///
    /// - Parameter areNamesKnown: whether it is known which columns have been renamed.
    /// - Returns: how their records were found until now, by table id.
    func reconcileKinds(areNamesKnown: Bool = false) throws -> [Int64: FormerKey] {
        var changes: [Int64: FormerKey] = [:]
        let history = try KeyHistory(connection)
        for table in try registered() where table.logName != SettingTable.name {
            let kind: TrackedTable.IdentityKind
            var key: [String] = []
            switch table.kind {
            case .surrogate:
                guard table.schema.integerKey == nil else { continue }
                kind = .natural
                key = table.schema.keyColumns.map(\.name)
            case .columns:
                guard
                    table.schema.integerKey == nil || !table.isUnique && (areNamesKnown || !table.lacksColumns)
                else { continue }
                kind = table.schema.integerKey == nil ? .natural : .surrogate
                // Rows go by columns that were chosen, whatever the table has for a key.
                if kind == .natural { key = table.isUnique ? table.key : table.schema.keyColumns.map(\.name) }
            case .natural:
                // Where another key was the first one, or none, rows have identities that are not their integers. Peers say the
                // same of that, whatever they have met.
                let first = history.firstKey(of: table.logName)
                let isFirst =
                    try first.map { try $0.map { $0.folded } == table.key.map { $0.folded } && !hadNoKey(table) }
                    ?? !history.tables.contains(table.id)
                let isOther = try table.isIntegerKey && !table.wasInteger && isFirst && areOtherIntegers(table)
                let isTheirs = table.isIntegerKey && (table.wasInteger || isFirst) && !isOther
                guard table.schema.integerKey != nil, !isTheirs, !(table.wasInteger && table.lacksColumns)
                else { continue }
                kind = table.isUnique && !table.isIntegerKey ? .columns : .surrogate
                if kind == .columns { key = table.key }
                // Who has no rows that tell, and who clones, goes by it.
                if isOther { try Settings(store).set("identity", table.logName, kind.rawValue) }
            }
            changes[table.id] = table.former
            try change(table, to: kind, key: key)
        }
        return changes
    }

    /// Tables whose natural keys consist of other columns, or compare in another way.
    ///
    /// - Parameter changes: those of which that is known already.
    /// - Returns: all of them.
    func reconcileKeys(_ changes: [Int64: FormerKey]) throws -> [Int64: FormerKey] {
        var changes = changes
        changes.merge(try reconcileKinds(areNamesKnown: true)) { known, _ in known }
        let named = try NamingColumns(connection)
        for table in try registered() where table.kind == .natural && table.logName != SettingTable.name {
            // Rows go by columns that were chosen, whatever the table has for a key.
            let present =
                try isChosen(table)
                ? table.local : table.schema.integerKey.map { [$0] } ?? table.schema.keyColumns.map(\.name)
            let names = try connection.rows(
                "SELECT name, log_name FROM logsync_column WHERE table_id = ? AND NOT dropped", .integer(table.id))
            let key = present.compactMap { name in
                names.first { String(text: $0[0]).folded == name.folded }.map { String(text: $0[1]) }
            }
            guard key.count == present.count else { continue }
            let collations = table.collations
            let isSame = key.map { $0.folded } == table.key.map { $0.folded }
            let comparesAlike =
                table.schema.integerKey != nil || collations.count != key.count
                || store.catalog.tables.first { $0.id == table.id }?.key.map(\.collation) == collations
            if isSame && comparesAlike, try !hasOtherTypes(table, present), !namesOtherwise(table, named) { continue }
            if changes[table.id] == nil { changes[table.id] = table.former }
            try change(table, to: .natural, key: key)
        }
        return changes
    }

    /// Whether a column of the key names rows of another table by another of their columns than before.
    private func namesOtherwise(_ row: Registered, _ named: NamingColumns) -> Bool {
        guard let table = store.catalog.tables.first(where: { $0.id == row.id }) else { return false }
        return table.key.contains { key in
            let column = table.columns[key.index]
            guard let former = named.name(of: column.id, in: table.id),
                let now = store.catalog.naming(column, in: table)
            else { return false }
            return now.table.folded == former.table.folded && now != former
        }
    }

    /// Whether the integers that have come in place of a table's key are not what the key said: each machine's migration has
    /// given its own.
    private func areOtherIntegers(_ row: Registered) throws -> Bool {
        guard let table = store.catalog.tables.first(where: { $0.id == row.id }), let name = row.schema.integerKey,
            let key = try columns(of: table).first(where: { logName(of: $0, in: table)?.folded == row.key[0].folded })
        else { return false }
        var former: Set<UInt32> = []
        let records = try Statement("SELECT digests FROM \(table.clock) LIMIT 100000", on: connection)
        while try records.step() {
            let digests = records.withBytes(0, ClockTable.digests)
            if digests.indices.contains(Int(key.id)) { former.insert(digests[Int(key.id)]) }
        }
        guard !former.isEmpty else { return false }
        var (same, count) = (0, 0)
        let rows = try Statement(
            "SELECT \(SQL.name(name)) FROM \(SQL.name(row.schema.name)) LIMIT 100000", on: connection)
        while try rows.step() {
            let integer = rows.integer(0)
            let said: [Value] = [
                .integer(integer), .real(Double(integer)), .text(Array(String(integer).utf8)[...]),
                .blob(Array(String(integer).utf8)[...]),
            ]
            count += 1
            if said.contains(where: { former.contains(UInt32(truncatingIfNeeded: table.valueDigest.of($0))) }) {
                same += 1
            }
        }
        return count > 0 && same * 2 < count
    }

    /// Whether a table's rows had no key but integers of each machine's own when the content was founded: what counts as its
    /// first key came later.
    private func hadNoKey(_ table: Registered) throws -> Bool {
        try connection.integer(
            """
            SELECT EXISTS(SELECT 1 FROM logsync_setting
              WHERE kind = 'identity' AND target = ? COLLATE NOCASE AND value = 'surrogate')
            """, .text(table.logName)) == 1
    }

    /// Whether a table's rows go by columns that the content's setting names, and that are unique still.
    private func isChosen(_ table: Registered) throws -> Bool {
        guard table.isUnique else { return false }
        return try areColumnsChosen(ofTable: table.logName)
    }

    private func areColumnsChosen(ofTable logName: String) throws -> Bool {
        try connection.integer(
            """
            SELECT EXISTS(SELECT 1 FROM logsync_setting
              WHERE kind = 'identity' AND target = ? COLLATE NOCASE AND value LIKE 'columns=%')
            """, .text(logName)) == 1
    }

    /// Tables whose rows are called by the rows that they refer to now, and were called by numbers.
    ///
    /// - Parameters:
    ///   - references: what columns referred to until now.
    ///   - keys: takes up how such tables' records were found until now.
    func keepIdentities(where references: ReferenceChange.Former, _ keys: inout [Int64: FormerKey]) throws {
        for table in try registered() where table.kind == .natural {
            guard let former = references[table.id],
                let tracked = store.catalog.tables.first(where: { $0.id == table.id })
            else { continue }
            let names = tracked.columns.filter { former[$0.id] != nil && $0.isKey }.map { $0.name.folded }
            guard !names.isEmpty else { continue }
            keys[table.id, default: table.former].numbers = Set(names)
            try KeyHistory.keepIdentities(of: table.id, on: connection)
        }
    }

    /// Whether a column of the key makes something else of its values than it did.
    private func hasOtherTypes(_ table: Registered, _ columns: [String]) throws -> Bool {
        var isOther = false
        for name in columns {
            guard let type = table.schema.column(name)?.declaredType,
                let known = try connection.scalar(
                    "SELECT type FROM logsync_column WHERE table_id = ? AND name = ? COLLATE NOCASE AND NOT dropped",
                    .integer(table.id), .text(name))
            else { continue }
            guard Affinity(String(text: known)) != Affinity(type) else { continue }
            isOther = true
            try connection.run(
                "UPDATE logsync_column SET type = ?3 WHERE table_id = ?1 AND name = ?2 COLLATE NOCASE AND NOT dropped",
                .integer(table.id), .text(name), .text(type))
        }
        return isOther
    }

    /// Sees to the first keys of tables that were gone and come with other keys.
    ///
    /// - Parameter names: as the database has them.
    /// - Returns: those whose rows may have identities that their keys do not spell, by names in logs.
    func noteFirstKeys(of names: [String]) throws -> Set<String> {
        let history = try KeyHistory(connection)
        let renames = Renames(connection, absent: try HiddenRows.absentNames(on: connection))
        var found: Set<String> = []
        for name in names {
            let logName = try renames.logName(ofTable: name)
            let drop = try DroppedRows(store).drop(of: logName)
            guard let former = drop?.key ?? store.absentKeys[logName.folded],
                let schema = try TableSchema.read(name, on: connection), try !areColumnsChosen(ofTable: logName)
            else { continue }
            let first = history.firstKey(of: logName) ?? former
            let columns = schema.integerKey.map { first.map(\.folded) == [$0.folded] } ?? true ? schema.keyColumns : []
            let key = try columns.map { try renames.logName(ofColumn: $0.name, in: logName).folded }
            let isSame = key == first.map(\.folded) && key == former.map(\.folded)
            let collations = columns.map { Collation(rawValue: $0.collation) ?? .binary }
            let before = drop?.collations ?? []
            if isSame, before.isEmpty || before == collations { continue }
            found.insert(logName)
            guard !first.isEmpty, history.firstKey(of: logName) == nil else { continue }
            try Settings(store).set(KeyHistory.setting, logName, KeyList.encode(first))
        }
        return found
    }

    /// Whether some row of a table of local integers has its identity from a key: another peer has had one, as an earlier version
    /// names rows, or it is known which was the first.
    private func hasNamedRows(_ table: Registered) throws -> Bool {
        if try KeyHistory(connection).firstKey(of: table.logName) != nil { return true }
        return try connection.integer(
            """
            SELECT EXISTS(SELECT 1 FROM logsync_clock_\(table.id) WHERE substr(identity, 1, 1) <> x'00') OR EXISTS(
              SELECT 1 FROM logsync_kept WHERE table_name = ? COLLATE NOCASE AND substr(identity, 1, 1) <> x'00')
            """, .text(table.logName)) == 1
    }

    private func change(_ table: Registered, to kind: TrackedTable.IdentityKind, key: [String]) throws {
        try connection.run(
            "UPDATE logsync_table SET identity = ?2, key_columns = ?3 WHERE id = ?1", .integer(table.id),
            .text(kind.rawValue), key.isEmpty ? .null : .text(try KeyList.encode(key)))
        try KeyHistory.keepIdentities(of: table.id, on: connection)
        try KeyHistory.noteFormer(table.kind, table.key, of: table.id, on: connection)
        let hadNoKey = table.kind == .natural && table.key.isEmpty && kind == .surrogate
        if try hadNoKey && KeyHistory(connection).firstKey(of: table.logName) == nil
            || table.kind == .surrogate && kind == .natural && !key.isEmpty && !hasNamedRows(table)
        {
            // No key is the first one: another peer's next release may have another, and who clones has the integer.
            try Settings(store).set(KeyHistory.setting, table.logName, KeyList.encode([]))
        }
        // Columns that were chosen are the first key, too, where rows go by others from now on.
        let wasKey = table.kind == .natural || table.kind == .columns && key.map(\.folded) != table.key.map(\.folded)
        guard wasKey, !table.key.isEmpty, try KeyHistory(connection).firstKey(of: table.logName) == nil else { return }
        try Settings(store).set(KeyHistory.setting, table.logName, KeyList.encode(table.key))
    }
}
