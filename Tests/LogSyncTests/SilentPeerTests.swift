import Foundation
import LogSync
import LogSyncModel
import Testing

/// A peer that syncs is heard of, though nobody writes.
@Suite struct SilentPeerTests {
    private let world: World
    private let a: Machine
    private let b: Machine

    init() async throws {
        world = try World()
        a = try await world.founder("a", rows: ["one"])
        b = try await world.clone("b")
        try b.insert("two")
        try await settle(a, b)
        try await settle(a, b)
    }

    private func later(_ machine: Machine, days: Int64) -> Machine {
        var later = machine
        later.configuration.clock = FixedClock(SystemClock().now() + days * 24 * 3_600_000)
        return later
    }

    /// Who is said to be silent, by the files that say so.
    private func silent(as machine: Machine) async throws -> [String] {
        try await Replicator.doctor(machine.path, configuration: machine.configuration).findings
            .filter { $0.code == "silent-peer" }.map(\.place)
    }

    @Test func `the other is silent until it syncs, and the store itself never is`() async throws {
        let (a, b) = (later(a, days: 20), later(b, days: 20))
        let silent = try await silent(as: a)
        let peer = try await b.peer()
        #expect(silent.count == 1 && silent.first?.contains(peer.description) == true, "\(silent)")
        try await b.sync()
        #expect(try await self.silent(as: a).isEmpty)
    }

    @Test func `a silent peer is named by its id where a former self of its store has the same name`() async throws {
        try b.checkpoint()
        let backup = world.root + "/backup.db"
        try FileManager.default.copyItem(atPath: b.path, toPath: backup)
        try b.insert("three")
        try await settle(a, b)
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: b.path + suffix) }
        try FileManager.default.copyItem(atPath: backup, toPath: b.path)
        try await settle(a, b)
        let later = later(a, days: 20)
        let peer = try await b.peer()
        let help = try await Replicator.doctor(later.path, configuration: later.configuration).findings
            .filter { $0.code == "silent-peer" }.compactMap(\.help)
        #expect(help.count == 1 && help[0].contains("logsync peers retire STORE \(peer) "), "\(help)")
    }

    @Test func `a sync that finds nothing new writes a receipt that is a week old again, once, and nothing else`()
        async throws
    {
        let before = try world.listing()
        for machine in [later(a, days: 6), later(b, days: 6)] { try await machine.sync() }
        #expect(try world.listing() == before)
        for machine in [later(a, days: 8), later(b, days: 8)] { try await machine.sync() }
        let renewed = try world.listing()
        let changed = renewed.filter { before[$0.key] != $0.value && !$0.key.hasSuffix("/receipt.json") }
        // A folder's own entry changes with the file in it.
        #expect(changed.keys.allSatisfy { !$0.contains(".") }, "\(changed)")
        #expect(Set(renewed.keys) == Set(before.keys))
        for peer in [try await a.peer(), try await b.peer()] {
            #expect(before["notes/peers/\(peer)/receipt.json"] != renewed["notes/peers/\(peer)/receipt.json"])
        }
        for machine in [later(a, days: 9), later(b, days: 14), later(a, days: 14)] { try await machine.sync() }
        #expect(try world.listing() == renewed)
    }
}
