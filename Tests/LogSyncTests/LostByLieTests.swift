import Foundation
import LogSyncModel
import Testing

@testable import LogSync

@Suite("A snapshot without values that nobody has lost, joined as a last resort")
struct LostByLieTests {
    @Test("keeps log files only as long as its author counts as one who shows them")
    func collection() async throws {
        let world = try World()
        var a = try await world.founder("a")
        try a.star("one", 1)
        var b = try await world.clone("b")
        let liar = try await world.clone("liar")
        try await settle(a, b, liar)
        try liar.dropStars()
        try liar.insert("lie")
        try await liar.sync()
        #expect(try await liar.snapshot().isPartial)
        let author = try await liar.peer()
        // Nothing else tells of it, and nothing of what it shows.
        try world.removeLogs(author)
        let folder = "\(world.contentPath)/peers/\(author)"
        for name in ["peer.json", "schemas"] { try FileManager.default.removeItem(atPath: "\(folder)/\(name)") }
        let start = SystemClock().now()
        for elapsed in [0, 602_000] as [Int64] {
            a.configuration.clock = FixedClock(start + elapsed)
            b.configuration.clock = FixedClock(start + elapsed)
            for machine in [a, b, a, b] { try await machine.sync() }
        }
        for machine in [a, b] { #expect(try machine.values() == ["lie=", "one=1"]) }
        try b.star("two", 2)
        try await settle(a, b)
        func collect() async throws {
            for _ in 0..<3 {
                for machine in [a, b] { _ = try await machine.compact() }
                for machine in [a, b] { try await machine.sync() }
            }
        }
        try await collect()
        let peers = [try await a.peer(), try await b.peer()]
        #expect(try peers.contains { try !world.logs($0).isEmpty })
        #expect(try await a.compact().blockedBy.map(\.id) == [author])
        try await a.with { try await $0.retire(author) }
        try await settle(a, b)
        try await collect()
        #expect(try peers.allSatisfy { try world.logs($0).isEmpty })
        let clone = try await world.clone("c")
        #expect(try clone.values() == ["lie=", "one=1", "two=2"])
    }
}
