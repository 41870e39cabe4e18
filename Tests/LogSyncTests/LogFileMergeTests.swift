import Foundation
import LogSyncModel
import Testing

@testable import LogSync

@Suite("Many small files become a few larger ones")
struct LogFileMergeTests {
    @Test("A hundred transactions leave a handful of files, and a clone has all rows")
    func merges() async throws {
        let world = try World()
        let a = try await world.founder("a")
        let peer = try await a.peer()
        var most = 0
        for index in 0..<100 {
            try a.insert("row\(index)")
            try await a.sync()
            most = max(most, try world.logs(peer).count)
        }
        #expect(most <= 18)
        let c = try await world.clone("c")
        #expect(try c.ids().count == 100)
        try await settle(a, c)
        #expect(try await c.sync().outcome == .complete)
        let before = try world.listing()
        try await a.sync()
        #expect(try world.listing() == before)
    }

    @Test("Files are merged though the outbox has let go of what they hold")
    func released() async throws {
        let world = try World()
        let a = try await world.founder("a")
        let peer = try await a.peer()
        for index in 0..<40 {
            try a.insert("row\(index)")
            try await a.sync()
            if index % 10 == 9 { try await a.snapshot() }
        }
        #expect(try world.logs(peer).count <= 18)
        for name in try world.snapshots(peer) {
            try FileManager.default.removeItem(atPath: world.snapshotPath(peer, name))
        }
        let b = try await world.clone("b")
        #expect(try b.ids().count == 40)
        #expect(try await b.sync().outcome == .complete)
        try await settle(a, b)
        #expect(try await a.status().digest == b.status().digest)
    }

    @Test("Merging keeps sizes geometric")
    func geometric() {
        #expect(LogFileMerge.start([Int](repeating: 1, count: 17)) == 0)
        #expect(LogFileMerge.start([1000] + [Int](repeating: 1, count: 16)) == 1)
        #expect(LogFileMerge.start([64 << 20] + [Int](repeating: 1, count: 16)) == 1)
        #expect(LogFileMerge.start([64 << 20, 64 << 20]) == 1)
    }

    @Test("Every transaction is written again only a few times")
    func amplification() {
        var sizes: [Int] = []
        var written = 0
        for _ in 0..<10_000 {
            sizes.append(1)
            written += 1
            guard sizes.count > 16 else { continue }
            let start = LogFileMerge.start(sizes)
            guard sizes.count - start > 1 else { continue }
            let sum = sizes[start...].reduce(0, +)
            sizes.replaceSubrange(start..., with: [sum])
            written += sum
        }
        #expect(sizes.count <= 17)
        #expect(written < 10_000 * 16)
    }
}
