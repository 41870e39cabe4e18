public import GRDB
public import LogSync

/// Edits of records that are not saved yet, kept right while imports change the store beneath: a scratch pad, as a
/// `NSManagedObjectContext` is one.
///
/// ```swift
/// let edits = EditingContext(pool, replicator, author: "ann", mergePolicy: .mergeByPropertyObjectTrump)
/// if let item = try await edits.fetchOne(Item.self, key: 7) {
///     edits.update(item) { $0.title = "Pears" }
/// }
/// try await edits.save()
/// ```
///
/// Records are values, and stay so: there are no relationships, and nothing is loaded on its own. A row is known by its
/// table's primary key. When it is saved, a row that was written meanwhile is merged column by column, as the
/// ``EditPolicy`` says; only columns that were edited are written. Between peers it is the content's merge policies that
/// decide.
@MainActor public final class EditingContext {
    /// What becomes of edits of rows that were written meanwhile.
    public var mergePolicy: EditPolicy
    /// Whether the rows that are edited take over what imports change in their other columns, as they come: Core Data's
    /// `automaticallyMergesChangesFromParent`. Off, they do so at ``refreshAll()``.
    public var mergesImports = false {
        didSet { if mergesImports != oldValue { awaitImports() } }
    }
    /// Takes back what was saved, where one was given.
    public let undoLog: UndoLog?

    private let writer: any DatabaseWriter
    private let replicator: Replicator
    private let author: String?
    /// In the order in which they were begun, which is the one in which they are saved.
    private var drafts: [EditedDraft] = []
    private var drafted = 0
    private var shapes: [String: TableShape] = [:]
    /// Why an edit could not be taken; thrown by the next save.
    private var trouble: (any Error)?
    private var importing: Task<Void, Never>?

    /// - Parameters:
    ///   - writer: the program's own connection to the replicator's store.
    ///   - author: who edits, as the history has it.
    ///   - undoLog: what saves are undone by; each is one group, named by its context.
    public init(
        _ writer: any DatabaseWriter, _ replicator: Replicator, author: String? = nil, mergePolicy: EditPolicy = .error,
        undoLog: UndoLog? = nil
    ) {
        self.writer = writer
        self.replicator = replicator
        self.author = author
        self.mergePolicy = mergePolicy
        self.undoLog = undoLog
    }

    deinit { importing?.cancel() }

    // MARK: What is edited

    public var hasChanges: Bool { !inserted.isEmpty || !updated.isEmpty || !deleted.isEmpty }
    /// The rows to be inserted, in the order of the edits.
    public var inserted: [EditedRow] { drafts.filter(\.isInsert).map(\.row) }
    /// The rows to be updated; not rows that were edited back to what they were.
    public var updated: [EditedRow] {
        drafts.filter { !$0.isInsert && !$0.isDelete && !$0.edited.isEmpty }.map(\.row)
    }
    /// The rows to be deleted.
    public var deleted: [EditedRow] { drafts.filter(\.isDelete).map(\.row) }

    // MARK: Reading

    /// A record as this context has it: from the store, with its edits. Nil where it is not there, or is to be deleted.
    ///
    /// - Throws: what GRDB throws.
    public func fetchOne<R: FetchableRecord & TableRecord & Sendable>(
        _ type: R.Type = R.self, key: some DatabaseValueConvertible & Sendable
    ) async throws -> R? {
        try await fetch(type) { db in try Row.fetchAll(db, type.filter(key: key)) }.first
    }

    /// The records of a request as this context has them: the store's, with their edits, without those to be deleted. Rows
    /// that are to be inserted are not among them, see ``inserted``.
    ///
    /// - Throws: what GRDB throws.
    public func fetchAll<R: FetchableRecord & TableRecord & Sendable>(
        _ request: QueryInterfaceRequest<R>
    ) async throws -> [R] {
        try await fetch(R.self) { db in try Row.fetchAll(db, request) }
    }

    private func fetch<R: FetchableRecord & TableRecord>(
        _ type: R.Type, _ rows: @escaping @Sendable (Database) throws -> [Row]
    ) async throws -> [R] {
        let stored = try await writer.read { db in
            try rows(db).map { row in Dictionary(row.map { ($0, $1) }, uniquingKeysWith: { first, _ in first }) }
        }
        return try stored.compactMap { values in
            guard let index = index(of: type.databaseTableName, values) else { return try R(row: row(values)) }
            let draft = drafts[index]
            return draft.isDelete
                ? nil : try R(row: row(values.merging(draft.mine.filter { draft.edited.contains($0.key) }) { $1 }))
        }
    }

    // MARK: Editing

    /// Has a record inserted by the next ``save(context:)``.
    public func insert<R: MutablePersistableRecord & Sendable>(_ record: R) {
        edit {
            let shape = try shape(of: R.databaseTableName)
            let values = shape.values(try record.databaseDictionary)
            draft(shape, R.self, Self.insertion(of: record), base: nil, mine: values)
        }
    }

    /// Changes a record as it was read from the store, or from this context; what was edited of it before stays edited.
    ///
    /// A record that cannot be encoded, or that does not have its whole primary key, has each ``save(context:)`` throw until
    /// ``rollback()``.
    public func update<R: PersistableRecord & FetchableRecord & Sendable>(_ record: R, _ change: (inout R) -> Void) {
        edit {
            let shape = try shape(of: R.databaseTableName)
            let read = shape.values(try record.databaseDictionary)
            let index = index(of: shape.name, read)
            var edited = record
            if let index, !drafts[index].isDelete { edited = try R(row: row(read.merging(drafts[index].mine) { $1 })) }
            change(&edited)
            let values = shape.values(try edited.databaseDictionary)
            guard let index else {
                try shape.check(read)
                return draft(shape, R.self, .update, base: read, mine: values)
            }
            drafts[index].kind = drafts[index].isInsert ? Self.insertion(of: edited) : .update
            drafts[index].mine = values
        }
    }

    /// Has a record deleted by the next ``save(context:)``; one that was to be inserted is forgotten.
    public func delete<R: PersistableRecord & Sendable>(_ record: R) {
        edit {
            let shape = try shape(of: R.databaseTableName)
            let read = shape.values(try record.databaseDictionary)
            guard let index = index(of: shape.name, read) else {
                try shape.check(read)
                return draft(shape, R.self, .delete, base: read, mine: read)
            }
            if drafts[index].isInsert {
                drafts.remove(at: index)
            } else {
                drafts[index].kind = .delete
                drafts[index].mine = drafts[index].base ?? read
            }
        }
    }

    /// Forgets all edits.
    public func rollback() {
        drafts = []
        trouble = nil
    }

    private func draft<R: MutablePersistableRecord & Sendable>(
        _ shape: TableShape, _ type: R.Type, _ kind: EditedDraft.Kind, base: [String: DatabaseValue]?,
        mine: [String: DatabaseValue]
    ) {
        drafted += 1
        drafts.append(
            EditedDraft(
                number: drafted, table: shape.name, keyColumns: shape.key,
                reading: { row in
                    // A row that the record cannot be made of is compared as it stands.
                    let record = try? (type as? any (FetchableRecord & EncodableRecord).Type)?.init(row: row)
                    return (try? record?.databaseDictionary).map(shape.values) ?? [:]
                }, kind: kind, base: base, mine: mine))
    }

    private static func insertion(of record: some MutablePersistableRecord & Sendable) -> EditedDraft.Kind {
        .insert { db in
            var record = record
            try record.insert(db)
        }
    }

    private func edit(_ body: () throws -> Void) {
        do { try body() } catch { trouble = trouble ?? error }
    }

    // MARK: Saving

    /// Writes all edits in one transaction, which is recorded under the author. Where it throws, nothing is written, and the
    /// edits stay.
    ///
    /// - Parameter context: what the history, and the group to undo, call it.
    /// - Throws: ``EditConflict`` under the policy `error`, what a custom policy throws, what GRDB throws where a constraint
    ///   refuses a row, and `LogSyncError` as ``Replicator/record(_:author:context:_:)`` does.
    public func save(context: String? = nil) async throws {
        if let trouble { throw trouble }
        guard hasChanges else { return }
        let (saved, policy, author, undoLog, replicator) = (drafts, mergePolicy, author, undoLog, replicator)
        try await writer.write { db in
            func save() throws {
                // A row may go before its parent does, or come after its child.
                try db.execute(sql: "PRAGMA defer_foreign_keys = ON")
                for draft in saved where draft.isInsert || draft.isDelete || !draft.edited.isEmpty {
                    try draft.save(db, policy)
                }
            }
            try replicator.record(db, author: author, context: context) {
                if let undoLog { try undoLog.group(context ?? "Edit", db, save) } else { try save() }
            }
        }
        for draft in saved {
            guard let index = drafts.firstIndex(where: { $0.number == draft.number }) else { continue }
            // It may have been edited meanwhile.
            if drafts[index].isSame(as: draft) {
                drafts.remove(at: index)
            } else {
                drafts[index].rebase(onSaved: draft)
            }
        }
    }

    /// What ``save(context:)`` would find to be in conflict, column by column, whatever the policy.
    ///
    /// - Throws: what GRDB throws.
    public func conflicts() async throws -> [EditConflict] {
        let drafts = drafts
        return try await writer.read { db in
            try drafts.compactMap { $0.conflict(with: try $0.stored(db), byRow: false) }
        }
    }

    // MARK: Imports

    /// Has the rows that are edited take over what the store has by now in the columns that are not.
    ///
    /// - Throws: what GRDB throws.
    public func refreshAll() async throws {
        let drafts = drafts
        let stored = try await writer.read { db in
            try drafts.map { draft in draft.isInsert ? nil : try draft.stored(db) }
        }
        for (draft, row) in zip(drafts, stored) {
            // Edits may have come or gone while that was read.
            let index = self.drafts.firstIndex { $0.number == draft.number }
            if let row, let index { self.drafts[index].rebase(on: row) }
        }
    }

    private func awaitImports() {
        importing?.cancel()
        importing = nil
        guard mergesImports else { return }
        let changes = replicator.changes
        importing = Task { [weak self] in
            for await change in changes {
                guard let self else { return }
                let tables = Set(change.tables.keys.map { $0.lowercased() })
                guard drafts.contains(where: { tables.contains($0.table.lowercased()) }) else { continue }
                // What cannot be read now is compared when it is saved, which says what is wrong.
                try? await refreshAll()
            }
        }
    }

    // MARK: Tables

    /// The draft of the row that has the primary key which is among these values; the one that is saved last, where a row was
    /// deleted and another of its key inserted.
    private func index(of table: String, _ values: [String: DatabaseValue]) -> Int? {
        drafts.lastIndex { draft in
            draft.table == table && draft.key.count == draft.keyColumns.count
                && draft.keyColumns.allSatisfy { draft.key[$0].isSame(as: values[$0]) }
        }
    }

    private func row(_ values: [String: DatabaseValue]) -> Row {
        Row(values.mapValues { $0 as (any DatabaseValueConvertible)? })
    }

    private func shape(of table: String) throws -> TableShape {
        if let known = shapes[table] { return known }
        let shape = try writer.read { db in try TableShape(table, db) }
        shapes[table] = shape
        return shape
    }
}

/// What columns a table has, by the names that it was declared with; records may write them otherwise.
private struct TableShape: Sendable {
    let name: String
    let key: [String]
    private let names: [String: String]

    init(_ table: String, _ db: Database) throws {
        name = table
        key = try db.primaryKey(table).columns
        names = Dictionary(
            (try db.columns(in: table).map(\.name) + key).map { ($0.lowercased(), $0) },
            uniquingKeysWith: { first, _ in first })
    }

    func values(_ record: [String: DatabaseValue]) -> [String: DatabaseValue] {
        Dictionary(
            record.map { (names[$0.lowercased()] ?? $0, $1) }, uniquingKeysWith: { first, _ in first })
    }

    /// - Throws: `DatabaseError` where a record does not say which row it is.
    func check(_ values: [String: DatabaseValue]) throws {
        guard key.allSatisfy({ values[$0].map { !$0.isNull } ?? false }) else {
            throw DatabaseError(
                resultCode: .SQLITE_MISUSE, message: "a record of \(name) without its primary key cannot be edited")
        }
    }
}
