import Foundation
import LogSyncModel
import LogSync
import Testing

@Suite("A content folder is removed, and written anew from a store")
struct RebuildTests {
    let world: World
    let a: Machine
    let b: Machine

    init() async throws {
        world = try World()
        a = try await world.founder("a", rows: ["one"])
        b = try await world.clone("b")
        try b.insert("two")
        try await settle(a, b)
    }

    /// In one instant, as an unmounted folder goes.
    private func wipe() throws {
        try FileManager.default.createDirectory(atPath: world.root + "/away", withIntermediateDirectories: true)
        try FileManager.default.moveItem(atPath: world.contentPath, toPath: world.root + "/away/notes")
    }

    @Test("After a wipe each peer brings back its own, and a newcomer gets everything")
    func wiped() async throws {
        try wipe()
        try a.insert("three")
        let said = try await a.with { try await $0.rebuild(dryRun: true) }
        #expect(
            said.dryRun && said.marker && said.transactions == 1 && said.needsSnapshot == true
                && !FileManager.default.fileExists(atPath: world.contentPath))
        let report = try await a.with { try await $0.rebuild() }
        #expect(report.marker && report.transactions == 1 && report.result.published == 1)
        #expect(report.snapshot != nil && report.missing.isEmpty)
        #expect(report.outcome == .complete)
        let alone = try await world.clone("alone")
        #expect(try alone.ids() == ["one", "three", "two"], "one peer can rebuild everything")
        try await settle(a, b)
        #expect(try world.logs(await b.peer()).count >= 1, "the other puts its own back")
        let c = try await world.clone("c")
        #expect(try c.ids() == ["one", "three", "two"])
        try await settle(a, b, c, alone)
        #expect(try await c.status().digest == a.status().digest)
        let again = try await a.with { try await $0.rebuild() }
        #expect(!again.marker && again.transactions == 0 && again.snapshot == nil)
    }

    @Test("A marker that is gone or damaged is written again, and nothing else is touched")
    func marker() async throws {
        let path = world.contentPath + "/logsync.json"
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        for damaged in [Data(), Data("{\"cont".utf8), nil] {
            try FileManager.default.removeItem(atPath: path)
            try damaged?.write(to: URL(fileURLWithPath: path))
            await #expect(throws: LogSyncError.self) { try await a.sync() }
            let report = try await a.with { try await $0.rebuild() }
            #expect(report.marker && report.transactions == 0)
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == bytes)
        }
        #expect(try await b.sync().outcome == .complete)
    }

    @Test("A damaged own file is found however long the history is, and nobody else's file is touched")
    func damaged() async throws {
        let peer = try await a.peer()
        let path = "\(world.logsPath(peer))/\(try #require(try world.logs(peer).first))"
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        bytes[bytes.count / 2] ^= 1
        try bytes.write(to: URL(fileURLWithPath: path))
        let theirs = try world.listing().filter { $0.key.contains("/logs/") && !$0.key.contains("\(peer)") }
        let report = try await a.with { try await $0.rebuild() }
        #expect(report.transactions == 1 && !report.marker)
        #expect(try world.listing().filter { $0.key.contains("/logs/") && !$0.key.contains("\(peer)") } == theirs)
        let c = try await world.clone("c")
        #expect(try c.ids() == ["one", "two"])
    }

    @Test("The container itself is never made")
    func unmounted() async throws {
        try FileManager.default.removeItem(atPath: world.container)
        let error = await #expect(throws: LogSyncError.self) { try await a.with { try await $0.rebuild() } }
        #expect(error?.code == .containerUnavailable)
        #expect(!FileManager.default.fileExists(atPath: world.container))
    }

    @Test("Another content of the same name is left alone")
    func anotherContent() async throws {
        try FileManager.default.removeItem(atPath: world.contentPath)
        let other = try World()
        _ = try await other.founder("stranger", rows: ["theirs"])
        try FileManager.default.copyItem(atPath: other.contentPath, toPath: world.contentPath)
        let before = try world.listing()
        let error = await #expect(throws: LogSyncError.self) { try await a.with { try await $0.rebuild() } }
        #expect(error?.code == .configuration)
        #expect(try world.listing() == before)
    }

    @Test("A running replicator lets go, and goes on afterwards")
    func whileRunning() async throws {
        let replicator = try a.replicator()
        await replicator.start()
        try await eventually("a runs") { try await !a.status().peers.isEmpty }
        try wipe()
        _ = try await a.with { try await $0.rebuild() }
        _ = try await b.with { try await $0.rebuild() }
        try b.insert("three")
        try await b.sync()
        try await eventually("a has the third row") { try a.ids() == ["one", "three", "two"] }
        await replicator.stop()
        await replicator.close()
    }

    // MARK: Destroy

    private func destroy(_ content: String = "notes", dryRun: Bool = false) async throws -> DestroyReport {
        try await Replicator.destroy(
            container: world.container, content: content, dryRun: dryRun, configuration: a.configuration)
    }

    @Test("Removing a content folder leaves every store its rows, and a rebuild brings it back")
    func destroyed() async throws {
        try Data([1]).write(to: URL(fileURLWithPath: world.contentPath + "/strange"))
        let outside = world.root + "/outside"
        try Data([1]).write(to: URL(fileURLWithPath: outside))
        try FileManager.default.createSymbolicLink(
            atPath: world.contentPath + "/peers/link", withDestinationPath: world.root)
        let before = try world.listing()
        let said = try await destroy(dryRun: true)
        #expect(said.dryRun && Set(said.peers.map(\.name)) == ["a", "b"])
        #expect(try world.listing() == before)
        let report = try await destroy()
        #expect(report.files == said.files && report.bytes == said.bytes && report.files > 4)
        #expect(!FileManager.default.fileExists(atPath: world.contentPath))
        #expect(FileManager.default.fileExists(atPath: outside) && FileManager.default.fileExists(atPath: a.path))
        let error = await #expect(throws: LogSyncError.self) { try await a.sync() }
        #expect(error?.code == .containerUnavailable)
        #expect(try a.ids() == ["one", "two"] && b.ids() == ["one", "two"])
        _ = try await a.with { try await $0.rebuild() }
        try await settle(a, b)
        #expect(try await world.clone("c").ids() == ["one", "two"])
    }

    @Test("What is no content folder is not removed; what a killed removal has left is")
    func notOurs() async throws {
        let plain = world.container + "/plain"
        let project = world.container + "/project"
        for folder in [plain + "/photos", project + "/peers", project + "/Sources"] {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        }
        try Data("notes".utf8).write(to: URL(fileURLWithPath: project + "/peers/alice.txt"))
        for name in ["plain", "absent", "project"] {
            let error = await #expect(throws: LogSyncError.self) { try await destroy(name) }
            #expect(error?.code == .containerUnavailable)
        }
        #expect(FileManager.default.fileExists(atPath: plain + "/photos"))
        #expect(FileManager.default.fileExists(atPath: project + "/peers/alice.txt"))
        try FileManager.default.removeItem(atPath: world.contentPath + "/logsync.json")
        _ = try await destroy()
        #expect(!FileManager.default.fileExists(atPath: world.contentPath))
    }

    @Test("What the outbox has let go of comes back as a snapshot")
    func released() async throws {
        let world = try World()
        let a = try await world.founder("a", rows: ["one", "two"])
        try await a.snapshot()
        try FileManager.default.removeItem(atPath: world.contentPath)
        let said = try await a.with { try await $0.rebuild(dryRun: true) }
        #expect(said.needsSnapshot == true && said.snapshot == nil)
        let report = try await a.with { try await $0.rebuild() }
        #expect(report.missing.isEmpty && report.outcome == .complete)
        #expect(try world.snapshots(try await a.peer()) == [report.snapshot].compactMap { $0 })
        let again = try await a.with { try await $0.rebuild() }
        #expect(again.snapshot == nil && again.needsSnapshot == false)
        #expect(try await a.with { try await $0.rebuild(dryRun: true) }.needsSnapshot == false)
        #expect(try await world.clone("b").ids() == ["one", "two"])
    }

    @Test("What only a store has, and others wait for, comes back as a snapshot by itself")
    func bridged() async throws {
        let world = try World()
        let a = try await world.founder("a", rows: ["one"])
        let b = try await world.clone("b")
        let c = try await world.clone("c")
        let peer = try await a.peer()
        let before = try world.logs(peer)
        try a.insert("two")
        try await a.sync()
        try await c.sync()
        try c.insert("three")
        try await c.sync()
        // The owner and its files since then are gone for good; c has seen them.
        let path = world.logsPath(peer)
        for name in try world.logs(peer) where !before.contains(name) {
            try FileManager.default.removeItem(atPath: "\(path)/\(name)")
        }
        #expect(try await b.sync().outcome == .held)
        try await c.sync()
        #expect(try world.snapshots(try await c.peer()).count == 1)
        #expect(try await b.sync().outcome == .complete)
        #expect(try b.ids() == ["one", "three", "two"])
        try await c.sync()
        #expect(try world.snapshots(try await c.peer()).count == 1)
    }
}
