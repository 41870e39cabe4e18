public import GRDB
public import LogSync
import LogSyncStore

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
/// table's primary key; where that is an integer, which may be given to another row once this one is deleted, by which row
/// had it when it was read. When it is saved, a row that was written meanwhile is merged column by column, as the
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
    /// Which rows had the integers that were read.
    private var identities: [Place: DatabaseValue] = [:]
    /// The numbers of the drafts that are being saved, and who waits for that.
    private var saving: Set<Int> = []
    private var waiting: [CheckedContinuation<Void, Never>] = []
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
        let table = type.databaseTableName
        let known = shapes[table]
        var fetched = try await writer.read { db in try FetchedRows(table, known, rows, db) }
        if !fetched.areIdentified {
            // Which row it is can be said of one that is recorded.
            let recorded = try? await writer.write { [replicator] db in
                try replicator.record(db, author: nil)
                return try FetchedRows(table, known, rows, db)
            }
            fetched = recorded ?? fetched
        }
        let shape = fetched.shape
        shapes[table] = shape
        return try fetched.rows.compactMap { fetched in
            let values = shape.values(fetched.values)
            if let identity = fetched.identity, let place = place(shape, values) { identities[place] = identity }
            guard let index = index(of: shape, values, fetched.identity) else { return try R(row: row(fetched.values)) }
            let draft = drafts[index]
            return draft.isDelete
                ? nil
                : try R(row: row(fetched.values.merging(draft.mine.filter { draft.edited.contains($0.key) }) { $1 }))
        }
    }

    // MARK: Editing

    /// Has a record inserted by the next ``save(context:)``.
    public func insert<R: MutablePersistableRecord & Sendable>(_ record: R) {
        edit {
            let shape = try shape(of: R.databaseTableName)
            let values = shape.values(try record.databaseDictionary)
            try append(draft(shape, R.self, Self.insertion(of: record, values), base: nil, mine: values))
        }
    }

    /// Changes a record as it was read from the store, or from this context; what was edited of it before stays edited, also
    /// by records of other columns of the table.
    ///
    /// A record that cannot be encoded, or that does not have its whole primary key, has each ``save(context:)`` throw until
    /// ``rollback()``.
    public func update<R: PersistableRecord & FetchableRecord & Sendable>(_ record: R, _ change: (inout R) -> Void) {
        edit {
            let shape = try shape(of: R.databaseTableName)
            let read = shape.values(try record.databaseDictionary)
            var new = draft(shape, R.self, .update, base: read, mine: read)
            let index = try find(&new, shape)
            var edited = record
            if let index, !drafts[index].isDelete { edited = try R(row: row(read.merging(drafts[index].mine) { $1 })) }
            let former = shape.values(try edited.databaseDictionary)
            change(&edited)
            let values = shape.values(try edited.databaseDictionary)
            guard let index else {
                try shape.check(read)
                new.mine = values
                return try append(new)
            }
            var draft = drafts[index]
            draft.take(values, of: new, formerly: former)
            if draft.isDelete, saving.contains(draft.number) {
                // It goes with the save that is under way.
                (new.kind, new.base, new.mine) = (Self.insertion(of: edited, values), nil, draft.mine)
                return try append(new)
            }
            if !draft.isInsert {
                draft.kind = .update
            } else if draft.mine.keys.allSatisfy({ values[$0] != nil }) {
                draft.kind = Self.insertion(of: edited, values)
            }
            drafts[index] = try notingParents(draft)
        }
    }

    private func append(_ draft: EditedDraft) throws { drafts.append(try notingParents(draft)) }

    /// With the rows that the draft refers to by their integers, which may be others' when it is saved.
    private func notingParents(_ draft: EditedDraft) throws -> EditedDraft {
        guard !draft.shape.pointers.isEmpty else { return draft }
        return try writer.unsafeReentrantRead { db in
            var draft = draft
            try draft.noteParents(db)
            return draft
        }
    }

    /// Has a record deleted by the next ``save(context:)``; one that was to be inserted is forgotten.
    public func delete<R: PersistableRecord & Sendable>(_ record: R) {
        edit {
            let shape = try shape(of: R.databaseTableName)
            let read = shape.values(try record.databaseDictionary)
            var new = draft(shape, R.self, .delete, base: read, mine: read)
            guard let index = try find(&new, shape) else {
                try shape.check(read)
                return drafts.append(new)
            }
            if drafts[index].isInsert, !saving.contains(drafts[index].number) {
                drafts.remove(at: index)
            } else {
                drafts[index].kind = .delete
                drafts[index].mine = drafts[index].base ?? drafts[index].mine
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
    ) -> EditedDraft {
        drafted += 1
        return EditedDraft(
            number: drafted, shape: shape,
            reading: { row in
                // A row that the record cannot be made of is compared as it stands.
                let record = try? (type as? any (FetchableRecord & EncodableRecord).Type)?.init(row: row)
                return (try? record?.databaseDictionary).map(shape.values) ?? [:]
            }, kind: kind, base: base, mine: mine)
    }

    private static func insertion(
        of record: some MutablePersistableRecord & Sendable, _ values: [String: DatabaseValue]
    ) -> EditedDraft.Kind {
        .insert(values) { db in
            var record = record
            try record.insert(db)
        }
    }

    private func edit(_ body: () throws -> Void) {
        do { try body() } catch { trouble = trouble ?? error }
    }

    // MARK: Saving

    /// Writes all edits in one transaction, which is recorded under the author. Where it throws, nothing is written, and the
    /// edits stay. One save comes after the other; what is edited while one is under way is saved by the next.
    ///
    /// - Parameter context: what the history, and the group to undo, call it.
    /// - Throws: ``EditConflict`` under the policy `error`, and under each where a row would be written in the place of another
    ///   one that has its integer key by now; what a custom policy throws, what GRDB throws where a constraint
    ///   refuses a row, and `LogSyncError` as ``Replicator/record(_:author:context:_:)`` does.
    public func save(context: String? = nil) async throws {
        while !saving.isEmpty { await withCheckedContinuation { waiting.append($0) } }
        if let trouble { throw trouble }
        guard hasChanges else { return }
        let (saved, policy, author, undoLog, replicator) = (drafts, mergePolicy, author, undoLog, replicator)
        saving = Set(saved.map(\.number))
        defer {
            saving = []
            for next in waiting { next.resume() }
            waiting = []
        }
        let identities: [DatabaseValue?]
        do {
            identities = try await writer.write { db in
                func save() throws {
                    // A row may go before its parent does, or come after its child.
                    try db.execute(sql: "PRAGMA defer_foreign_keys = ON")
                    for var draft in saved where draft.isInsert || draft.isDelete || !draft.edited.isEmpty {
                        try draft.save(db, policy)
                    }
                }
                try replicator.record(db, author: author, context: context) {
                    if let undoLog { try undoLog.group(context ?? "Edit", db, save) } else { try save() }
                }
                return try saved.map { try $0.identity ?? $0.recorded(db) }
            }
        } catch {
            // What was to be inserted, and has been deleted since.
            drafts.removeAll { $0.isDelete && $0.base == nil }
            throw error
        }
        for (draft, identity) in zip(saved, identities) {
            guard let index = drafts.firstIndex(where: { $0.number == draft.number }) else { continue }
            // It may have been edited meanwhile.
            if drafts[index].isSame(as: draft) {
                drafts.remove(at: index)
            } else {
                drafts[index].rebase(onSaved: draft)
                drafts[index].identity = identity
            }
        }
    }

    /// What ``save(context:)`` would find to be in conflict, column by column, whatever the policy.
    ///
    /// - Throws: what GRDB throws.
    public func conflicts() async throws -> [EditConflict] {
        let drafts = drafts
        return try await writer.read { db in
            try drafts.compactMap { draft in
                var draft = draft
                let stored = try draft.find(db)
                return draft.conflict(with: stored, byRow: false)
            }
        }
    }

    // MARK: Imports

    /// Has the rows that are edited take over what the store has by now in the columns that are not.
    ///
    /// - Throws: what GRDB throws.
    public func refreshAll() async throws {
        let drafts = drafts
        let stored = try await writer.read { db in
            try drafts.map { draft in
                var draft = draft
                return draft.isInsert ? nil : try draft.find(db)
            }
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

    private struct Place: Hashable {
        var table: String
        var integer: DatabaseValue
    }

    private func place(_ shape: TableShape, _ values: [String: DatabaseValue]) -> Place? {
        shape.integerKey.flatMap { values[$0] }.map { Place(table: shape.name, integer: $0) }
    }

    /// The draft of a row of the store; the one that is saved last, where a row was deleted and another of its key inserted.
    private func index(of shape: TableShape, _ values: [String: DatabaseValue], _ identity: DatabaseValue?) -> Int? {
        let index = drafts.lastIndex { $0.isOf(shape, values, identity) }
        guard let index, drafts[index].isInsert, identity != nil else { return index }
        // A new row is not the one that has its integer by now, unless that is to go.
        return drafts.contains { $0.isDelete && $0.isOf(shape, values, identity) } ? index : nil
    }

    /// Finds out which row a new draft is of, and the draft of that row which is there already.
    ///
    /// Another row may have its integer by now. A record that holds what the store says is that row's; else one that holds what
    /// a draft does is that one's; else it is of the row that had the integer when it was read by this context.
    private func find(_ new: inout EditedDraft, _ shape: TableShape) throws -> Int? {
        guard let read = new.base, let place = place(shape, read) else { return index(of: shape, new.mine, nil) }
        let (present, isPresent) = try writer.unsafeReentrantRead { [new] db in
            var draft = new
            return (try draft.recorded(db), draft.isUnchanged(in: try draft.find(db)))
        }
        let ofKey = index(of: shape, read, nil)
        if let present, isPresent {
            new.identity = present
        } else if let ofKey, drafts[ofKey].holds(read) {
            return ofKey
        } else if let known = identities[place] {
            new.identity = known
        } else if let ofKey {
            return ofKey
        } else {
            new.identity = present
        }
        return index(of: shape, read, new.identity)
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
