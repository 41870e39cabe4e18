import Foundation
import LogSyncModel
import LogSync
import Testing

@Suite("Stores converge")
struct ConvergenceTests {
    @Test("A clone has the founder's rows")
    func cloneHasRows() async throws {
        let world = try World()
        let a = try await world.founder("a", rows: ["one", "two"])
        let b = try await world.clone("b")
        #expect(try b.ids() == ["one", "two"])
        try await settle(a, b)
        #expect(try await a.status().digest == b.status().digest)
    }

    @Test("Changes go both ways, and a second sync finds nothing to do")
    func bothWays() async throws {
        let world = try World()
        let a = try await world.founder("a", rows: ["one"])
        let b = try await world.clone("b")
        try a.insert("from-a")
        try b.insert("from-b")
        let first = try await a.sync()
        #expect(first.recorded == 1 && first.published == 1)
        let second = try await b.sync()
        #expect(second.recorded == 1 && second.published == 1 && second.imported >= 1)
        try await settle(a, b)
        #expect(try a.ids() == ["from-a", "from-b", "one"])
        #expect(try b.ids() == a.ids())
        let (x, y) = (try await a.status(), try await b.status())
        #expect(x.vector == y.vector && x.digest == y.digest)
        #expect(x.held.isEmpty && x.pending == 0 && x.outbox == 0)
        #expect(x.peers.map(\.name) == ["b"] && x.peers[0].behind == 0)
    }

    @Test("Three stores agree on a conflict whatever the order")
    func threeStores() async throws {
        let world = try World()
        let a = try await world.founder("a", rows: ["one"])
        let b = try await world.clone("b")
        let c = try await world.clone("c")
        for (machine, body) in [(a, "A"), (b, "B"), (c, "C")] {
            try machine.execute("UPDATE note SET body = '\(body)' WHERE id = 'one'")
        }
        for machine in [c, a, b, a, c, b, a, c] { try await machine.sync() }
        try await settle(a, b, c)
        #expect(try a.notes() == b.notes())
        #expect(try b.notes() == c.notes())
        #expect(try await a.status().conflicts == 1)
    }

    @Test("A database that joins merges what it holds")
    func join() async throws {
        let world = try World()
        let a = try await world.founder("a", rows: ["one"])
        let b = try world.machine("b")
        try b.makeDatabase()
        try b.insert("two")
        let report = try await b.initialize()
        #expect(report.joined && report.imported > 0 && report.published == 1)
        try await settle(a, b)
        #expect(try a.ids() == ["one", "two"])
        #expect(try b.ids() == ["one", "two"])
    }

    @Test("An idle sync writes no file at all")
    func idle() async throws {
        let world = try World()
        let a = try await world.founder("a", rows: ["one"])
        let b = try await world.clone("b")
        try await settle(a, b)
        let before = try world.listing()
        for _ in 0..<3 {
            #expect(try await a.sync().outcome == .complete)
            #expect(try await b.sync().outcome == .complete)
        }
        #expect(try world.listing() == before)
    }

    @Test("Importing leaves local changes in the outbox, exporting imports nothing")
    func importAndExport() async throws {
        let world = try World()
        let a = try await world.founder("a")
        let b = try await world.clone("b")
        try a.insert("one")
        try b.insert("two")
        let exported = try await a.with { try await $0.export() }
        #expect(exported.published == 1 && exported.imported == 0)
        let imported = try await b.with { try await $0.import() }
        #expect(imported.recorded == 1 && imported.published == 0 && imported.imported >= 1)
        #expect(try await b.status().outbox == 1)
        #expect(try b.ids() == ["one", "two"])
    }

    @Test("A schema is published before the logs that name it, and a new one beside the old")
    func schemas() async throws {
        let world = try World()
        let a = try await world.founder("a", rows: ["one"])
        let b = try await world.clone("b")
        try a.execute("ALTER TABLE note ADD COLUMN colour TEXT")
        try a.execute("UPDATE note SET colour = 'red'")
        try await a.sync()
        let peer = try await a.peer()
        let schemas = try FileManager.default.contentsOfDirectory(atPath: "\(world.contentPath)/peers/\(peer)/schemas")
        #expect(schemas.count == 2)
        #expect(try await b.sync().outcome == .complete)
        #expect(try b.ids() == ["one"])
        let c = try await world.clone("c")
        #expect(try c.count("SELECT count(*) FROM note WHERE colour = 'red'") == 1)
    }
}
