import Foundation
import LogSyncModel
import LogSyncSQLite
import Testing

@testable import LogSyncStore

/// Stores whose files are let go of between transactions.
struct RestTests {
    private let folder: TestFolder
    private let peer: TestPeer

    init() throws {
        folder = try TestFolder()
        peer = try TestPeer(folder, "a", sql: "CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT)")
    }

    /// As if some time had passed since the last write.
    private func rest() throws {
        let files = try #require(peer.store.restingFiles(now: .max))
        try peer.store.rest(files)
    }

    @Test func `files that were written just now are not at rest`() throws {
        try peer.app.execute("INSERT INTO t VALUES(1, 'one')")
        #expect(peer.store.restingFiles(now: Int64(RestingFiles(peer.path).lastWrite) + 1_000_000) == nil)
    }

    @Test
    func `it is told from the files whether anybody has written, and the store is opened again when it is needed`()
        throws
    {
        let before = try peer.store.dataVersion()
        try rest()
        #expect(peer.store.isResting && peer.store.isUntouchedAtRest)
        #expect(try peer.store.isInPlace())
        #expect(peer.store.isResting)
        try peer.app.execute("INSERT INTO t VALUES(1, 'one')")
        #expect(peer.store.isResting && !peer.store.isUntouchedAtRest)
        #expect(try peer.store.hasPendingChanges())
        #expect(!peer.store.isResting)
        #expect(try peer.store.dataVersion() != before)
        #expect(try peer.store.record() != nil)
    }

    @Test func `a program that wants the database for itself gets it, and finds every commit`() throws {
        let path = folder.path + "/b.db"
        let maker = try TestPeer.open(path)
        try maker.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT); INSERT INTO t VALUES(1, 'one')")
        TestPeer.close(maker)
        let store = try Store.initialize(
            path, plan: InitializePlan(content: "test", container: "/nowhere", peerName: "b"),
            configuration: StoreConfiguration()
        ).store
        // The log stays as it is, though nobody else has the database open.
        try store.rest(#require(store.restingFiles(now: .max)))
        #expect((try? Data(contentsOf: URL(fileURLWithPath: path + "-wal")))?.isEmpty == false)
        _ = try store.hasPendingChanges()
        let app = try TestPeer.open(path)
        defer { TestPeer.close(app) }
        try app.execute("PRAGMA busy_timeout = 50; PRAGMA locking_mode = EXCLUSIVE")
        #expect(throws: LogSyncError.self) { try app.execute("INSERT INTO t VALUES(2, 'two')") }
        try store.rest(#require(store.restingFiles(now: .max)))
        try app.execute("INSERT INTO t VALUES(2, 'two')")
        #expect(try app.integer("SELECT count(*) FROM t") == 2)
    }

    @Test func `a file that took the store's place while it rested is not opened as the store`() throws {
        try rest()
        let other = peer.path + ".other"
        try FileManager.default.copyItem(atPath: peer.path, toPath: other)
        #expect(rename(other, peer.path) == 0)
        #expect(try !peer.store.isInPlace())
        let error = try #require(throws: LogSyncError.self) { try peer.store.hasPendingChanges() }
        #expect(error.code == .locked && error.message.contains("replaced"))
    }

    @Test func `files from times that no clock of the kernel's is sure to count in nanoseconds are at rest, too`()
        throws
    {
        for year in ["1600", "2300"] {
            let seconds = Int(try #require(try peer.app.integer("SELECT unixepoch('\(year)-01-01')")))
            let times = [timeval(tv_sec: seconds, tv_usec: 0), timeval(tv_sec: seconds, tv_usec: 0)]
            for suffix in ["", "-wal"] { #expect(utimes(peer.path + suffix, times) == 0) }
            let now = Int64(Date().timeIntervalSince1970 * 1e9)
            let files = peer.store.restingFiles(now: now)
            #expect((files == nil) == (year == "2300"))
            let seen = RestingFiles(peer.path)
            #expect(peer.store.restingFiles(now: now, standing: seen) == seen)
            // Somebody has written meanwhile.
            #expect(utimes(peer.path, nil) == 0)
            #expect(peer.store.restingFiles(now: now, standing: seen) == nil)
        }
    }

    // MARK: Journal modes

    /// How a program writes a database without a log that it has read before.
    enum Takeover: CaseIterable {
        case deletes, truncates, hasItAlone
        /// It had done without a log before the import, too.
        case deletedBefore
    }

    /// In WAL mode SQLite raises the change counter only where a commit changes the first page, and without a log programs tell
    /// by that counter alone whether what they have read still holds.
    @Test(arguments: Takeover.allCases)
    func `a program that has read and then writes without a log finds what was imported meanwhile`(
        takeover: Takeover
    ) throws {
        let other = try TestPeer(folder, "b", cloning: peer)
        let program = peer.app
        try program.execute("PRAGMA user_version = 7; INSERT INTO t VALUES(1, 'own')")
        try other.pull(from: peer)
        try rest()
        if takeover == .deletedBefore { try program.execute("PRAGMA journal_mode = DELETE") }
        try other.write("INSERT INTO t VALUES(2, 'imported')")
        try other.record()
        // Makes all that is not there yet when a transaction is first imported.
        try peer.pull(from: other)
        try other.write("UPDATE t SET x = 'again' WHERE id = 2")
        #expect(try program.integer("SELECT count(*) FROM t WHERE x <> 'again'") == 2)
        #expect(try peer.pull(from: other).count == 1)
        try rest()
        if takeover == .hasItAlone { try program.execute("PRAGMA locking_mode = EXCLUSIVE") }
        try program.execute("PRAGMA journal_mode = \(takeover == .truncates ? "TRUNCATE" : "DELETE")")
        try program.execute("INSERT INTO t VALUES(3, 'late')")
        #expect(
            try program.rows("SELECT x FROM t ORDER BY id").map { String(text: $0[0]) } == ["own", "again", "late"])
        #expect(try program.scalar("PRAGMA integrity_check") == .text("ok"))
        #expect(try program.integer("PRAGMA user_version") == 7)
    }

    @Test func `a write transaction in which nothing is written leaves the files as they are`() throws {
        try peer.app.execute("PRAGMA user_version = 7")
        let files = RestingFiles(peer.path)
        let version = try peer.store.dataVersion()
        try peer.store.database.write { _ in }
        try peer.store.database.writeAside { _ in }
        #expect(RestingFiles(peer.path) == files)
        #expect(try peer.store.dataVersion() == version)
    }

    // MARK: Closing

    @Test func `what is to be closed has the database alone, unless another has it open, who is not disturbed`()
        throws
    {
        let path = folder.path + "/b.db"
        let (one, other) = (try TestPeer.open(path), try TestPeer.open(path))
        try one.execute("PRAGMA journal_mode = WAL; CREATE TABLE t(x)")
        _ = try other.integer("SELECT count(*) FROM t")
        #expect(!one.lockAlone())
        try other.execute("INSERT INTO t VALUES(1)")
        // Nor are those that come now.
        let late = try TestPeer.open(path)
        try late.execute("PRAGMA busy_timeout = 50")
        #expect(try late.integer("SELECT count(*) FROM t") == 1)
        TestPeer.close(late)
        TestPeer.close(other)
        #expect(one.lockAlone())
        let kept = try TestPeer.open(path)
        try kept.execute("PRAGMA busy_timeout = 50")
        #expect(throws: LogSyncError.self) { try kept.integer("SELECT count(*) FROM t") }
        one.unlockAlone()
        #expect(try kept.integer("SELECT count(*) FROM t") == 1)
        TestPeer.close(kept)
        #expect(one.lockAlone())
        TestPeer.close(one)
        #expect(!FileManager.default.fileExists(atPath: path + "-wal"))
    }

    /// A database with a log, in whose place stands the file that a program has made of another, or a copy of its own file
    /// without the log; and the log of a third.
    private func replaced(
        byCopy isCopy: Bool = false
    ) throws -> (app: Connection, files: OpenFiles, path: String, otherLog: Data) {
        let (path, other) = (folder.path + "/b.db", folder.path + "/c.db")
        let app = try TestPeer.open(path)
        try app.execute("PRAGMA journal_mode = WAL; CREATE TABLE t(x); INSERT INTO t VALUES('one')")
        let files = OpenFiles(path)
        let program = try TestPeer.open(other)
        try program.execute("PRAGMA journal_mode = WAL; CREATE TABLE t(x); INSERT INTO t VALUES('two')")
        let log = try Data(contentsOf: URL(fileURLWithPath: other + "-wal"))
        let made = folder.path + "/d.db"
        if isCopy {
            try FileManager.default.copyItem(atPath: path, toPath: made)
        } else {
            try program.execute("VACUUM INTO '\(made)'")
        }
        TestPeer.close(program)
        #expect(rename(made, path) == 0)
        try app.disableCheckpointOnClose()
        return (app, files, path, log)
    }

    @Test func `a log beside a database that has taken another's place goes`() throws {
        let (app, files, path, _) = try replaced()
        let log = try #require(files.strandedLog())
        TestPeer.close(app)
        #expect(log.remove())
        #expect(!FileManager.default.fileExists(atPath: path + "-wal"))
    }

    @Test func `a log stays beside a copy of its database as it stood without it`() throws {
        let (app, files, path, _) = try replaced(byCopy: true)
        let log = try #require(files.strandedLog())
        TestPeer.close(app)
        #expect(!log.remove())
        let copy = try TestPeer.open(path)
        defer { TestPeer.close(copy) }
        #expect(try copy.integer("SELECT count(*) FROM t WHERE x = 'one'") == 1)
    }

    @Test func `a log that was copied into the file of the one before it stays`() throws {
        let (app, files, path, otherLog) = try replaced()
        let log = try #require(files.strandedLog())
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path + "-wal"))
        try file.truncate(atOffset: 0)
        try file.write(contentsOf: otherLog)
        try file.close()
        TestPeer.close(app)
        #expect(!log.remove())
        #expect(try Data(contentsOf: URL(fileURLWithPath: path + "-wal")) == otherLog)
    }

    @Test func `a log stays beside a database that a connection of this process has open`() throws {
        let (app, files, path, _) = try replaced()
        let log = try #require(files.strandedLog())
        TestPeer.close(app)
        // Through a name of its own it has a log of its own.
        let other = path + ".link"
        #expect(link(path, other) == 0)
        let program = try TestPeer.open(other)
        defer { TestPeer.close(program) }
        try program.execute("PRAGMA journal_mode = WAL; INSERT INTO t VALUES('three')")
        #expect(!log.remove())
        #expect(FileManager.default.fileExists(atPath: path + "-wal"))
    }
}
