import Foundation
import LogSyncContainer
import LogSyncModel
import LogSync
import Testing

/// Killed at any change that they make in the folder, these can be called again and come to the same end.
@Suite("Moving, rebuilding and destroying survive death at every change")
struct LifeKillPointTests {
    /// Runs `body` again and again, dying one change later each time, and looks at the world after each death.
    private func dieEverywhere(
        _ machine: Machine, _ body: (Machine) async throws -> Void, afterDeath: (Int) async throws -> Void
    ) async throws {
        for count in 1..<400 {
            let disk = DyingFileSystem(changes: count, completesLast: count.isMultiple(of: 2))
            var mortal = machine
            mortal.configuration.fileSystem = disk
            do {
                try await body(mortal)
                #expect(disk.isAlive)
                return
            } catch {
                #expect(!disk.isAlive, "\(error)")
            }
            try await afterDeath(count)
        }
        Issue.record("it never comes to an end")
    }

    @Test("Move")
    func move() async throws {
        let world = try World()
        let there = world.root + "/There"
        try FileManager.default.createDirectory(atPath: there, withIntermediateDirectories: true)
        let a = try await world.founder("a", rows: ["one"])
        let b = try await world.clone("b")
        try b.insert("two")
        try await settle(a, b)
        var deaths = 0
        try await dieEverywhere(a) { mortal in
            _ = try await mortal.with { try await $0.move(to: there, content: "diary") }
        } afterDeath: { count in
            deaths = count
            let ids = try a.ids()
            #expect(ids == ["one", "two"])
        }
        #expect(deaths > 10)
        #expect(try await a.sync().outcome == .complete)
        #expect(try await a.status().content == "diary")
        _ = try await b.with { try await $0.move(to: there, content: "diary") }
        try await settle(a, b)
        #expect(try await a.status().digest == b.status().digest)
        let verified = try await Replicator.verify(a.path, configuration: a.configuration)
        #expect(verified.findings.filter { $0.severity != .note }.isEmpty && verified.store == true)
    }

    @Test("Rebuild")
    func rebuild() async throws {
        let world = try World()
        let a = try await world.founder("a", rows: ["one"])
        let b = try await world.clone("b")
        try b.insert("two")
        try await settle(a, b)
        try FileManager.default.removeItem(atPath: world.contentPath)
        try await dieEverywhere(a) { mortal in
            _ = try await mortal.with { try await $0.rebuild() }
        } afterDeath: { _ in
            let ids = try a.ids()
            #expect(ids == ["one", "two"])
        }
        let c = try await world.clone("c")
        #expect(try c.ids() == ["one", "two"])
        try await settle(a, b, c)
        let verified = try await Replicator.verify(b.path, configuration: b.configuration)
        #expect(verified.store == true)
    }

    @Test("Destroy")
    func destroy() async throws {
        let world = try World()
        let a = try await world.founder("a", rows: ["one"])
        try await dieEverywhere(a) { mortal in
            // One that died when all was done leaves nothing to do.
            guard FileManager.default.fileExists(atPath: world.contentPath) else { return }
            _ = try await Replicator.destroy(
                container: world.container, content: "notes", configuration: mortal.configuration)
        } afterDeath: { count in
            // From the first change on nobody takes it for a folder whose files want to be put back.
            guard count > 1 else { return }
            let error = await #expect(throws: LogSyncError.self) { try await a.sync() }
            #expect(error?.code == .containerUnavailable)
        }
        #expect(!FileManager.default.fileExists(atPath: world.contentPath))
    }
}
