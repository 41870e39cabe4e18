import Foundation
import GRDB
import LogSync
import LogSyncEditing
import LogSyncTesting
import Testing

/// Which row an edit is of, whatever has its integer by now, and what comes of edits that are made while others are saved.
@Suite("Rows that are edited are the rows that were read") @MainActor struct EditedRowTests {
    struct Item: Codable, FetchableRecord, PersistableRecord {
        static let databaseTableName = "item"
        var id: Int64?
        var title: String
        var stars = 0
    }

    struct Doc: Codable, FetchableRecord, PersistableRecord {
        static let databaseTableName = "doc"
        var id: String
        var title: String
        var body: String?
    }

    struct DocTitle: Codable, FetchableRecord, PersistableRecord {
        static let databaseTableName = "doc"
        var id: String
        var title: String
    }

    struct DocBody: Codable, FetchableRecord, PersistableRecord {
        static let databaseTableName = "doc"
        var id: String
        var body: String
    }

    private nonisolated static let policies: [EditingContext.EditPolicy] = [
        .error, .mergeByPropertyStoreTrump, .mergeByPropertyObjectTrump, .overwrite, .rollback,
        .custom { $0.mine ?? [:] },
    ]

    private let peers: TestPeers
    private var a: TestPeers.Peer { peers["a"] }
    private var b: TestPeers.Peer { peers["b"] }

    init() async throws {
        peers = try await TestPeers("a", "b") { pool in
            try pool.write { db in
                try db.execute(
                    sql: """
                        CREATE TABLE item(id INTEGER PRIMARY KEY, title TEXT NOT NULL, stars INTEGER NOT NULL DEFAULT 0);
                        CREATE TABLE step(id INTEGER PRIMARY KEY, item INTEGER REFERENCES item(id), note TEXT);
                        CREATE TABLE doc(id TEXT PRIMARY KEY NOT NULL, title TEXT, body TEXT)
                        """)
            }
        }
        try await a.pool.write {
            try $0.execute(
                sql: "INSERT INTO item(title) VALUES('Pears'), ('Apples'); INSERT INTO doc VALUES('d', 't0', 'b0')")
        }
        try await peers.settle()
    }

    private func context(_ policy: EditingContext.EditPolicy = .error) -> EditingContext {
        EditingContext(a.pool, a.replicator, author: "ann", mergePolicy: policy)
    }

    private func item(_ edits: EditingContext, _ key: Int64) async throws -> Item {
        try #require(try await edits.fetchOne(Item.self, key: key))
    }

    private func writeElsewhere(_ statements: String...) async throws {
        try await peers.settle()
        for sql in statements {
            try await b.pool.write { try $0.execute(sql: sql) }
            try await peers.settle()
        }
    }

    private func items(_ peer: TestPeers.Peer) async throws -> [String] {
        try await peer.pool.read { try String.fetchAll($0, sql: "SELECT title || stars FROM item ORDER BY title") }
    }

    private func docs() async throws -> [String] {
        try await a.pool.read { try String.fetchAll($0, sql: "SELECT id || title || body FROM doc ORDER BY id") }
    }

    // MARK: Which row

    @Test("An edit of a row whose integer is another row's by now writes nothing into that one", arguments: policies)
    func integerOfAnother(policy: EditingContext.EditPolicy) async throws {
        let edits = context(policy)
        edits.update(try await item(edits, 2)) { $0.stars = 5 }
        try await writeElsewhere("DELETE FROM item WHERE id = 2", "INSERT INTO item(title) VALUES('Tax return')")
        #expect(
            try await a.pool.read { try String.fetchOne($0, sql: "SELECT title FROM item WHERE id = 2") }
                == "Tax return")
        #expect(try await edits.conflicts().map(\.theirs) == [nil])
        // The row that is there now is none that is edited.
        #expect(try await item(edits, 2).stars == 0)
        switch policy {
        case .mergeByPropertyStoreTrump, .rollback: try await edits.save()
        default:
            let conflict = await #expect(throws: EditConflict.self) { try await edits.save() }
            #expect(conflict?.base?["title"] == "Apples".databaseValue)
            #expect(edits.hasChanges)
        }
        #expect(try await items(a) == ["Pears0", "Tax return0"])
        // It is edited beside it.
        edits.rollback()
        edits.update(try await item(edits, 2)) { $0.stars = 1 }
        try await edits.save()
        #expect(try await items(a) == ["Pears0", "Tax return1"])
    }

    @Test("A deletion of a row whose integer is another row's by now deletes nothing", arguments: policies)
    func deletionOfAnother(policy: EditingContext.EditPolicy) async throws {
        let edits = context(policy)
        edits.delete(try await item(edits, 2))
        // It looks the same.
        try await writeElsewhere("DELETE FROM item WHERE id = 2", "INSERT INTO item(id, title) VALUES(2, 'Apples')")
        try await edits.save()
        try await peers.settle()
        #expect(try await items(b) == ["Apples0", "Pears0"])
    }

    @Test("A record that was read before its integer became another row's is not taken for that")
    func readBefore() async throws {
        let edits = context(.mergeByPropertyObjectTrump)
        let (read, other) = (try await item(edits, 2), try await item(edits, 1))
        try await a.pool.write { try $0.execute(sql: "INSERT INTO item(title) VALUES('Plums')") }
        // Nobody has recorded it yet.
        let unrecorded = try await item(edits, 3)
        try await writeElsewhere(
            "DELETE FROM item WHERE id > 1", "INSERT INTO item(title) VALUES('Tax return'), ('Letter')")
        #expect(try await a.pool.read { try String.fetchAll($0, sql: "SELECT title FROM item ORDER BY id") }.count == 3)
        edits.delete(read)
        edits.delete(unrecorded)
        try await edits.save()
        #expect(try await items(a) == ["Letter0", "Pears0", "Tax return0"])
        // Read by the program's own means, it is what it shows.
        let shown = try await a.pool.read { try Item.order(Column("id")).fetchAll($0) }
        edits.update(shown[1]) { $0.stars = 3 }
        edits.update(other) { $0.stars = 4 }
        try await edits.save()
        let found = try await items(a)
        #expect(found.contains("\(shown[1].title)3") && found.contains("Pears4"))
    }

    @Test("An edit follows its row to another integer", arguments: [.error, .overwrite] as [EditingContext.EditPolicy])
    func otherInteger(policy: EditingContext.EditPolicy) async throws {
        let edits = context(policy)
        edits.update(try await item(edits, 2)) { $0.stars = 5 }
        try await a.pool.write {
            try $0.execute(sql: "UPDATE item SET id = 7 WHERE id = 2; INSERT INTO item(id, title) VALUES(2, 'other')")
        }
        try await edits.save()
        #expect(try await items(a) == ["Apples5", "Pears0", "other0"])
    }

    @Test("A row with a chosen integer writes over no other row that has it by now", arguments: policies)
    func insertedOver(policy: EditingContext.EditPolicy) async throws {
        let edits = context(policy)
        edits.insert(Item(id: 3, title: "mine"))
        try await writeElsewhere("INSERT INTO item(title) VALUES('theirs')")
        let conflict = await #expect(throws: EditConflict.self) { try await edits.save() }
        #expect(conflict?.base == nil && conflict?.theirs?["title"] == "theirs".databaseValue)
        #expect(try await items(a) == ["Apples0", "Pears0", "theirs0"])
        #expect(edits.inserted.count == 1)
    }

    struct Step: Codable, FetchableRecord, PersistableRecord {
        static let databaseTableName = "step"
        var id: Int64?
        var item: Int64
        var note: String
    }

    @Test("What refers to a row whose integer is another row's by now is not attached to that one", arguments: policies)
    func references(policy: EditingContext.EditPolicy) async throws {
        try await a.pool.write { try $0.execute(sql: "INSERT INTO step(item, note) VALUES(1, 'kept')") }
        let edits = context(policy)
        edits.insert(Step(item: 2, note: "new"))
        try await writeElsewhere("DELETE FROM item WHERE id = 2", "INSERT INTO item(title) VALUES('Tax return')")
        let conflict = await #expect(throws: EditConflict.self) { try await edits.save() }
        #expect(conflict?.columns == ["item"])
        edits.rollback()
        // It follows a row that has moved.
        let step = try #require(try await edits.fetchOne(Step.self, key: 1))
        edits.update(step) { $0.item = 2 }
        edits.insert(Step(item: 2, note: "new"))
        try await a.pool.write {
            try $0.execute(sql: "UPDATE item SET id = 7 WHERE id = 2; INSERT INTO item(id, title) VALUES(2, 'other')")
        }
        try await edits.save()
        let steps = try await a.pool.read { db in
            try String.fetchAll(
                db, sql: "SELECT note || title FROM step JOIN item ON item.id = step.item ORDER BY note")
        }
        #expect(steps == ["keptTax return", "newTax return"])
    }

    // MARK: While others are saved

    @Test("Two saves at a time save once")
    func twoSaves() async throws {
        let edits = context()
        edits.insert(Item(title: "new"))
        async let first: Void = edits.save()
        async let second: Void = edits.save()
        _ = try await (first, second)
        #expect(try await items(a) == ["Apples0", "Pears0", "new0"])
        #expect(!edits.hasChanges)
    }

    /// A row in whose insertion a save waits.
    private struct Gate: PersistableRecord, Sendable {
        static let databaseTableName = "doc"
        let begun = DispatchSemaphore(value: 0)
        let goesOn = DispatchSemaphore(value: 0)

        func encode(to container: inout PersistenceContainer) {
            container["id"] = "z"
            container["title"] = "z"
            container["body"] = ""
        }

        func willInsert(_ db: Database) {
            begun.signal()
            goesOn.wait()
        }
    }

    /// Runs `body` while a save is under way.
    private func whileSaving(_ edits: EditingContext, then last: Doc? = nil, _ body: () async throws -> Void)
        async throws
    {
        let gate = Gate()
        edits.insert(gate)
        if let last { edits.insert(last) }
        let saving = Task { @MainActor in try await edits.save() }
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                gate.begun.wait()
                continuation.resume()
            }
        }
        defer { gate.goesOn.signal() }
        try await body()
        gate.goesOn.signal()
        try await saving.value
    }

    @Test("What is inserted, and deleted while it is saved, goes at the next save")
    func deletedMeanwhile() async throws {
        let edits = context()
        let doc = Doc(id: "n", title: "x", body: "y")
        edits.insert(doc)
        try await whileSaving(edits) { edits.delete(doc) }
        #expect(edits.hasChanges && edits.deleted.map(\.key) == [["id": "n".databaseValue]])
        try await edits.save()
        #expect(try await docs() == ["dt0b0", "zz"])
        #expect(!edits.hasChanges)
    }

    @Test("What is deleted, and edited while it is saved, is there again after the next save")
    func editedMeanwhile() async throws {
        let edits = context()
        let doc = try #require(try await edits.fetchOne(Doc.self, key: "d"))
        edits.delete(doc)
        edits.insert(Doc(id: "n", title: "n", body: "0"))
        try await whileSaving(edits) {
            edits.update(doc) { $0.title = "t1" }
            edits.update(Doc(id: "n", title: "n", body: "0")) { $0.body = "1" }
        }
        #expect(try await docs() == ["nn0", "zz"])
        try await edits.save()
        #expect(try await docs() == ["dt1b0", "nn1", "zz"])
    }

    @Test("A deletion of what a failing save would have inserted is none")
    func failedMeanwhile() async throws {
        let edits = context()
        let doc = Doc(id: "n", title: "x", body: "y")
        edits.insert(doc)
        let other = Doc(id: "d", title: "there", body: "already")
        await #expect(throws: EditConflict.self) { try await whileSaving(edits, then: other) { edits.delete(doc) } }
        #expect(
            edits.deleted.isEmpty
                && edits.inserted.map(\.key).compactMap { $0["id"] } == ["z", "d"].map(\.databaseValue))
    }

    // MARK: Records with some of the columns

    @Test("Records that have some of a table's columns each are edits of one row")
    func partialRecords() async throws {
        let edits = context()
        edits.update(try #require(try await edits.fetchOne(DocTitle.self, key: "d"))) { $0.title = "t1" }
        edits.update(try #require(try await edits.fetchOne(DocBody.self, key: "d"))) { $0.body = "b1" }
        #expect(edits.updated.map(\.columns) == [["title", "body"]])
        edits.insert(Doc(id: "n", title: "t", body: "b"))
        edits.update(DocBody(id: "n", body: "b")) { $0.body = "b2" }
        edits.insert(DocTitle(id: "o", title: "t"))
        edits.update(DocBody(id: "o", body: "")) { $0.body = "b3" }
        #expect(try await edits.conflicts().isEmpty)
        try await edits.save()
        #expect(try await docs() == ["dt1b1", "ntb2", "otb3"])
        // Each is compared with what it was when it was read.
        edits.update(DocTitle(id: "d", title: "t1")) { $0.title = "t2" }
        edits.update(DocBody(id: "d", body: "b1")) { $0.body = "b2" }
        try await writeElsewhere("UPDATE doc SET body = 'theirs' WHERE id = 'd'")
        #expect(try await edits.conflicts().map(\.columns) == [["body"]])
    }
}
