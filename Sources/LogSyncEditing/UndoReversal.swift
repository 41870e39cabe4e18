import GRDB

// Taking a group back (Documentation/swift.md, undo).
//
// The problem. A group's changes are taken back one by one, the last first, so that no constraint is in the way that was
// in none of the group's. But each step fires the program's triggers and the foreign keys' actions again, which have fired
// within the group too: a counter that a trigger keeps would be counted twice. And what others have written since is to stay.
//
// The steps. First, before anything is written, each row of the group is compared with what the group left of it: a column
// that is otherwise by now was written by others. Then the changes are taken back, whatever the steps before have made of
// the row. Then what references forbid is given up (``giveUpDangling(_:)``). In the end each column that was to be restored
// is looked at again, and written once more where a trigger has changed it.
//
// The exception. A trigger that writes a row at each update, as a time of change, has the last word.
//
// An example. `INSERT INTO item` within a group has a trigger count 1 to 2. The count goes back to 1, the row goes, a trigger
// counts to 0, and the last look writes the 1.

/// One row that a group has changed, from its first change of it to the last, whatever keys it had.
final class UndoRow {
    let table: UndoTable
    /// What the row is found by, as the undo goes back.
    var key: [UndoValue]
    /// The columns, by their places, that nobody else has written since.
    var own: Set<Int> = []
    /// Where others have written; of a row that the group has deleted, whether another one has its key.
    var foreign: Set<Int> = []
    var isTaken = false
    /// Whether the group has made it, and deleted it.
    var isInserted = false
    var isDeleted = false
    /// Whether it stays as it is.
    var isLeft = false
    /// What became of it: it went, or came back.
    var isRemoved = false
    var isBack = false
    /// The columns that could not be restored.
    var failed: Set<Int> = []
    /// What the columns held before the group, as far as they were restored, and before the undo.
    var targets: [Int: UndoValue] = [:]
    var formers: [Int: UndoValue] = [:]
    /// The keys that it had when the undo began, and before the group.
    let start: [UndoValue]
    var origin: [UndoValue]

    init(_ table: UndoTable, _ key: [UndoValue]) {
        self.table = table
        self.key = key
        start = key
        origin = key
    }

    /// Whether the group left nothing of it, and found nothing.
    var isNothing: Bool { isInserted && isDeleted }
    var isChanged: Bool { isRemoved || isBack || !targets.isEmpty }
}

/// One group as it is taken back, and what could not be.
///
/// What others have written since is not only in the cells themselves: they may have deleted the row that a row which comes
/// back refers to, or inserted rows that refer to one which goes. Neither makes the whole group fail: what cannot be is left.
final class UndoReversal {
    private(set) var left: [UndoLog.Left] = []
    private(set) var rows: [UndoRow] = []
    /// The integers of the rows that come back, by their identities.
    private(set) var places: [DatabaseValue: Int64] = [:]
    private var given: [String: Set<Int64>] = [:]
    private var returning: [String: Set<Int64>] = [:]
    /// Rows that are to go, and to which others refer: some of those may go yet.
    var referred: [(row: UndoRow, values: [UndoValue])] = []

    var changedCount: Int { rows.count(where: \.isChanged) }

    func leave(_ table: UndoTable, _ key: [UndoValue], _ column: String? = nil) {
        let new = UndoLog.Left(table: table.name, key: table.shown(key).databaseValues, column: column)
        if !left.contains(new) { left.append(new) }
    }

    /// Gives a row that comes back an integer that no other one gets.
    func give(_ integer: Int64, to identity: DatabaseValue, of table: UndoTable) {
        given[table.name, default: []].insert(integer)
        places[identity] = integer
    }

    func isGiven(_ integer: Int64, of table: UndoTable) -> Bool { given[table.name]?.contains(integer) ?? false }

    /// Whether a row of the group goes back to an integer.
    func isReturning(_ integer: Int64, to table: UndoTable) -> Bool {
        returning[table.name]?.contains(integer) ?? false
    }

    /// Whether the row that has an integer is one that the group has made, and that goes.
    func isGoing(_ integer: Int64, of table: UndoTable) -> Bool {
        rows.contains { row in
            row.table.name == table.name && row.key == [UndoValue(integer)] && row.isInserted && !row.isDeleted
                && !row.isLeft
        }
    }

    /// The integer to which a row of the group goes back that had another one when the undo began.
    func origin(of integer: Int64, in table: String) -> UndoValue? {
        rows.first { row in
            row.table.name.lowercased() == table.lowercased() && !row.isLeft && row.start == [UndoValue(integer)]
                && row.table.keyIndex.map(row.own.contains) ?? false
        }?.origin.first
    }

    /// A row does not come back.
    func takePlace(of identity: DatabaseValue) { places[identity] = nil }

    // MARK: What others have written

    private struct Place: Hashable {
        var table: String
        var key: [UndoValue]
    }

    /// Finds which row each change is of, and what others have written of it, before anything is taken back.
    ///
    /// - Parameter changes: the last first.
    /// - Returns: the row of each.
    func examine(_ changes: [(number: Int64, table: UndoTable, kind: String)], _ db: Database) throws -> [UndoRow?] {
        var standing: [Place: UndoRow] = [:]
        let found = try changes.map { number, table, kind -> UndoRow? in
            guard let change = try table.change(number, db) else { return nil }
            if kind != "insert", let keyIndex = table.keyIndex, let integer = change.before[keyIndex].integer {
                returning[table.name, default: []].insert(integer)
            }
            func place(_ values: [UndoValue]) -> Place { Place(table: table.name, key: table.key(of: values)) }
            if kind == "delete" {
                let row = new(table, table.key(of: change.before))
                row.isDeleted = true
                row.isTaken = try table.present(row.key, db) != nil
                standing[place(change.before)] = row
                return row
            }
            let row = standing.removeValue(forKey: place(change.after)) ?? new(table, table.key(of: change.after))
            if kind == "insert" {
                row.isInserted = true
            } else {
                standing[place(change.before)] = row
                row.origin = table.key(of: change.before)
            }
            guard !row.isDeleted else { return row }
            let columns = kind == "insert" ? change.columns : change.changed
            let unknown = columns.filter { !row.own.contains($0) && !row.foreign.contains($0) }
            guard !unknown.isEmpty else { return row }
            guard let present = try table.present(row.key, db) else {
                row.isLeft = true
                return row
            }
            for index in unknown {
                if present[index] == change.after[index] { row.own.insert(index) } else { row.foreign.insert(index) }
            }
            return row
        }
        for row in rows { leaveForeign(row) }
        return found
    }

    private func new(_ table: UndoTable, _ key: [UndoValue]) -> UndoRow {
        let row = UndoRow(table, key)
        rows.append(row)
        return row
    }

    private func leaveForeign(_ row: UndoRow) {
        if row.isInserted {
            // A row that is gone already needs no deletion.
            if !row.isLeft, !row.foreign.isEmpty {
                row.isLeft = true
                leave(row.table, row.key)
            }
        } else if row.isLeft {
            leave(row.table, row.key)
        } else {
            for index in row.foreign.sorted() { leave(row.table, row.key, row.table.name(of: index)) }
        }
    }

    // MARK: The end

    func finish(_ db: Database) throws {
        var isNews = true
        while isNews {
            isNews = false
            let waiting = referred
            referred = []
            for (row, values) in waiting {
                if try row.table.removeUnlessReferred(values, db) {
                    (isNews, row.isRemoved) = (true, true)
                } else {
                    referred.append((row, values))
                }
            }
        }
        for (row, values) in referred { leave(row.table, row.table.key(of: values)) }
        if try Bool.fetchOne(db, sql: "PRAGMA foreign_keys") ?? false { try giveUpDangling(db) }
        for row in rows where !row.isLeft {
            for index in row.failed.sorted() { leave(row.table, row.key, row.table.name(of: index)) }
        }
        try correct(db)
    }

    private func giveUpDangling(_ db: Database) throws {
        var written = rows.filter { !$0.isRemoved && !$0.targets.isEmpty }
        var isNews = true
        while isNews {
            isNews = false
            for (index, row) in written.enumerated().reversed() {
                let dangling = try row.table.dangling(row.key, db)
                if let dangling, dangling.isDisjoint(with: row.targets.keys) { continue }
                isNews = true
                written.remove(at: index)
                if dangling == nil || row.isBack {
                    // It goes, or went with another one that was given up.
                    if dangling != nil { try row.table.delete(row.key, db) }
                    (row.isLeft, row.isBack, row.targets) = (true, false, [:])
                    leave(row.table, row.key)
                    continue
                }
                let back = row.formers.filter { dangling?.contains($0.key) ?? false }
                try row.table.set(back, row.key, db)
                for index in back.keys.sorted() {
                    row.targets[index] = nil
                    leave(row.table, row.key, row.table.name(of: index))
                }
            }
        }
    }

    /// Whether another row has taken a key up again.
    private func isBack(_ key: [UndoValue], of table: UndoTable) -> Bool {
        rows.contains { $0.table.name == table.name && $0.key == key && !$0.isRemoved && !$0.targets.isEmpty }
    }

    /// Writes what triggers of the program's have changed while it was restored. A trigger may answer to that once more.
    private func correct(_ db: Database) throws {
        for _ in 0..<2 {
            var isNews = false
            for row in rows where row.isRemoved {
                // A trigger has made it again; or another row is back whose key is the same but for its letters' case.
                guard let present = try row.table.present(row.key, db),
                    !isBack(row.table.key(of: present), of: row.table)
                else { continue }
                isNews = try row.table.removeUnlessReferred(present, db) || isNews
            }
            for row in rows where !row.isRemoved && !row.targets.isEmpty {
                guard let present = try row.table.present(row.key, db) else { continue }
                // What refers to a row follows it by the foreign key's own action.
                let wrong = row.targets.filter { present[$0.key] != $0.value && !row.table.refers($0.key) }
                guard !wrong.isEmpty else { continue }
                isNews = try row.table.set(wrong, row.key, db) || isNews
            }
            if !isNews { return }
        }
    }
}
