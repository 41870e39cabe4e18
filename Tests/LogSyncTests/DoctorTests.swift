import Foundation
import GRDB
import LogSyncModel
import LogSyncSQLite
import Logging
import Synchronization
import LogSync
import Testing

/// What was logged.
private final class Messages: Sendable {
    let all = Mutex<[String]>([])
}

private struct MessageHandler: LogHandler {
    let messages: Messages
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.warning

    init(messages: Messages) { self.messages = messages }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        messages.all.withLock { $0.append(event.message.description) }
    }
}

@Suite("The doctor says what is wrong, where, why, and what helps")
struct DoctorTests {
    let world: World
    let a: Machine
    let b: Machine

    init() async throws {
        world = try World()
        a = try await world.founder("a", rows: ["one"])
        b = try await world.clone("b")
        try await settle(a, b)
    }

    private func examine(_ path: String? = nil, as machine: Machine? = nil) async throws -> DoctorReport {
        let machine = machine ?? a
        let before = try world.listing()
        let report = try await Replicator.doctor(path ?? machine.path, configuration: machine.configuration)
        #expect(try world.listing() == before, "it changes nothing")
        for finding in report.findings {
            #expect(!finding.what.isEmpty && !finding.place.isEmpty && !finding.why.isEmpty)
            #expect(finding.severity == .note || finding.help != nil, "\(finding)")
        }
        return report
    }

    private func expect(
        _ code: String, _ severity: Finding.Severity, in report: DoctorReport, at place: String? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let found = report.findings.first { $0.code == code }
        #expect(found?.severity == severity, "\(code) in \(report.findings)", sourceLocation: sourceLocation)
        if let place { #expect(found?.place.contains(place) == true, "\(report)", sourceLocation: sourceLocation) }
    }

    @Test("Nothing is wrong with sound stores and folders")
    func sound() async throws {
        for path in [a.path, b.path, world.container, world.contentPath] {
            let report = try await examine(path)
            #expect(report.findings.isEmpty && report.outcome == .complete, "\(report.findings)")
        }
    }

    @Test("Where another peer's schema says something else, status and doctor say what")
    func otherSchema() async throws {
        try a.execute(
            "ALTER TABLE note ADD COLUMN rank INT DEFAULT 1; ALTER TABLE note ADD COLUMN only; CREATE TABLE more(k PRIMARY KEY)"
        )
        try b.execute("ALTER TABLE note ADD COLUMN rank TEXT")
        try await settle(a, b)
        let schemas = try await b.status().schemas
        #expect(schemas.map(\.peer.name) == ["a"])
        #expect(
            schemas.first?.lines == [
                "more: a has it, this store has not", "note.only: a has it, this store has not",
                "note.rank: its type is TEXT here and INT at a", "note.rank: its default is none here and 1 at a",
            ])
        let finding = try await examine(b.path).findings.first { $0.code == "other-schema" }
        #expect(finding?.severity == .note && finding?.why.contains("note.rank: its type is TEXT here") == true)
        // What the same migration makes is the same, however each went there; and so is what is called something else.
        try b.execute("ALTER TABLE note RENAME TO notes")
        try a.execute("ALTER TABLE note DROP COLUMN only; DROP TABLE more")
        try await settle(a, b)
        #expect(try await a.status().schemas.first?.differences.map(\.kind) == [.type, .default])
    }

    @Test("What a UNIQUE index says on both machines is no difference of their schemas")
    func uniqueIndexes() async throws {
        for store in [a, b] {
            try store.execute(
                """
                CREATE TABLE tag(k PRIMARY KEY, name, place); CREATE UNIQUE INDEX tag_name ON tag(name);
                CREATE UNIQUE INDEX tag_place ON tag(place) WHERE place > 0
                """)
        }
        try a.execute("CREATE TABLE more(k PRIMARY KEY)")
        try b.execute("CREATE UNIQUE INDEX tag_both ON tag(name, place)")
        try await settle(a, b)
        let all = "(place) where place > 0; name"
        #expect(
            try await b.status().schemas.first?.lines == [
                "more: a has it, this store has not", "tag: what is unique is \(all); name, place here and \(all) at a",
            ])
    }

    @Test("A clone that lacks what only its program can run is in trouble until the program makes it")
    func missingObjects() async throws {
        let trigger = "CREATE TRIGGER sorts AFTER INSERT ON note BEGIN UPDATE note SET body = sort_key(new.body); END"
        try a.execute(trigger)
        try await a.sync()
        let c = try world.machine("c")
        let report = try await Replicator.clone(
            to: c.path, container: world.container, content: "notes", peerName: "c", configuration: c.configuration)
        #expect(report.unmade.map(\.isMissing) == [true])
        let examined = try await examine(c.path, as: c)
        expect("missing-object", .trouble, in: examined, at: c.path)
        let finding = examined.findings.first { $0.code == "missing-object" }
        #expect(finding?.what.contains("sorts") == true && finding?.why.contains("--function sort_key") == true)
        #expect(examined.outcome == .held)
        // It has what it cannot run while rows come; that is its program's to make good.
        #expect(try await examine(a.path).outcome == .complete)
        try c.execute(trigger)
        #expect(try await examine(c.path, as: c).findings.contains { $0.code == "missing-object" } == false)
    }

    @Test("A table that was renamed or came since the last recording is not taken for one that cannot be replicated")
    func renamed() async throws {
        try a.execute(
            "ALTER TABLE note RENAME TO notes; CREATE TABLE more(k PRIMARY KEY); CREATE TABLE bare(rowid, oid, _rowid_)"
        )
        let report = try await examine()
        #expect(report.findings.filter { $0.code == "not-replicated" }.map { $0.place.hasSuffix("bare") } == [true])
        try await a.sync()
        #expect(try await examine().findings.filter { $0.code == "not-replicated" }.count == 1)
    }

    @Test("A sync that finds nothing says so where rows were written with triggers off")
    func triggersOff() async throws {
        let messages = Messages()
        var watched = a
        watched.configuration.logger = Logger(label: "a") { _ in MessageHandler(messages: messages) }
        try await watched.sync()
        #expect(messages.all.withLock { $0 }.isEmpty)
        let database = try a.database()
        try await database.writeWithoutTransaction { db in
            try Connection(#require(db.sqliteConnection)).setTriggersEnabled(false)
            try db.execute(sql: "INSERT INTO note(id) VALUES('unseen')")
        }
        try database.close()
        #expect(try await watched.sync().recorded == 0)
        try a.insert("a seen one")
        messages.all.withLock { $0 = [] }
        #expect(try await watched.sync().recorded == 1)
        #expect(messages.all.withLock { $0 }.contains { $0.contains("note") && $0.contains("logsync rescan") })
        _ = try await a.with { try await $0.rescan() }
        try await settle(a, b)
        #expect(try b.ids() == ["a seen one", "one", "unseen"])
    }

    @Test("The folder of a peer that is no more is missed, and a snapshot of another stands for it")
    func peerGone() async throws {
        try b.insert("two")
        try await settle(a, b)
        try a.insert("three")
        try await settle(a, b)
        let id = try await b.peer()
        try FileManager.default.removeItem(atPath: "\(world.contentPath)/peers/\(id)")
        expect("peer-gone", .trouble, in: try await examine(world.container))
        expect("peer-gone", .trouble, in: try await examine())
        _ = try await a.with { try await $0.rebuild() }
        #expect(try await !examine(world.container).findings.contains { $0.code == "peer-gone" })
        #expect(try await world.clone("c").ids() == ["one", "three", "two"])
    }

    @Test(
        "What a store has imported, and the folder has no more, is missed, also where the folder was rolled back",
        arguments: [true, false])
    func rolledBack(isRolledBack: Bool) async throws {
        let files = FileManager.default
        let kept = world.root + "/kept"
        try files.copyItem(atPath: world.container, toPath: kept)
        try b.insert("two")
        try await settle(b, a)
        let peer = try await b.peer()
        if isRolledBack {
            try files.removeItem(atPath: world.container)
            try files.moveItem(atPath: kept, toPath: world.container)
        } else {
            try world.removeLogs(peer)
        }
        try await a.sync()
        for path in [a.path, world.contentPath] {
            let findings = try await Replicator.doctor(path, configuration: a.configuration).findings
            let gap = findings.first { $0.code == "gap" }
            #expect(gap?.severity == .trouble && gap?.help?.contains("logsync rebuild") ?? false, "\(findings)")
        }
        let report = try await Replicator.verify(a.path, configuration: a.configuration)
        #expect(report.store == nil && report.findings.contains { $0.code == "not-compared" }, "\(report.findings)")
        #expect(!report.findings.contains { $0.code == "in-use" })
        _ = try await a.with { try await $0.rebuild() }
        for path in [a.path, world.contentPath] {
            let findings = try await Replicator.doctor(path, configuration: a.configuration).findings
            #expect(findings.filter { $0.severity != .note }.isEmpty, "\(findings)")
        }
        #expect(try await Replicator.verify(a.path, configuration: a.configuration).store == true)
        #expect(try await world.clone("c").ids().contains("two"))
    }

    @Test("What is no store is an error, an empty folder a finding")
    func nothing() async throws {
        let plain = try world.machine("plain")
        await #expect(throws: LogSyncError.self) { try await examine(plain.path) }
        try plain.makeDatabase()
        let error = await #expect(throws: LogSyncError.self) { try await examine(plain.path) }
        #expect(error?.code == .notReplicated)
        let empty = world.root + "/empty"
        try FileManager.default.createDirectory(atPath: empty, withIntermediateDirectories: true)
        let report = try await examine(empty)
        expect("no-content", .trouble, in: report)
        #expect(report.outcome == .held)
    }

    @Test("However many files are on their way, they are one finding, with their number and age")
    func onTheirWay() async throws {
        let folder = "\(world.contentPath)/peers/\(try await a.peer())/logs"
        for index in 0..<30 {
            let path = "\(folder)/.syncthing.\(index).tlog.tmp"
            try Data([1]).write(to: URL(fileURLWithPath: path))
            let age = Double(index) * 3600 + 60
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -age)], ofItemAtPath: path)
        }
        let found = try await examine().findings.filter { $0.code == "temporary-file" }
        #expect(found.count == 1 && found[0].severity == .note)
        #expect(found[0].what == "30 files are on their way, since 29 hours" && found[0].help != nil, "\(found)")
    }

    @Test("However many strange files a folder has, they are one finding, with their number", arguments: [true, false])
    func crowds(links: Bool) async throws {
        let folder = "\(world.contentPath)/peers/\(try await a.peer())/logs"
        for index in 0..<30 {
            if links {
                let digits = String(repeating: "0", count: 10) + "\(index + 10)"
                let name = "\(digits)-\(digits)-\(String(repeating: "a", count: 32)).tlog"
                try FileManager.default.createSymbolicLink(
                    atPath: "\(folder)/\(name)", withDestinationPath: "/dev/null")
            } else {
                try Data([1]).write(to: URL(fileURLWithPath: "\(folder)/photo-\(index).jpg"))
            }
        }
        try Data([1]).write(to: URL(fileURLWithPath: "\(world.contentPath)/photo.jpg"))
        let found = try await examine().findings
        #expect(found.count == 2 && found.contains { $0.place.hasSuffix("/photo.jpg") }, "\(found)")
        #expect(found.contains { $0.what.hasPrefix("30 ") && $0.place == folder && $0.why.contains(folder + "/") })
    }

    @Test("Two versions of a receipt are not said to be two stores of one id")
    func receiptConflict() async throws {
        let path = "\(world.contentPath)/peers/\(try await a.peer())/receipt.sync-conflict-20250101-120000-ABC.json"
        try Data([1]).write(to: URL(fileURLWithPath: path))
        let finding = try #require(try await examine().findings.first { $0.code == "conflict-copy" })
        #expect(finding.why.contains("reverted") && finding.help?.hasPrefix("delete this file") == true, "\(finding)")
    }

    @Test("Strange files, conflict copies and files on their way are told apart")
    func strangers() async throws {
        let peer = try await a.peer()
        for name in ["photo.jpg", ".syncthing.x.tlog.tmp", "receipt.sync-conflict-20250101-120000-ABC.json"] {
            try Data([1]).write(to: URL(fileURLWithPath: "\(world.contentPath)/peers/\(peer)/\(name)"))
        }
        try FileManager.default.createSymbolicLink(
            atPath: world.contentPath + "/peers/\(String(repeating: "0", count: 32))",
            withDestinationPath: world.root)
        for path in [a.path, world.container] {
            let report = try await examine(path)
            expect("strange-file", .note, in: report, at: "photo.jpg")
            expect("temporary-file", .note, in: report, at: ".syncthing.x")
            expect("conflict-copy", .trouble, in: report, at: "sync-conflict")
            expect("wrong-type", .trouble, in: report, at: "0000")
            #expect(report.findings.count == 4 && report.outcome == .held, "\(report.findings)")
        }
    }

    @Test("A table of the program's whose name is as logsync's own is named, as nothing of it is replicated")
    func namedAsOurs() async throws {
        try a.execute("CREATE TABLE LogSync_notes(id INTEGER PRIMARY KEY)")
        try await a.sync()
        let found = try await examine(a.path, as: a).findings.filter { $0.severity != .note }
        #expect(found.map(\.code) == ["not-replicated"] && found.first?.help == "give it another name", "\(found)")
        try a.execute("ALTER TABLE LogSync_notes RENAME TO other")
        try await a.sync()
        #expect(try await examine(a.path, as: a).findings.allSatisfy { $0.severity == .note })
    }

    @Test("What a peer has recorded and not published is missed by nobody")
    func unpublished() async throws {
        try b.insert("two")
        _ = try await b.with { try await $0.import() }
        try await a.sync()
        for path in [a.path, world.contentPath] {
            #expect(try await examine(path, as: a).findings.allSatisfy { $0.severity == .note })
            let report = try await Replicator.verify(path, configuration: a.configuration)
            #expect(report.findings.allSatisfy { $0.severity == .note }, "\(report.findings)")
        }
    }

    @Test("A damaged file, an incomplete one and a gap are found, and the receipt that complains")
    func files() async throws {
        for row in ["two", "three", "four"] {
            try a.insert(row)
            try await a.sync()
        }
        let peer = try await a.peer()
        let names = try world.logs(peer).map { "\(world.logsPath(peer))/\($0)" }
        var bytes = try Data(contentsOf: URL(fileURLWithPath: names[1]))
        bytes[bytes.count - 90] ^= 1
        try bytes.write(to: URL(fileURLWithPath: names[1]))
        try Data(contentsOf: URL(fileURLWithPath: names[2])).prefix(100).write(to: URL(fileURLWithPath: names[2]))
        try await b.sync()
        for (path, machine) in [(a.path, a), (b.path, b), (world.contentPath, a)] {
            let report = try await examine(path, as: machine)
            expect("damaged-file", .damage, in: report, at: names[1])
            expect("incomplete-file", .trouble, in: report, at: names[2])
            expect("gap", .trouble, in: report, at: "\(peer)")
            // Where b is no more, nothing that a does has its receipt say something else. Of itself b says what it holds.
            let help = report.findings.filter { $0.code == "held-elsewhere" }.compactMap(\.help)
            #expect(help.isEmpty == (path == b.path), "\(help)")
            #expect(Set(help).count == help.count, "\(help)")
            #expect(help.allSatisfy { $0.hasSuffix("where b is no more, logsync peers retire STORE b") }, "\(help)")
            #expect(report.outcome == .integrity)
            #expect(report.findings.first?.severity == .damage, "the gravest comes first")
        }
        try await settle(a, b)
        #expect(try await examine(world.container).outcome == .complete)
    }

    @Test("A snapshot whose bytes are not its own, and one that is not all here, are found")
    func snapshots() async throws {
        _ = try await a.with { try await $0.snapshot() }
        #expect(try await examine().findings.isEmpty)
        let folder = "\(world.contentPath)/peers/\(try await a.peer())/snapshots"
        let path = "\(folder)/\(try #require(FileManager.default.contentsOfDirectory(atPath: folder).first))"
        let sound = try Data(contentsOf: URL(fileURLWithPath: path))
        var bytes = sound
        bytes[bytes.count / 2] ^= 1
        try bytes.write(to: URL(fileURLWithPath: path))
        for place in [a.path, b.path, world.container] {
            let report = try await examine(place)
            expect("damaged-file", .damage, in: report, at: path)
            #expect(report.outcome == .integrity)
        }
        try sound.dropLast(10).write(to: URL(fileURLWithPath: path))
        let report = try await examine(world.contentPath)
        expect("incomplete-file", .trouble, in: report, at: path)
        #expect(report.findings.count == 1 && report.outcome == .held, "\(report.findings)")
    }

    @Test("A file where the peers' folders should be is found")
    func peersFile() async throws {
        let peers = world.contentPath + "/peers"
        try FileManager.default.moveItem(atPath: peers, toPath: world.root + "/peers")
        try Data([1]).write(to: URL(fileURLWithPath: peers))
        expect("wrong-type", .trouble, in: try await examine(world.container), at: peers)
        expect("wrong-type", .trouble, in: try await examine(), at: peers)
    }

    @Test("Copies of the whole content folder are found, whatever a sync engine calls them")
    func folderCopies() async throws {
        let names = ["notes.sync-conflict-20250101-120000-ABC", "notes (conflicted copy)", "notes 2"]
        for name in names {
            try FileManager.default.copyItem(atPath: world.contentPath, toPath: "\(world.container)/\(name)")
        }
        // Another content, and what is none, are no copies.
        let other = try world.machine("other")
        try other.makeDatabase()
        _ = try await Replicator.initialize(
            other.path, container: world.container, content: "other", configuration: other.configuration)
        try FileManager.default.createDirectory(atPath: world.container + "/photos", withIntermediateDirectories: true)
        for place in [a.path, world.contentPath] {
            let found = try await examine(place).findings.filter { $0.code == "conflict-copy" }
            #expect(Set(found.map(\.place)) == Set(names.map { "\(world.container)/\($0)" }), "\(found)")
        }
    }

    @Test("A folder that is away, without its marker or not allowed is said with what helps")
    func unavailable() async throws {
        try a.insert("two")
        try FileManager.default.removeItem(atPath: world.contentPath + "/logsync.json")
        _ = try? await a.sync()
        let report = try await examine()
        expect("container-unavailable", .trouble, in: report, at: world.contentPath)
        expect("outbox", .trouble, in: report)
        #expect(report.findings.first { $0.code == "container-unavailable" }?.help?.contains("rebuild") == true)
        let folder = try await examine(world.container)
        expect("container-unavailable", .trouble, in: folder)
    }

    @Test(
        "A folder that cannot be written to is said to be so, and why",
        arguments: [(EROFS, "read-only"), (EACCES, "permission-denied"), (ENOSPC, "disk-full")])
    func unwritable(number: CInt, code: String) async throws {
        var refused = a
        refused.configuration.fileSystem = RefusingFileSystem(number, below: world.contentPath)
        let peer = try await a.peer()
        expect(code, .trouble, in: try await examine(as: refused), at: "\(peer)")
        try a.insert("two")
        _ = try? await refused.sync()
        let report = try await examine(as: refused)
        #expect(Set(report.findings.map(\.code)) == ["outbox", code], "\(report.findings)")
        #expect(report.findings.first { $0.code == "outbox" }?.why.contains("no logsync has run") == false)
        try await settle(a, b)
        #expect(try await examine().findings.isEmpty)
    }

    @Test("A full disk of the database, or of the state directory, is said", arguments: ["/a", "/a-state"])
    func fullDisk(place: String) async throws {
        var full = a
        full.configuration.fileSystem = RefusingFileSystem(ENOSPC, below: world.root + place)
        let report = try await examine(as: full)
        expect("disk-full", .trouble, in: report, at: world.root + place)
        #expect(report.findings.allSatisfy { $0.help?.contains("space") == true }, "\(report.findings)")
        #expect(try await examine().findings.isEmpty)
    }

    @Test(
        "A disk that takes a little and not what waits is named, and is no trouble where nothing waits",
        arguments: ["/a", "/Sync"])
    func scarceDisk(place: String) async throws {
        var scarce = a
        scarce.configuration.fileSystem = RefusingFileSystem(ENOSPC, below: world.root + place, room: 100 << 10)
        #expect(try await examine(as: scarce).findings.isEmpty)
        var refused = a
        refused.configuration.fileSystem = RefusingFileSystem(ENOSPC, below: world.contentPath)
        try a.insert("two")
        _ = try? await refused.sync()
        try a.insert("three")
        let report = try await examine(as: scarce)
        expect("disk-full", .trouble, in: report, at: world.root + place)
        #expect(report.findings.filter { $0.code == "disk-full" }.count == 1, "\(report.findings)")
        try await settle(a, b)
        #expect(try await examine(as: scarce).findings.isEmpty)
    }

    @Test("A folder that only strangers write to is said to be another content's; founders who have met are none")
    func otherContent() async throws {
        let other = try World()
        let stranger = try await other.founder("stranger", rows: ["theirs"])
        let aside = world.root + "/aside"
        try FileManager.default.moveItem(atPath: world.contentPath, toPath: aside)
        try FileManager.default.copyItem(atPath: other.contentPath, toPath: world.contentPath)
        let report = try await examine()
        expect("other-content", .trouble, in: report, at: world.contentPath)
        #expect(report.outcome == .held)
        try FileManager.default.removeItem(atPath: world.contentPath)
        try FileManager.default.moveItem(atPath: aside, toPath: world.contentPath)
        // Two founders whose folders a sync engine puts together.
        let id = try await stranger.peer()
        try FileManager.default.copyItem(
            atPath: "\(other.contentPath)/peers/\(id)", toPath: "\(world.contentPath)/peers/\(id)")
        #expect(try await !examine().findings.contains { $0.code == "other-content" })
        try await settle(a, b)
        #expect(try await examine().findings.isEmpty && b.ids() == ["one", "theirs"])
    }

    @Test("Changes behind the triggers' back, missing triggers, broken keys and unkeyed tables are found")
    func inside() async throws {
        try a.execute(
            """
            CREATE TABLE list(id INTEGER PRIMARY KEY);
            CREATE TABLE item(id INTEGER PRIMARY KEY, list INTEGER REFERENCES list(id));
            CREATE TABLE loose(rowid, oid, _rowid_);
            INSERT INTO list VALUES(1); INSERT INTO item VALUES(1, 1);
            """)
        try await settle(a, b)
        #expect(try await examine().findings.map(\.code).filter { $0 != "other-schema" } == ["not-replicated"])
        let database = try a.database()
        try await database.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA foreign_keys = 0; DELETE FROM list; DROP TRIGGER logsync_update_2")
        }
        try database.close()
        expect("no-triggers", .trouble, in: try await examine())
        expect("broken-foreign-key", .trouble, in: try await examine(), at: "item")
        let shell = Process()
        shell.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        shell.arguments = ["sqlite3", b.path, ".dbconfig enable_trigger off", "UPDATE note SET body = 'quietly'"]
        try shell.run()
        shell.waitUntilExit()
        let report = try await examine(as: b)
        expect("uncaptured-changes", .trouble, in: report, at: "note")
        _ = try await b.with { try await $0.rescan() }
        #expect(try await !examine(as: b).findings.contains { $0.code == "uncaptured-changes" })
    }

    @Test("A peer that is silent and a clock that is wrong are named")
    func clocks() async throws {
        var later = a
        later.configuration.clock = FixedClock(SystemClock().now() + 20 * 24 * 3_600_000)
        expect("silent-peer", .trouble, in: try await examine(as: later))
        later.configuration.clock = FixedClock(SystemClock().now() - 20 * 24 * 3_600_000)
        expect("clock", .trouble, in: try await examine(as: later))
    }

    @Test("A corrupt database is said to be one")
    func corrupt() async throws {
        for index in 0..<200 { try a.insert("row\(index)", String(repeating: "x", count: 100)) }
        try await a.sync()
        try a.checkpoint()
        let handle = try #require(FileHandle(forUpdatingAtPath: a.path))
        let root = try a.count("SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_note_1'")
        try handle.seek(toOffset: UInt64(root - 1) * 4096 + 100)
        try handle.write(contentsOf: Data(repeating: 0xFF, count: 2000))
        try handle.close()
        let report = try await examine()
        expect("corrupt-database", .damage, in: report)
        #expect(report.outcome == .integrity)
    }

    @Test("A CHECK that two good halves broke is no damage, and the rows are listed")
    func brokenCheck() async throws {
        try a.execute(
            """
            CREATE TABLE range(k TEXT PRIMARY KEY, low INT, high INT, CHECK(low <= high));
            INSERT INTO range VALUES('r', 1, 10);
            """)
        try await a.sync()
        try b.execute("CREATE TABLE range(k TEXT PRIMARY KEY, low INT, high INT, CHECK(low <= high))")
        try await settle(a, b)
        try a.execute("UPDATE range SET low = 8")
        try b.execute("UPDATE range SET high = 5")
        try await settle(a, b)
        for machine in [a, b] {
            let report = try await examine(as: machine)
            expect("broken-check", .trouble, in: report, at: "range")
            let finding = report.findings.first { $0.code == "broken-check" }
            #expect(finding?.help?.contains("logsync conflicts list") == true)
            #expect(report.findings.count == 1 && report.outcome == .held, "\(report.findings)")
            let listed = try await machine.with { try await $0.conflicts() }
            #expect(listed.parked.map(\.reason) == ["check"])
        }
    }

    @Test("Values that a column may not hold are no damage either, however many")
    func unfitValues() async throws {
        try a.execute("CREATE TABLE strict(k TEXT PRIMARY KEY, n INT, x INT) STRICT")
        let rows = (0..<150).map { "('\($0)', \($0), \($0))" }.joined(separator: ", ")
        try a.execute("INSERT INTO strict VALUES \(rows)")
        try await settle(a, b)
        try redeclare("CREATE TABLE strict(k TEXT PRIMARY KEY, n TEXT, x INT NOT NULL CHECK(x < 0)) STRICT")
        let report = try await examine()
        expect("unfit-value", .trouble, in: report)
        expect("broken-check", .trouble, in: report, at: "strict")
        #expect(report.findings.first { $0.code == "broken-check" }?.what.hasPrefix("150 rows") == true)
        #expect(!report.findings.contains { $0.severity == .damage }, "\(report.findings)")
    }

    @Test("What SQLite says of NULLs that are not there is nothing wrong")
    func absentNulls() async throws {
        try a.execute(
            """
            CREATE TABLE item(list INT NOT NULL, song INT NOT NULL, place INT NOT NULL, PRIMARY KEY(list, place)) WITHOUT ROWID;
            INSERT INTO item VALUES(1, 7, 0), (1, 8, 1);
            """)
        try await settle(a, b)
        let report = try await examine()
        #expect(!report.findings.contains { $0.code == "unfit-value" }, "\(report.findings)")
    }

    /// Changes what the table `strict` declares and leaves its rows as they are.
    private func redeclare(_ sql: String) throws {
        let database = try a.database()
        defer { try? database.close() }
        try database.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA writable_schema = ON")
            try db.execute(sql: "UPDATE sqlite_master SET sql = ? WHERE name = 'strict'", arguments: [sql])
            try db.execute(sql: "PRAGMA writable_schema = RESET")
        }
    }

    @Test("A store within its container is said to be in danger")
    func inContainer() async throws {
        let path = world.container + "/inside.db"
        try a.checkpoint()
        try FileManager.default.copyItem(atPath: a.path, toPath: path)
        let report = try await Replicator.doctor(path, configuration: a.configuration)
        #expect(report.findings.contains { $0.code == "unsuitable-place" && $0.help != nil })
    }

    @Test("A disk that is so full that the database cannot be opened is named, and nothing else is taken for that")
    func quiteFullDisk() async throws {
        try a.checkpoint()
        let log = a.path + "-wal"
        try? FileManager.default.removeItem(atPath: log)
        // SQLite says that it cannot open the database, as it does on such a disk.
        try FileManager.default.createDirectory(atPath: log, withIntermediateDirectories: false)
        await #expect(throws: LogSyncError.self) { try await examine() }
        var full = a
        full.configuration.fileSystem = RefusingFileSystem(ENOSPC, below: world.root + "/a")
        let report = try await examine(as: full)
        #expect(report.findings.map(\.code) == ["disk-full"])
        #expect(report.outcome != .complete)
    }

    @Test("A repair deletes nothing where a directory's place was taken by a link, however the folder is named")
    func exchangedDirectory() async throws {
        let world = try World()
        let a = try await world.founder("a", rows: ["one"])
        let folder = world.container + "/notes/peers/\(try await a.peer())"
        let name = "receipt.sync-conflict-20250101-120000-ABC.json"
        let elsewhere = world.container + "-elsewhere"
        defer { try? FileManager.default.removeItem(atPath: elsewhere) }
        try FileManager.default.createDirectory(atPath: elsewhere, withIntermediateDirectories: true)
        for place in [folder, elsewhere] { try Data([1]).write(to: URL(fileURLWithPath: "\(place)/\(name)")) }
        let report = try await Replicator.repair(world.container + "/.", configuration: a.configuration) { _ in
            try FileManager.default.moveItem(atPath: folder, toPath: folder + "-away")
            try FileManager.default.createSymbolicLink(atPath: folder, withDestinationPath: elsewhere)
        }
        let repairs = try #require(report.repairs)
        #expect(repairs.map(\.done) == [false] && repairs[0].error != nil)
        #expect(FileManager.default.fileExists(atPath: "\(elsewhere)/\(name)"))
    }
}
