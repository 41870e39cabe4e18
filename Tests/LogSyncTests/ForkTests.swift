import Crypto
import Foundation
import LogModel
import LogSync
import Testing

@Suite("Histories that contradict each other, and formats not yet known")
struct ForkTests {
    let world: World
    let a: Machine
    let b: Machine

    init() async throws {
        world = try World()
        a = try await world.founder("a", rows: ["one"])
        b = try await world.clone("b")
        try await settle(a, b)
    }

    @Test("One dot with different bytes is reported as a fork; what does not depend on it goes on")
    func fork() async throws {
        let c = try await world.clone("c")
        try await settle(a, b, c)
        let peer = try await a.peer()
        try a.checkpoint()
        let twin = world.root + "/twin.db"
        try FileManager.default.copyItem(atPath: a.path, toPath: twin)
        try FileManager.default.copyItem(
            atPath: a.configuration.stateDirectory, toPath: a.configuration.stateDirectory + "-twin")
        let apart = world.container + "-apart"
        try FileManager.default.copyItem(atPath: world.container, toPath: apart)

        // Here it goes on as it was …
        try a.insert("here")
        try await a.sync()
        try a.insert("here too")
        try await a.sync()
        // … and in another copy of the folder its twin does, with its own state and in its own place.
        try FileManager.default.moveItem(atPath: a.path, toPath: world.root + "/a.db")
        try FileManager.default.moveItem(atPath: world.container, toPath: world.container + "-real")
        try FileManager.default.moveItem(atPath: apart, toPath: world.container)
        try FileManager.default.moveItem(atPath: twin, toPath: a.path)
        var other = a
        other.configuration.stateDirectory += "-twin"
        try other.insert("there")
        try await other.sync()
        #expect(try await other.peer() == peer)
        let branch = try #require(try world.logs(peer).last)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(world.logsPath(peer))/\(branch)"))
        try FileManager.default.moveItem(atPath: world.container, toPath: apart)
        try FileManager.default.moveItem(atPath: world.container + "-real", toPath: world.container)
        try FileManager.default.removeItem(atPath: a.path)
        try FileManager.default.moveItem(atPath: world.root + "/a.db", toPath: a.path)

        // The folders meet.
        try bytes.write(to: URL(fileURLWithPath: "\(world.logsPath(peer))/\(branch)"))
        try c.insert("from c")
        try await c.sync()
        let result = try await b.sync()
        #expect(result.outcome == .integrity)
        #expect(result.held.contains { $0.reason == .fork && $0.peer.id == peer })
        #expect(try b.ids().contains("from c"))
        // Its owner says so too, and leaves the other branch where it is.
        let own = try await a.sync()
        #expect(own.held.contains { $0.reason == .fork && $0.peer.id == peer && $0.file == branch })
        #expect(try world.logs(peer).contains(branch))
    }

    @Test("A file of a newer format is held, and not taken for damage")
    func newer() async throws {
        try a.insert("two")
        try await a.sync()
        let peer = try await a.peer()
        let name = try #require(try world.logs(peer).last)
        let path = "\(world.logsPath(peer))/\(name)"
        var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        bytes[8] = 2
        let length = Int(bytes[12]) | Int(bytes[13]) << 8
        bytes.replaceSubrange(length - 8..<length, with: Array(SHA256.hash(data: bytes[..<(length - 8)])).prefix(8))
        let digits = SHA256.hash(data: bytes).prefix(16).map { String(format: "%02x", $0) }.joined()
        let newName = String(name.prefix(26)) + digits + ".tlog"
        try FileManager.default.removeItem(atPath: path)
        try Data(bytes).write(to: URL(fileURLWithPath: "\(world.logsPath(peer))/\(newName)"))
        let result = try await b.sync()
        #expect(result.held.map(\.reason) == [.newerFormat])
        #expect(result.held.first?.file == newName)
        #expect(result.outcome == .held)
    }
}
