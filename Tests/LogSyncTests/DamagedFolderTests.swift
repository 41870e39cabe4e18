import Foundation
import LogSync
import LogSyncModel
import Testing

/// How a file in the folder went wrong.
enum Harm: String, CaseIterable, Sendable {
    case removed, cutShort, flipped, zeros

    func apply(to path: String) throws {
        let url = URL(fileURLWithPath: path)
        var bytes = try Data(contentsOf: url)
        switch self {
        case .removed: return try FileManager.default.removeItem(at: url)
        case .cutShort: bytes = bytes.prefix(bytes.count / 2)
        case .flipped: bytes[bytes.count / 2] ^= 1
        case .zeros: bytes = Data(count: bytes.count)
        }
        try bytes.write(to: url)
    }
}

@Suite("What the folder holds of a peer that is no more cannot be read")
struct DamagedFolderTests {
    let world: World
    let a: Machine
    let b: Machine

    init() async throws {
        world = try World()
        a = try await world.founder("a", rows: ["one"])
        b = try await world.clone("b")
    }

    private func lastLog(_ peer: PeerID) throws -> String {
        "\(world.logsPath(peer))/\(try #require(try world.logs(peer).last))"
    }

    @Test(
        "A rebuild at a store that has imported it writes a snapshot, and newcomers get all rows",
        arguments: Harm.allCases)
    func rebuilt(harm: Harm) async throws {
        try a.insert("two")
        try await settle(a, b)
        try harm.apply(to: try lastLog(try await a.peer()))
        let said = try await b.with { try await $0.rebuild(dryRun: true) }
        #expect(said.needsSnapshot == true)
        let report = try await b.with { try await $0.rebuild() }
        #expect(report.snapshot != nil && report.missing.isEmpty)
        let c = try await world.clone("c")
        #expect(try c.ids() == ["one", "two"])
        #expect(try await c.sync().outcome == .complete)
        let again = try await b.with { try await $0.rebuild() }
        #expect(again.needsSnapshot == false)
        #expect(try world.snapshots(try await b.peer()).count == 1, "what a snapshot stands for is not missing")
    }

    @Test(
        "A snapshot that stands for it and cannot be read itself is replaced by a rebuild",
        arguments: [Harm.cutShort, .flipped])
    func snapshot(harm: Harm) async throws {
        let peer = try await a.peer()
        try a.insert("two")
        try await settle(a, b)
        let file = try await a.snapshot().file
        try world.removeLogs(peer)
        try harm.apply(to: world.snapshotPath(peer, file))
        #expect(try await b.with { try await $0.rebuild(dryRun: true) }.needsSnapshot == true)
        _ = try await b.with { try await $0.rebuild() }
        #expect(try await world.clone("c").ids() == ["one", "two"])
    }

    @Test("A sync writes no snapshot for a file that its owner may still mend, or that is still on its way")
    func onItsWay() async throws {
        try a.insert("two")
        try await settle(a, b)
        try Harm.cutShort.apply(to: try lastLog(try await a.peer()))
        for _ in 1...2 { try await b.sync() }
        #expect(try world.snapshots(try await b.peer()).isEmpty)
        try await a.sync()
        #expect(try await world.clone("c").ids() == ["one", "two"])
    }

    /// Has `a` restored from a backup of before its last row, so that it goes on as another peer; returns who it was.
    private func restored() async throws -> PeerID {
        let former = try await a.peer()
        try a.checkpoint()
        let backup = world.root + "/backup.db"
        try FileManager.default.copyItem(atPath: a.path, toPath: backup)
        try a.insert("two")
        try await settle(a, b)
        try a.checkpoint()
        try FileManager.default.removeItem(atPath: a.path)
        try FileManager.default.copyItem(atPath: backup, toPath: a.path)
        try await settle(a, b)
        #expect(try await a.peer() != former)
        return former
    }

    @Test(
        "A store takes care of its former self's documents and schemas, and then nothing is wrong",
        arguments: ["receipt.json", "peer.json", "schemas"], [Harm.cutShort, .flipped, .zeros])
    func documentsOfFormerSelf(name: String, harm: Harm) async throws {
        let former = try await restored()
        let folder = String(world.logsPath(former).dropLast("logs".count))
        let files = FileManager.default
        let harmed =
            name == "schemas" ? try files.contentsOfDirectory(atPath: folder + name).map { "schemas/" + $0 } : [name]
        for file in harmed { try harm.apply(to: folder + file) }
        let before = try await Replicator.doctor(b.path, configuration: b.configuration).findings
        #expect(before.contains { $0.severity == .trouble && $0.help?.contains("remove it") ?? false })
        for _ in 1...2 { try await a.sync() }
        for machine in [a, b] {
            let findings = try await Replicator.doctor(machine.path, configuration: machine.configuration).findings
            #expect(findings.filter { $0.severity != .note }.isEmpty, "\(findings)")
        }
        #expect(try await world.clone("c").ids() == ["one", "two"])
        #expect(try await b.status().peers.contains { $0.id == former && $0.name == "a" })
    }

    @Test(
        "A store takes care of its former self's files as of missing ones, and then nothing is wrong",
        arguments: Harm.allCases)
    func formerSelf(harm: Harm) async throws {
        let former = try await restored()
        try harm.apply(to: try lastLog(former))
        for _ in 1...2 { try await a.sync() }
        #expect(try world.snapshots(try await a.peer()).count == 1)
        #expect(try await world.clone("c").ids() == ["one", "two"])
        let findings = try await Replicator.doctor(a.path, configuration: a.configuration).findings
        #expect(findings.filter { $0.severity != .note }.isEmpty, "\(findings)")
    }

    @Test(
        "A file of a retired peer that another peer holds is made up for by a snapshot once it is no news",
        arguments: [Harm.cutShort, .flipped])
    func retired(harm: Harm) async throws {
        let peer = try await a.peer()
        try a.insert("two")
        try await settle(a, b)
        let c = try await world.clone("c")
        try await b.with { try await $0.retire(peer) }
        let path = try lastLog(peer)
        try a.insert("three")
        try await a.sync()
        let last = try lastLog(peer)
        #expect(last != path)
        try await b.sync()
        try harm.apply(to: last)
        #expect(try await c.sync().outcome != .complete)
        try await b.sync()
        #expect(try world.snapshots(try await b.peer()).isEmpty, "it may still be on its way")
        var later = b
        later.configuration.clock = FixedClock(SystemClock().now() + 601_000)
        try await later.sync()
        #expect(try world.snapshots(try await b.peer()).count == 1)
        #expect(try await c.sync().outcome == .complete)
        #expect(try c.ids() == ["one", "three", "two"])
    }

    @Test(
        "The doctor names the rebuild for where the owner of a damaged file is no more",
        arguments: [Harm.cutShort, .flipped])
    func advice(harm: Harm) async throws {
        try harm.apply(to: try lastLog(try await a.peer()))
        let findings = try await Replicator.doctor(b.path, configuration: b.configuration).findings
        let damaged = try #require(findings.first { ["damaged-file", "incomplete-file"].contains($0.code) })
        #expect(damaged.help?.contains("logsync rebuild") == true)
    }

    // MARK: Snapshots that alone have what a store lacks

    @Test(
        "A snapshot that cannot be read and alone has what a store lacks is held",
        arguments: [Harm.cutShort, .flipped, .zeros])
    func heldSnapshot(harm: Harm) async throws {
        let peer = try await a.peer()
        try await settle(a, b)
        try a.insert("two")
        let file = try await a.snapshot().file
        try world.removeLogs(peer)
        let path = world.snapshotPath(peer, file)
        let kept = try Data(contentsOf: URL(fileURLWithPath: path))
        try harm.apply(to: path)
        let result = try await b.sync()
        #expect(result.outcome == (harm == .flipped ? .integrity : .held))
        #expect(result.held.map(\.file) == [file] && result.held.map(\.peer.id) == [peer])
        #expect(try await b.status().held.map(\.file) == [file])
        try kept.write(to: URL(fileURLWithPath: path))
        #expect(try await b.sync().outcome == .complete)
        #expect(try b.ids() == ["one", "two"])
        #expect(try await b.status().held.isEmpty)
    }

    @Test("One whose first bytes cannot be read is held as well, and not where nothing is lacked")
    func unnamedSnapshot() async throws {
        let peer = try await a.peer()
        try await settle(a, b)
        try a.insert("two")
        let file = try await a.snapshot().file
        let path = world.snapshotPath(peer, file)
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        bytes[30] ^= 1
        try bytes.write(to: URL(fileURLWithPath: path))
        let c = try await world.clone("c")
        #expect(try await c.sync().held.isEmpty, "the log files have everything")
        try world.removeLogs(peer)
        #expect(try await c.sync().held.isEmpty)
        let result = try await b.sync()
        #expect(result.outcome == .integrity && result.held.map(\.file) == [file])
        #expect(try await b.status().held.map(\.file) == [file])
    }
}
