import Foundation
import GRDB
import LogSyncModel
import LogSyncSQLite
import LogSyncStore
import Logging
import Synchronization
import Testing

@testable import LogSync

/// Collects log lines.
struct CapturedLog: LogHandler {
    final class Lines: Sendable {
        private let lines = Mutex<[String]>([])
        var all: [String] { lines.withLock { $0 } }
        func add(_ line: String) { lines.withLock { $0.append(line) } }
        func clear() { lines.withLock { $0 = [] } }
    }

    let lines: Lines
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.notice

    init(_ lines: Lines) { self.lines = lines }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { lines.add(event.message.description) }
}

/// Hears when a replicator is first ready.
final class ReadyEar: Sendable {
    private let heard = Mutex(false)
    var isReady: Bool { heard.withLock { $0 } }

    init(_ replicator: Replicator) {
        let events = replicator.events()
        Task { [weak self] in
            for await case .ready in events {
                self?.heard.withLock { $0 = true }
                return
            }
        }
    }
}

@Suite("Restoring a store while it is watched")
struct RestoreTests {
    let world: World
    let a: Machine
    let log = CapturedLog.Lines()
    let away: String
    private static let suffixes = ["", "-shm", "-wal"]

    init() async throws {
        world = try World()
        var a = try await world.founder("a", rows: ["one"])
        let log = log
        a.configuration.logger = Logger(label: "a") { _ in CapturedLog(log) }
        self.a = a
        away = world.root + "/away"
        try FileManager.default.createDirectory(atPath: away, withIntermediateDirectories: true)
    }

    /// Runs `body` beside a replicator that watches the store.
    private func watching(_ body: (Replicator) async throws -> Void) async throws {
        let replicator = try a.replicator()
        let ear = ReadyEar(replicator)
        await replicator.start()
        try await eventually("it has begun") { ear.isReady }
        try await body(replicator)
        await replicator.stop()
        await replicator.close()
    }

    /// What is not recorded yet is not in the outbox either.
    private func published() async throws {
        try await eventually(within: .seconds(120), "it is published") {
            let status = try await a.status()
            return status.outbox == 0 && status.pending == 0
        }
    }

    private func takeAway(_ replicator: Replicator) async throws {
        for suffix in Self.suffixes where FileManager.default.fileExists(atPath: a.path + suffix) {
            try FileManager.default.moveItem(atPath: a.path + suffix, toPath: "\(away)/notes.db\(suffix)")
        }
        try await eventually("it is missed") { log.all.contains { $0.contains("was replaced or removed") } }
    }

    /// Puts one file back as rsync does: aside, then renamed over whatever is there.
    private func putBack(_ suffix: String) throws {
        let hidden = world.root + "/a/.notes.db\(suffix).a8Fx2k"
        try FileManager.default.copyItem(atPath: "\(away)/notes.db\(suffix)", toPath: hidden)
        #expect(rename(hidden, a.path + suffix) == 0)
    }

    /// What restores takes its time between two files, and less than what is waited for. The thread sleeps, and not the task,
    /// which others might keep from going on for longer than that.
    private func putBackSlowly() throws {
        for suffix in Self.suffixes where FileManager.default.fileExists(atPath: "\(away)/notes.db\(suffix)") {
            try putBack(suffix)
            usleep(300_000)
        }
    }

    @Test("What comes back and holds something else than was recorded of it is named")
    func otherRows() async throws {
        try await watching { replicator in
            try a.insert("two")
            try await published()
            try await takeAway(replicator)
            // As by pages of another database's log: no trigger fires.
            let database = try a.database("\(away)/notes.db")
            try await database.writeWithoutTransaction { database in
                try Connection(#require(database.sqliteConnection)).setTriggersEnabled(false)
                try database.execute(sql: "UPDATE note SET body = 'other' WHERE id = 'two'")
            }
            try database.close()
            try putBackSlowly()
            try await eventually("it is said") { log.all.contains { $0.contains("1 row of note") } }
        }
        try await a.with { _ = try await $0.rescan() }
        #expect(try a.notes() == ["one=", "two=other"])
        let b = try await world.clone("b")
        try await settle(a, b)
        #expect(try b.notes() == a.notes())
        // What is as it was recorded is not spoken of.
        log.clear()
        for suffix in Self.suffixes { try? FileManager.default.removeItem(atPath: "\(away)/notes.db\(suffix)") }
        try await watching { replicator in
            try a.insert("three")
            try await published()
            try await takeAway(replicator)
            try putBackSlowly()
            try await eventually("it goes on") { log.all.contains { $0.hasSuffix("is in step again") } }
        }
        #expect(!log.all.contains { $0.contains("something else than was recorded") }, "\(log.all)")
    }

    @Test("Files that come back one after the other are opened when all of them are there, and nothing is lost")
    func oneAfterTheOther() async throws {
        try await watching { replicator in
            try a.insert("two")
            try await published()
            try await takeAway(replicator)
            try putBackSlowly()
            for id in ["three", "four"] { try a.insert(id) }
            try await eventually("it goes on") { log.all.contains { $0.hasSuffix("is in step again") } }
        }
        #expect(try a.ids() == ["four", "one", "three", "two"])
        #expect(try a.count("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'") == 0)
        #expect(!log.all.contains { $0.contains("older state") }, "\(log.all)")
    }

    @Test("A store that is being put into place is said once, and not opened meanwhile")
    func beingPut() async throws {
        try await watching { replicator in
            try await takeAway(replicator)
            try putBack("")
            let start = ContinuousClock.now
            var part = 0
            // A large log that is still being copied under another name.
            while start.duration(to: .now) < .seconds(4) {
                part += 1
                try Data(count: part).write(to: URL(fileURLWithPath: world.root + "/a/.notes.db-wal.Xy12ab"))
                try await Task.sleep(for: .milliseconds(100))
            }
            #expect(!log.all.contains { $0.hasSuffix("is in step again") })
            try FileManager.default.removeItem(atPath: world.root + "/a/.notes.db-wal.Xy12ab")
            try await eventually("it goes on") { log.all.contains { $0.hasSuffix("is in step again") } }
        }
        #expect(log.all.filter { $0.contains("is being put into place") }.count == 1, "\(log.all)")
    }

    @Test("A database that comes in the moment after it was missed is not opened half")
    func cameMeanwhile() async throws {
        try await watching { replicator in
            try await takeAway(replicator)
            let (path, here) = (away + "/notes.db", a.path)
            let isDone = Mutex(false)
            // It comes and goes, and never stands for as long as it takes to be whole.
            let thread = Thread {
                while !isDone.withLock({ $0 }) {
                    _ = rename(path, here)
                    usleep(30)
                    _ = rename(here, path)
                    usleep(30)
                }
            }
            thread.start()
            var opened = 0
            for _ in 0..<2000 where (try? await replicator.inspect { $0.peer }) != nil { opened += 1 }
            isDone.withLock { $0 = true }
            #expect(opened == 0)
            try await eventually("the thread has ended") { thread.isFinished }
            for suffix in Self.suffixes where FileManager.default.fileExists(atPath: "\(away)/notes.db\(suffix)") {
                try putBack(suffix)
            }
            try await eventually("it goes on") { log.all.contains { $0.hasSuffix("is in step again") } }
        }
        #expect(try a.ids() == ["one"])
    }

    @Test("A store into which a program commits all the time is opened again, and what it committed goes out")
    func committedInto() async throws {
        try await watching { replicator in
            try a.insert("two")
            try await published()
            try await takeAway(replicator)
            try putBackSlowly()
            var count = 0
            try await eventually(within: .seconds(120), "it goes on") {
                count += 1
                try a.insert("more-\(count)")
                try await Task.sleep(for: .milliseconds(200))
                return log.all.contains { $0.hasSuffix("is in step again") }
            }
            try await published()
            #expect(try a.ids().count == count + 2)
        }
    }

    @Test("A database that is no store in its place is said, and the store when it is back")
    func anotherInItsPlace() async throws {
        try await watching { replicator in
            try await takeAway(replicator)
            try a.execute("CREATE TABLE other(k TEXT PRIMARY KEY)")
            try await eventually(within: .seconds(120), "it is said") {
                log.all.contains { $0.contains("it is not replicated") }
            }
            for suffix in Self.suffixes { unlink(a.path + suffix) }
            for suffix in Self.suffixes where FileManager.default.fileExists(atPath: "\(away)/notes.db\(suffix)") {
                try putBack(suffix)
            }
            try await eventually(within: .seconds(120), "it goes on") {
                log.all.contains { $0.hasSuffix("is in step again") }
            }
        }
        #expect(try a.ids() == ["one"])
    }

    @Test("A connection whose log was replaced writes nothing, neither when it is asked to nor when it closes")
    func replacedLog() async throws {
        let replicator = try a.replicator()
        _ = try await replicator.sync()
        try a.insert("two")
        for suffix in Self.suffixes where FileManager.default.fileExists(atPath: a.path + suffix) {
            try FileManager.default.copyItem(atPath: a.path + suffix, toPath: "\(away)/notes.db\(suffix)")
        }
        _ = try await replicator.sync()
        for suffix in ["-shm", "-wal"] { try putBack(suffix) }
        let files = try Self.suffixes.map { try Data(contentsOf: URL(fileURLWithPath: a.path + $0)) }
        await replicator.close()
        #expect(try Self.suffixes.map { try Data(contentsOf: URL(fileURLWithPath: a.path + $0)) } == files)
        #expect(try a.ids() == ["one", "two"])
    }

    @Test("A write into a store whose log was replaced is refused before it is made", arguments: ["", "-shm", "-wal"])
    func refusedWrite(suffix: String) async throws {
        try await a.sync()
        let store = try Store.open(a.path, configuration: StoreConfiguration())
        try store.setLocation(path: a.path, inode: 1, machineID: "a")
        try FileManager.default.copyItem(atPath: a.path + suffix, toPath: "\(away)/notes.db\(suffix)")
        try putBack(suffix)
        // The index of the log is made anew from it.
        let lasting = ["", "-wal"]
        let files = try lasting.map { try Data(contentsOf: URL(fileURLWithPath: a.path + $0)) }
        let error = #expect(throws: LogSyncError.self) {
            try store.setLocation(path: a.path, inode: 2, machineID: "a")
        }
        #expect(
            error?.code == .locked && error?.message.contains(a.path + suffix) == true, "\(String(describing: error))")
        #expect(try !store.isInPlace())
        try store.close()
        #expect(try lasting.map { try Data(contentsOf: URL(fileURLWithPath: a.path + $0)) } == files)
    }

    @Test("Another program's change of the journal's mode is none of these")
    func journalMode() async throws {
        let replicator = try a.replicator()
        _ = try await replicator.sync()
        await replicator.close()
        let database = try a.database()
        try await database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = DELETE") }
        _ = try await replicator.sync()
        try await database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = WAL") }
        try a.insert("two")
        #expect(try await replicator.sync().published == 1)
        try database.close()
        #expect(try await replicator.sync().published == 0)
        await replicator.close()
        #expect(!log.all.contains { $0.contains("replaced") }, "\(log.all)")
    }
}
