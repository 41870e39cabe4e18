import Foundation
import LogSync
import LogSyncModel
import Testing

@Suite("A store in one process with one whose folder lies in every way")
struct HostileNeighbourTests {
    /// How long rows took to come in and to go out, in milliseconds.
    private func times(_ a: Machine, from b: Machine, _ name: String) async throws -> [Double] {
        var times: [Double] = []
        for number in 0..<5 {
            let start = ContinuousClock.now
            try b.insert("\(name) \(number)")
            try await b.sync()
            try await eventually("it comes in") { try a.ids().contains("\(name) \(number)") }
            try a.insert("\(name) answer \(number)")
            try await eventually("it goes out") {
                try await b.sync()
                return try b.ids().contains("\(name) answer \(number)")
            }
            times.append(start.duration(to: .now) / .milliseconds(1))
        }
        return times.sorted()
    }

    @Test("hears and tells of everything all the while, and holds nothing")
    func neighbours() async throws {
        let (honest, hostile) = (try World(), try World())
        let a = try await honest.founder("a", rows: ["one"])
        let b = try await honest.clone("b")
        try await settle(a, b)
        let c = try await hostile.founder("c", rows: ["one"])
        let peer = try await c.peer()
        let replicators = [try a.replicator(), try c.replicator()]
        for replicator in replicators { await replicator.start() }
        let before = try await times(a, from: b, "before")
        for lie in Liar.Lie.allCases { try Liar(hostile).tell(lie, of: peer) }
        let during = try await times(a, from: b, "during")
        // The one that is lied to goes on, too.
        try c.insert("two")
        try await eventually("it is published") {
            let status = try await c.status()
            return status.outbox == 0 && status.pending == 0
        }
        #expect(try c.ids().contains("one"))
        #expect(try await a.status().held.isEmpty)
        for replicator in replicators {
            await replicator.stop()
            await replicator.close()
        }
        #expect(try Set(a.ids()) == Set(b.ids()))
        if ProcessInfo.processInfo.environment["LOGSYNC_TIMES"] != nil {
            print("there and back, median ms: before the lies \(before[2]), while they are read \(during[2])")
        }
    }
}
