import Forgery
import Foundation
import LogSync
import LogSyncModel
import Testing

@Suite("Files go only for snapshots that can be read to their ends")
struct SnapshotReadBackTests {
    @Test(
        "A stranger's snapshot of right hashes takes nobody's log files away",
        arguments: [[0xFF, 0xFF, 0xFF], []] as [[UInt8]])
    func senseless(frame: [UInt8]) async throws {
        let world = try World()
        let a = try await world.founder("a", rows: ["one"])
        let b = try await world.clone("b")
        try await settle(a, b)
        let (first, second) = (try await a.peer(), try await b.peer())
        let stranger = PeerID(high: .max, low: .max)
        let vector = try await a.status().vector
        var snapshot = ForgedSnapshot(
            by: stranger,
            vector: [first, second].sorted().map { ($0, vector[$0]) } + [(stranger, 1)])
        // Undecodable rows; or none, and not what the digest says.
        snapshot.frames = frame.isEmpty ? [] : [frame]
        snapshot.digest = 1
        let folder = ForgedFolder(world.contentPath)
        try folder.put(snapshot)
        try folder.put(ForgedLogFile([ForgedTransaction(Dot(stranger, 1))]), of: stranger)
        let logs = try world.logs(first)
        #expect(!logs.isEmpty)
        for machine in [b, a, b, a] {
            try await machine.sync()
            _ = try await machine.compact()
        }
        #expect(try Set(world.logs(first)).isSuperset(of: logs))
        #expect(try await world.clone("c").ids() == ["one"])
    }
}
