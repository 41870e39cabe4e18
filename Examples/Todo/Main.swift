import Foundation
import GRDB
import LogSync
import LogSyncEditing

/// Two machines in one process, each with a database of its own, kept in step through a folder.
///
///     swift run TodoExample
@main
struct Main {
    static func main() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("todo-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder + "/shared", withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let configuration = SyncConfiguration(stateDirectory: folder + "/state")
        let desk = try await TodoApp(
            folder + "/desk.db", folder: folder + "/shared", machine: "desk", configuration: configuration)
        try await desk.add("Pears", to: "Shopping", tag: "fruit")
        let phone = try await TodoApp(
            folder + "/phone.db", folder: folder + "/shared", machine: "phone", configuration: configuration)

        // A live query shows what the other machine writes.
        try await shows(phone, ["Shopping: Pears #fruit"])
        let seen = try await phone.replicator.historyToken()
        try await desk.add("Apples", to: "Shopping", tag: "fruit")
        try await shows(phone, ["Shopping: Apples #fruit", "Shopping: Pears #fruit"])
        print("phone shows: \(try await phone.pool.read(TodoApp.open).joined(separator: ", "))")

        // The history says which rows of the phone's changed, also after the fact.
        for transaction in try await phone.replicator.history(HistoryFilter(after: seen, isLocal: false)) {
            for change in transaction.changes where change.table == "item" {
                print(
                    "history: \(transaction.peer.name) did an \(change.kind.rawValue) of item \(change.key.values.count > 0)"
                )
            }
        }

        // Undo is a new change, and leaves alone what the other machine wrote since.
        try await phone.change("Pears", "Rename") { item in
            item.title = "Ripe pears"
            item.priority = 1
        }
        try await shows(desk, ["Shopping: Ripe pears #fruit", "Shopping: Apples #fruit"])
        try await desk.change("Ripe pears", "Rename") { $0.title = "Very ripe pears" }
        try await shows(phone, ["Shopping: Very ripe pears #fruit", "Shopping: Apples #fruit"])
        let undone = try await phone.undo.undo()
        print("undo: \(undone?.name ?? "nothing"), left \(undone?.left.compactMap(\.column) ?? [])")
        try await shows(desk, ["Shopping: Apples #fruit", "Shopping: Very ripe pears #fruit"])

        // Notes that both wrote at once: the policy keeps both.
        for app in [desk, phone] { await app.replicator.stop() }
        try await desk.change("Apples", "Note") { $0.notes = "from the market" }
        try await phone.change("Apples", "Note") { $0.notes = "green ones" }
        for app in [desk, phone, desk] { _ = try await app.replicator.sync() }
        for (name, app) in [("desk", desk), ("phone", phone)] {
            let notes = try await app.pool.read { db in
                try String.fetchOne(db, sql: "SELECT notes FROM item WHERE title = 'Apples'") ?? ""
            }
            print("\(name) has notes: \(notes.split(separator: "\n").joined(separator: " "))")
        }

        // What a row was called that the other machine deleted.
        try await desk.pool.write { db in try db.execute(sql: "DELETE FROM item WHERE title = 'Apples'") }
        for app in [desk, phone] { _ = try await app.replicator.sync() }
        let deleted = try await phone.replicator.history().flatMap(\.changes).last { $0.table == "item" }
        print("deleted: \(deleted?.tombstone["title"].map { "\($0)" } ?? "nothing")")
        await desk.close()
        await phone.close()
    }

    /// Waits until an app's view shows this.
    private static func shows(_ app: TodoApp, _ wanted: [String]) async throws {
        for try await titles in app.live() where titles == wanted { return }
    }
}
