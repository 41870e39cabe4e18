import Foundation
import LogSyncModel
import LogSync
import Testing

private func large(_ letter: Character) -> String { String(repeating: letter, count: 300) }

@Suite("Blob files live as long as something needs them")
struct BlobLifeTests {
    let world: World
    let a: Machine
    let b: Machine

    init() async throws {
        world = try World(blobThreshold: 100)
        a = try await world.founder("a", rows: ["one"])
        b = try await world.clone("b")
        try await settle(a, b)
    }

    /// Until what may go has gone.
    private func collect() async throws -> [CompactReport.File] {
        var gone: [CompactReport.File] = []
        for _ in 1...3 {
            for machine in [a, b] { gone += try await machine.compact().files.filter { $0.action == .delete } }
            try await settle(a, b)
        }
        return gone
    }

    @Test("A sync that dies while it publishes is made good by the next", arguments: [false, true])
    func killed(completesLast: Bool) async throws {
        // The one half of the points for the one kind, the other for the other.
        for point in stride(from: completesLast ? 1 : 2, to: .max, by: 2) {
            try a.insert("row\(point)", large("x") + "\(point)")
            try a.insert("more\(point)", large("y") + "\(point)")
            var dying = a
            let fileSystem = DyingFileSystem(changes: point, completesLast: completesLast)
            dying.configuration.fileSystem = fileSystem
            do {
                try await dying.sync()
            } catch let error as LogSyncError {
                #expect(error.code == .ioError)
            }
            try world.expectBlobsOfEverything(a)
            // What was not published before is overwritten now.
            try a.execute("UPDATE note SET body = 'small' WHERE id = 'more\(point)'")
            try await settle(a, b)
            #expect(try a.waitingParts() == 0)
            #expect(try b.notes() == a.notes())
            let (x, y) = (try await a.status(), try await b.status())
            #expect(x.digest == y.digest && x.outbox == 0 && x.held.isEmpty && y.held.isEmpty)
            if fileSystem.isAlive {
                #expect(point > 12, "two blobs and a log file change more than that")
                break
            }
        }
    }

    @Test("A snapshot that dies leaves nothing that lacks its blobs", arguments: [false, true])
    func snapshotKilled(completesLast: Bool) async throws {
        try a.insert("big", large("x"))
        try await settle(a, b)
        // Another's values: the folder of the snapshot's author has none of them.
        for point in stride(from: completesLast ? 1 : 4, to: .max, by: 6) {
            try a.insert("row\(point)", large("z") + "\(point)")
            try await settle(a, b)
            var dying = b
            let fileSystem = DyingFileSystem(changes: point, completesLast: completesLast)
            dying.configuration.fileSystem = fileSystem
            do {
                try await dying.snapshot()
            } catch let error as LogSyncError {
                #expect([.ioError, .containerUnavailable].contains(error.code))
            }
            try world.expectBlobsOfEverything(a)
            if fileSystem.isAlive { break }
        }
        _ = try await collect()
        try world.expectBlobsOfEverything(a)
        let c = try await world.clone("c")
        #expect(try c.notes() == a.notes())
    }

    @Test("What nothing names goes, and what a snapshot, a log or the outbox needs stays")
    func collected() async throws {
        try a.insert("gone", large("g"))
        try a.insert("stays", large("s"))
        try await settle(a, b)
        let peer = try await a.peer()
        try a.execute("UPDATE note SET body = 'small' WHERE id = 'gone'")
        try await settle(a, b)
        #expect(try world.blobs(peer).count == 2, "a log names it still")
        let dry = try await a.compact(dryRun: true)
        #expect(dry.files.filter { $0.reason == .named }.count == 2)
        let gone = try await collect()
        #expect(gone.contains { $0.file.contains("/blobs/") && $0.reason == .unnamed })
        #expect(try world.blobs(peer).count == 1)
        try world.expectBlobsOfEverything(a)
        let c = try await world.clone("c")
        #expect(try c.notes() == ["gone=small", "one=", "stays=" + large("s")])
        // What went is published anew when it is written again.
        try a.execute("UPDATE note SET body = '\(large("g"))' WHERE id = 'one'")
        try await settle(a, b, c)
        #expect(try world.blobs(peer).count == 2)
        #expect(try c.notes() == a.notes())
    }

    @Test("A blob that only another's snapshot names is that author's to keep")
    func othersSnapshot() async throws {
        try a.insert("big", large("x"))
        try await settle(a, b)
        try await b.snapshot()
        let (first, second) = (try await a.peer(), try await b.peer())
        #expect(try world.blobs(second) == world.blobs(first))
        try a.execute("DELETE FROM note WHERE id = 'big'")
        // Only the snapshot of b knows of it, and b's folder lacks it: then a's file is what it is read from.
        for name in try world.blobs(second) {
            try FileManager.default.removeItem(atPath: "\(world.blobsPath(second))/\(name)")
        }
        try await a.sync()
        for _ in 1...2 { try await a.compact() }
        #expect(try world.blobs(first).count == 1)
        // b puts it back, from a row, or by a newer snapshot where the row has gone.
        try await settle(a, b)
        try world.expectBlobsOfEverything(a)
        _ = try await collect()
        #expect(try world.blobs(first).isEmpty)
        try world.expectBlobsOfEverything(a)
        let c = try await world.clone("c")
        #expect(try c.notes() == a.notes())
    }

    @Test("A retired peer's blobs go when nothing needs them, and its last snapshot keeps what it names")
    func retired() async throws {
        let c = try await world.clone("c")
        try c.insert("of c", large("c"))
        try await settle(a, b, c)
        let silent = try await c.peer()
        try await a.with { try await $0.retire(silent) }
        try await settle(a, b)
        #expect(try world.blobs(silent).count == 1)
        let gone = try await collect()
        #expect(gone.contains { $0.file.contains("\(silent)/blobs/") })
        #expect(try world.blobs(silent).isEmpty)
        try world.expectBlobsOfEverything(a)
        let d = try await world.clone("d")
        #expect(try d.notes() == a.notes())
    }

    @Test("A copied store publishes what its former self had not, and mends what only it has")
    func copied() async throws {
        try a.insert("big", large("x"))
        _ = try await a.with { try await $0.import() }
        try a.execute("UPDATE note SET body = 'small' WHERE id = 'big'")
        let former = try await a.peer()
        // Without its state file and its path this is an older or another store, as far as anyone can tell.
        let copy = try world.machine("copy", id: "another machine")
        try a.checkpoint()
        try FileManager.default.copyItem(atPath: a.path, toPath: copy.path)
        try await copy.sync()
        #expect(try await copy.peer() != former)
        try await settle(copy, b)
        #expect(try b.notes() == copy.notes())
        #expect(try await b.status().held.isEmpty)
        try await settle(a, copy, b)
        #expect(try b.notes() == a.notes())
    }

    @Test("A folder that was wiped is written anew with its blobs")
    func rebuilt() async throws {
        try a.insert("big", large("x"))
        try b.insert("other", large("y"))
        try await settle(a, b)
        try a.execute("UPDATE note SET body = 'small' WHERE id = 'big'")
        try await settle(a, b)
        try FileManager.default.removeItem(atPath: world.contentPath)
        let report = try await a.with { try await $0.rebuild() }
        #expect(report.outcome == .complete && report.missing.isEmpty)
        let alone = try await world.clone("alone")
        #expect(try alone.notes() == a.notes(), "one peer can rebuild everything")
        try await settle(a, b, alone)
        try world.expectBlobsOfEverything(a)
        #expect(try b.notes() == a.notes())
    }

    @Test("A store moves with the blobs of everybody's logs")
    func moved() async throws {
        try a.insert("big", large("x"))
        try b.insert("other", large("y"))
        try await settle(a, b)
        try a.execute("UPDATE note SET body = 'small' WHERE id = 'big'")
        try await settle(a, b)
        let there = world.root + "/There"
        try FileManager.default.createDirectory(atPath: there, withIntermediateDirectories: true)
        let report = try await a.with { try await $0.move(to: there, content: "diary") }
        #expect(report.snapshot == nil && report.missing.isEmpty && report.result.held.isEmpty)
        let c = try world.machine("c")
        _ = try await Replicator.clone(
            to: c.path, container: there, content: "diary", peerName: "c", configuration: c.configuration)
        #expect(try c.notes() == a.notes())
        let verified = try await Replicator.verify(there, configuration: a.configuration)
        #expect(verified.findings.isEmpty, "\(verified.findings)")
    }

    @Test("A seed holds its values itself, so that it is the same wherever it is made")
    func seeded() async throws {
        let packaged = world.root + "/packaged.db"
        try a.execute("CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, body TEXT, stars INTEGER)", at: packaged)
        try a.insert("packaged", large("p"), at: packaged)
        var other = b
        other.configuration.blobThreshold = 1 << 20
        let first = try await a.with { try await $0.seed(from: packaged) }
        let second = try await other.with { try await $0.seed(from: packaged) }
        #expect(first.peer == second.peer)
        try await settle(a, other)
        #expect(try a.notes() == ["one=", "packaged=" + large("p")])
        #expect(try b.notes() == a.notes())
        #expect(try await b.status().held.isEmpty)
    }
}
