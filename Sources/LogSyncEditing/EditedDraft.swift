import GRDB
import LogSyncStore

/// One row that is edited and not saved: what it held when it was read, and what it is to hold.
struct EditedDraft: Sendable {
    enum Kind: Sendable {
        /// Done by the record itself, which writes these values, so that it hears of it as of every insert.
        case insert([String: DatabaseValue], @Sendable (Database) throws -> Void)
        case update
        case delete
    }

    /// Tells it from other edits of this row, before and after.
    let number: Int
    let shape: TableShape
    /// What the record makes of a row of the store: a date that SQLite has written, say, in the words of the record's coding.
    private(set) var reading: @Sendable (Row) -> [String: DatabaseValue]
    var kind: Kind
    /// nil of a row that is inserted.
    var base: [String: DatabaseValue]?
    var mine: [String: DatabaseValue]
    /// Which row had the integer key when it was read; nil where the key says it, or it is not known.
    var identity: DatabaseValue?

    /// The rows that edited columns refer to by an integer: by column, the integer and the row that had it.
    private(set) var parents: [String: (integer: DatabaseValue, identity: DatabaseValue)] = [:]

    var table: String { shape.name }
    private var keyColumns: [String] { shape.key }

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

    /// Whether this is of a row.
    ///
    /// - Parameter identity: nil where only its key is known.
    func isOf(_ shape: TableShape, _ values: [String: DatabaseValue], _ identity: DatabaseValue?) -> Bool {
        guard table == shape.name else { return false }
        if let identity, let mine = self.identity { return identity == mine }
        return key.count == keyColumns.count && keyColumns.allSatisfy { key[$0].isSame(as: values[$0]) }
    }

    /// Whether a record that holds these values may be this row, as it was read or as it is edited.
    func holds(_ values: [String: DatabaseValue]) -> Bool {
        [base, mine].contains { known in
            guard let known else { return false }
            return values.allSatisfy { known[$0] == nil || known[$0].isSame(as: $1) }
        }
    }

    /// Takes over what was edited of a record, which may have other columns of the row.
    ///
    /// - Parameter former: what it held before it was edited.
    mutating func take(
        _ values: [String: DatabaseValue], of other: EditedDraft, formerly former: [String: DatabaseValue]
    ) {
        let (known, others) = (reading, other.reading)
        let isNew = values.contains { mine[$0.key] == nil }
        base = base.map { $0.merging(other.base ?? [:]) { first, _ in first } }
        mine.merge(values.filter { mine[$0.key] == nil || !former[$0.key].isSame(as: $0.value) }) { $1 }
        if isNew { reading = { row in known(row).merging(others(row)) { first, _ in first } } }
    }

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

    /// Which row has the integer key, as far as that is recorded.
    func recorded(_ db: Database) throws -> DatabaseValue? {
        try shape.integerKey == nil ? nil : shape.identity(of: base ?? mine, ReturnedRows(table, db), db)
    }

    /// Finds the row, which may have another integer key by now, and another one its own.
    ///
    /// - Returns: what the store says of it, as the record would say it; nil where it is not there.
    mutating func find(_ db: Database) throws -> [String: DatabaseValue]? {
        if let identity, let column = shape.integerKey, let rows = try ReturnedRows(table, db) {
            guard let integer = try rows.integer(of: identity, db)?.databaseValue else { return nil }
            if !edited.contains(column) { mine[column] = integer }
            base?[column] = integer
        }
        return try stored(db)
    }

    /// What the store says of the row that has the key.
    private func stored(_ db: Database) throws -> [String: DatabaseValue]? {
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

    /// Whether the store says what was read.
    func isUnchanged(in stored: [String: DatabaseValue]?) -> Bool {
        stored.map { stored in base?.allSatisfy { stored[$0].isSame(as: $1) } ?? false } ?? false
    }

    /// The conflict with what the store says, if there is one.
    ///
    /// - Parameter byRow: whether any column counts that others have changed; else only columns that were edited.
    func conflict(with theirs: [String: DatabaseValue]?, byRow: Bool) -> EditConflict? {
        func conflict(_ columns: Set<String>) -> EditConflict {
            EditConflict(
                table: table, key: key, columns: columns, base: base, mine: isDelete ? nil : mine, theirs: theirs)
        }
        guard let base else { return theirs == nil || isDelete ? nil : conflict(Set(mine.keys)) }
        guard let theirs else { return isDelete ? nil : conflict(Set(base.keys)) }
        let written = Set(base.keys.filter { !theirs[$0].isSame(as: base[$0]) })
        if byRow || isDelete { return written.isEmpty ? nil : conflict(written) }
        let contested = written.intersection(edited).filter { !theirs[$0].isSame(as: mine[$0]) }
        return contested.isEmpty ? nil : conflict(contested)
    }

    // MARK: References

    /// Notes which rows the integers of edited columns mean.
    mutating func noteParents(_ db: Database) throws {
        for (column, parent) in shape.pointers where edited.contains(column) {
            guard let integer = mine[column], !parents[column].map(\.integer).isSame(as: integer) else { continue }
            parents[column] = nil
            if let identity = try ReturnedRows(parent, db)?.identity(at: integer, db) {
                parents[column] = (integer, identity)
            }
        }
    }

    /// Has columns refer to the rows that were meant, whatever integers these have by now.
    ///
    /// - Throws: ``EditConflict`` where one is gone, and its integer is another row's.
    private mutating func resolveParents(_ db: Database, _ theirs: [String: DatabaseValue]?) throws {
        for (column, parent) in shape.pointers {
            guard let noted = parents[column], mine[column].isSame(as: noted.integer),
                let rows = try ReturnedRows(parent, db)
            else { continue }
            if let integer = try rows.integer(of: noted.identity, db) {
                mine[column] = integer.databaseValue
            } else if try rows.identity(at: noted.integer, db) != nil {
                throw EditConflict(table: table, key: key, columns: [column], base: base, mine: mine, theirs: theirs)
            }
        }
    }

    // MARK: Saving

    mutating func save(_ db: Database, _ policy: EditingContext.EditPolicy) throws {
        let theirs = try find(db)
        if !isDelete { try resolveParents(db, theirs) }
        let conflict = conflict(with: theirs, byRow: policy.goesByRow)
        switch kind {
        case .insert(var written, let insert):
            guard let conflict else {
                try insert(db)
                guard mine.contains(where: { !written[$0.key].isSame(as: $0.value) }) else { return }
                if let column = shape.integerKey, mine[column]?.isNull ?? true {
                    mine[column] = db.lastInsertedRowID.databaseValue
                    written[column] = mine[column]
                }
                return try update(db, mine, in: written)
            }
            // A row of that key has come meanwhile: the same one, unless the key is an integer.
            if shape.integerKey != nil, try ReturnedRows(table, db)?.isSurrogate == true { throw conflict }
            try update(db, try policy.values(of: conflict), in: theirs)
        case .update:
            guard let conflict else { return try update(db, values(of: edited), in: theirs) }
            guard theirs != nil else {
                let values = try policy.values(of: conflict)
                // Its integer is another row's, which is not written over.
                if !values.isEmpty, try stored(db) != nil { throw conflict }
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
