import GRDBSQLite
import LogSyncModel
import LogSyncSQLite
import Testing

@testable import LogSyncStore

/// How much SQLite does while no program can write: in instructions of its virtual machine, which are the same on every machine,
/// and in what one transaction takes away.
@Suite("Programs wait for a part of the work at a time")
struct LockedWorkTests {
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    /// What a store's connection does, asked of SQLite.
    private final class Meter {
        let handle: OpaquePointer
        /// Instructions, within write transactions and without.
        private(set) var (locked, free) = (0, 0)
        /// Rows that the transaction at hand has deleted, and the most that one has.
        private var deleted = 0
        private(set) var mostDeleted = 0

        init(_ store: Store) throws { handle = try store.database.withConnection(\.handle) }

        func run(_ body: () throws -> Void) rethrows {
            let context = Unmanaged.passUnretained(self).toOpaque()
            sqlite3_progress_handler(
                handle, 1,
                {
                    if let object = $0 { Unmanaged<Meter>.fromOpaque(object).takeUnretainedValue().step() }
                    return 0
                }, context)
            sqlite3_update_hook(
                handle,
                { object, operation, _, _, _ in
                    guard operation == SQLITE_DELETE, let object else { return }
                    Unmanaged<Meter>.fromOpaque(object).takeUnretainedValue().deleted += 1
                }, context)
            sqlite3_commit_hook(
                handle,
                {
                    if let object = $0 { Unmanaged<Meter>.fromOpaque(object).takeUnretainedValue().commit() }
                    return 0
                }, context)
            defer {
                sqlite3_progress_handler(handle, 0, nil, nil)
                sqlite3_update_hook(handle, nil, nil)
                sqlite3_commit_hook(handle, nil, nil)
            }
            try body()
        }

        private func step() {
            if sqlite3_txn_state(handle, "main") == SQLITE_TXN_WRITE { locked += 1 } else { free += 1 }
        }

        private func commit() {
            mostDeleted = max(mostDeleted, deleted)
            deleted = 0
        }
    }

    @Test(
        "A rescan that finds little does little under the lock, however many rows there are and by whatever key they go",
        arguments: [
            "k TEXT PRIMARY KEY NOT NULL, x", "k TEXT COLLATE NOCASE PRIMARY KEY NOT NULL, x",
            "k TEXT NOT NULL, l INT NOT NULL, x, PRIMARY KEY(l, k)", "k TEXT PRIMARY KEY NOT NULL, x, l UNIQUE",
            "k INTEGER PRIMARY KEY, x", "k TEXT PRIMARY KEY NOT NULL, x) WITHOUT ROWID",
            "k TEXT NOT NULL, l INT NOT NULL, x, PRIMARY KEY(l, k)) WITHOUT ROWID",
            "k INTEGER REFERENCES parent, x, PRIMARY KEY(k, x)",
            "k INTEGER REFERENCES parent, x, PRIMARY KEY(x, k)) WITHOUT ROWID",
        ], ["", "UPDATE t SET x = 'new' WHERE x = 7", "DELETE FROM t WHERE x = 7"])
    func rescan(columns: String, change: String) throws {
        func measured(_ name: String, rows: Int) throws -> Meter {
            let isNumber = columns.hasPrefix("k INTEGER")
            let end = columns.hasSuffix(" WITHOUT ROWID") ? "" : ")"
            let hasOther = columns.contains("l ")
            let peer = try TestPeer(
                folder, name,
                sql: """
                    CREATE TABLE parent(id INTEGER PRIMARY KEY);
                    CREATE TABLE t(\(columns)\(end);
                    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows)) INSERT INTO parent SELECT i FROM n;
                    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
                    INSERT INTO t(k, x\(hasOther ? ", l" : "")) SELECT \(isNumber ? "i" : "'key ' || i"), i\(hasOther ? ", -i" : "")
                    FROM n;
                    """)
            try peer.app.setTriggersEnabled(false)
            try peer.write(change)
            let meter = try Meter(peer.store)
            try meter.run {
                let (_, found, _) = try peer.store.rescan(peer.store.prepareRescan(), naming: [:])
                #expect((found == nil) == change.isEmpty)
            }
            #expect(try peer.store.audit().problems == [])
            return meter
        }
        let few = try measured("few", rows: 100)
        let many = try measured("many", rows: 2_000)
        #expect(many.free > 10 * few.free, "all rows were compared")
        #expect(Double(many.locked) < 1.5 * Double(few.locked), "\(few.locked) grew to \(many.locked)")
    }

    @Test("What a snapshot stands for leaves the outbox few blocks at a time, of which each may be a megabyte")
    func outbox() throws {
        let peer = try TestPeer(folder, "a", sql: "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, v BLOB)", seed: 1)
        for part in 1...3 {
            try peer.write(
                """
                WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
                INSERT INTO t SELECT '\(part) ' || i, randomblob(200000) FROM n
                """)
            try peer.record()
        }
        try peer.store.markPublished(try peer.store.outbox(unpublishedOnly: true).map(\.dot))
        let blocks = "SELECT count(*) FROM logsync_outbox_block"
        #expect(try #require(Int(peer.strings(blocks)[0])) > 32)
        let meter = try Meter(peer.store)
        try meter.run { _ = try peer.store.releaseOutbox(coveredBy: peer.vector()) }
        #expect(try peer.strings(blocks) == ["0"])
        #expect(meter.mostDeleted == 16)
    }

    @Test(
        "What is written to a row is imported without a look at all the rows that name it by its key",
        arguments: ["sum", "max", "last-writer"], [false, true])
    func children(policy: String, bothWrite: Bool) throws {
        func measured(_ name: String, rows: Int) throws -> Meter {
            let a = try TestPeer(
                folder, "\(name) a",
                sql: """
                    CREATE TABLE parent(k TEXT PRIMARY KEY NOT NULL, n INT); INSERT INTO parent VALUES('p', 0);
                    CREATE TABLE child(id INTEGER PRIMARY KEY, parent TEXT REFERENCES parent);
                    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
                    INSERT INTO child(parent) SELECT 'p' FROM n;
                    """
            ) { $0.policies = policy == "last-writer" ? [] : [("parent.n", policy)] }
            let b = try TestPeer(folder, "\(name) b", cloning: a)
            if bothWrite { try b.write("UPDATE parent SET n = n + 10") }
            try b.record()
            try b.awaitAnotherMillisecond()
            try a.write("UPDATE parent SET n = n + 100")
            try a.record()
            let meter = try Meter(b.store)
            try meter.run { _ = try b.pull(from: a) }
            #expect(try b.strings("SELECT n FROM parent") == [bothWrite && policy == "sum" ? "110" : "100"])
            try converge(a, b)
            return meter
        }
        let few = try measured("few", rows: 20)
        let many = try measured("many", rows: 400)
        #expect(Double(many.locked) < 1.2 * Double(few.locked), "\(few.locked) grew to \(many.locked)")
    }

    @Test(
        "A migration that gives all rows other integers does as much for each row, however many there are and refer to them",
        arguments: ["", "CREATE INDEX child_parent ON child(parent);"], ["id", "NULL"])
    func renumbered(index: String, reference: String) throws {
        func measured(_ name: String, rows: Int) throws -> Meter {
            let a = try TestPeer(
                folder, name,
                sql: """
                    CREATE TABLE parent(id INTEGER PRIMARY KEY, x TEXT);
                    CREATE TABLE child(id INTEGER PRIMARY KEY, parent INTEGER REFERENCES parent); \(index)
                    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
                    INSERT INTO parent SELECT i, 'x' || i FROM n;
                    INSERT INTO child(parent) SELECT \(reference) FROM parent;
                    """)
            try a.write(
                """
                PRAGMA foreign_keys = OFF; BEGIN;
                CREATE TABLE new_child(id INTEGER PRIMARY KEY, parent INTEGER REFERENCES parent);
                INSERT INTO new_child SELECT id, parent * 10 FROM child;
                DROP TABLE child; ALTER TABLE new_child RENAME TO child; \(index)
                CREATE TABLE new_parent(id INTEGER PRIMARY KEY, x TEXT);
                INSERT INTO new_parent SELECT id * 10, x FROM parent;
                DROP TABLE parent; ALTER TABLE new_parent RENAME TO parent; COMMIT
                """)
            let meter = try Meter(a.store)
            try meter.run { _ = try a.record() }
            #expect(try a.store.audit().problems == [])
            return meter
        }
        let few = try measured("few", rows: 50)
        let many = try measured("many", rows: 500)
        #expect(Double(many.locked) < 12 * Double(few.locked), "\(few.locked) grew to \(many.locked)")
    }

    @Test(
        "Rows that were written before a schema changed are merged with as little as others",
        arguments: [
            "ALTER TABLE t ADD COLUMN r REAL DEFAULT -1.5", "ALTER TABLE t ADD COLUMN r",
            "ALTER TABLE t ADD COLUMN r TEXT NOT NULL DEFAULT 'x'; CREATE UNIQUE INDEX t_r ON t(r, k)",
            "ALTER TABLE t RENAME COLUMN v TO w", "CREATE UNIQUE INDEX t_v ON t(v)",
            "CREATE TABLE other(k TEXT PRIMARY KEY)",
        ], ["k TEXT PRIMARY KEY NOT NULL", "id INTEGER PRIMARY KEY, k TEXT"])
    func formerSchema(change: String, key: String) throws {
        func measured(_ name: String, _ change: String) throws -> Meter {
            let a = try TestPeer(folder, "\(name) a", sql: "CREATE TABLE t(\(key), v TEXT)")
            let b = try TestPeer(folder, "\(name) b", cloning: a)
            try b.write(change)
            try b.record()
            try a.write(
                """
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
                INSERT INTO t(k, v) SELECT 'k' || i, 'v' || i FROM n
                """)
            try a.record()
            let meter = try Meter(b.store)
            try meter.run { _ = try b.pull(from: a) }
            if !change.isEmpty { try a.write(change) }
            try converge(a, b)
            let rows = "SELECT * FROM t ORDER BY k"
            #expect(try a.dump(rows) == b.dump(rows))
            #expect(try b.strings("SELECT count(*) FROM t") == ["200"])
            for peer in [a, b] { #expect(try peer.store.audit().problems == []) }
            return meter
        }
        let before = try measured("same", "")
        let after = try measured("other", change)
        #expect(Double(after.locked) < 2 * Double(before.locked), "\(before.locked) grew to \(after.locked)")
    }

    @Test(
        "Of a table that a rebuild has copied, the rows are recorded that differ",
        arguments: [
            "k INTEGER PRIMARY KEY, x)", "k INTEGER PRIMARY KEY, x) WITHOUT ROWID", "k INT PRIMARY KEY NOT NULL, x)",
            "k INT NOT NULL, x, PRIMARY KEY(x, k))",
        ],
        [
            "", "UPDATE t SET x = 'new' WHERE k = 7", "DELETE FROM t WHERE k = 7",
            "DELETE FROM t WHERE k = 7; INSERT INTO t VALUES(1000, 'new')", "UPDATE t SET k = 1000 WHERE k = 7",
            "UPDATE t SET k = k + 1000 WHERE k = 7; UPDATE t SET k = 7 WHERE k = 8",
        ])
    func copied(columns: String, change: String) throws {
        let isLocal = columns.hasPrefix("k INTEGER") && !columns.hasSuffix("WITHOUT ROWID")
        func measured(_ name: String, rows: Int) throws -> Meter {
            let a = try TestPeer(
                folder, "\(name) a",
                sql: """
                    CREATE TABLE t(\(columns);
                    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
                    INSERT INTO t SELECT i, 'x' || i FROM n
                    """)
            let b = try TestPeer(folder, "\(name) b", cloning: a)
            try a.write(Self.copying("t", columns) + change)
            let meter = try Meter(a.store)
            try meter.run {
                let found = try a.record()
                #expect((found == nil) == (change.isEmpty || isLocal && change.hasPrefix("UPDATE t SET k")))
            }
            try converge(a, b)
            let shown = "SELECT x\(isLocal ? "" : ", k") FROM t ORDER BY x"
            #expect(try a.dump(shown) == b.dump(shown))
            for peer in [a, b] { #expect(try peer.store.audit().problems == []) }
            return meter
        }
        let few = try measured("few", rows: 50)
        let many = try measured("many", rows: 500)
        #expect(many.mostDeleted == few.mostDeleted, "rows were noted that are what they were")
    }

    @Test(
        "A row that was deleted before a rebuild and is there as it was after it is no deleted one",
        arguments: [
            "k INTEGER PRIMARY KEY, x)", "k INT PRIMARY KEY NOT NULL, x)", "k INT PRIMARY KEY, x) WITHOUT ROWID",
        ])
    func copiedAfterDelete(columns: String) throws {
        let a = try TestPeer(
            folder, "a", sql: "CREATE TABLE t(\(columns); INSERT INTO t VALUES(1, 'x'), (2, 'y'), (3, 'z')")
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write("DELETE FROM t WHERE k = 2")
        try a.write(Self.copying("t", columns) + "INSERT INTO t VALUES(2, 'y')")
        try a.record()
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT group_concat(x) FROM (SELECT x FROM t ORDER BY k)") == ["x,y,z"])
            #expect(try peer.store.audit().problems == [])
        }
    }

    /// A migration that leaves rows as they are.
    private static func copying(_ table: String, _ columns: String) -> String {
        """
        BEGIN; CREATE TABLE new_\(table)(\(columns); INSERT INTO new_\(table) SELECT * FROM \(table);
        DROP TABLE \(table); ALTER TABLE new_\(table) RENAME TO \(table); COMMIT;
        """
    }
}
