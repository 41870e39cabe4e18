import Foundation
import GRDB
import LogSync
import LogSyncEditing
import LogSyncKeyValue
import LogSyncTesting
import Testing

/// The code of `Documentation/swift.md`, compiled and run. What stands there stands here, line by line.
@Suite("The guide to embedding") struct GuideTests {
    // MARK: What the guide shows

    struct Item: Codable, FetchableRecord, PersistableRecord {
        static let databaseTableName = "item"
        var id: Int64?
        var title: String
        var stars = 0
    }

    static func migrate(_ queue: DatabaseQueue) throws {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("items") { db in
            try db.create(table: "item") { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("title", .text).notNull()
                table.column("stars", .integer).notNull().defaults(to: 0)
            }
        }
        try migrator.migrate(queue)
    }

    static func openDatabase(_ path: String) throws -> DatabaseQueue {
        var configuration = GRDB.Configuration()
        // logsync writes the database too, briefly.
        configuration.busyMode = .timeout(5)
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        try migrate(queue)
        return queue
    }

    static func openReplicator(
        _ queue: DatabaseQueue, container: String, peer: String, configuration: SyncConfiguration
    ) async throws -> Replicator {
        try await Replicator.open(
            queue, container: container, content: "items", peer: peer, runs: false, configuration: configuration
        ) {
            $0.merge("item", "stars", by: .max)
            $0.merge("item", "title", by: longest)
        }
    }

    static let longest = MergePolicy(name: "longest") { versions in
        // In the order of writers; the last of equally long ones.
        func length(_ value: Value) -> Int { if case .text(let bytes) = value { bytes.count } else { 0 } }
        let greatest = versions.map { length($0.value) }.max()
        return versions.last { length($0.value) == greatest }?.value ?? .null
    }

    // MARK: Running it

    private func configuration(_ world: World, _ name: String) -> SyncConfiguration {
        let folder = world.root
        let configuration = SyncConfiguration(stateDirectory: folder + "/state")
        return configuration
    }

    @Test("Two apps in one test, live queries, history, conflicts, errors")
    func guide() async throws {
        let world = try World()
        let folder = world.root
        let container = world.container

        let path = folder + "/desk.db"
        let configuration = configuration(world, "desk")
        let desk = try Self.openDatabase(path)
        let replicator = try await Self.openReplicator(
            desk, container: container, peer: "desk", configuration: configuration)
        let phone = try Self.openDatabase(folder + "/phone.db")
        let other = try await Self.openReplicator(
            phone, container: container, peer: "phone", configuration: configuration)

        // Live: what one side writes, an observation on the other side shows.
        let titles = ValueObservation.tracking { db in try Item.order(Column("title")).fetchAll(db).map(\.title) }
        let shown = titles.values(in: phone)
        let changes = other.changes
        let watching = Task {
            for await change in changes {
                for (table, rows) in change.tables { print(table, rows.counts, rows.isTruncated) }
            }
        }
        for await activity in replicator.activity {
            print(activity.isRunning, activity.isImporting, activity.waitingToPublish)
            break
        }
        await other.start()
        await replicator.start()
        try await replicator.write(in: desk, author: "ann", context: "shopping") { db in
            try Item(title: "Buy apples", stars: 1).insert(db)
        }
        for try await titles in shown where titles == ["Buy apples"] { break }
        await replicator.stop()
        await other.stop()
        watching.cancel()

        // At once, and both in conflict.
        try await desk.write { db in
            try db.execute(sql: "UPDATE item SET title = 'Buy green apples', stars = 2")
        }
        try await phone.write { db in
            try db.execute(sql: "UPDATE item SET title = 'Apples', stars = 5")
        }
        for replicator in [replicator, other, replicator] {
            let result = try await replicator.sync()
            for item in result.held { print("\(item.peer.name):\(item.sequence) waits: \(item.reason)") }
        }
        for queue in [desk, phone] {
            let item = try await queue.read { db in try Item.fetchOne(db) }
            #expect(item?.title == "Buy green apples" && item?.stars == 5)
        }

        for conflict in try await replicator.conflicts(table: "item").conflicts {
            print("\(conflict.table) \(conflict.column): \(conflict.versions.map(\.peer.name))")
        }
        #expect(try await replicator.conflicts(table: "item").conflicts.map(\.column) == ["title"])
        try await replicator.write(in: desk, author: "ann") { db in
            // Settled: this write has seen both versions.
            try db.execute(sql: "UPDATE item SET title = 'Buy many green apples'")
        }
        #expect(try await replicator.conflicts(table: "item").conflicts.isEmpty)

        try await replicator.keepTombstones(of: "item", columns: ["title"])
        var seen = HistoryToken.zero
        for transaction in try await replicator.history(HistoryFilter(after: seen, authors: .except(["ann"]))) {
            for change in transaction.changes {
                print(change.kind, change.table, change.key.value(as: Int64.self) ?? 0, change.columns)
            }
            seen = transaction.token
        }
        #expect(try await replicator.log(author: "ann").count == 2)
        #expect(seen > .zero)
        let urgent = Subscription(name: "urgent", table: "item", condition: "stars >= 7", events: .enters)
        let events = try await replicator.subscribe(urgent)
        try await phone.write { try $0.execute(sql: "UPDATE item SET stars = 8") }
        for replicator in [other, replicator] { _ = try await replicator.sync() }
        for await change in try await replicator.changes(after: seen) {
            print(change.tables.keys.sorted(), change.transactions.count)
            break
        }
        try await replicator.deleteHistory(before: seen)
        for await event in events {
            #expect(event.kind == .enters && event.rows.count == 1)
            break
        }

        let undo = try await UndoLog(desk, tables: ["item"])
        try await desk.write { db in
            try undo.group("Star", db) { try db.execute(sql: "UPDATE item SET stars = 9") }
        }
        let undone = try await undo.undo()
        print(undone?.name ?? "", undone?.rows ?? 0, undone?.left ?? [])
        #expect(undone?.rows == 1)
        try await desk.write { db in
            _ = try replicator.record(db, author: "ann", context: "Undo") { try undo.redo(db) }
        }
        #expect(try await undo.undoName() == "Star")

        try await desk.write { db in
            try replicator.record(db, author: "ann", context: "stars") {
                try db.execute(sql: "UPDATE item SET stars = stars + 1")
            }
        }
        #expect(try await replicator.log(author: "ann").count == 4)
        try await Self.edit(desk, replicator)

        let settings = try await KeyValueStore.open(
            folder + "/settings.db", container: container, content: "settings", configuration: configuration)
        try await settings.set(12, for: "pageNumber")
        let page: Int? = try settings.value(for: "pageNumber")
        #expect(page == 12)
        await settings.close()

        do {
            _ = try await Replicator.open(store: folder + "/missing.db", configuration: configuration)
        } catch let error as LogSyncError where error.code == .noStore {
            print(error.message, error.help ?? "", error.isTransient)
        }
        #expect(throws: LogSyncError.self) {
            try Replicator(store: folder + "/missing.db", configuration: configuration)
        }
        await replicator.close()
        await other.close()
    }

    @MainActor private static func edit(_ desk: DatabaseQueue, _ replicator: Replicator) async throws {
        let edits = EditingContext(desk, replicator, author: "ann", mergePolicy: .mergeByPropertyObjectTrump)
        if let item = try await edits.fetchOne(Item.self, key: 1) { edits.update(item) { $0.title = "Buy plums" } }
        edits.insert(Item(title: "Buy pears"))
        try await edits.save(context: "shopping")
        let titles = try await desk.read { try String.fetchAll($0, sql: "SELECT title FROM item ORDER BY id") }
        #expect(titles == ["Buy plums", "Buy pears"])
    }

    @Test("Peers for the tests of a program")
    func testing() async throws {
        let peers = try await TestPeers("a", "b") { pool in
            try pool.write { try $0.execute(sql: "CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, body TEXT)") }
        }
        try await peers["a"].pool.write { try $0.execute(sql: "INSERT INTO note VALUES('n', 'hello')") }
        try await peers.settle()
        try await peers.expectSame()
        #expect(try await peers["b"].pool.read { try String.fetchAll($0, sql: "SELECT body FROM note") } == ["hello"])
    }

    // MARK: The page

    @Test("Every line of code in the guide stands in this file")
    func page() throws {
        var package = URL(fileURLWithPath: #filePath)
        for _ in 0..<3 { package.deleteLastPathComponent() }
        func lines(_ text: String) -> [Substring] {
            text.split(separator: "\n").map { $0.drop { $0 == " " } }.filter { !$0.isEmpty }
        }
        let source = lines(try String(contentsOfFile: #filePath, encoding: .utf8)).joined(separator: "\n")
        let page = try String(contentsOf: package.appendingPathComponent("Documentation/swift.md"), encoding: .utf8)
        let blocks = page.components(separatedBy: "```swift\n").dropFirst().map {
            $0.components(separatedBy: "```")[0]
        }
        #expect(blocks.count > 5)
        for block in blocks {
            #expect(source.contains(lines(block).joined(separator: "\n")), "not compiled: \(block)")
        }
    }
}
