import Foundation
import GRDB
import LogSync

/// Two "machines" in one process, each with a notes database of its own, kept in step through a folder.
///
///     swift run NotesExample
///
/// A real app has one of the two: it opens its database with GRDB as ever, and a ``Replicator`` beside it.
@main
struct Notes {
    static func main() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("notes-\(UUID().uuidString)").path
        let container = folder + "/shared"
        try FileManager.default.createDirectory(atPath: container, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }

        // The desk's app has been in use for a while.
        let desk = try DatabaseQueue(path: folder + "/desk.db")
        try await desk.write { db in
            try db.execute(sql: "CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT NOT NULL)")
            try db.execute(sql: "INSERT INTO note(body) VALUES ('Buy apples')")
        }

        // Once: the desk's database becomes a store, and the phone makes its own from the folder.
        var options = InitializeOptions()
        options.peerName = "desk"
        let configuration = SyncConfiguration(stateDirectory: folder + "/state")
        _ = try await Replicator.initialize(
            folder + "/desk.db", container: container, content: "notes", options: options, configuration: configuration)
        _ = try await Replicator.clone(
            to: folder + "/phone.db", container: container, content: "notes", peerName: "phone",
            configuration: configuration)

        // At every start: open the store beside the app's own connection, listen, and let it run.
        let deskReplicator = try await Replicator.open(store: folder + "/desk.db", configuration: configuration)
        let phoneReplicator = try await Replicator.open(store: folder + "/phone.db", configuration: configuration)
        let arrivals = phoneReplicator.didImport
        await deskReplicator.start()
        await phoneReplicator.start()

        // A write with an author and a context is a transaction of its own in the history.
        try await deskReplicator.write(in: desk, author: "ann", context: "shopping") { db in
            try db.execute(sql: "INSERT INTO note(body) VALUES ('Buy pears')")
            try db.execute(sql: "UPDATE note SET body = 'Buy green apples' WHERE body = 'Buy apples'")
        }
        for await event in arrivals {
            for transaction in event.transactions {
                guard let changes = transaction.tables["note"] else { continue }
                print(
                    "phone: \(transaction.author ?? "somebody") at \(transaction.peer.name)",
                    "inserted \(changes.inserted.count) and updated \(changes.updated.count) notes")
            }
            if event.transactions.contains(where: { $0.author == "ann" }) { break }
        }

        let phone = try DatabaseQueue(path: folder + "/phone.db")
        let bodies = try await phone.read { db in
            try String.fetchAll(db, sql: "SELECT body FROM note ORDER BY body")
        }
        print("phone has: \(bodies.joined(separator: ", "))")
        await deskReplicator.stop()
        await phoneReplicator.stop()
    }
}
