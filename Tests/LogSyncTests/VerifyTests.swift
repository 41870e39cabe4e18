import Foundation
import LogSyncModel
import GRDB
import LogSync
import Testing

@Suite("A folder is read to the last byte, replayed and compared")
struct VerifyTests {
    let world: World
    let a: Machine
    let b: Machine

    init() async throws {
        world = try World()
        a = try world.machine("a")
        try a.execute(
            """
            CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, body TEXT, stars INTEGER);
            CREATE TABLE list(id INTEGER PRIMARY KEY, title TEXT);
            CREATE TABLE item(id INTEGER PRIMARY KEY, list INTEGER REFERENCES list(id), what TEXT);
            INSERT INTO note(id) VALUES('one'); INSERT INTO list VALUES(1, 'a'); INSERT INTO item VALUES(1, 1, 'x');
            """)
        try await a.initialize()
        b = try await world.clone("b")
        try b.insert("two")
        try b.execute("INSERT INTO list VALUES(2, 'b'); UPDATE note SET stars = 3 WHERE id = 'two'")
        try a.execute("INSERT INTO list VALUES(2, 'c'); INSERT INTO item VALUES(7, 2, 'y'); DELETE FROM note")
        try await settle(a, b)
    }

    private func verify(_ path: String? = nil, as machine: Machine? = nil) async throws -> VerifyReport {
        let before = try world.listing()
        let report = try await Replicator.verify(path ?? a.path, configuration: (machine ?? a).configuration)
        #expect(try world.listing() == before)
        return report
    }

    @Test("A container may be a symbolic link", arguments: ["", "/"])
    func link(end: String) async throws {
        let link = world.root + "/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: world.container)
        #expect(try await verify(link + end).contents.map(\.content) == [try await a.status().content])
        let doctor = try await Replicator.doctor(link + end, configuration: a.configuration)
        #expect(doctor.findings.allSatisfy { $0.severity == .note }, "\(doctor.findings)")
    }

    @Test("A content that cannot be used is a finding beside the others, and an error alone")
    func severalContents() async throws {
        let other = "\(world.container)/other"
        try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: true)
        try Data("{".utf8).write(to: URL(fileURLWithPath: other + "/logsync.json"))
        let report = try await verify(world.container)
        #expect(report.contents.map(\.content) == ["notes"])
        #expect(report.findings.map(\.code) == ["container-unavailable"] && report.findings[0].place == other)
        #expect(report.outcome == .held)
        let error = await #expect(throws: LogSyncError.self) { try await verify(other) }
        #expect(error?.code == .containerUnavailable)
    }

    private func quietly(_ sql: String, in machine: Machine) throws {
        let shell = Process()
        shell.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        shell.arguments = ["sqlite3", machine.path, ".dbconfig enable_trigger off", sql]
        try shell.run()
        shell.waitUntilExit()
        #expect(shell.terminationStatus == 0)
    }

    @Test("A number that a column's former type has made real is the number that was recorded")
    func formerTypes() async throws {
        for type in ["REAL", ""] {
            try a.execute(
                """
                CREATE TABLE n(id TEXT PRIMARY KEY NOT NULL, body TEXT, stars \(type));
                INSERT INTO n SELECT * FROM note; DROP TABLE note; ALTER TABLE n RENAME TO note
                """)
            try await settle(a, b)
        }
        let database = try a.database()
        defer { try? database.close() }
        let types = try await database.read { try String.fetchAll($0, sql: "SELECT typeof(stars) FROM note") }
        #expect(types == ["real"])
        #expect(try await verify().findings.map(\.code) == [])
    }

    @Test("A row that refers to one which is gone, by a reference that was only named, is replayed as it is shown")
    func namedReference() async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(
            """
            CREATE TABLE p(id INTEGER PRIMARY KEY); CREATE TABLE o(id INTEGER PRIMARY KEY, p INTEGER);
            INSERT INTO p VALUES(1), (2); INSERT INTO o VALUES(1, 2);
            """)
        var options = InitializeOptions()
        try options.addReference("o.p=p")
        try await a.initialize(options)
        let b = try await world.clone("b")
        try a.execute("DELETE FROM p WHERE id = 2")
        try await settle(a, b)
        for machine in [a, b] {
            let report = try await Replicator.verify(machine.path, configuration: machine.configuration)
            #expect(report.findings.isEmpty && report.store == true, "\(report.findings)")
        }
    }

    @Test("A default that names a row which is gone is the same where that row never was")
    func defaultOfNobody() async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(
            """
            CREATE TABLE library(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO library VALUES(1, 'Music');
            CREATE TABLE file(id TEXT PRIMARY KEY NOT NULL, title TEXT); INSERT INTO file VALUES('a', 'one');
            """)
        try await a.initialize()
        try a.execute("DELETE FROM library")
        try await a.sync()
        let database = try a.database()
        try await database.writeWithoutTransaction { db in
            try db.execute(
                sql: """
                    PRAGMA foreign_keys = 0;
                    ALTER TABLE file ADD COLUMN library_id INTEGER DEFAULT 1 NOT NULL REFERENCES library(id)
                    """)
        }
        try database.close()
        try await a.sync()
        let report = try await Replicator.verify(a.path, configuration: a.configuration)
        #expect(report.findings.isEmpty && report.store == true, "\(report.findings)")
    }

    @Test("Sound folders and stores agree, at the store's digest and at every receipt's")
    func sound() async throws {
        for (path, machine) in [(a.path, a), (b.path, b)] {
            let report = try await verify(path, as: machine)
            #expect(report.findings.isEmpty && report.outcome == .complete, "\(report.findings)")
            #expect(report.store == true)
            let content = try #require(report.contents.first)
            #expect(content.digest == (try await machine.status().digest))
            #expect(content.vector == (try await machine.status().vector))
            #expect(content.compared.count == 2 && content.compared.allSatisfy(\.equal))
            #expect(content.transactions > 3 && content.bytes > 500)
        }
        for path in [world.container, world.contentPath] {
            let report = try await verify(path)
            #expect(report.findings.isEmpty && report.store == nil && report.contents.count == 1)
        }
    }

    @Test("A store that is behind, or ahead in its outbox, is compared where it stands")
    func apart() async throws {
        try b.insert("three")
        try await b.sync()
        #expect(try await verify().store == true, "a is behind")
        try FileManager.default.moveItem(atPath: world.container, toPath: world.container + "-away")
        try a.insert("four")
        _ = try? await a.sync()
        try FileManager.default.moveItem(atPath: world.container + "-away", toPath: world.container)
        #expect(try await a.status().outbox == 1)
        let ahead = try await verify()
        #expect(ahead.store == true && ahead.outcome == .complete, "\(ahead.findings)")
    }

    @Test("One flipped bit, one missing file and one truncated file are found")
    func damaged() async throws {
        let peer = try await b.peer()
        let path = "\(world.logsPath(peer))/\(try #require(try world.logs(peer).last))"
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        var flipped = bytes
        flipped[bytes.count - 100] ^= 4
        try flipped.write(to: URL(fileURLWithPath: path))
        let damage = try await verify()
        #expect(damage.outcome == .integrity && damage.store != true)
        #expect(damage.findings.contains { $0.code == "damaged-file" && $0.place == path })
        try bytes.prefix(bytes.count / 2).write(to: URL(fileURLWithPath: path))
        #expect(try await verify().findings.contains { $0.code == "incomplete-file" && $0.place == path })
        try FileManager.default.removeItem(atPath: path)
        let gap = try await verify()
        #expect(gap.outcome == .held && gap.findings.contains { $0.code == "gap" })
        try bytes.write(to: URL(fileURLWithPath: path))
        #expect(try await verify().outcome == .complete)
    }

    @Test("Rows changed behind the triggers' back are another state than the transactions make")
    func quietChange() async throws {
        try quietly("UPDATE list SET title = 'other' WHERE id = 1", in: a)
        let report = try await verify()
        #expect(report.store == false && report.outcome == .held)
        #expect(report.findings.contains { $0.code == "rows-differ" && $0.place.hasSuffix(": list") })
        _ = try await a.with { try await $0.rescan() }
        try await settle(a, b)
        #expect(try await verify().store == true)
    }

    @Test("A store whose clocks are not those of its transactions is found")
    func otherClocks() async throws {
        try quietly("UPDATE logsync_store SET value = value + 1 WHERE key = 'digest'", in: a)
        let report = try await verify()
        #expect(report.store == false && report.outcome == .integrity)
        #expect(report.findings.contains { $0.code == "digest-differs" })
    }

    @Test("A schema whose text is damaged is found, and where nothing is, that is said")
    func others() async throws {
        let schemas = "\(world.contentPath)/peers/\(try await b.peer())/schemas"
        let name = try #require(try FileManager.default.contentsOfDirectory(atPath: schemas).first)
        try Data("CREATE".utf8).write(to: URL(fileURLWithPath: "\(schemas)/\(name)"))
        #expect(try await verify().findings.contains { $0.place.hasSuffix(name) })
        let empty = world.root + "/empty"
        try FileManager.default.createDirectory(atPath: empty, withIntermediateDirectories: true)
        let error = await #expect(throws: LogSyncError.self) { try await verify(empty) }
        #expect(error?.code == .containerUnavailable)
    }

    @Test("Snapshots are replayed, compared with the logs, and stand for logs that were collected")
    func snapshots() async throws {
        _ = try await a.with { try await $0.snapshot() }
        try await settle(a, b)
        let both = try await verify()
        #expect(both.findings.isEmpty && both.store == true, "\(both.findings)")
        for machine in [a, b] {
            for name in try world.logs(try await machine.peer()) {
                try FileManager.default.removeItem(atPath: "\(world.logsPath(try await machine.peer()))/\(name)")
            }
        }
        let alone = try await verify()
        #expect(alone.findings.isEmpty && alone.store == true, "\(alone.findings)")
        #expect(alone.contents.first?.transactions ?? 0 > 3)
        let doctor = try await Replicator.doctor(world.container, configuration: a.configuration)
        #expect(doctor.findings.isEmpty, "\(doctor.findings)")
        let snapshots = "\(world.contentPath)/peers/\(try await a.peer())/snapshots"
        let name = try #require(try FileManager.default.contentsOfDirectory(atPath: snapshots).first)
        var bytes = try Data(contentsOf: URL(fileURLWithPath: "\(snapshots)/\(name)"))
        bytes[bytes.count / 2] ^= 1
        try bytes.write(to: URL(fileURLWithPath: "\(snapshots)/\(name)"))
        let damaged = try await verify()
        #expect(damaged.outcome == .integrity && damaged.findings.contains { $0.place.hasSuffix(name) })
    }
}

@Suite("Verifying what begins with a snapshot")
struct VerifySnapshotTests {
    @Test("A folder whose first log files have gone is verified from a snapshot on, and a damaged one is named")
    func fromSnapshot() async throws {
        let world = try World()
        let a = try await world.founder("a", rows: ["one", "two"])
        let b = try await world.clone("b")
        try await settle(a, b)
        let peer = try await a.peer()
        try await a.snapshot()
        try world.removeLogs(peer)
        try a.insert("three")
        try await settle(a, b)
        let sound = try await Replicator.verify(a.path, configuration: a.configuration)
        #expect(sound.findings.filter { $0.severity != .note }.isEmpty, "\(sound.findings)")
        #expect(sound.store == true)
        let name = try #require(try world.snapshots(peer).last)
        try world.damage(world.snapshotPath(peer, name))
        let damaged = try await Replicator.verify(a.path, configuration: a.configuration)
        #expect(damaged.findings.contains { $0.severity == .damage && $0.place.contains(name) })
    }
}
