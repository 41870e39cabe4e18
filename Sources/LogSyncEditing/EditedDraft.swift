import GRDB

/// One row that is edited and not saved: what it held when it was read, and what it is to hold.
struct EditedDraft: Sendable {
    enum Kind: Sendable {
        /// Done by the record itself, so that it hears of it as of every insert.
        case insert(@Sendable (Database) throws -> Void)
        case update
        case delete
    }

    /// Tells it from other edits of this row, before and after.
    let number: Int
    let table: String
    /// The columns of the primary key.
    let keyColumns: [String]
    /// What the record makes of a row of the store: a date that SQLite has written, say, in the words of the record's coding.
    let reading: @Sendable (Row) -> [String: DatabaseValue]
    var kind: Kind
    /// nil of a row that is inserted.
    var base: [String: DatabaseValue]?
    var mine: [String: DatabaseValue]

    /// Without what the database gives the row when it is inserted.
    var key: [String: DatabaseValue] {
        (base ?? mine).filter { column, value in keyColumns.contains(column) && !value.isNull }
    }

    var isInsert: Bool { if case .insert = kind { true } else { false } }
    var isDelete: Bool { if case .delete = kind { true } else { false } }

    /// The columns that were edited.
    var edited: Set<String> {
        guard let base else { return Set(mine.keys) }
        return Set(mine.keys.filter { !mine[$0].isSame(as: base[$0]) })
    }

    var row: EditedRow { EditedRow(table: table, key: key, values: mine, columns: isDelete ? [] : edited) }

    /// Takes over what the store has by now, but in the columns that were edited.
    mutating func rebase(on stored: [String: DatabaseValue]) {
        guard let base else { return }
        let edited = edited
        for (column, value) in stored where base[column] != nil && !edited.contains(column) {
            self.base?[column] = value
            mine[column] = value
        }
    }

    /// Whether nothing was edited since another state of this draft.
    func isSame(as other: EditedDraft) -> Bool {
        mine.keys == other.mine.keys && mine.keys.allSatisfy { mine[$0].isSame(as: other.mine[$0]) }
            && isInsert == other.isInsert && isDelete == other.isDelete
    }

    /// What was edited since another state of it was saved.
    mutating func rebase(onSaved saved: EditedDraft) {
        base = saved.mine
        if !isDelete { kind = .update }
    }

    // MARK: Against the store

    /// What the store says of the row, as the record would say it; nil where it is not there.
    func stored(_ db: Database) throws -> [String: DatabaseValue]? {
        guard key.count == keyColumns.count else { return nil }
        let columns = (base ?? mine).keys.sorted()
        let list = columns.map(\.quotedName).joined(separator: ", ")
        let found = try Row.fetchOne(
            db, sql: "SELECT \(list), * FROM \(table.quotedName) WHERE \(condition)",
            arguments: keyArguments)
        guard let found else { return nil }
        let read = reading(found)
        var stored: [String: DatabaseValue] = [:]
        for (column, value) in zip(columns, found.databaseValues) {
            stored[column] = Optional(value).isSame(as: base?[column]) ? value : read[column] ?? value
        }
        return stored
    }

    private var condition: String {
        keyColumns.map { "\($0.quotedName) = ?" }.joined(separator: " AND ")
    }

    private var keyArguments: StatementArguments { StatementArguments(keyColumns.map { key[$0] ?? .null }) }

    /// The conflict with what the store says, if there is one.
    ///
    /// - Parameter byRow: whether any column counts that others have changed; else only columns that were edited.
    func conflict(with theirs: [String: DatabaseValue]?, byRow: Bool) -> EditConflict? {
        func conflict(_ columns: Set<String>) -> EditConflict {
            EditConflict(
                table: table, key: key, columns: columns, base: base, mine: isDelete ? nil : mine, theirs: theirs)
        }
        guard let base else { return theirs == nil ? nil : conflict(Set(mine.keys)) }
        guard let theirs else { return isDelete ? nil : conflict(Set(base.keys)) }
        let written = Set(base.keys.filter { !theirs[$0].isSame(as: base[$0]) })
        if byRow || isDelete { return written.isEmpty ? nil : conflict(written) }
        let contested = written.intersection(edited).filter { !theirs[$0].isSame(as: mine[$0]) }
        return contested.isEmpty ? nil : conflict(contested)
    }

    // MARK: Saving

    func save(_ db: Database, _ policy: EditingContext.EditPolicy) throws {
        let theirs = try stored(db)
        let conflict = conflict(with: theirs, byRow: policy.goesByRow)
        switch kind {
        case .insert(let insert):
            guard let conflict else { return try insert(db) }
            // A row of that key has come meanwhile.
            try update(db, try policy.values(of: conflict), in: theirs)
        case .update:
            guard let conflict else { return try update(db, values(of: edited), in: theirs) }
            guard theirs != nil else {
                let values = try policy.values(of: conflict)
                if !values.isEmpty { try insert(db, mine.merging(values) { $1 }) }
                return
            }
            let values = try policy.values(of: conflict)
            if case .rollback = policy { return }
            try update(db, self.values(of: edited.subtracting(conflict.columns)).merging(values) { $1 }, in: theirs)
        case .delete:
            guard theirs != nil else { return }
            if let conflict {
                if policy.keepsStored { return }
                let values = try policy.values(of: conflict)
                if !values.isEmpty { return try update(db, values, in: theirs) }
            }
            try db.execute(
                sql: "DELETE FROM \(table.quotedName) WHERE \(condition)", arguments: keyArguments)
        }
    }

    private func values(of columns: Set<String>) -> [String: DatabaseValue] { mine.filter { columns.contains($0.key) } }

    private func update(_ db: Database, _ values: [String: DatabaseValue], in stored: [String: DatabaseValue]?) throws {
        // What is there already is not written: that would be a change to every other peer.
        let columns = values.keys.filter { !values[$0].isSame(as: stored?[$0]) }.sorted()
        guard !columns.isEmpty else { return }
        let list = columns.map { "\($0.quotedName) = ?" }.joined(separator: ", ")
        try db.execute(
            sql: "UPDATE \(table.quotedName) SET \(list) WHERE \(condition)",
            arguments: StatementArguments(columns.map { values[$0] ?? .null }) + keyArguments)
    }

    private func insert(_ db: Database, _ values: [String: DatabaseValue]) throws {
        let columns = values.keys.sorted()
        let list = columns.map(\.quotedName).joined(separator: ", ")
        try db.execute(
            sql: """
                INSERT INTO \(table.quotedName)(\(list)) VALUES(\(columns.map { _ in "?" }.joined(separator: ", ")))
                """,
            arguments: StatementArguments(columns.map { values[$0] ?? .null }))
    }
}

extension EditingContext.EditPolicy {
    fileprivate var goesByRow: Bool {
        switch self {
        case .overwrite, .rollback: true
        case .error, .mergeByPropertyStoreTrump, .mergeByPropertyObjectTrump, .custom: false
        }
    }

    /// Whether a row that was written meanwhile is not deleted.
    fileprivate var keepsStored: Bool {
        switch self {
        case .mergeByPropertyStoreTrump, .rollback: true
        case .error, .mergeByPropertyObjectTrump, .overwrite, .custom: false
        }
    }

    /// The values that the row gets, beside the columns that nothing contests; empty for none.
    fileprivate func values(of conflict: EditConflict) throws -> [String: DatabaseValue] {
        switch self {
        case .error: throw conflict
        case .mergeByPropertyStoreTrump, .rollback: [:]
        case .mergeByPropertyObjectTrump: (conflict.mine ?? [:]).filter { conflict.columns.contains($0.key) }
        case .overwrite: conflict.mine ?? [:]
        case .custom(let resolve): try resolve(conflict)
        }
    }
}
