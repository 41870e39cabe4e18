import Foundation
import LogModel
import Testing

@testable import LogStore

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

    @Test func manyRows() throws {
        let rows = "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 200000)"
        let a = try timed("insert and init of 200,000 + 200,000 rows") {
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
        try timed("app updates 100,000") { try a.write("UPDATE i SET v = v + 1 WHERE id % 2 = 0") }
        _ = try timed("record") { try a.store.record() }
        try timed("import") { _ = try b.pull(from: a) }
        try timed("app updates 100,000 text keyed") { try a.write("UPDATE t SET v = v || '!' WHERE u % 2 = 0") }
        _ = try timed("record") { try a.store.record() }
        try timed("import") { _ = try b.pull(from: a) }
        try timed("app moves 100,000 text keys") { try a.write("UPDATE t SET k = 'm' || k WHERE u % 2 = 0") }
        _ = try timed("record") { try a.store.record() }
        try timed("import") { _ = try b.pull(from: a) }
        try timed("app inserts 100,000 with references") {
            try a.write("INSERT INTO i(name, v, up) SELECT name, v, id FROM i WHERE id % 2 = 1")
        }
        _ = try timed("record") { try a.store.record() }
        try timed("import") { _ = try b.pull(from: a) }
        try timed("app replaces 50,000 by unique key") {
            try a.write("REPLACE INTO t SELECT 'r' || k, u, v FROM t WHERE u % 4 = 0")
        }
        _ = try timed("record") { try a.store.record() }
        try timed("import") { _ = try b.pull(from: a) }
        try timed("app deletes 100,000") { try a.write("DELETE FROM t WHERE u % 2 = 1") }
        _ = try timed("record") { try a.store.record() }
        try timed("import") { _ = try b.pull(from: a) }
        try timed("app deletes 150,000 integers") { try a.write("DELETE FROM i WHERE id % 2 = 1") }
        _ = try timed("record") { try a.store.record() }
        try timed("import") { _ = try b.pull(from: a) }
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
