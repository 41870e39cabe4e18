import Foundation
import GRDB
import LogSyncModel
import LogSync
import Synchronization
import Testing

@Suite("Killed at any change of a file")
struct KillPointTests {
    @Test("A sync that dies is made good by the next", arguments: [false, true])
    func sync(completesLast: Bool) async throws {
        let world = try World()
        let a = try await world.founder("a")
        let b = try await world.clone("b")
        try await settle(a, b)
        var expected: [String] = []
        for point in 1... {
            let row = "row\(String(format: "%03d", point))"
            expected.append(row)
            try a.insert(row)
            // Something to import on the way, too.
            try b.execute("INSERT OR REPLACE INTO note(id, body) VALUES('b', '\(point)')")
            try await b.sync()
            var dying = a
            let fileSystem = DyingFileSystem(changes: point, completesLast: completesLast)
            dying.configuration.fileSystem = fileSystem
            do {
                try await dying.sync()
            } catch let error as LogSyncError {
                #expect(error.code == .ioError)
            }
            #expect(try a.ids().contains(row))
            try await settle(a, b)
            #expect(try b.notes() == a.notes())
            #expect(try a.ids() == ["b"] + expected)
            let (x, y) = (try await a.status(), try await b.status())
            #expect(x.digest == y.digest && x.outbox == 0 && x.held.isEmpty && y.held.isEmpty)
            #expect(x.succeeds.isEmpty && x.identity == nil)
            if fileSystem.isAlive {
                #expect(point > 8, "a sync changes more than a handful of things")
                break
            }
        }
    }

    @Test("An init that dies is made good by the next", arguments: [false, true])
    func initialize(completesLast: Bool) async throws {
        for point in 1... {
            let world = try World()
            let a = try world.machine("a")
            try a.makeDatabase()
            try a.insert("one")
            var dying = a
            let fileSystem = DyingFileSystem(changes: point, completesLast: completesLast)
            dying.configuration.fileSystem = fileSystem
            do {
                try await dying.initialize()
            } catch let error as LogSyncError {
                #expect(error.code == .ioError)
            }
            try await a.initialize()
            let status = try await a.status()
            #expect(status.succeeds.isEmpty && status.outbox == 0 && status.held.isEmpty)
            // A clone takes a while; every few points will do.
            if point % 8 == 0 || fileSystem.isAlive {
                let b = try await world.clone("b")
                #expect(try b.ids() == ["one"])
            }
            let peer = try await a.peer()
            #expect(try world.logs(peer).count == 1)
            if fileSystem.isAlive { break }
        }
    }

    @Test("A clone that dies leaves nothing at the place, and the next one makes it")
    func clone() async throws {
        let world = try World()
        let a = try await world.founder("a", rows: ["one"])
        let b = try world.machine("b")
        // What a process that was killed leaves behind.
        try Data([1, 2, 3]).write(to: URL(fileURLWithPath: b.path + ".logsync-clone"))
        try Data([1, 2, 3]).write(to: URL(fileURLWithPath: b.path + ".logsync-clone-wal"))
        _ = try await world.clone("b")
        #expect(try b.ids() == ["one"])
        let left = try FileManager.default.contentsOfDirectory(atPath: world.root + "/b")
        #expect(left.allSatisfy { !$0.contains("logsync-clone") })
        try await settle(a, b)
    }

    @Test("A clone whose file another program keeps from being written out is not put in its place")
    func cloneKeptOpen() async throws {
        let world = try World()
        _ = try await world.founder("a", rows: ["one"])
        let b = try world.machine("b")
        let other = Mutex<DatabaseQueue?>(nil)
        await #expect {
            _ = try await Replicator.clone(
                to: b.path, container: world.container, content: "notes", configuration: b.configuration
            ) { _ in
                other.withLock { other in
                    guard other == nil else { return }
                    other = try? DatabaseQueue(path: b.path + ".logsync-clone")
                    _ = try? other?.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM note") }
                }
            }
        } throws: { ($0 as? LogSyncError)?.code == .ioError }
        #expect(!FileManager.default.fileExists(atPath: b.path))
        try other.withLock { try $0?.close() }
        #expect(try await world.clone("b").ids() == ["one"])
    }

    @Test(
        "A compaction that dies is made good by the next, and a clone still has everything", arguments: [false, true])
    func compact(completesLast: Bool) async throws {
        let world = try World()
        let a = try await world.founder("a")
        let b = try await world.clone("b")
        try await settle(a, b)
        for point in 1... {
            for row in 0..<3 {
                try a.insert("row\(point)-\(row)")
                try await settle(a, b)
            }
            // Half of the rounds die while asking, half while deleting.
            if point % 2 == 0 {
                _ = try await a.with { try await $0.compact(grace: .zero) }
                try await b.sync()
            }
            var dying = a
            let fileSystem = DyingFileSystem(changes: (point + 1) / 2, completesLast: completesLast)
            dying.configuration.fileSystem = fileSystem
            do {
                _ = try await dying.with { try await $0.compact(grace: .zero) }
            } catch let error as LogSyncError {
                #expect(error.code == .ioError)
            }
            try await settle(a, b)
            #expect(try b.notes() == a.notes())
            let status = try await a.status()
            #expect(status.held.isEmpty && status.outbox == 0 && status.succeeds.isEmpty)
            if point % 6 == 0 || fileSystem.isAlive {
                let c = try await world.clone("c\(point)")
                #expect(try c.notes() == a.notes())
                #expect(try await c.sync().outcome == .complete)
                try await settle(a, b, c)
                try await a.with { try await $0.retire(try await c.peer()) }
                try await settle(a, b)
            }
            if fileSystem.isAlive, point % 2 == 0 {
                #expect(point > 8, "a compaction changes more than a handful of things")
                break
            }
        }
    }
}
