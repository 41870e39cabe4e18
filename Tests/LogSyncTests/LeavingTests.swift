import Foundation
import LogSyncModel
import LogSync
import Testing

@Suite("Who leaves a folder keeps nobody waiting there")
struct LeavingTests {
    let world: World
    let a: Machine
    let b: Machine
    let c: Machine

    init() async throws {
        world = try World()
        a = try await world.founder("a", rows: ["one"])
        b = try await world.clone("b")
        c = try await world.clone("c")
        try c.insert("of c")
        try await settle(a, b, c)
    }

    /// Lets a and b collect in turn, as their daemons do; what goes in the end.
    private func collected() async throws -> CompactReport {
        for _ in 0..<2 {
            for machine in [a, b] { _ = try await machine.compact() }
            for machine in [a, b] { try await machine.sync() }
        }
        return try await a.compact()
    }

    private func expectCollected(without gone: PeerID) async throws {
        let report = try await collected()
        #expect(report.blockedBy.isEmpty)
        for peer in [try await a.peer(), try await b.peer(), gone] { #expect(try world.logs(peer).isEmpty) }
        #expect(try await a.status().peers.first { $0.id == gone }?.retired == true)
        #expect(try await world.clone("d").ids().count == a.ids().count)
    }

    @Test("A peer that has moved away is not waited for, and its log files go")
    func move() async throws {
        let there = world.root + "/There"
        try FileManager.default.createDirectory(atPath: there, withIntermediateDirectories: true)
        let gone = try await c.peer()
        _ = try await c.with { try await $0.move(to: there) }
        try a.insert("after")
        try await settle(a, b)
        try await expectCollected(without: gone)
        // At the new place it takes part as ever.
        #expect(try await c.peer() == gone)
        let status = try await c.status()
        #expect(status.outbox == 0)
        let receipt = "\(there)/notes/peers/\(gone)/receipt.json"
        #expect(try !String(contentsOfFile: receipt, encoding: .utf8).contains("\"left\""))
    }

    @Test("One that comes back is waited for again, and has what came meanwhile")
    func moveBack() async throws {
        let there = world.root + "/There"
        try FileManager.default.createDirectory(atPath: there, withIntermediateDirectories: true)
        let gone = try await c.peer()
        _ = try await c.with { try await $0.move(to: there) }
        try a.insert("after")
        try await settle(a, b)
        _ = try await collected()
        try c.insert("away")
        _ = try await c.with { try await $0.move(to: world.container) }
        try await settle(a, b, c)
        #expect(try await a.status().peers.first { $0.id == gone }?.retired == false)
        try a.insert("again")
        try await settle(a, b)
        _ = try await a.compact()
        try await b.sync()
        #expect(try await a.compact().blockedBy.map(\.id) == [gone])
        try await settle(a, b, c)
        for machine in [a, b, c] { #expect(try machine.ids() == ["after", "again", "away", "of c", "one"]) }
        #expect(try await c.status().digest == a.status().digest)
    }

    @Test("Once it has come back, its farewell that the carrier brings back counts for nothing")
    func oldFarewell() async throws {
        let there = world.root + "/There"
        try FileManager.default.createDirectory(atPath: there, withIntermediateDirectories: true)
        let gone = try await c.peer()
        _ = try await c.with { try await $0.move(to: there) }
        let receipt = URL(fileURLWithPath: "\(world.contentPath)/peers/\(gone)/receipt.json")
        let farewell = try Data(contentsOf: receipt)
        #expect(String(decoding: farewell, as: UTF8.self).contains("\"left\":true"))
        _ = try await c.with { try await $0.move(to: world.container) }
        try await settle(a, b, c)
        // From here on c is away and says nothing.
        try a.insert("not seen by c")
        try await settle(a, b)
        let logs = try world.logs(try await a.peer())
        try farewell.write(to: receipt)
        #expect(try await collected().blockedBy.map(\.id) == [gone])
        #expect(try world.logs(try await a.peer()).count >= logs.count)
        for machine in [a, b] {
            #expect(try await machine.status().peers.first { $0.id == gone }?.retired == false)
        }
        // When it speaks again, it has everything.
        try await settle(a, b, c)
        #expect(try c.ids() == ["not seen by c", "of c", "one"])
        #expect(try await collected().blockedBy.isEmpty)
    }

    @Test("A store that is no peer any more is not waited for either")
    func leave() async throws {
        let gone = try await c.peer()
        try c.insert("the last of c")
        _ = try await c.with { try await $0.leave() }
        try await settle(a, b)
        #expect(try a.ids().contains("the last of c"))
        try await expectCollected(without: gone)
    }

    @Test(
        "A move that was killed before the store was elsewhere is taken back by the next sync, or finished where that had begun",
        arguments: [true, false])
    func killed(hadBegun: Bool) async throws {
        let there = world.root + "/There"
        try FileManager.default.createDirectory(atPath: there, withIntermediateDirectories: true)
        let gone = try await c.peer()
        try c.checkpoint()
        let whole = try Data(contentsOf: URL(fileURLWithPath: c.path))
        _ = try await c.with { try await $0.move(to: there) }
        // As it was before its last write: it still says that it is here.
        for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: c.path + suffix) }
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: c.path))
        try handle.truncate(atOffset: 0)
        try handle.write(contentsOf: whole)
        try handle.close()
        if !hadBegun {
            // The state file is told before the store.
            let file = URL(fileURLWithPath: "\(c.configuration.stateDirectory)/stores/\(gone).json")
            let text = try String(contentsOf: file, encoding: .utf8)
            let former = text.replacingOccurrences(
                of: there.replacingOccurrences(of: "/", with: "\\/"),
                with: world.container.replacingOccurrences(of: "/", with: "\\/"))
            #expect(former != text)
            try former.write(to: file, atomically: true, encoding: .utf8)
        }
        #expect(try await a.status().peers.first { $0.id == gone }?.retired == true)
        try await c.sync()
        let status = try await c.status()
        #expect(status.peer.id == gone && status.container.path == (hadBegun ? there : world.container))
        #expect(try await a.status().peers.first { $0.id == gone }?.retired == hadBegun)
    }
}
