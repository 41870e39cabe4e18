import Foundation
import LogSyncContainer
import LogSyncModel
import Testing

@testable import LogSync

/// What the tests of snapshots and collection look at.
extension World {
    func snapshots(_ peer: PeerID) throws -> [String] {
        let path = "\(contentPath)/peers/\(peer)/snapshots"
        guard FileManager.default.fileExists(atPath: path) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: path).filter { $0.hasSuffix(".snap") }.sorted()
    }

    func snapshotPath(_ peer: PeerID, _ name: String) -> String { "\(contentPath)/peers/\(peer)/snapshots/\(name)" }

    /// Takes all log files of a peer away, as a collection that went before or a folder that lost them.
    func removeLogs(_ peer: PeerID) throws {
        for name in try logs(peer) { try FileManager.default.removeItem(atPath: "\(logsPath(peer))/\(name)") }
    }

    /// Changes one byte in the middle of a file.
    func damage(_ path: String) throws {
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        bytes[bytes.count / 2] ^= 0x10
        try bytes.write(to: URL(fileURLWithPath: path))
    }
}

extension Machine {
    @discardableResult
    func snapshot() async throws -> SnapshotReport { try await with { try await $0.snapshot() } }

    @discardableResult
    func compact(grace: Duration = .zero, dryRun: Bool = false) async throws -> CompactReport {
        try await with { try await $0.compact(grace: grace, dryRun: dryRun) }
    }
}

@Suite("Snapshots are taken, and a clone starts from them")
struct SnapshotTests {
    @Test("A snapshot is published once, and again when there is something new")
    func taking() async throws {
        let world = try World()
        let a = try await world.founder("a", rows: ["one"])
        let peer = try await a.peer()
        let first = try await a.snapshot()
        #expect(first.isNew)
        #expect(try world.snapshots(peer) == [first.file])
        #expect(try await !a.snapshot().isNew)
        try a.insert("two")
        let second = try await a.snapshot()
        #expect(second.isNew && second.vector[peer] == first.vector[peer] + 1)
        #expect(try await a.status().outbox == 0)
        try a.insert("three")
        let third = try await a.snapshot()
        #expect(try world.snapshots(peer) == [second.file, third.file], "two stand, one always")
        let listing = try world.listing()
        #expect(try await a.sync().outcome == .complete)
        #expect(try world.listing() == listing, "nothing is written again")
    }

    @Test("A clone takes the snapshot and the logs after it")
    func cloning() async throws {
        let world = try World()
        let a = try await world.founder("a", rows: ["one", "two"])
        let peer = try await a.peer()
        try a.execute("DELETE FROM note WHERE id = 'two'")
        let snapshot = try await a.snapshot()
        try world.removeLogs(peer)
        try a.insert("three")
        try await a.sync()
        #expect(try world.logs(peer).count == 1, "what the snapshot stands for is not missing")
        let b = try await world.clone("b")
        #expect(try b.ids() == ["one", "three"])
        #expect(try await b.sync().outcome == .complete)
        try await settle(a, b)
        let (left, right) = (try await a.status(), try await b.status())
        #expect(left.vector == right.vector && left.digest == right.digest)
        #expect(left.vector[peer] == snapshot.vector[peer] + 1)
        try b.insert("four")
        try await settle(a, b)
        #expect(try a.ids() == ["four", "one", "three"])
    }

    @Test("A damaged snapshot is passed over for an older one, and for the logs", arguments: [1, 2])
    func damaged(count: Int) async throws {
        let world = try World()
        let a = try await world.founder("a", rows: ["one"])
        let peer = try await a.peer()
        let first = try await a.snapshot()
        try a.insert("two")
        let second = try await a.snapshot()
        try world.damage(world.snapshotPath(peer, second.file))
        if count == 2 { try world.damage(world.snapshotPath(peer, first.file)) }
        let b = try await world.clone("b")
        #expect(try b.ids() == ["one", "two"])
        // The owner notices and writes another.
        try await a.sync()
        try world.removeLogs(peer)
        let c = try await world.clone("c")
        #expect(try c.ids() == ["one", "two"])
        try await settle(a, b, c)
        #expect(try await a.status().digest == c.status().digest)
    }

    @Test("A snapshot that has more than any log file or receipt speaks of is joined when it has waited for long")
    func unspokenOf() async throws {
        let world = try World()
        let a = try await world.founder("a", rows: ["one"])
        var b = try await world.clone("b")
        try await settle(a, b)
        let receipt = "\(world.contentPath)/peers/\(try await a.peer())/receipt.json"
        let earlier = try Data(contentsOf: URL(fileURLWithPath: receipt))
        try a.insert("two")
        try await a.snapshot()
        try world.removeLogs(try await a.peer())
        try earlier.write(to: URL(fileURLWithPath: receipt))
        try await b.sync()
        #expect(try b.ids() == ["one"], "log files may still be on their way")
        b.configuration.clock = FixedClock(SystemClock().now() + 601_000)
        try await b.sync()
        #expect(try b.ids() == ["one", "two"])
    }

    @Test("Who is away while logs go joins the snapshot: its work survives, deleted rows stay deleted")
    func returningLate() async throws {
        let world = try World()
        let a = try await world.founder("a", rows: ["one", "two"])
        let b = try await world.clone("b")
        try await settle(a, b)
        try a.execute("DELETE FROM note WHERE id = 'one'; UPDATE note SET body = 'from a' WHERE id = 'two'")
        try a.insert("three")
        try await a.sync()
        let peer = try await a.peer()
        try await a.snapshot()
        try world.removeLogs(peer)
        try b.insert("four")
        try b.execute("UPDATE note SET stars = 5 WHERE id = 'two'")
        let result = try await b.sync()
        #expect(result.outcome == .complete)
        #expect(result.imported >= 1)
        #expect(try b.notes() == ["four=", "three=", "two=from a"])
        try await settle(a, b)
        #expect(try a.notes() == b.notes())
        #expect(try a.count("SELECT stars FROM note WHERE id = 'two'") == 5)
        #expect(try await a.status().digest == b.status().digest)
    }

    @Test("A gap is bridged by anyone's snapshot, and a database with rows of its own joins one")
    func bridging() async throws {
        let world = try World()
        let a = try await world.founder("a", rows: ["one"])
        let b = try await world.clone("b")
        let c = try await world.clone("c")
        try await settle(a, b, c)
        let peer = try await a.peer()
        try a.insert("two")
        try await a.sync()
        try await b.sync()
        try await b.snapshot()
        // The owner of the missing file will not write it again.
        try world.removeLogs(peer)
        #expect(try await c.sync().outcome == .complete)
        #expect(try c.ids() == ["one", "two"])
        let d = try world.machine("d")
        try d.makeDatabase()
        try d.insert("two", "mine")
        try d.insert("five")
        try await d.initialize()
        #expect(try d.ids() == ["five", "one", "two"])
        try await settle(a, b, c, d)
        #expect(try a.ids() == ["five", "one", "two"])
        #expect(try await a.status().digest == d.status().digest)
    }

    @Test("A clone that was interrupted goes on where it was")
    func interruptedClone() async throws {
        let world = try World()
        let a = try await world.founder("a")
        try a.execute(
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000)
            INSERT INTO note(id, body) SELECT i, hex(randomblob(400)) FROM n
            """)
        try await a.snapshot()
        let b = try world.machine("b")
        let cloning = Task {
            try await Replicator.clone(
                to: b.path, container: world.container, content: "notes", peerName: "b",
                configuration: b.configuration
            ) { progress in
                if progress.frames > 0 { withUnsafeCurrentTask { $0?.cancel() } }
            }
        }
        await #expect(throws: CancellationError.self) { try await cloning.value }
        #expect(!FileManager.default.fileExists(atPath: b.path))
        #expect(FileManager.default.fileExists(atPath: b.path + ".logsync-clone"))
        let again = try await world.clone("b")
        #expect(try again.ids() == a.ids())
        try await settle(a, again)
        #expect(try await a.status().digest == again.status().digest)
        #expect(!FileManager.default.fileExists(atPath: b.path + ".logsync-clone"))
    }

    @Test("Where the outbox has let go, a wiped folder is mended by a snapshot")
    func mending() async throws {
        let world = try World()
        let a = try await world.founder("a", rows: ["one", "two"])
        let peer = try await a.peer()
        try await a.snapshot()
        try FileManager.default.removeItem(atPath: "\(world.contentPath)/peers/\(peer)")
        try a.insert("three")
        try await a.sync()
        #expect(try world.snapshots(peer).count == 1)
        let b = try await world.clone("b")
        #expect(try b.ids() == ["one", "three", "two"])
    }

    @Test("What a peer wrote last before it was retired comes by a snapshot, whatever its receipt says")
    func lastWordOfTheRetired() async throws {
        let world = try World()
        let a = try await world.founder("a", rows: ["one"])
        let b = try await world.clone("b")
        try await settle(a, b)
        let peer = try await a.peer()
        let receipt = "\(world.contentPath)/peers/\(peer)/receipt.json"
        let former = try Data(contentsOf: URL(fileURLWithPath: receipt))
        try a.insert("two")
        try await a.sync()
        try await a.snapshot()
        // Its folder is an older one but for the snapshot, and it will never write there again.
        try former.write(to: URL(fileURLWithPath: receipt))
        try FileManager.default.removeItem(atPath: "\(world.logsPath(peer))/\(try #require(try world.logs(peer).last))")
        try await b.with { try await $0.retire(peer) }
        try await b.sync()
        #expect(try b.ids() == ["one", "two"])
    }
}
