import Foundation
import GRDB
import GRDBSQLite
import LogSyncModel
import LogSyncSQLite
import Synchronization
import Testing

@Suite("A second connection to a database")
struct SecondConnectionTests {
    @Test("keeps out no program of the same process that opens the database while it closes")
    func closing() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("second-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("store.db").path
        let first = try DatabaseQueue(path: path)
        try await first.writeWithoutTransaction {
            try $0.execute(sql: "PRAGMA journal_mode = WAL; CREATE TABLE t(x)")
        }
        let isOver = Mutex(false)
        let other = Thread {
            while !isOver.withLock({ $0 }) {
                let second = try? SecondConnection(path, flags: SQLITE_OPEN_READWRITE, extensions: [])
                _ = try? second?.connection.integer("SELECT count(*) FROM t")
            }
        }
        other.start()
        defer { isOver.withLock { $0 = true } }
        for _ in 1...3000 {
            // Which waits for nobody.
            let program = try DatabaseQueue(path: path)
            let count = try await program.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") }
            #expect(count == 0)
            try program.close()
        }
        try first.close()
    }

    @Test("that cannot be opened is an error that says why")
    func missing() {
        let path = "/nowhere/\(UUID())/store.db"
        #expect {
            try SecondConnection(path, flags: SQLITE_OPEN_READONLY, extensions: [])
        } throws: {
            ($0 as? LogSyncError)?.message.contains(path) ?? false
        }
    }
}
