import Foundation
import LogSyncContainer
import LogSyncModel
import Testing

@testable import LogSync

@Suite("Log files go when nobody needs them any more")
struct CollectionTests {
    /// Two peers that have everything, with a few log files of the first.
    private func pair(_ world: World) async throws -> (a: Machine, b: Machine) {
        let a = try await world.founder("a", rows: ["one"])
        let b = try await world.clone("b")
        for row in ["two", "three"] {
            try a.insert(row)
            try await settle(a, b)
        }
        return (a, b)
    }

    private func deleted(_ report: CompactReport) -> [String] {
        report.files.filter { $0.action == .delete }.map(\.file)
    }

    @Test("Only after a snapshot, a mark, and everybody's answer to it")
    func steps() async throws {
        let world = try World()
        let (a, b) = try await pair(world)
        let peer = try await a.peer()
        let logs = try world.logs(peer)
        let dry = try await a.compact(dryRun: true)
        #expect(dry.dryRun && dry.files.contains { $0.action == .publish && $0.reason == .needed })
        #expect(try world.logs(peer) == logs && world.snapshots(peer).isEmpty, "a dry run does nothing")
        let first = try await a.compact()
        #expect(deleted(first).isEmpty)
        #expect(first.blockedBy.map(\.name) == ["b"])
        #expect(first.files.filter { $0.reason == .unacknowledged }.count == logs.count)
        #expect(try await deleted(a.compact()).isEmpty, "asking again is no answer")
        try await b.sync()
        let second = try await a.compact()
        #expect(deleted(second).count == logs.count)
        #expect(second.blockedBy.isEmpty)
        #expect(try world.logs(peer).isEmpty)
        // Nothing comes back by itself, and everybody goes on.
        try a.insert("four")
        try await settle(a, b)
        #expect(try world.logs(peer).count == 1)
        let c = try await world.clone("c")
        try await settle(a, b, c)
        for machine in [a, b, c] { #expect(try machine.ids() == ["four", "one", "three", "two"]) }
        #expect(try await a.status().digest == c.status().digest)
        #expect(try await deleted(a.compact()).isEmpty)
    }

    @Test("Files younger than the grace period stay, and so does what no snapshot stands for")
    func grace() async throws {
        let world = try World()
        let (a, b) = try await pair(world)
        try await a.snapshot()
        try await settle(a, b)
        _ = try await a.compact(grace: .seconds(3600))
        try await b.sync()
        let report = try await a.compact(grace: .seconds(3600))
        #expect(deleted(report).isEmpty && report.blockedBy.isEmpty)
        #expect(report.files.contains { $0.reason == .young })
        let peer = try await a.peer()
        for name in try world.logs(peer) {
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -7200)],
                ofItemAtPath: "\(world.logsPath(peer))/\(name)")
        }
        #expect(try await deleted(a.compact(grace: .seconds(3600))).count >= 3)
        #expect(try world.snapshots(peer).count >= 1)
    }

    @Test("A receipt from before the mark is no answer, however much it claims")
    func oldReceipt() async throws {
        let world = try World()
        let (a, b) = try await pair(world)
        let other = try await b.peer()
        let receipt = "\(world.contentPath)/peers/\(other)/receipt.json"
        let before = try Data(contentsOf: URL(fileURLWithPath: receipt))
        _ = try await a.compact()
        try await b.sync()
        // The carrier brings the older one back.
        try before.write(to: URL(fileURLWithPath: receipt))
        let report = try await a.compact()
        #expect(deleted(report).isEmpty)
        #expect(report.blockedBy.map(\.id) == [other])
    }

    @Test("A silent peer is named; retired, it blocks no more, its covered files go, and it comes back unharmed")
    func retiring() async throws {
        let world = try World()
        let (a, b) = try await pair(world)
        let c = try await world.clone("c")
        try c.insert("of c")
        try await settle(a, b, c)
        let silent = try await c.peer()
        // From here on c hears and says nothing.
        try c.insert("offline")
        try a.execute("DELETE FROM note WHERE id = 'two'")
        try await settle(a, b)
        _ = try await a.compact()
        try await b.sync()
        let blocked = try await a.compact()
        #expect(deleted(blocked).isEmpty)
        #expect(blocked.blockedBy.map(\.id) == [silent])
        try await a.with { try await $0.retire(silent) }
        _ = try await a.compact()
        try await b.sync()
        let report = try await a.compact()
        #expect(report.blockedBy.isEmpty)
        #expect(deleted(report).contains { $0.contains(silent.description) })
        #expect(try world.logs(try await a.peer()).isEmpty)
        #expect(try world.logs(silent).isEmpty)
        // It comes back.
        #expect(try await c.sync().outcome == .complete)
        #expect(try c.ids() == ["of c", "offline", "one", "three"])
        try await settle(a, b, c)
        for machine in [a, b] { #expect(try machine.ids() == ["of c", "offline", "one", "three"]) }
        #expect(try await a.status().digest == c.status().digest)
    }

    @Test("Two peers that compact at once delete their own and nothing of each other's")
    func two() async throws {
        let world = try World()
        let (a, b) = try await pair(world)
        try b.insert("of b")
        try await settle(a, b)
        for _ in 0..<3 {
            async let first = a.compact()
            async let second = b.compact()
            _ = try await (first, second)
        }
        try await settle(a, b)
        let c = try await world.clone("c")
        try await settle(a, b, c)
        #expect(try c.ids() == ["of b", "one", "three", "two"])
        #expect(try await a.status().digest == c.status().digest)
        for machine in [a, b] { #expect(try world.snapshots(try await machine.peer()).count <= 2) }
    }

    @Test("A file that the carrier brings back does no harm and goes again")
    func resurrected() async throws {
        let world = try World()
        let (a, b) = try await pair(world)
        let peer = try await a.peer()
        let name = try #require(try world.logs(peer).first)
        let path = "\(world.logsPath(peer))/\(name)"
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        _ = try await a.compact()
        try await b.sync()
        _ = try await a.compact()
        #expect(try world.logs(peer).isEmpty)
        try bytes.write(to: URL(fileURLWithPath: path))
        try await settle(a, b)
        #expect(try await b.sync().outcome == .complete)
        #expect(try world.logs(peer) == [name])
        #expect(try await deleted(a.compact()).count == 1)
        #expect(try world.logs(peer).isEmpty)
    }

    @Test("One peer's snapshots stand for all: of any peer's one goes when two sound ones have all of it and more")
    func oneForAll() async throws {
        let world = try World()
        let (a, b) = try await pair(world)
        let (peer, other) = (try await a.peer(), try await b.peer())
        try await b.snapshot()
        let old = try world.snapshots(other)
        #expect(old.count == 1)
        for row in ["four", "five"] {
            try a.insert(row)
            try await settle(a, b)
            try await a.snapshot()
            _ = try await b.compact()
            #expect(try world.snapshots(other) == (row == "four" ? old : []), "two have to stand")
        }
        #expect(try world.snapshots(peer).count == 2)
        // Nobody puts back what stands elsewhere.
        try b.insert("six")
        try await settle(a, b)
        for _ in 0..<2 {
            _ = try await a.compact()
            try await settle(a, b)
            _ = try await b.compact()
        }
        #expect(try world.snapshots(other).count + world.snapshots(peer).count == 2)
        let c = try await world.clone("c")
        #expect(try c.ids() == a.ids())
    }

    @Test("A damaged snapshot stands for none of another peer's")
    func damagedElsewhere() async throws {
        let world = try World()
        let (a, b) = try await pair(world)
        let (peer, other) = (try await a.peer(), try await b.peer())
        try await b.snapshot()
        let old = try world.snapshots(other)
        for row in ["four", "five"] {
            try a.insert(row)
            try await settle(a, b)
            try await a.snapshot()
        }
        let newest = try #require(try world.snapshots(peer).max())
        try world.damage("\(world.contentPath)/peers/\(peer)/snapshots/\(newest)")
        _ = try await b.compact()
        #expect(try world.snapshots(other) == old)
    }

    @Test("A snapshot that was lost after logs went is written again")
    func lostSnapshot() async throws {
        let world = try World()
        let (a, b) = try await pair(world)
        let peer = try await a.peer()
        _ = try await a.compact()
        try await b.sync()
        _ = try await a.compact()
        for name in try world.snapshots(peer) {
            try FileManager.default.removeItem(atPath: world.snapshotPath(peer, name))
        }
        try await a.sync()
        #expect(try world.snapshots(peer).count == 1)
        #expect(try await world.clone("c").ids() == ["one", "three", "two"])
    }

    @Test(
        "A dry run says what compacting then does, the snapshot that it takes first included", arguments: [false, true])
    func dryRun(isWritten: Bool) async throws {
        let world = try World()
        let (a, b) = try await pair(world)
        for number in 0..<2 {
            try a.insert("older \(number)")
            // A large value, which the log file that goes named alone.
            try a.execute("UPDATE note SET body = hex(randomblob(200000)) WHERE id = 'one'")
            for _ in 0..<2 {
                try await settle(a, b)
                _ = try await a.compact()
            }
        }
        try a.execute("UPDATE note SET body = 'small' WHERE id = 'one'")
        try await settle(a, b)
        // What is to be recorded first changes nothing of what is said about files, but that blobs may be named still.
        if isWritten { try a.insert("late") }
        let dry = try await a.compact(dryRun: true)
        if isWritten { try a.execute("DELETE FROM note WHERE id = 'late'") }
        let done = try await a.compact()
        func said(_ report: CompactReport) -> [String] {
            report.files.map { "\($0.action) \($0.reason) " + ($0.action == .publish ? "" : $0.file) }.sorted()
        }
        let blobs = { (line: String) in line.contains("/blobs/") }
        #expect(said(dry).filter { !blobs($0) } == said(done).filter { !blobs($0) })
        #expect(dry.blockedBy == done.blockedBy && dry.blockedBy.map(\.name) == ["b"])
        #expect(said(done).contains { blobs($0) && $0.hasPrefix("delete unnamed") })
        if !isWritten { #expect(said(dry) == said(done)) }
        let sizes = [dry.files, done.files].map { $0.first { $0.action == .publish }?.bytes ?? 0 }
        #expect(isWritten || sizes[0] > 0 && abs(Int(sizes[0]) - Int(sizes[1])) < 16)
    }
}
