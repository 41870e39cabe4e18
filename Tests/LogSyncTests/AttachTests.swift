import Foundation
import LogSyncModel
import LogSync
import Testing

@Suite("A content that is now at another path")
struct AttachTests {
    let world: World
    let a: Machine
    let b: Machine

    init() async throws {
        world = try World()
        a = try await world.founder("a", rows: ["one"])
        b = try await world.clone("b")
        try await settle(a, b)
    }

    private func move(to name: String) throws -> String {
        let path = world.root + "/" + name
        try FileManager.default.moveItem(atPath: world.container, toPath: path)
        return path
    }

    @Test("A store goes on with a shared folder that was moved, with what it had recorded meanwhile")
    func moved() async throws {
        let now = try move(to: "Shared")
        try a.insert("two")
        await #expect(throws: LogSyncError.self) { try await a.sync() }
        let report = try await a.with { try await $0.attach(to: now) }
        #expect(report.changed && report.former == world.container && report.container == now)
        #expect(report.result.published == 1)
        _ = try await b.with { try await $0.attach(to: now) }
        #expect(try b.ids() == ["one", "two"])
        #expect(try await a.status().container.path == now)
        #expect(try await a.status().digest == b.status().digest)
        let again = try await a.with { try await $0.attach(to: now) }
        #expect(!again.changed && again.result.published == 0)
    }

    @Test("Where the content is not, nothing is made and the store stays where it was")
    func absent() async throws {
        let empty = world.root + "/Empty"
        try FileManager.default.createDirectory(atPath: empty, withIntermediateDirectories: true)
        for path in [empty, world.root + "/Nowhere"] {
            let error = await #expect(throws: LogSyncError.self) { try await a.with { try await $0.attach(to: path) } }
            #expect(error?.code == .containerUnavailable)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: empty).isEmpty)
        #expect(!FileManager.default.fileExists(atPath: world.root + "/Nowhere"))
        #expect(try await a.status().container.path == world.container)
    }

    @Test("Another content of the same name is refused")
    func anotherContent() async throws {
        let other = try World()
        _ = try await other.founder("stranger", rows: ["theirs"])
        let error = await #expect(throws: LogSyncError.self) {
            try await a.with { try await $0.attach(to: other.container) }
        }
        #expect(error?.code == .configuration)
        #expect(try a.ids() == ["one"])
        #expect(try await a.status().container.path == world.container)
    }

    @Test("A folder that only the other peer's files have reached is the same content")
    func halfDelivered() async throws {
        let now = try move(to: "Shared")
        try FileManager.default.removeItem(atPath: "\(now)/notes/peers/\(try await a.peer())")
        let report = try await a.with { try await $0.attach(to: now) }
        #expect(report.changed)
        let c = try world.machine("c")
        _ = try await Replicator.clone(
            to: c.path, container: now, content: "notes", peerName: "c", configuration: c.configuration)
        #expect(try c.ids() == ["one"])
    }

    @Test("A folder around the store is refused: a sync engine would corrupt it")
    func aroundTheStore() async throws {
        let around = world.root + "/a"
        try FileManager.default.copyItem(atPath: world.contentPath, toPath: around + "/notes")
        let error = await #expect(throws: LogSyncError.self) {
            try await a.with { try await $0.attach(to: around) }
        }
        #expect(error?.code == .configuration)
    }

    @Test("A running replicator follows, and hears of what arrives at the new place")
    func whileRunning() async throws {
        let replicator = try b.replicator()
        await replicator.start()
        try await eventually("b runs") { try await b.status().held.isEmpty && b.ids() == ["one"] }
        let now = try move(to: "Shared")
        _ = try await a.with { try await $0.attach(to: now) }
        _ = try await b.with { try await $0.attach(to: now) }
        try a.insert("two")
        try await a.sync()
        try await eventually("b has the second row") { try b.ids() == ["one", "two"] }
        await replicator.stop()
        await replicator.close()
    }
}
