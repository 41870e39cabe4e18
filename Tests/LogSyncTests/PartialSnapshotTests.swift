import Foundation
import GRDB
import LogSyncContainer
import LogSyncModel
import Testing

@testable import LogSync

extension Machine {
    /// A column of every note, as `id=value`.
    func values(_ column: String = "stars", of table: String = "note") throws -> [String] {
        let database = try database()
        defer { try? database.close() }
        return try database.read { db in
            try String.fetchAll(db, sql: "SELECT id || '=' || coalesce(\(column), '') FROM \(table) ORDER BY id")
        }
    }

    func dropStars() throws { try execute("ALTER TABLE note DROP COLUMN stars") }

    func star(_ id: String, _ stars: Int) throws {
        try execute("INSERT INTO note(id, stars) VALUES('\(id)', \(stars))")
    }

    fileprivate func description(in world: World) async throws -> PeerDescription {
        let path = "\(world.contentPath)/peers/\(try await peer())/peer.json"
        return try PeerDescription(decoding: Array(try Data(contentsOf: URL(fileURLWithPath: path))))
    }
}

@Suite("A snapshot without what others show stands for nobody's log files")
struct PartialSnapshotTests {
    let world: World
    let p: Machine
    let q: Machine

    init() async throws {
        world = try World()
        p = try await world.founder("p")
        try p.star("one", 1)
        q = try await world.clone("q")
        try q.star("two", 2)
        // The schema that clones take.
        try q.execute("PRAGMA user_version = 9")
        try await settle(p, q)
    }

    /// Compacts until every mark is answered.
    private func collect(_ machines: Machine...) async throws {
        for _ in 0..<3 {
            for machine in machines { try await machine.compact() }
            for machine in machines { try await machine.sync() }
        }
    }

    @Test("Who dropped a column collects nothing until somebody who has it took a snapshot")
    func columns() async throws {
        let returning = try await world.clone("s")
        try await settle(p, q, returning)
        try await p.with { try await $0.retire(try await returning.peer()) }
        try p.dropStars()
        try p.insert("three")
        try q.star("four", 4)
        try await settle(p, q)
        let peer = try await p.peer()
        let dry = try await p.compact(dryRun: true)
        #expect(dry.lacks.map(\.name) == ["note.stars"] && dry.lacks.first?.peers.map(\.name) == ["q"])
        #expect(!dry.files.contains { $0.action == .publish })
        #expect(try await p.status().lacks == dry.lacks)
        #expect(try await q.status().lacks.isEmpty)
        let logs = try world.logs(peer)
        for _ in 0..<3 {
            try await p.compact()
            try await q.sync()
        }
        #expect(try world.logs(peer) == logs && world.snapshots(peer).isEmpty)
        // One that was asked for is taken, and changes nothing about that.
        let partial = try await p.snapshot()
        #expect(partial.isNew && partial.isPartial)
        #expect(try await !p.snapshot().isNew)
        for _ in 0..<3 {
            try await p.compact()
            try await q.sync()
        }
        #expect(try world.logs(peer) == logs)
        #expect(try await !q.snapshot().isPartial)
        try await collect(p, q)
        #expect(try world.logs(peer).isEmpty)
        #expect(try world.snapshots(peer).isEmpty, "the whole one has all of the partial one")
        let clone = try await world.clone("r")
        #expect(try clone.values() == ["four=4", "one=1", "three=", "two=2"])
        #expect(try await returning.sync().outcome == .complete)
        #expect(try returning.values() == ["four=4", "one=1", "three=", "two=2"])
    }

    @Test("When the last one has dropped a column, or was retired, anybody collects", arguments: [true, false])
    func last(drops: Bool) async throws {
        try p.dropStars()
        try p.insert("three")
        try await settle(p, q)
        try await collect(p)
        let (peer, other) = (try await p.peer(), try await q.peer())
        #expect(try !world.logs(peer).isEmpty)
        if drops {
            try q.dropStars()
            try await q.sync()
        } else {
            try await p.with { try await $0.retire(other) }
        }
        #expect(try await p.status().lacks.isEmpty)
        if drops { try await collect(p, q) } else { try await collect(p) }
        #expect(try world.logs(peer).isEmpty)
        #expect(try world.snapshots(peer).count == 1)
    }

    @Test("A peer says which schema it has; of one that does not every schema counts, of one that is away all")
    func describing() async throws {
        let before = try await p.description(in: world)
        #expect(before.schema != nil && before.without.isEmpty)
        try p.dropStars()
        try await p.sync()
        let after = try await p.description(in: world)
        #expect(after.schema != nil && after.schema != before.schema, "no row was changed")
        try q.dropStars()
        try await q.sync()
        #expect(try await p.status().lacks.isEmpty)
        // As a description was before it said so.
        let folder = "\(world.contentPath)/peers/\(try await q.peer())"
        var old = try await q.description(in: world)
        old.schema = nil
        try Data(old.encoded()).write(to: URL(fileURLWithPath: folder + "/peer.json"))
        #expect(try await p.status().lacks.map(\.name) == ["note.stars"])
        try await q.sync()
        #expect(try await p.status().lacks.isEmpty, "it says so again")
        // What has not arrived may show anything.
        try FileManager.default.removeItem(atPath: folder + "/schemas")
        #expect(try await p.status().lacks.map(\.name) == ["note.stars"])
        try FileManager.default.removeItem(atPath: folder)
        #expect(try await p.status().lacks.map(\.name) == ["note.stars"])
    }

    @Test("Who wrote most and has lost something leaves the snapshot to another")
    func upkeep() async throws {
        var (p, q) = (p, q)
        p.configuration.snapshotThreshold = 1500
        q.configuration.snapshotThreshold = 1500
        try p.dropStars()
        for number in 0..<60 {
            try p.insert("row \(number)", "\(UUID()) \(UUID()) \(UUID())")
        }
        try await settle(p, q)
        for machine in [p, q] {
            try await machine.with {
                _ = try await $0.sync()
                try await $0.upkeep(compacts: true)
            }
        }
        #expect(try await world.snapshots(p.peer()).isEmpty)
        #expect(try await world.snapshots(q.peer()).count == 1)
    }

    @Test("A column that was renamed is not gone, nor one that held nothing")
    func renaming() async throws {
        try p.execute("ALTER TABLE note RENAME COLUMN stars TO rating; CREATE TABLE empty(id TEXT PRIMARY KEY, a, b)")
        try await settle(p, q)
        try q.execute("CREATE TABLE empty(id TEXT PRIMARY KEY, a, b)")
        try await settle(p, q)
        try p.execute("ALTER TABLE empty DROP COLUMN b")
        try await settle(p, q)
        #expect(try await p.status().lacks.isEmpty)
        #expect(try await !p.snapshot().isPartial)
        // Gone under its later name it is gone for who has the first, and the other way round.
        try p.execute("ALTER TABLE note DROP COLUMN rating")
        try await settle(p, q)
        #expect(try await p.status().lacks.map(\.name) == ["note.stars"])
        try q.execute("ALTER TABLE note RENAME COLUMN stars TO rating")
        try await settle(p, q)
        #expect(try await p.status().lacks.map(\.name) == ["note.stars"])
        try q.execute("ALTER TABLE note DROP COLUMN rating")
        try await settle(p, q)
        #expect(try await p.status().lacks.isEmpty)
    }

    @Test("A column that comes back under its name has lost its values, and so has one that takes another's")
    func comingBack() async throws {
        let migrations = [
            ["ALTER TABLE note DROP COLUMN stars", "ALTER TABLE note ADD COLUMN stars INTEGER"],
            [
                "ALTER TABLE note ADD COLUMN other TEXT", "UPDATE note SET other = body",
                "ALTER TABLE note DROP COLUMN body", "ALTER TABLE note RENAME COLUMN other TO body",
            ],
        ]
        for (migration, name) in zip(migrations, ["note.stars", "note.body"]) {
            for statement in migration {
                try p.execute(statement)
                try await p.sync()
            }
            try await settle(p, q)
            #expect(try await p.status().lacks.map(\.name) == [name])
            #expect(try await p.snapshot().isPartial)
            for statement in migration {
                try q.execute(statement)
                try await q.sync()
            }
            try await settle(p, q)
            #expect(try await p.status().lacks == [], "nobody shows the former values any more")
            #expect(try await q.status().lacks.isEmpty)
            // One that comes later has them from the logs, under the name that is there again.
            let clone = try await world.clone("clone of \(name)")
            try await settle(p, q, clone)
            let lacks = try await p.status().lacks
            #expect(lacks.map(\.name) == ["note.stars"] && lacks.first?.peers.map(\.name) == [clone.name])
            #expect(try await !clone.snapshot().isPartial)
            try await p.with { try await $0.retire(try await clone.peer()) }
        }
    }

    @Test("Tables are no other")
    func tables() async throws {
        let tag = "CREATE TABLE tag(id TEXT PRIMARY KEY, name TEXT)"
        for machine in [p, q] { try machine.execute(tag) }
        try p.execute("INSERT INTO tag VALUES('t1', 'red')")
        try await settle(p, q)
        try p.execute("DROP TABLE tag")
        try await settle(p, q)
        #expect(try await p.status().lacks.map(\.name) == ["tag.id", "tag.name"])
        let peer = try await p.peer()
        try await collect(p)
        #expect(try !world.logs(peer).isEmpty && world.snapshots(peer).isEmpty)
        try q.execute("ALTER TABLE tag RENAME TO label")
        try await settle(p, q)
        #expect(try await p.status().lacks.map(\.name) == ["tag.id", "tag.name"])
        #expect(try await !q.snapshot().isPartial)
        try await collect(p, q)
        #expect(try world.logs(peer).isEmpty)
        let clone = try await world.clone("r")
        #expect(try clone.values("name", of: "label") == ["t1=red"])
        for machine in [q, clone] {
            try machine.execute("DROP TABLE label")
            try await machine.sync()
        }
        #expect(try await p.status().lacks.isEmpty)
    }

    @Test("A partial snapshot is joined when nothing else has come for long; then the values are lost there too")
    func lastResort() async throws {
        var late = try await world.clone("s")
        try await settle(p, q, late)
        try q.star("four", 4)
        try await settle(p, q)
        try p.dropStars()
        try p.insert("three")
        try await settle(p, q)
        #expect(try await p.snapshot().isPartial)
        for machine in [p, q] { try world.removeLogs(try await machine.peer()) }
        // However long the test takes.
        let start = SystemClock().now()
        late.configuration.clock = FixedClock(start)
        let waiting = try await late.sync()
        #expect(waiting.outcome == .held && waiting.held.contains { $0.file?.hasSuffix(".snap") ?? false })
        #expect(try late.ids() == ["one", "two"])
        // However old the file itself is.
        late.configuration.clock = FixedClock(start + 599_000)
        try await late.sync()
        #expect(try late.ids() == ["one", "two"])
        let clone = try await world.clone("r")
        #expect(try clone.ids().isEmpty, "it waits like the others")
        #expect(try await clone.sync().outcome == .held)
        late.configuration.clock = FixedClock(start + 602_000)
        try await late.sync()
        #expect(try late.values() == ["four=", "one=1", "three=", "two=2"])
        #expect(try await late.status().lacks.map(\.name) == ["note.stars"])
        #expect(try await late.snapshot().isPartial)
        // Whoever has not joined one gets everything.
        #expect(try await !q.snapshot().isPartial)
        #expect(try await clone.sync().outcome == .complete)
        #expect(try clone.values() == ["four=4", "one=1", "three=", "two=2"])
    }

    @Test("A whole snapshot goes before a partial one, though that has more")
    func preference() async throws {
        try await q.snapshot()
        try p.dropStars()
        try p.insert("three")
        try await settle(p, q)
        let partial = try await p.snapshot()
        #expect(partial.isPartial)
        for machine in [p, q] {
            for name in try world.logs(try await machine.peer()).dropLast() {
                try FileManager.default.removeItem(atPath: "\(world.logsPath(try await machine.peer()))/\(name)")
            }
        }
        let clone = try await world.clone("r")
        #expect(try clone.values() == ["one=1", "three=", "two=2"])
        // A newer partial one takes the place of the older, and none the place of a whole one.
        try p.insert("four")
        let newer = try await p.snapshot()
        #expect(try await world.snapshots(p.peer()) == [newer.file])
        #expect(try await world.snapshots(q.peer()).count == 1)
    }

    @Test("A folder is mended with a partial snapshot where there is nothing better, once")
    func mending() async throws {
        try await p.snapshot()
        try p.dropStars()
        try await settle(p, q)
        let peer = try await p.peer()
        try FileManager.default.removeItem(atPath: "\(world.contentPath)/peers/\(peer)")
        try await p.sync()
        let first = try world.snapshots(peer)
        #expect(first.count == 1)
        try p.insert("three")
        try await p.sync()
        #expect(try world.snapshots(peer) == first)
        #expect(try await p.status().outbox == 0)
    }
}
