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
        #expect(peer.store.restingFiles(now: RestingFiles(peer.path).lastWrite + 1_000_000) == nil)
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
}
