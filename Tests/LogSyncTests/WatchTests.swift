import Foundation
import GRDB
import InotifyEvents
import LogSyncModel
import LogSync
import Synchronization
import Testing

@Suite("Watching", .serialized)
struct WatchTests {
    let world: World
    let a: Machine
    let b: Machine

    init() async throws {
        world = try World()
        var a = try await world.founder("a", rows: ["one"])
        var b = try await world.clone("b")
        try await settle(a, b)
        a.configuration.events = InotifyFolderEvents.shared
        b.configuration.events = InotifyFolderEvents.shared
        (self.a, self.b) = (a, b)
    }

    /// Collects what a replicator says.
    private final class Ear: Sendable {
        private let heard = Mutex<[ReplicationEvent]>([])
        private let task = Mutex<Task<Void, Never>?>(nil)

        init(_ replicator: Replicator) {
            let events = replicator.events()
            task.withLock {
                $0 = Task { [weak self] in
                    for await event in events { self?.heard.withLock { $0.append(event) } }
                }
            }
        }

        deinit { task.withLock { $0?.cancel() } }

        var events: [ReplicationEvent] { heard.withLock { $0 } }
        var names: [String] { events.map(\.name) }
    }

    @Test("Rows go both ways as they are committed, and each import is told once")
    func bothWays() async throws {
        let (x, y) = (try a.replicator(), try b.replicator())
        let (earX, earY) = (Ear(x), Ear(y))
        await x.start()
        await y.start()
        try await eventually("both are ready") { earX.names.contains("ready") && earY.names.contains("ready") }
        for index in 0..<5 {
            try a.insert("a\(index)")
            try b.insert("b\(index)")
        }
        try await eventually("all rows are everywhere") {
            try a.ids().count == 11 && b.ids() == a.ids()
        }
        await x.stop()
        await y.stop()
        var inserted: [String] = []
        for case .didImport(let event) in earX.events {
            for transaction in event.transactions {
                #expect(transaction.peer.name == "b")
                for case .text(let bytes) in transaction.tables["note"]?.inserted.compactMap(\.first) ?? [] {
                    inserted.append(String(decoding: bytes, as: UTF8.self))
                }
            }
        }
        #expect(inserted == (0..<5).map { "b\($0)" })
        #expect(!earX.names.contains("error") && !earY.names.contains("error"))
    }

    @Test("A commit shows in the other store within fifty milliseconds, most of the time")
    func latency() async throws {
        let (x, y) = (try a.replicator(), try b.replicator())
        let ears = [Ear(x), Ear(y)]
        await x.start()
        await y.start()
        try await eventually("both are ready") { ears.allSatisfy { $0.names.contains("ready") } }
        let (writer, reader) = (try a.database(), try b.database())
        var times: [Duration] = []
        for index in 0..<15 {
            let start = ContinuousClock.now
            try await Machine.insert("row\(index)", writer)
            try await eventually("the row arrives") { try await Machine.has("row\(index)", reader) }
            times.append(start.duration(to: .now))
            try await Task.sleep(for: .milliseconds(20))
        }
        await x.stop()
        await y.stop()
        let median = times.sorted()[times.count / 2]
        print("commit to visible: median \(median), slowest \(times.max() ?? .zero)")
        // The target is 50 ms on a machine that does nothing else; this one may be busy with other tests.
        #expect(median < .milliseconds(500))
    }

    @Test("Receipts wait while transactions flow, and say everything when the watch ends")
    func receipts() async throws {
        var (quickA, quickB) = (a, b)
        quickA.configuration.receiptDelay = .seconds(3600)
        quickB.configuration.receiptDelay = .seconds(3600)
        let (x, y) = (try quickA.replicator(), try quickB.replicator())
        let ears = [Ear(x), Ear(y)]
        await x.start()
        await y.start()
        try await eventually("both are ready") { ears.allSatisfy { $0.names.contains("ready") } }
        let peers = [try await a.peer(), try await b.peer()]
        func receipts() throws -> [Data] {
            try peers.map {
                try Data(contentsOf: URL(fileURLWithPath: "\(world.contentPath)/peers/\($0)/receipt.json"))
            }
        }
        let before = try receipts()
        for index in 0..<3 {
            try a.insert("a\(index)")
            try await eventually("the row arrives") { try b.ids() == a.ids() }
        }
        #expect(try receipts() == before)
        await x.stop()
        await y.stop()
        let after = try receipts().map { try JSONDecoder().decode(Said.self, from: $0) }
        #expect(after[0].published == after[0].imported[peers[0].description])
        #expect(after[1].imported[peers[0].description] == after[0].published)
        #expect(try receipts()[0] != before[0] && receipts()[1] != before[1])
    }

    private struct Said: Decodable {
        var published: UInt64
        var imported: [String: UInt64]
    }

    @Test("A receipt is written soon after what it speaks of")
    func receiptsInTime() async throws {
        let (x, y) = (try a.replicator(), try b.replicator())
        await x.start()
        await y.start()
        let peers = [try await a.peer(), try await b.peer()]
        try a.insert("late")
        try await eventually("the row arrives") { try b.ids() == a.ids() }
        try await eventually("the importer says so") {
            let data = try Data(
                contentsOf: URL(fileURLWithPath: "\(world.contentPath)/peers/\(peers[1])/receipt.json"))
            let sequence = try await a.status().vector[peers[0]]
            return try JSONDecoder().decode(Said.self, from: data).imported[peers[0].description] == sequence
        }
        await x.stop()
        await y.stop()
    }

    @Test("An idle watch writes nothing")
    func idle() async throws {
        let (x, y) = (try a.replicator(), try b.replicator())
        let ears = [Ear(x), Ear(y)]
        await x.start()
        await y.start()
        try await eventually("both are ready") { ears.allSatisfy { $0.names.contains("ready") } }
        let before = try world.listing()
        // Nothing is what is waited for, so there is no condition to await.
        try await Task.sleep(for: .milliseconds(300))
        #expect(try world.listing() == before)
        await x.stop()
        await y.stop()
    }

    @Test("A container that goes away is said once, changes wait, and it is ready again when it comes back")
    func unavailable() async throws {
        let (x, y) = (try a.replicator(), try b.replicator())
        let (ear, earY) = (Ear(x), Ear(y))
        await x.start()
        await y.start()
        try await eventually("both are ready") { ear.names == ["ready"] && earY.names == ["ready"] }
        try FileManager.default.moveItem(atPath: world.container, toPath: world.container + "-away")
        try await eventually("it is said") { ear.names.contains("unavailable") }
        // A commit of which there is nothing to publish does not find the container there.
        let database = try a.database()
        try await database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA user_version = 7") }
        // Nothing is what is waited for, so there is no condition to await.
        try await Task.sleep(for: .milliseconds(300))
        #expect(ear.names == ["ready", "unavailable"])
        try a.insert("meanwhile")
        try await eventually("the change is recorded") { try await a.status().outbox == 1 }
        #expect(!FileManager.default.fileExists(atPath: world.container))
        try FileManager.default.moveItem(atPath: world.container + "-away", toPath: world.container)
        try await eventually("the other has it") { try b.ids() == ["meanwhile", "one"] }
        try await eventually("it is ready again") { ear.names.filter { $0 == "ready" }.count == 2 }
        #expect(ear.names.filter { $0 == "unavailable" }.count == 1)
        await x.stop()
        await y.stop()
    }

    @Test("Where events cannot be had, polling finds changes")
    func polling() async throws {
        var (a, b) = (a, b)
        a.configuration.pollInterval = .milliseconds(50)
        b.configuration.pollInterval = .milliseconds(50)
        let (x, y) = (try a.replicator(), try b.replicator())
        await x.start()
        await y.start()
        try a.insert("two")
        try await eventually("the row arrives") { try b.ids() == ["one", "two"] }
        await x.stop()
        await y.stop()
    }

    @Test("A one-shot command works beside a watch, and leave asks it to let go")
    func leave() async throws {
        let x = try a.replicator()
        let ear = Ear(x)
        await x.start()
        try await eventually("it is ready") { ear.names == ["ready"] }
        try a.insert("two")
        try await a.sync()
        _ = try await a.with { try await $0.leave() }
        try await eventually("the watch says so") { ear.names.contains("error") }
        #expect(try a.ids() == ["one", "two"])
        await x.stop()
        try await b.sync()
        #expect(try b.ids() == ["one", "two"])
    }

    @Test("A store that comes later is watched when it is there")
    func later() async throws {
        let c = try world.machine("c")
        let x = try Replicator(store: c.path, configuration: c.configuration, opensNow: false)
        let ear = Ear(x)
        await x.start()
        try await eventually("it is missed") { ear.names == ["error"] }
        _ = try await Replicator.clone(
            to: c.path, container: world.container, content: "notes", configuration: c.configuration)
        try await eventually("it is ready") { ear.names.last == "ready" }
        await x.stop()
    }

    @Test("Apps hear of imports by a stream and by a notification that say the same")
    func notification() async throws {
        let y = try b.replicator()
        let posted = Mutex<[DidImport]>([])
        let path = y.path
        let observer = NotificationCenter.default.addObserver(
            forName: .logSyncDidImport, object: nil, queue: nil
        ) { notification in
            guard let event = notification.userInfo?[DidImport.userInfoKey] as? DidImport, event.store == path
            else { return }
            posted.withLock { $0.append(event) }
        }
        defer { NotificationCenter.default.removeObserver(observer) }
        var stream = y.didImport.makeAsyncIterator()
        try a.execute("UPDATE note SET stars = 5 WHERE id = 'one'; INSERT INTO note(id) VALUES('two')")
        try await a.sync()
        _ = try await y.sync()
        let event = try #require(await stream.next())
        let transaction = try #require(event.transactions.first)
        #expect(event.store == path && event.transactions.count == 1)
        #expect(transaction.tables["note"]?.inserted == [[.text("two")]])
        #expect(transaction.tables["note"]?.updated == [[.text("one")]])
        #expect(transaction.tables["note"]?.deleted == [])
        #expect(posted.withLock { $0.map(\.transactions.count) } == [1])
        await y.close()
    }

    @Test("An app writes with author and context, and the other machine sees both")
    func embedded() async throws {
        let (x, y) = (try a.replicator(), try b.replicator())
        let ears = [Ear(x), Ear(y)]
        await x.start()
        await y.start()
        try await eventually("both are ready") { ears.allSatisfy { $0.names.contains("ready") } }
        let queue = try a.database()
        try a.insert("by another program")
        try await x.write(in: queue, author: "ann", context: "test") { db in
            try db.execute(sql: "INSERT INTO note(id) VALUES('embedded')")
        }
        try await eventually("the rows arrive") { try b.ids() == ["by another program", "embedded", "one"] }
        let log = try await b.with { try await $0.log(author: "ann") }
        #expect(log.map(\.context) == ["test"])
        #expect(log.first?.changes == ["note": ChangeCounts(inserted: 1)])
        await x.stop()
        await y.stop()
    }

    @Test("A snapshot is taken by itself when the log files have outgrown the last")
    func upkeep() async throws {
        var a = a
        a.configuration.snapshotThreshold = 3000
        let peer = try await a.peer()
        try a.execute("INSERT INTO note(id, body) VALUES('big', hex(randomblob(5000)))")
        let x = try a.replicator()
        await x.start()
        try await eventually("a snapshot is there") { try world.snapshots(peer).count == 1 }
        await x.stop()
        // The next has to be worth it.
        let y = try a.replicator()
        let ear = Ear(y)
        await y.start()
        try await eventually("it has begun") { ear.names.contains("ready") }
        try a.insert("small")
        try await eventually("it is published") { try await a.status().outbox == 0 }
        await y.stop()
        #expect(try world.snapshots(peer).count == 1)
    }
}
