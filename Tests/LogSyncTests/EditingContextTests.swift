import Foundation
import GRDB
import LogSync
import LogSyncEditing
import LogSyncTesting
import Testing

@Suite("Edits that are not saved yet") @MainActor struct EditingContextTests {
    struct Item: Codable, FetchableRecord, PersistableRecord, Equatable {
        static let databaseTableName = "item"
        var id: String
        var title: String
        var stars: Int
        /// Declared in another case.
        var note: String?
    }

    private let peers: TestPeers
    private var a: TestPeers.Peer { peers["a"] }
    private var b: TestPeers.Peer { peers["b"] }

    init() async throws {
        peers = try await TestPeers("a", "b") { pool in
            try pool.write { db in
                try db.execute(
                    sql: """
                        CREATE TABLE item(id TEXT PRIMARY KEY NOT NULL, title TEXT, stars INTEGER, Note TEXT);
                        CREATE TABLE step(item TEXT REFERENCES item(id), number INTEGER, PRIMARY KEY(item, number))
                        """)
            }
        }
        try await a.pool.write {
            try $0.execute(sql: "INSERT INTO item VALUES('x', 'one', 1, NULL), ('y', 'two', 2, 'n')")
        }
        try await peers.settle()
    }

    private func context(_ policy: EditingContext.EditPolicy, undoLog: UndoLog? = nil) -> EditingContext {
        EditingContext(a.pool, a.replicator, author: "ann", mergePolicy: policy, undoLog: undoLog)
    }

    private func item(_ edits: EditingContext, _ key: String = "x") async throws -> Item {
        try #require(try await edits.fetchOne(Item.self, key: key))
    }

    /// After all that was written here before.
    private func writeElsewhere(_ sql: String) async throws {
        try await peers.settle()
        try await b.pool.write { try $0.execute(sql: sql) }
        try await peers.settle()
    }

    private func items(_ peer: TestPeers.Peer) async throws -> [String] {
        try await peer.pool.read { try String.fetchAll($0, sql: "SELECT id || title || stars FROM item ORDER BY id") }
    }

    @Test("Edits show in the context alone until they are saved, as one transaction, under the author")
    func saving() async throws {
        let edits = context(.error)
        edits.update(try await item(edits)) { $0.title = "uno" }
        // As read before the first edit.
        edits.update(Item(id: "x", title: "one", stars: 1)) { $0.stars = 5 }
        edits.insert(Item(id: "z", title: "three", stars: 3))
        edits.delete(try await item(edits, "y"))
        #expect(edits.hasChanges && edits.updated.map(\.columns) == [["title", "stars"]])
        #expect(edits.inserted.map(\.key) == [["id": "z".databaseValue]] && edits.deleted.count == 1)
        #expect(try await item(edits) == Item(id: "x", title: "uno", stars: 5))
        #expect(try await edits.fetchAll(Item.all()).map(\.id) == ["x"])
        #expect(try await items(a) == ["xone1", "ytwo2"])
        try await edits.save(context: "tidy")
        #expect(!edits.hasChanges)
        try await peers.settle()
        #expect(try await items(b) == ["xuno5", "zthree3"])
        let transaction = try #require(try await b.replicator.history().last)
        #expect(transaction.author == "ann" && transaction.context == "tidy" && transaction.changes.count == 3)
        // Only what was edited is written.
        #expect(transaction.changes.first { $0.kind == .update }?.columns == ["title", "stars"])
        edits.update(try await item(edits)) { $0.title = "dropped" }
        edits.rollback()
        #expect(!edits.hasChanges)
        try await edits.save()
        #expect(try await items(a) == ["xuno5", "zthree3"])
    }

    /// What comes of an edit of title and stars, where another peer has changed title and note.
    private func outcome(_ policy: EditingContext.EditPolicy) async throws -> String {
        let edits = context(policy)
        edits.update(try await item(edits)) {
            $0.title = "mine"
            $0.stars = 9
        }
        try await writeElsewhere("UPDATE item SET title = 'theirs', note = 'new' WHERE id = 'x'")
        #expect(try await edits.conflicts().map(\.columns) == [["title"]])
        try await edits.save()
        let item = try await item(context(.error))
        return "\(item.title) \(item.stars) \(item.note ?? "-")"
    }

    @Test("A text that becomes the same letters in other bytes is an edit, and is undone")
    func letters() async throws {
        let edits = context(.error)
        edits.update(try await item(edits)) { $0.title = "\u{E9}" }
        try await edits.save()
        edits.update(try await item(edits)) { $0.title = "e\u{301}" }
        #expect(edits.updated.map(\.columns) == [["title"]])
        try await edits.save()
        let titles = { [a] in try await a.pool.read { try String.fetchAll($0, sql: "SELECT hex(title) FROM item") } }
        #expect(try await titles().first == "65CC81")
    }

    @Test("A column that both have changed goes by the policy, and the others are merged")
    func policies() async throws {
        #expect(try await outcome(.mergeByPropertyStoreTrump) == "theirs 9 new")
        try await writeElsewhere("UPDATE item SET title = 'one', stars = 1, note = NULL WHERE id = 'x'")
        #expect(try await outcome(.mergeByPropertyObjectTrump) == "mine 9 new")
        try await writeElsewhere("UPDATE item SET title = 'one', stars = 1, note = NULL WHERE id = 'x'")
        #expect(try await outcome(.overwrite) == "mine 9 -")
        try await writeElsewhere("UPDATE item SET title = 'one', stars = 1, note = NULL WHERE id = 'x'")
        #expect(try await outcome(.rollback) == "theirs 1 new")
        try await writeElsewhere("UPDATE item SET title = 'one', stars = 1, note = NULL WHERE id = 'x'")
        let both = EditingContext.EditPolicy.custom { conflict in
            let titles = [conflict.base, conflict.mine, conflict.theirs].map {
                String.fromDatabaseValue($0?["title"] ?? .null)
            }
            return ["title": titles.map { $0 ?? "" }.joined(separator: "+").databaseValue]
        }
        #expect(try await outcome(both) == "one+mine+theirs 9 new")
    }

    @Test("A conflict is thrown with what was read, edited and stored; nothing is saved, and the edits stay")
    func errors() async throws {
        let edits = context(.error)
        edits.insert(Item(id: "z", title: "three", stars: 3))
        edits.update(try await item(edits)) { $0.title = "mine" }
        try await writeElsewhere("UPDATE item SET title = 'theirs' WHERE id = 'x'")
        let thrown = await #expect(throws: EditConflict.self) { try await edits.save() }
        let conflict = try #require(thrown)
        #expect(conflict.table == "item" && conflict.key == ["id": "x".databaseValue] && conflict.columns == ["title"])
        let titles = [conflict.base, conflict.mine, conflict.theirs].map { $0?["title"] }
        #expect(titles == ["one", "mine", "theirs"].map { $0.databaseValue })
        #expect(try await items(a) == ["xtheirs1", "ytwo2"])
        #expect(edits.inserted.count == 1 && edits.updated.count == 1)
        edits.mergePolicy = .mergeByPropertyObjectTrump
        try await edits.save()
        #expect(try await items(a) == ["xmine1", "ytwo2", "zthree3"])
        // The same on both sides is no conflict, and nothing to write.
        let same = context(.error)
        same.update(try await item(same)) { $0.title = "same" }
        try await writeElsewhere("UPDATE item SET title = 'same' WHERE id = 'x'")
        try await same.save()
        #expect(try await a.replicator.sync().recorded == 0)
    }

    @Test("Rows that came or went meanwhile are conflicts, too")
    func rows() async throws {
        func edit(_ policy: EditingContext.EditPolicy) async throws -> EditingContext {
            let edits = context(policy)
            edits.update(try await item(edits)) { $0.title = "mine" }
            edits.delete(try await item(edits, "y"))
            edits.insert(Item(id: "z", title: "mine", stars: 3))
            try await writeElsewhere(
                """
                DELETE FROM item WHERE id = 'x'; UPDATE item SET title = 'theirs' WHERE id = 'y';
                INSERT INTO item VALUES('z', 'theirs', 4, NULL)
                """)
            return edits
        }
        let mine = try await edit(.mergeByPropertyObjectTrump)
        #expect(try await mine.conflicts().count == 3)
        try await mine.save()
        #expect(try await items(a) == ["xmine1", "zmine3"])
        try await writeElsewhere("DELETE FROM item; INSERT INTO item VALUES('x', 'one', 1, NULL), ('y', 'two', 2, 'n')")
        try await edit(.mergeByPropertyStoreTrump).save()
        #expect(try await items(a) == ["ytheirs2", "ztheirs4"])
        try await writeElsewhere("DELETE FROM item; INSERT INTO item VALUES('x', 'one', 1, NULL), ('y', 'two', 2, 'n')")
        let refused = try await edit(.error)
        await #expect(throws: EditConflict.self) { try await refused.save() }
        try await peers.settle()
        try await peers.expectSame()
    }

    @Test("Imports are taken over in columns that are not edited, when they are asked for, or as they come")
    func refreshing() async throws {
        let edits = context(.overwrite)
        edits.update(try await item(edits)) { $0.title = "mine" }
        try await writeElsewhere("UPDATE item SET stars = 7 WHERE id = 'x'")
        #expect(edits.updated.first?.values["stars"] == 1.databaseValue)
        try await edits.refreshAll()
        #expect(edits.updated.first?.values["stars"] == 7.databaseValue && edits.updated.first?.columns == ["title"])
        edits.mergesImports = true
        try await writeElsewhere("UPDATE item SET stars = 8 WHERE id = 'x'")
        while edits.updated.first?.values["stars"] != 8.databaseValue { await Task.yield() }
        try await edits.save()
        #expect(try await items(a) == ["xmine8", "ytwo2"])
    }

    @Test("A save is undone as one group; parents and children are saved in any order")
    func undo() async throws {
        struct Step: Codable, FetchableRecord, PersistableRecord {
            static let databaseTableName = "step"
            var item: String
            var number: Int
        }
        let undoLog = try await UndoLog(a.pool, tables: ["item", "step"])
        let edits = context(.error, undoLog: undoLog)
        edits.insert(Step(item: "z", number: 1))
        edits.insert(Item(id: "z", title: "three", stars: 3))
        edits.update(try await item(edits)) { $0.title = "uno" }
        try await edits.save(context: "Add")
        #expect(try await undoLog.undoName() == "Add")
        #expect(try await undoLog.undo()?.rows == 3)
        #expect(try await items(a) == ["xone1", "ytwo2"])
        // Without a key it is not known which row is meant.
        struct Loose: Codable, FetchableRecord, PersistableRecord {
            static let databaseTableName = "step"
            var number: Int
        }
        edits.update(Loose(number: 1)) { $0.number = 2 }
        await #expect(throws: DatabaseError.self) { try await edits.save() }
        edits.rollback()
        try await edits.save()
    }

    struct Note: Codable, FetchableRecord, PersistableRecord {
        static let databaseTableName = "note"
        var id: String
        var text: String
        var made: Date
    }

    @Test(
        "What SQLite writes in other words than the record is no change",
        arguments: [
            .error, .mergeByPropertyStoreTrump, .mergeByPropertyObjectTrump, .overwrite, .rollback,
        ] as [EditingContext.EditPolicy])
    func otherWords(policy: EditingContext.EditPolicy) async throws {
        let all = "SELECT id || text || made FROM note ORDER BY id"
        try await a.pool.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, text TEXT, made DATETIME DEFAULT CURRENT_TIMESTAMP);
                    INSERT INTO note VALUES('x', 'one', '2026-01-02 03:04:05'), ('y', 'two', '2026-01-02 03:04:05')
                    """)
        }
        let edits = context(policy)
        let x = try #require(try await edits.fetchOne(Note.self, key: "x"))
        let y = try #require(try await edits.fetchOne(Note.self, key: "y"))
        edits.update(x) { $0.text = "uno" }
        edits.delete(y)
        #expect(try await edits.conflicts().isEmpty)
        if case .overwrite = policy { try await edits.refreshAll() }
        #expect(try await edits.conflicts().isEmpty && edits.updated.first?.columns == ["text"])
        try await edits.save()
        #expect(try await a.pool.read { try String.fetchAll($0, sql: all) } == ["xuno2026-01-02 03:04:05"])
        // What it says otherwise is one.
        edits.update(try #require(try await edits.fetchOne(Note.self, key: "x"))) { $0.text = "eins" }
        try await a.pool.write { try $0.execute(sql: "UPDATE note SET text = 'ein', made = '2026-01-02 03:04:06'") }
        #expect(try await edits.conflicts().map(\.columns) == [["text"]])
    }

    @Test("A row that is inserted in the place of a deleted one is edited as what it is")
    func insertedAgain() async throws {
        let edits = context(.error)
        var item = try await item(edits)
        edits.delete(item)
        item.title = "two"
        edits.insert(item)
        #expect(try await edits.fetchOne(Item.self, key: "x")?.title == "two")
        edits.update(item) { $0.title = "three" }
        try await edits.save()
        #expect(try await items(a) == ["xthree1", "ytwo2"])
    }
}
