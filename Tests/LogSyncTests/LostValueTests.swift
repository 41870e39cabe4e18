import Foundation
import LogSync
import LogSyncModel
import Testing

/// A value above the threshold of these worlds.
private func large(_ letter: Character) -> String { String(repeating: letter, count: 300) }

@Suite("A large value that nobody has any more keeps nothing else out, once a person has said so")
struct LostValueTests {
    let world: World
    let a: Machine
    let b: Machine
    let c: Machine

    init() async throws {
        world = try World(blobThreshold: 100)
        a = try world.machine("a")
        try a.makeDatabase()
        try a.execute("CREATE TABLE photo(id TEXT PRIMARY KEY NOT NULL, image BLOB NOT NULL, title TEXT UNIQUE)")
        try a.insert("one", "before")
        _ = try await a.initialize()
        b = try await world.clone("b")
        c = try await world.clone("c")
        try await settle(a, b, c)
    }

    /// The machine of a peer breaks down when its blobs have not reached the folder.
    private func breakDown(_ machine: Machine) async throws -> PeerID {
        let peer = try await machine.peer()
        try await machine.sync()
        for name in try world.blobs(peer) {
            try FileManager.default.removeItem(atPath: "\(world.blobsPath(peer))/\(name)")
        }
        return peer
    }

    private func accept(_ peer: PeerID, on machine: Machine) async throws -> LossReport {
        try await machine.with { replicator in
            try await replicator.retire(peer)
            return try await replicator.acceptLoss(of: peer)
        }
    }

    private func expectSame(_ first: Machine, _ second: Machine, at location: SourceLocation = #_sourceLocation)
        async throws
    {
        for machine in [first, second, first] {
            #expect(try await machine.sync().outcome == .complete, sourceLocation: location)
        }
        #expect(try first.notes() == second.notes(), sourceLocation: location)
        #expect(try await first.status().digest == second.status().digest, sourceLocation: location)
        for machine in [first, second] {
            let verified = try await Replicator.verify(machine.path, configuration: machine.configuration)
            #expect(
                verified.outcome == .complete && verified.store == true, "\(verified.findings)",
                sourceLocation: location)
        }
    }

    @Test("All else comes in, cells show what they showed or their default, and the others follow by a snapshot")
    func accepted() async throws {
        try a.execute(
            """
            INSERT INTO note(id, body, stars) VALUES('big', '\(large("x"))', 5);
            UPDATE note SET body = '\(large("y"))', stars = 4 WHERE id = 'one';
            INSERT INTO photo VALUES('p', zeroblob(400), 'sea'); INSERT INTO note(id) VALUES('beside')
            """)
        try await a.sync()
        try a.insert("later")
        let peer = try await breakDown(a)
        #expect(try await b.sync().held.map(\.reason) == [.missingBlob])
        try await b.with { try await $0.retire(peer) }
        let expected = try await b.with { try await $0.acceptLoss(of: peer, dryRun: true) }
        #expect(expected.dryRun && expected.lost.count == 3 && expected.lost.allSatisfy { $0.cell == nil })
        #expect(try b.ids() == ["one"])
        let report = try await b.with { try await $0.acceptLoss(of: peer) }
        #expect(!report.dryRun && report.outcome == .complete && report.snapshot != nil)
        #expect(Set(report.lost.map(\.file)) == Set(expected.lost.map(\.file)))
        let cells = report.lost.compactMap(\.cell)
        #expect(cells.map { $0.table + "." + $0.column }.sorted() == ["note.body", "note.body", "photo.image"])
        #expect(Set(cells.map(\.key)) == Set(["big", "one", "p"].map { [JSONValue(.text($0))] }))
        #expect(try b.ids() == ["beside", "big", "later", "one"])
        #expect(
            try b.strings("SELECT id || coalesce(body, '-') || coalesce(stars, '-') FROM note ORDER BY id")
                == ["beside--", "big-5", "later-", "onebefore4"])
        #expect(try b.strings("SELECT id || typeof(image) || length(image) || title FROM photo") == ["pblob0sea"])
        #expect(try await b.with { try await $0.conflicts() }.conflicts.isEmpty)
        try await expectSame(b, c)
        #expect(try c.strings("SELECT id || typeof(image) || length(image) || title FROM photo") == ["pblob0sea"])
        // Nothing of it is in the way of anybody any more.
        for machine in [b, c, b] { _ = try await machine.with { try await $0.compact(grace: .zero) } }
        #expect(
            try await Replicator.doctor(b.path, configuration: b.configuration).findings.allSatisfy {
                $0.severity != .trouble
            })
        try await expectSame(c, try await world.clone("d"))
    }

    @Test("What its author wrote over it later is shown, and is in no conflict with anything")
    func writtenAgain() async throws {
        try a.insert("big", large("x"))
        try await a.sync()
        try a.execute("UPDATE note SET body = 'again' WHERE id = 'big'")
        let peer = try await breakDown(a)
        let report = try await accept(peer, on: b)
        #expect(report.lost.count == 1 && report.outcome == .complete)
        #expect(try b.strings("SELECT body FROM note WHERE id = 'big'") == ["again"])
        #expect(try await b.with { try await $0.conflicts() }.conflicts.isEmpty)
        try await expectSame(b, c)
    }

    @Test("A peer that has the value, and could not say so, shows what the others show")
    func unheard() async throws {
        try a.insert("big", large("x"))
        try await a.sync()
        try await c.sync()
        #expect(try c.strings("SELECT body FROM note WHERE id = 'big'") == [large("x")])
        // What it has said did not reach the others.
        let silent = "\(world.contentPath)/peers/\(try await c.peer())"
        let aside = world.root + "/silent"
        try FileManager.default.moveItem(atPath: silent, toPath: aside)
        let peer = try await breakDown(a)
        _ = try await accept(peer, on: b)
        #expect(try b.strings("SELECT coalesce(body, '-') FROM note WHERE id = 'big'") == ["-"])
        try FileManager.default.moveItem(atPath: aside, toPath: silent)
        try await expectSame(b, c)
        #expect(try c.strings("SELECT coalesce(body, '-') FROM note WHERE id = 'big'") == ["-"])
    }

    @Test("What another peer wrote meanwhile is later than what stands for a lost value")
    func meanwhile() async throws {
        try a.execute("UPDATE note SET body = '\(large("y"))' WHERE id = 'one'")
        try await a.sync()
        try c.execute("UPDATE note SET body = 'of c' WHERE id = 'one'")
        let peer = try await breakDown(a)
        _ = try await accept(peer, on: b)
        #expect(try b.notes() == ["one=before"])
        try await expectSame(c, b)
        #expect(try b.notes() == ["one=of c"])
    }

    @Test("A parked row that lacks its value stays parked, and peers agree about it")
    func parked() async throws {
        try b.execute("INSERT INTO photo VALUES('q', x'01', 'sea')")
        try a.execute("INSERT INTO photo VALUES('p', zeroblob(400), 'sea')")
        try await b.sync()
        let peer = try await breakDown(a)
        let report = try await accept(peer, on: b)
        #expect(report.lost.map { $0.cell?.table } == ["photo"])
        #expect(try await b.with { try await $0.conflicts() }.parked.count == 1)
        try await expectSame(b, c)
        #expect(try await c.with { try await $0.conflicts() }.parked.count == 1)
    }

    @Test(
        "Of a table or column that is not here nothing is given up, and that is an end", arguments: ["table", "column"])
    func elsewhere(kind: String) async throws {
        try a.execute(
            kind == "table"
                ? "CREATE TABLE extra(id TEXT PRIMARY KEY NOT NULL, x TEXT); INSERT INTO extra VALUES('e', '\(large("x"))')"
                : "ALTER TABLE note ADD COLUMN extra TEXT; UPDATE note SET extra = '\(large("x"))'")
        let peer = try await breakDown(a)
        let report = try await accept(peer, on: b)
        #expect(report.lost.isEmpty && report.outcome == .held)
        #expect(report.held.map(\.reason) == [.missingBlob])
        #expect(try b.notes() == ["one=before"])
    }

    @Test("It is refused where nothing is held, where the peer takes part, and where another has the value")
    func refused() async throws {
        let peer = try await a.peer()
        let none = await #expect(throws: LogSyncError.self) {
            try await b.with { try await $0.acceptLoss(of: peer) }
        }
        #expect(none?.code == .usage && none?.message.contains("nothing of a is held") == true, "\(none as Any)")
        try a.insert("big", large("x"))
        try await a.sync()
        try await c.sync()
        _ = try await breakDown(a)
        let alive = await #expect(throws: LogSyncError.self) {
            try await b.with { try await $0.acceptLoss(of: peer) }
        }
        #expect(alive?.code == .usage && alive?.help?.contains("peers retire") == true, "\(alive as Any)")
        let known = await #expect(throws: LogSyncError.self) { try await accept(peer, on: b) }
        #expect(known?.message.contains("c has imported a:") == true, "\(known as Any)")
        #expect(known?.help?.contains("logsync rebuild") == true)
        #expect(try b.ids() == ["one"])
        // As that says, nothing is lost.
        _ = try await c.with { try await $0.rebuild() }
        try await expectSame(b, c)
        #expect(try b.strings("SELECT body FROM note WHERE id = 'big'") == [large("x")])
    }
}
