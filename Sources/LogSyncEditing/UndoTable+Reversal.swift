import GRDB
import LogSyncStore

/// Taking changes back, one after the other, the last first.
extension UndoTable {
    /// One change, as the triggers have noted it.
    struct Change {
        var before: [UndoValue]
        var after: [UndoValue]
        /// Of a deleted row.
        var identity: DatabaseValue
        /// Of what ``UndoTable/pointers`` referred to before.
        var parents: [DatabaseValue]

        /// The columns' places; not that of a rowid, which only tells rows apart.
        var columns: [Int]
        var changed: [Int] { columns.filter { before[$0] != after[$0] } }
    }

    func change(_ number: Int64, _ db: Database) throws -> Change? {
        let list = stored.indices.flatMap { ["old\($0)", "new\($0)"] }.map(UndoValue.columns)
        let identities = ["identity"] + pointers.indices.map { "parent\($0)" }
        let row = try Row.fetchOne(
            db,
            sql: "SELECT \((list + identities).joined(separator: ", ")) FROM temp.\(values) WHERE number = ?",
            arguments: [number])
        return row.map { row in
            let end = 4 * stored.count
            return Change(
                before: stored.indices.map { UndoValue(row, at: 4 * $0) },
                after: stored.indices.map { UndoValue(row, at: 4 * $0 + 2) },
                identity: row[end], parents: pointers.indices.map { row[end + 1 + $0] },
                columns: stored.indices.filter { $0 != rowidIndex })
        }
    }

    /// Finds an integer for a deleted row that comes back, where it is the integer of another row by now.
    func findPlace(of change: Change, _ db: Database, _ reversal: UndoReversal) throws {
        guard let keyIndex, !change.identity.isNull, reversal.places[change.identity] == nil,
            let former = change.before[keyIndex].integer, let returned = try ReturnedRows(name, db)
        else { return }
        if let standing = try returned.integer(of: change.identity, db),
            try standing == former || present([UndoValue(standing)], db) != nil && !reversal.isGoing(standing, of: self)
        {
            // Its deletion is not recorded yet, or another peer has brought it back.
            return reversal.give(standing, to: change.identity, of: self)
        }
        func isFree(_ integer: Int64) throws -> Bool {
            try !reversal.isGiven(integer, of: self) && (integer == former || !reversal.isReturning(integer, to: self))
                && isLeft(integer, db, reversal)
                && !returned.isPromised(integer, toOtherThan: change.identity, db)
        }
        var place = former
        if try !isFree(place) {
            let highest = try Int64.fetchOne(
                db, sql: "SELECT max(\(key[0].quotedName)) FROM main.\(quoted)")
            place = max(highest ?? 0, former) + 1
            while try !isFree(place) { place += 1 }
        }
        reversal.give(place, to: change.identity, of: self)
    }

    /// Whether no row has an integer, once the rows have gone that the group has made.
    private func isLeft(_ integer: Int64, _ db: Database, _ reversal: UndoReversal) throws -> Bool {
        guard let present = try present([UndoValue(integer)], db) else { return true }
        return try reversal.isGoing(integer, of: self) && !references.areThere(to: present, stored, db)
    }

    /// What a column that refers to a row has to hold for that: its integer may be another one by now. Nil where the row is
    /// not there, and its integer another row's.
    private func integer(
        of identity: DatabaseValue, formerly integer: UndoValue, _ parent: String, _ db: Database,
        _ reversal: UndoReversal
    ) throws -> UndoValue? {
        guard !identity.isNull else { return integer }
        if let place = reversal.places[identity] { return UndoValue(place) }
        guard let rows = try ReturnedRows(parent, db) else { return integer }
        if let place = try rows.integer(of: identity, db) {
            // It goes back with the group, unless that is not recorded yet.
            return UndoValue(place) == integer ? integer : reversal.origin(of: place, in: parent) ?? UndoValue(place)
        }
        return try rows.identity(at: integer.databaseValue, db) == nil ? integer : nil
    }

    /// Takes one change back, as far as nobody else has written since.
    func revert(_ change: Change, _ kind: String, of row: UndoRow, _ db: Database, _ reversal: UndoReversal) throws {
        guard !row.isLeft, !row.isNothing else { return }
        if kind == "insert" { return try remove(row, change, db, reversal) }
        var change = change
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
            guard dangling.isEmpty else {
                row.isLeft = true
                return reversal.leave(self, key(of: change.before))
            }
            try bringBack(row, change, db, reversal)
        } else {
            try restore(row, change, besides: dangling, db, reversal)
        }
    }

    func key(of row: [UndoValue]) -> [UndoValue] {
        let values = keyIndices.map { row[$0] }
        // A whole key says which row it is, also where the row was made anew.
        return rowidIndex == nil || values.dropLast().contains(where: \.isNull) ? values : values.dropLast()
    }

    /// A key as the table declares it.
    func shown(_ key: [UndoValue]) -> [UndoValue] { rowid != nil && key.count == self.key.count ? key.dropLast() : key }

    private func condition(_ key: [UndoValue]) -> String {
        zip(self.key, key).map { "\($0.quotedName) IS \($1.parameter)" }.joined(separator: " AND ")
    }

    func present(_ key: [UndoValue], _ db: Database) throws -> [UndoValue]? {
        let list = stored.map { UndoValue.columns($0.quotedName) }.joined(separator: ", ")
        let row = try Row.fetchOne(
            db, sql: "SELECT \(list) FROM main.\(quoted) WHERE \(condition(key))", arguments: key.arguments)
        return row.map { row in stored.indices.map { UndoValue(row, at: 2 * $0) } }
    }

    private func remove(_ row: UndoRow, _ change: Change, _ db: Database, _ reversal: UndoReversal) throws {
        guard let present = try present(row.key, db) else { return row.isRemoved = true }
        if try !removeUnlessReferred(present, db) {
            reversal.referred.append((row, present))
        } else {
            row.isRemoved = true
        }
    }

    /// Deletes a row, unless rows refer to it that this group did not bring: they would go, or lose what they refer to.
    func removeUnlessReferred(_ row: [UndoValue], _ db: Database) throws -> Bool {
        guard try !references.areThere(to: row, stored, db) else { return false }
        try delete(key(of: row), db)
        return true
    }

    func delete(_ key: [UndoValue], _ db: Database) throws {
        try db.execute(sql: "DELETE FROM main.\(quoted) WHERE \(condition(key))", arguments: key.arguments)
    }

    private func bringBack(_ row: UndoRow, _ change: Change, _ db: Database, _ reversal: UndoReversal) throws {
        var deleted = change.before
        if let keyIndex, let place = reversal.places[change.identity] { deleted[keyIndex] = UndoValue(place) }
        let returned = try ReturnedRows(name, db)
        let last = try returned?.lastNumber(db) ?? 0
        let given = try stored.indices.filter { index in
            try index != rowidIndex || !isTaken(deleted[index], db)
        }
        let list = given.map { stored[$0].quotedName }.joined(separator: ", ")
        // Another row may have its key, or a unique value of it.
        try db.execute(
            sql: """
                INSERT OR IGNORE INTO main.\(quoted)(\(list))
                VALUES(\(given.map { deleted[$0].parameter }.joined(separator: ", ")))
                """,
            arguments: given.map { deleted[$0] }.arguments)
        let isBack = db.changesCount > 0
        if isBack, let rowidIndex { deleted[rowidIndex] = UndoValue(db.lastInsertedRowID) }
        let key = key(of: deleted)
        if isBack {
            let integer = key.count == 1 ? key[0].databaseValue : nil
            try returned?.note(after: last, at: integer, as: change.identity, db)
        } else if try row.isTaken || reversal.places[change.identity] != nil || present(key, db) == nil {
            row.isLeft = true
            // What refers to it finds nothing at that integer.
            reversal.takePlace(of: change.identity)
            return reversal.leave(self, key)
        }
        // Else a trigger of the program's has just made it.
        row.key = key
        row.isBack = true
        for index in change.columns { row.targets[index] = deleted[index] }
    }

    private func isTaken(_ rowid: UndoValue, _ db: Database) throws -> Bool {
        guard let column = self.rowid else { return false }
        return try Int.fetchOne(
            db, sql: "SELECT 1 FROM main.\(quoted) WHERE \(column.quotedName) = ?", arguments: [rowid.argument]) != nil
    }

    private func restore(
        _ row: UndoRow, _ change: Change, besides dangling: Set<Int>, _ db: Database, _ reversal: UndoReversal
    ) throws {
        let own = change.changed.filter { row.isBack || row.own.contains($0) }
        var standing = try present(row.key, db)
        if standing == nil {
            // A foreign key's own action has given it the former key already, as its parent got that.
            let former = key(of: change.before)
            if !own.filter(keyIndices.contains).isEmpty { standing = try present(former, db) }
            guard standing != nil else {
                row.isLeft = true
                return reversal.leave(self, row.key)
            }
            row.key = former
        }
        row.failed.formUnion(own.filter(dangling.contains))
        let wanted = own.filter { !dangling.contains($0) }
        guard !wanted.isEmpty else { return }
        // Another row may have a unique value of it by now: then the other columns are restored one by one.
        var done = try write(change.before, wanted, row.key, db) ? wanted : []
        if done.isEmpty, wanted.count > 1 {
            // Those of the key last, for the row is found by it.
            let (others, keys) = (
                wanted.filter { !keyIndices.contains($0) }, wanted.filter { keyIndices.contains($0) }
            )
            done = try (others + keys).filter { try write(change.before, [$0], row.key, db) }
        }
        row.failed.formUnion(wanted.filter { !done.contains($0) })
        for index in done {
            row.failed.remove(index)
            row.targets[index] = change.before[index]
            if row.formers[index] == nil { row.formers[index] = change.after[index] }
        }
        if let standing {
            row.key = key(of: stored.indices.map { done.contains($0) ? change.before[$0] : standing[$0] })
        }
    }

    /// The places of the key's columns, in its order.
    private var keyIndices: [Int] { key.compactMap(stored.firstIndex) }

    func name(of index: Int) -> String { stored[index] }

    /// Whether a column refers to rows.
    func refers(_ index: Int) -> Bool { references.columns.contains(stored[index].lowercased()) }

    private func write(
        _ values: [UndoValue], _ indices: [Int], _ key: [UndoValue], _ db: Database
    ) throws -> Bool {
        try set(Dictionary(uniqueKeysWithValues: indices.map { ($0, values[$0]) }), key, db)
    }

    /// - Returns: whether no constraint is in the way.
    @discardableResult
    func set(_ values: [Int: UndoValue], _ key: [UndoValue], _ db: Database) throws -> Bool {
        let values = values.sorted { $0.key < $1.key }
        let list = values.map { "\(stored[$0.key].quotedName) = \($0.value.parameter)" }
        try db.execute(
            sql: "UPDATE OR IGNORE main.\(quoted) SET \(list.joined(separator: ", ")) WHERE \(condition(key))",
            arguments: (values.map(\.value) + key).arguments)
        return db.changesCount > 0
    }

    /// The columns by which a row refers to rows that are not there; empty where the row itself is gone.
    func dangling(_ key: [UndoValue], _ db: Database) throws -> Set<Int>? {
        guard let row = try present(key, db) else { return nil }
        let names = try references.dangling(row, stored, db)
        return Set(stored.indices.filter { names.contains(stored[$0]) })
    }
}
