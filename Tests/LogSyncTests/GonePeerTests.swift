import Foundation
import LogSync
import LogSyncModel
import Testing

@Suite("A peer is no more, and what the folder holds of it cannot be read or is an older state")
struct GonePeerTests {
    let world: World
    let a: Machine
    let b: Machine

    init() async throws {
        world = try World(blobThreshold: 100)
        a = try await world.founder("a", rows: ["one"])
        b = try await world.clone("b")
    }

    enum Kind: String, CaseIterable, Sendable {
        case log, snapshot, blob
    }

    /// A file of `a`, all of whose rows `b` has.
    private func file(_ kind: Kind) async throws -> String {
        try a.insert("two", String(repeating: "long", count: 100))
        let snapshot = kind == .snapshot ? try await a.snapshot().file : ""
        try await settle(a, b)
        let peer = try await a.peer()
        return switch kind {
        case .log: "\(world.logsPath(peer))/\(try #require(try world.logs(peer).last))"
        case .snapshot: world.snapshotPath(peer, snapshot)
        case .blob: "\(world.blobsPath(peer))/\(try #require(try world.blobs(peer).first))"
        }
    }

    private func findings(_ path: String) async throws -> [Finding] {
        try await Replicator.doctor(b.path, configuration: b.configuration).findings.filter { $0.place == path }
    }

    @Test(
        "The doctor says what rids the folder of a damaged file of it, and that does",
        arguments: Kind.allCases, [Harm.cutShort, .flipped])
    func riddance(kind: Kind, harm: Harm) async throws {
        let path = try await file(kind)
        let peer = try await a.peer()
        try FileManager.default.removeItem(atPath: a.path)
        try harm.apply(to: path)
        for finding in try await findings(path) { #expect(finding.help?.contains("logsync rebuild") == true) }
        _ = try await b.with { try await $0.rebuild() }
        if kind == .snapshot { try await b.snapshot() }
        let finding = try #require(try await findings(path).first)
        #expect(finding.severity != .note && finding.help?.contains("logsync peers retire STORE a") == true)
        try await b.with { try await $0.retire(peer) }
        let retired = try #require(try await findings(path).first)
        #expect(retired.severity == .note && retired.help?.contains("logsync compact") == true)
        #expect(try await b.with { try await $0.compact() }.files.allSatisfy { $0.action == .keep }, "it has its grace")
        let c = try await world.clone("c")
        for _ in 1...3 {
            for machine in [b, c] { _ = try await machine.with { try await $0.compact(grace: .zero) } }
        }
        #expect(!FileManager.default.fileExists(atPath: path))
        for machine in [b, c] {
            let report = try await Replicator.doctor(machine.path, configuration: machine.configuration)
            #expect(report.findings.filter { $0.severity != .note }.isEmpty, "\(report.findings)")
            #expect(try machine.ids() == ["one", "two"])
        }
        #expect(try await world.clone("d").ids() == ["one", "two"])
    }

    @Test("Log files of it after one that nobody has are waited for until they are deleted")
    func unreachable() async throws {
        let peer = try await a.peer()
        try await settle(a, b)
        for row in ["two", "three"] {
            try a.insert(row)
            try await a.sync()
        }
        let files = try world.logs(peer)
        let lost = try #require(files.first { $0.hasPrefix("000000000002") })
        let later = try #require(files.first { $0.hasPrefix("000000000003") })
        try FileManager.default.removeItem(atPath: "\(world.logsPath(peer))/\(lost)")
        try await b.with { try await $0.retire(peer) }
        #expect(try await b.sync().held.map(\.reason) == [.gap])
        let held = try await findings(world.logsPath(peer)).map(\.severity)
        #expect(held == [.trouble])
        try FileManager.default.removeItem(atPath: "\(world.logsPath(peer))/\(later)")
        #expect(try await b.sync().held.isEmpty)
        let left = try await findings(world.logsPath(peer)).map(\.severity)
        #expect(left == [.note])
    }

    @Test("An unreadable snapshot of it stays while nobody has all that may be in it")
    func unreadableSnapshot() async throws {
        let path = try await file(.snapshot)
        let peer = try await a.peer()
        // What the snapshot may have of `c` is in no other.
        let c = try await world.clone("c")
        try c.insert("three")
        try await c.sync()
        try await a.sync()
        try Harm.flipped.apply(to: path)
        let folder = String(world.logsPath(try await c.peer()).dropLast("/logs".count))
        try FileManager.default.moveItem(atPath: folder, toPath: world.root + "/late")
        try await b.snapshot()
        try await b.with { try await $0.retire(peer) }
        _ = try await b.with { try await $0.compact(grace: .zero) }
        #expect(FileManager.default.fileExists(atPath: path))
        #expect(try await findings(path).first?.severity == .damage)
        try FileManager.default.moveItem(atPath: world.root + "/late", toPath: folder)
        try await settle(b, c)
        try await b.snapshot()
        _ = try await b.with { try await $0.compact(grace: .zero) }
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test(
        "Whoever waits for its transactions joins the snapshot that has them at once, though its receipt is an older one"
    )
    func olderReceipt() async throws {
        try await settle(a, b)
        let folder = String(world.logsPath(try await a.peer()).dropLast("/logs".count))
        try FileManager.default.copyItem(atPath: folder, toPath: world.root + "/before")
        try a.insert("two")
        try await settle(a, b)
        try FileManager.default.removeItem(atPath: a.path)
        try FileManager.default.removeItem(atPath: folder)
        try FileManager.default.moveItem(atPath: world.root + "/before", toPath: folder)
        let c = try await world.clone("c")
        try b.insert("three")
        try await b.sync()
        #expect(try await c.sync().held.map(\.reason) == [.dependency])
        _ = try await b.with { try await $0.rebuild() }
        #expect(try await c.sync().outcome == .complete)
        #expect(try c.ids() == ["one", "three", "two"])
    }
}
