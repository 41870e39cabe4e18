import Foundation
import GRDB
import LogStore
import LogSync
import LogSyncEditing
import LogSyncKeyValue

// A program with a target called LogStore, and a main actor of its own: two machines in one folder.

struct Item: Codable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "item"
    var id: Int64?
    var title: String
}

struct Failure: Error { var what: String }

let root = CommandLine.arguments[1]
let container = root + "/shared"
try FileManager.default.createDirectory(atPath: container, withIntermediateDirectories: true)

func open(_ name: String) async throws -> (pool: DatabasePool, replicator: Replicator) {
    var database = GRDB.Configuration()
    database.busyMode = .timeout(5)
    let pool = try DatabasePool(path: "\(root)/\(name).db", configuration: database)
    try await pool.write { db in
        try db.execute(sql: "CREATE TABLE item(id INTEGER PRIMARY KEY, title TEXT NOT NULL)")
    }
    let replicator = try await Replicator.open(pool, container: container, content: "items", peer: name, runs: false) {
        $0.merge("item", "title", by: .firstWriter)
    }
    return (pool, replicator)
}

let desk = try await open("desk")
let phone = try await open("phone")
_ = LogStore()

let edits = EditingContext(desk.pool, desk.replicator, author: "ann")
edits.insert(Item(title: "Pears"))
try await edits.save(context: "shopping")
_ = try await desk.replicator.sync()
_ = try await phone.replicator.sync()
let titles = try await phone.pool.read { db in try Item.fetchAll(db).map(\.title) }
guard titles == ["Pears"] else { throw Failure(what: "the phone shows \(titles)") }
guard try await phone.replicator.history().last?.author == "ann" else { throw Failure(what: "nobody wrote it") }

let settings = try await KeyValueStore.open("\(root)/settings.db", container: container, content: "settings")
try await settings.set(12, for: "page")
guard try settings.value(Int.self, for: "page") == 12 else { throw Failure(what: "no page") }
await settings.close()
await desk.replicator.close()
await phone.replicator.close()
print("built and ran")
