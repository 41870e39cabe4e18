import Foundation
import GRDB
import LogSync
import LogSyncEditing
import LogSyncTesting
import Testing

/// The code of the articles in `Sources/LogSync/LogSync.docc`, compiled and run. What stands there stands here.
@Suite("The articles") struct ArticleTests {
    struct Item: Codable, FetchableRecord, PersistableRecord {
        static let databaseTableName = "item"
        var id: Int64?
        var title: String
        var stars = 0
    }

    private static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("items") { db in
            try db.create(table: "item") { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("title", .text).notNull()
                table.column("stars", .integer).notNull().defaults(to: 0)
            }
            try db.create(table: "tag") { table in
                table.primaryKey("name", .text)
            }
        }
        return migrator
    }

    private func makePeers() async throws -> TestPeers {
        let peers = try await TestPeers("a", "b") { try Self.migrator.migrate($0) }
        try await peers["a"].pool.write { try Item(title: "Apples").insert($0) }
        try await peers.settle()
        return peers
    }

    @Test("Getting started")
    func gettingStarted() async throws {
        let world = try World()
        let (folder, container, migrator) = (world.root, world.container, Self.migrator)
        var database = GRDB.Configuration()
        database.busyMode = .timeout(5)
        let pool = try DatabasePool(path: folder + "/todo.db", configuration: database)
        try migrator.migrate(pool)
        let configuration = SyncConfiguration(stateDirectory: folder + "/state")
        let replicator = try await Replicator.open(
            pool, container: container, content: "todo", configuration: configuration
        ) {
            $0.merge("item", "stars", by: .max)
            $0.merge("tag", uniques: .merged)
        }
        try await pool.write { db in
            try replicator.record(db, author: "ann", context: "shopping") {
                try Item(title: "Pears").insert(db)
            }
        }
        for await activity in replicator.activity {
            print(activity.isRunning, activity.isImporting, activity.waitingToPublish)
            break
        }
        #expect(try await replicator.history().last?.author == "ann")
        await replicator.stop()
        await replicator.close()
    }

    @Test("Live queries")
    func liveQueries() async throws {
        let peers = try await makePeers()
        let (a, b) = (peers["a"], peers["b"])
        let changes = b.replicator.changes
        try await a.pool.write { try $0.execute(sql: "UPDATE item SET title = 'Pears'") }
        try await peers.settle()
        let titles = ValueObservation.tracking { db in
            try String.fetchAll(db, sql: "SELECT title FROM item ORDER BY title")
        }
        for try await shown in titles.values(in: b.pool) where shown == ["Pears"] { break }
        for await change in changes {
            guard let rows = change.tables["item"] else { continue }
            print(rows.inserted, rows.updated, rows.deleted, rows.isTruncated)
            break
        }
    }

    @Test("Query generations")
    func queryGenerations() async throws {
        let peers = try await makePeers()
        let (a, b) = (peers["a"], peers["b"])
        let pinned = try b.replicator.generation(of: b.pool)
        try await a.pool.write { try $0.execute(sql: "UPDATE item SET title = 'Pears'") }
        try await peers.settle()
        let news = try await b.replicator.history(HistoryFilter(after: pinned.token))
        print(news.flatMap(\.changes).map(\.kind))
        let before = try await pinned.snapshot.read { try String.fetchAll($0, sql: "SELECT title FROM item") }
        #expect(before == ["Apples"] && news.flatMap(\.changes).map(\.kind) == [.update])
    }

    @Test("Persistent history")
    func persistentHistory() async throws {
        let peers = try await makePeers()
        let replicator = peers["b"].replicator
        for stars in 4...5 {
            try await peers["a"].pool.write { try $0.execute(sql: "UPDATE item SET stars = \(stars)") }
            try await peers.settle()
        }
        let stored = try #require(try await replicator.history().first).token
        var seen = HistoryToken.zero
        for transaction in try await replicator.history(HistoryFilter(after: seen, authors: .except(["ann"]))) {
            for change in transaction.changes {
                print(change.kind, change.table, change.key.value(as: Int64.self) ?? 0, change.columns)
            }
            seen = transaction.token
        }
        #expect(seen > .zero)
        try await replicator.deleteHistory(before: seen)
        do {
            _ = try await replicator.history(HistoryFilter(after: stored))
        } catch let error as LogSyncError where error.code == .historyExpired {
            seen = try await replicator.historyToken()
        }
        await #expect(throws: LogSyncError.self) { try await replicator.history(HistoryFilter(after: stored)) }
    }

    @Test("Subscriptions")
    func subscriptions() async throws {
        let peers = try await makePeers()
        let b = peers["b"]
        let urgent = Subscription(name: "urgent", table: "item", condition: "stars >= 7", events: .enters)
        let events = try await b.replicator.subscribe(urgent)
        try await peers["a"].pool.write { try $0.execute(sql: "UPDATE item SET stars = 8") }
        try await peers.settle()
        for await event in events {
            print(event.subscription, event.kind, event.rows.count)
            break
        }
    }

    @Test("Unsaved edits") @MainActor
    func unsavedEdits() async throws {
        let peers = try await makePeers()
        let a = peers["a"]
        let careful = EditingContext(a.pool, a.replicator)
        careful.update(try #require(try await careful.fetchOne(Item.self, key: 1))) { $0.title = "Red apples" }
        let edits = EditingContext(a.pool, a.replicator, author: "ann", mergePolicy: .mergeByPropertyObjectTrump)
        if let item = try await edits.fetchOne(Item.self, key: 1) {
            edits.update(item) { $0.title = "Green pears" }
        }
        edits.insert(Item(title: "Plums"))
        print(edits.hasChanges, edits.updated.map(\.columns))
        try await edits.save(context: "Rename")
        do {
            try await careful.save()
        } catch let conflict as EditConflict {
            print(conflict.columns, conflict.base ?? [:], conflict.mine ?? [:], conflict.theirs ?? [:])
            careful.rollback()
        }
        #expect(!careful.hasChanges)
        #expect(
            try await a.pool.read { try String.fetchAll($0, sql: "SELECT title FROM item") } == [
                "Green pears", "Plums",
            ])
    }

    @Test("Undo")
    func undo() async throws {
        let peers = try await makePeers()
        let a = peers["a"]
        let undo = try await UndoLog(a.pool, tables: ["item"])
        try await a.pool.write { db in
            try undo.group("Star", db) { try db.execute(sql: "UPDATE item SET stars = 9") }
        }
        let undone = try await undo.undo()
        print(undone?.name ?? "", undone?.rows ?? 0, undone?.left ?? [])
        #expect(undone?.rows == 1)
    }

    @Test("Testing")
    func testing() async throws {
        let peers = try await TestPeers("desk", "phone") { pool in
            try pool.write { try $0.execute(sql: "CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, body TEXT)") }
        }
        try await peers["desk"].pool.write { try $0.execute(sql: "INSERT INTO note VALUES('n', 'hello')") }
        peers.hold(from: "desk", to: "phone")
        try await peers.settle()
        peers.deliver()
        peers.clock.advance(by: .seconds(60))
        try await peers.settle()
        try await peers.expectSame()
    }

    @Test("Every line of code in the articles stands in this file")
    func pages() throws {
        var package = URL(fileURLWithPath: #filePath)
        for _ in 0..<3 { package.deleteLastPathComponent() }
        func lines(_ text: String) -> [Substring] {
            text.split(separator: "\n").map { $0.drop { $0 == " " } }.filter { !$0.isEmpty }
        }
        let source = lines(try String(contentsOfFile: #filePath, encoding: .utf8)).joined(separator: "\n")
        let folder = package.appendingPathComponent("Sources/LogSync/LogSync.docc")
        let articles = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        var count = 0
        for article in articles where article.pathExtension == "md" {
            let text = try String(contentsOf: article, encoding: .utf8)
            for block in text.components(separatedBy: "```swift\n").dropFirst() {
                let code = lines(block.components(separatedBy: "```")[0]).joined(separator: "\n")
                #expect(source.contains(code), "not compiled, of \(article.lastPathComponent): \(code)")
                count += 1
            }
        }
        #expect(count > 12)
    }
}
