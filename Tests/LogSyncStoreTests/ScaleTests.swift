import Foundation
import LogSyncModel
import Testing

@testable import LogSyncStore

/// How long big steps take: `LOGSYNC_SCALE=1 swift test --filter ScaleTests` prints it beside plain SQLite.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["LOGSYNC_SCALE"] != nil))
struct ScaleTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private func timed<Result>(_ what: String, _ body: () throws -> Result) rethrows -> Result {
        let start = ContinuousClock.now
        let result = try body()
        print("scale:", what, ContinuousClock.now - start)
        return result
    }

    /// `LOGSYNC_SCALE=n` is the number of rows.
    private var count: Int { Int(ProcessInfo.processInfo.environment["LOGSYNC_SCALE"] ?? "") ?? 200_000 }

    private func exchange(_ a: TestPeer, _ b: TestPeer, sourceLocation: SourceLocation = #_sourceLocation) throws {
        _ = try timed("record") { try a.store.record() }
        try timed("import") { _ = try b.pull(from: a) }
        #expect(try a.digest() == b.digest(), sourceLocation: sourceLocation)
    }

    @Test func manyRows() throws {
        let rows = "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < \(count))"
        let a = try timed("insert and init of two tables") {
            try TestPeer(
                folder, "a",
                sql: """
                    CREATE TABLE i(id INTEGER PRIMARY KEY, name TEXT, v REAL, up INT REFERENCES i);
                    CREATE TABLE t(k TEXT PRIMARY KEY, u UNIQUE, v); BEGIN;
                    \(rows) INSERT INTO i SELECT i, 'name ' || i, i * 0.5, i / 2 FROM n WHERE i > 0;
                    \(rows) INSERT INTO t SELECT hex(i * 7919 % 200003), i, 'v' || i FROM n; COMMIT;
                    """)
        }
        let b = try timed("clone") { try TestPeer(folder, "b", cloning: a) }
        try a.pull(from: b)
        try timed("app updates every other row") { try a.write("UPDATE i SET v = v + 1 WHERE id % 2 = 0") }
        try exchange(a, b)
        try timed("app updates every other text-keyed row") { try a.write("UPDATE t SET v = v || '!' WHERE u % 2 = 0") }
        try exchange(a, b)
        try timed("app moves every other text key") { try a.write("UPDATE t SET k = 'm' || k WHERE u % 2 = 0") }
        try exchange(a, b)
        try timed("app inserts half as many with references") {
            try a.write("INSERT INTO i(name, v, up) SELECT name, v, id FROM i WHERE id % 2 = 1")
        }
        try exchange(a, b)
        try timed("app replaces a quarter by unique key") {
            try a.write("REPLACE INTO t SELECT 'r' || k, u, v FROM t WHERE u % 4 = 0")
        }
        try exchange(a, b)
        try timed("app deletes every other text-keyed row") { try a.write("DELETE FROM t WHERE u % 2 = 1") }
        try exchange(a, b)
        try timed("app deletes integer-keyed rows") { try a.write("DELETE FROM i WHERE id % 2 = 1") }
        try exchange(a, b)
        try timed("VACUUM") { try a.write("VACUUM") }
        _ = try timed("record after VACUUM") { try a.store.record() }
        try timed("ADD COLUMN, REPLACE-rebuild") {
            try a.write(
                "ALTER TABLE t ADD COLUMN z; CREATE TABLE n(k TEXT PRIMARY KEY, u UNIQUE, v, z); INSERT INTO n SELECT * FROM t; DROP TABLE t; ALTER TABLE n RENAME TO t"
            )
        }
        _ = try timed("record after rebuild") { try a.store.record() }
        try timed("one row") { try a.write("UPDATE t SET v = 1 WHERE u = 4") }
        _ = try timed("record") { try a.store.record() }
        #expect(try a.store.audit().problems == [])
        try b.pull(from: a)
        #expect(try a.digest() == b.digest())
    }
}
