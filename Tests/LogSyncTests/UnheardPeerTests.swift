import Crypto
import Foundation
import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import Testing

@testable import LogSync

extension World {
    private func folder(_ peer: PeerID) -> String { "\(contentPath)/peers/\(peer)" }

    /// Nothing of a peer has arrived where the others look.
    fileprivate func hide(_ peer: PeerID) throws {
        try FileManager.default.moveItem(atPath: folder(peer), toPath: "\(root)/\(peer)")
    }

    fileprivate func show(_ peer: PeerID) throws {
        try FileManager.default.moveItem(atPath: "\(root)/\(peer)", toPath: folder(peer))
    }

    fileprivate func header(_ peer: PeerID, _ name: String) throws -> SnapshotReader {
        try SnapshotReader(MemorySource([UInt8](Data(contentsOf: URL(fileURLWithPath: snapshotPath(peer, name))))))
    }

    /// Makes a snapshot one from before there were lists: it says in a byte of its header that it is partial.
    fileprivate func makeOld(_ peer: PeerID, _ name: String) throws {
        let whole = [UInt8](try Data(contentsOf: URL(fileURLWithPath: snapshotPath(peer, name))))
        let length = Int(whole[12]) | Int(whole[13]) << 8
        var bytes = Array(whole[..<(length - 8)]) + [1]
        bytes[12] = UInt8(truncatingIfNeeded: length + 1)
        bytes[13] = UInt8((length + 1) >> 8)
        bytes += SHA256.hash(data: bytes).prefix(8)
        bytes += whole[length..<(whole.count - 48)]
        bytes += withUnsafeBytes(of: UInt64(bytes.count + 48).littleEndian, Array.init)
        bytes += Array(SHA256.hash(data: bytes)) + whole.suffix(8)
        let hash = SHA256.hash(data: bytes).prefix(16).map { String(format: "%02x", $0) }.joined()
        try FileManager.default.removeItem(atPath: snapshotPath(peer, name))
        try Data(bytes).write(to: URL(fileURLWithPath: snapshotPath(peer, "\(name.prefix(12))-\(hash).snap")))
    }
}

@Suite("Whoever reads a snapshot decides for itself whether that is partial")
struct UnheardPeerTests {
    let world: World
    /// The author, whose app drops the column, as that of `r` has.
    let p: Machine
    /// Shows the column, and has not been heard of when the snapshot is taken.
    let q: Machine
    let r: Machine

    init() async throws {
        world = try World()
        p = try await world.founder("p")
        try p.star("one", 1)
        try await p.sync()
        q = try await world.clone("q")
        // The schema that clones take.
        try q.execute("PRAGMA user_version = 9")
        try await q.sync()
        try world.hide(try await q.peer())
        r = try await world.clone("r")
        try p.star("two", 2)
        try await settle(p, r)
        for machine in [p, r] { try machine.dropStars() }
        try await settle(p, r)
        let report = try await p.snapshot()
        #expect(report.isNew && !report.isPartial, "nobody is known who shows it")
        #expect(try await world.header(p.peer(), report.file).manifest.lost == [ColumnName("note", "stars")])
    }

    /// Copies of a peer's log files, to be brought back.
    private func setAside(_ peer: PeerID) throws -> String {
        let aside = "\(world.root)/aside"
        try FileManager.default.copyItem(atPath: world.logsPath(peer), toPath: aside)
        return aside
    }

    private func bringBack(_ aside: String, _ peer: PeerID) throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: aside) where name.hasSuffix(".tlog") {
            try FileManager.default.moveItem(atPath: "\(aside)/\(name)", toPath: "\(world.logsPath(peer))/\(name)")
        }
    }

    @Test("Log files stay once who shows the column is known, and go when nobody does", arguments: [true, false])
    func collection(drops: Bool) async throws {
        let peer = try await p.peer()
        let (logs, snapshots) = try (world.logs(peer), world.snapshots(peer))
        try world.show(try await q.peer())
        #expect(try await p.status().lacks.map(\.name) == ["note.stars"])
        for _ in 0..<3 {
            for machine in [p, q, r] { try await machine.sync() }
            try await p.compact()
        }
        #expect(try q.values() == ["one=1", "two=2"], "it got everything from them, and answered")
        #expect(try world.logs(peer) == logs, "the next one that shows it wants them, too")
        if drops {
            try q.dropStars()
            try await settle(p, q, r)
        } else {
            try await p.with { try await $0.retire(try await q.peer()) }
        }
        for _ in 0..<3 {
            for machine in drops ? [p, q, r] : [p, r] { try await machine.sync() }
            try await p.compact()
        }
        #expect(try !world.logs(peer).contains { logs.contains($0) })
        #expect(try world.snapshots(peer).contains(snapshots[0]), "the same one stands for them now")
    }

    @Test("Who has the column waits for the log files, and gets its values when they come after all")
    func joining() async throws {
        let peer = try await p.peer()
        let aside = try setAside(peer)
        for _ in 0..<2 {
            try await p.compact()
            for machine in [p, r] { try await machine.sync() }
        }
        #expect(try world.logs(peer).isEmpty, "all that are known have them")
        try world.show(try await q.peer())
        let waiting = try await q.sync()
        #expect(waiting.outcome == .held && waiting.held.contains { $0.file?.hasSuffix(".snap") ?? false })
        #expect(try q.values() == ["one=1"])
        try bringBack(aside, peer)
        #expect(try await q.sync().outcome == .complete)
        #expect(try q.values() == ["one=1", "two=2"])
        #expect(try await !q.snapshot().isPartial)
    }

    @Test("Where they do not come, it joins in the end, and says what it has lost")
    func lastResort() async throws {
        let peer = try await p.peer()
        try world.removeLogs(peer)
        try world.removeLogs(try await r.peer())
        // Another that does not show it waits as well where it knows who does.
        let other = try await world.clone("s")
        #expect(try other.ids() == ["one", "two"], "it knows of nobody")
        try world.show(try await q.peer())
        var q = q
        #expect(try await q.sync().outcome == .held)
        q.configuration.clock = FixedClock(SystemClock().now() + 602_000)
        try await q.sync()
        #expect(try q.values() == ["one=1", "two="])
        let report = try await q.snapshot()
        #expect(!report.isPartial, "nobody else shows it")
        #expect(try await world.header(q.peer(), report.file).manifest.lost == [ColumnName("note", "stars")])
        #expect(try await p.status().lacks.isEmpty)
        let made = try await other.snapshot()
        #expect(try await world.header(other.peer(), made.file).manifest.lost == [ColumnName("note", "stars")])
    }

    @Test("A new store that shows the column is made from the log files")
    func cloning() async throws {
        try world.show(try await q.peer())
        let clone = try await world.clone("s")
        #expect(try clone.values() == ["one=1", "two=2"])
        #expect(try await clone.status().lacks.isEmpty)
        try q.dropStars()
        try await q.sync()
        // Whatever the others' apps do: what a clone shows itself counts.
        try world.hide(try await q.peer())
        try world.hide(try await clone.peer())
        let text = try world.header(try await p.peer(), try world.snapshots(try await p.peer())[0]).manifest.schemaText
        #expect(!text.contains("stars"))
        let without = try await world.clone("t")
        #expect(throws: (any Error).self) { try without.values() }
        #expect(try without.ids() == ["one", "two"])
    }

    @Test("One that says in its header that it is partial is so for everybody")
    func old() async throws {
        let peer = try await r.peer()
        let made = try await r.snapshot()
        for name in try world.snapshots(try await p.peer()) {
            try FileManager.default.removeItem(atPath: world.snapshotPath(try await p.peer(), name))
        }
        try world.makeOld(peer, made.file)
        let aside = try setAside(try await p.peer())
        try world.removeLogs(try await p.peer())
        try world.show(try await q.peer())
        try q.dropStars()
        #expect(try await q.sync().outcome == .held, "though nobody shows what its author has lost")
        #expect(try q.ids() == ["one"])
        try bringBack(aside, try await p.peer())
        try await settle(p, q, r)
        for _ in 0..<3 {
            try await r.sync()
            try await r.compact()
            for machine in [p, q] { try await machine.sync() }
        }
        // It took a whole one in its place, for nobody shows the column any more.
        let now = try world.snapshots(peer)
        #expect(now.count == 1 && now != [made.file])
        #expect(try !world.header(peer, now[0]).header.isPartial)
    }

    @Test("A history is verified from whole snapshots where there are any")
    func verifying() async throws {
        try world.show(try await q.peer())
        try await settle(p, q, r)
        try await q.snapshot()
        try p.insert("three")
        try await settle(p, q, r)
        for machine in [p, q, r] {
            let peer = try await machine.peer()
            for name in try world.logs(peer).dropLast() {
                try FileManager.default.removeItem(atPath: "\(world.logsPath(peer))/\(name)")
            }
        }
        let report = try await Replicator.verify(q.path, configuration: q.configuration)
        #expect(report.store == true)
        #expect(!report.findings.contains { $0.code == "rows-differ" })
    }

    @Test("The store that a copy was made of is one that shows what the copy drops")
    func copies() async throws {
        try world.show(try await q.peer())
        try await settle(p, q, r)
        let directory = "\(world.root)/copy"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let copy = directory + "/notes.db"
        try q.checkpoint()
        try FileManager.default.copyItem(atPath: q.path, toPath: copy)
        try q.execute("ALTER TABLE note DROP COLUMN stars", at: copy)
        try await q.sync(copy)
        let status = try await q.status(copy)
        #expect(try await status.succeeds.map(\.id).contains(q.peer()))
        #expect(try await status.lacks.flatMap(\.peers).map(\.id) == [q.peer()])
        #expect(try await q.with(copy) { try await $0.snapshot() }.isPartial)
    }
}
