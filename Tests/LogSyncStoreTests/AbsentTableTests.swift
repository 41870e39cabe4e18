import Foundation
import GRDB
import LogSyncModel
import Synchronization
import Testing

@testable import LogSyncStore

/// Rows of tables that a peer does not have, or has no more.
@Suite struct AbsentTableTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private static let schema = """
        CREATE TABLE w(k TEXT PRIMARY KEY, v); CREATE TABLE o(id INTEGER PRIMARY KEY, v);
        INSERT INTO w VALUES ('a', 1), ('b', 2), ('c', 3);
        """

    // MARK: Tables that have not come

    @Test func keysOfATableThatIsNotHereCountInTheDigest() throws {
        let a = try TestPeer(folder, "a", sql: "CREATE TABLE o(id INTEGER PRIMARY KEY, v)")
        let b = try TestPeer(folder, "b", cloning: a)
        let tables = """
            CREATE TABLE n(k TEXT PRIMARY KEY COLLATE NOCASE, v);
            CREATE TABLE m(p INT, n TEXT REFERENCES n, q, PRIMARY KEY(p, n)) WITHOUT ROWID;
            """
        try a.write(
            tables + "INSERT INTO n VALUES ('a', 1), ('B', 2); INSERT INTO m VALUES (1, 'a', 'x'), (1.5, 'B', 'y')")
        try converge(a, b)
        try a.write("UPDATE n SET k = 'A' WHERE k = 'a'; DELETE FROM m WHERE p = 1; INSERT INTO n VALUES ('c', 3)")
        try converge(a, b)
        try b.write(tables)
        try agree(a, b)
        #expect(try b.strings("SELECT * FROM n ORDER BY k") == ["A|1", "B|2", "c|3"])
        #expect(try b.strings("SELECT * FROM m") == ["1.5|B|y"])
    }

    /// The later of two migrations that fill a table from another one's column finds nothing where the first peer had moved
    /// the value before it was recorded.
    @Test func aTableThatBothFillKeepsWhatTheLaterOneHadNothingFor() throws {
        let a = try TestPeer(
            folder, "a",
            sql:
                "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, street TEXT); INSERT INTO t VALUES('x', 'of x'), ('y', 'y')"
        )
        let b = try TestPeer(folder, "b", cloning: a)
        let migration = """
            BEGIN; CREATE TABLE address(k TEXT PRIMARY KEY NOT NULL REFERENCES t, street TEXT, zip TEXT DEFAULT '0');
            INSERT INTO address(k, street) SELECT k, street FROM t; ALTER TABLE t DROP COLUMN street; COMMIT;
            """
        try a.write("INSERT INTO t VALUES('new', 'of new'), ('none', 'of none')")
        try a.write(migration)
        try a.write("UPDATE address SET zip = '1' WHERE k = 'new'; DELETE FROM address WHERE k = 'none'")
        try b.pull(from: a)
        try b.write("UPDATE t SET street = 'by b' WHERE k = 'x'; UPDATE t SET street = NULL WHERE k = 'y'")
        #expect(try b.strings("SELECT k, street FROM t WHERE k = 'new'") == ["new|NULL"])
        try b.write(migration)
        try b.write("DELETE FROM address WHERE k = 'none'")
        try agree(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT * FROM address ORDER BY k") == ["new|of new|1", "x|by b|0", "y|y|0"])
        }
    }

    @Test func aPublishedSchemaSaysWhatKeysAreCalledAndReachesNoOtherFile() throws {
        #expect(
            try KeyNames.names(
                in: String(Self.schema.split(separator: "\n")[0]) + "CREATE TABLE p(x, y, PRIMARY KEY(y, x));",
                settings: []
            )
            .filter { $0.key != "logsync_setting" } == ["w": ["k"], "p": ["y", "x"]])
        let other = folder.path + "/other.db"
        let clock = TestClock()
        for reach in ["ATTACH '\(other)' AS o; CREATE TABLE o.t(x)", "VACUUM INTO '\(other)'"] {
            let schema = String(Self.schema.split(separator: "\n")[0]) + reach
            try expect(.invalidStore) { _ = try KeyNames.names(in: schema, settings: []) }
            #expect(throws: LogSyncError.self) {
                _ = try Store.create(
                    folder.path + "/clone.db", schema: schema,
                    plan: InitializePlan(content: "test", container: "/nowhere", peerName: "c"),
                    configuration: TestPeer.configuration(1, clock))
            }
            #expect(!FileManager.default.fileExists(atPath: other))
        }
    }

    @Test func tablesThatReferToEachOtherInALongRowAreFollowedOnlySoFar() throws {
        // No more than are made in the time that a schema has, on a slow machine, too.
        let count = 1200
        let schema = (0..<count).map { number in
            "CREATE TABLE t\(number)(a INTEGER PRIMARY KEY REFERENCES t\((number + 1) % count)(a));"
        }
        // Room for the keys that are followed, and not for all.
        let done = DispatchSemaphore(value: 0)
        let found = Mutex<Result<[String: [String]], any Error>?>(nil)
        let thread = Thread {
            let names = Result { try KeyNames.names(in: schema.joined(), settings: []) }
            found.withLock { $0 = names }
            done.signal()
        }
        thread.stackSize = 1 << 20
        thread.start()
        done.wait()
        #expect(try found.withLock { try $0?.get()["t7"] } == ["a"])
    }

    @Test func keysThatALogLeavesOutAreAddedWhenTheTableComes() throws {
        let a = try TestPeer(folder, "a", sql: Self.schema, leavesOutKeys: true)
        let columns = try a.lastGroups().first { $0.table == "w" }?.columns.map(\.name)
        #expect(columns == ["v"])
        let b = try TestPeer(
            folder, "b", cloning: a, schema: "CREATE TABLE o(id INTEGER PRIMARY KEY, v)")
        #expect(try b.store.summary().hiddenForUnknownSchema == 3)
        // One whose snapshot says less than it should.
        let c = try TestPeer(folder, "c", cloning: a)
        try a.write("UPDATE w SET v = 'new' WHERE k = 'a'")
        try b.pull(from: a)
        try c.join(b.snapshot())
        for (peer, other) in [(a, b), (c, a), (c, b), (a, c)] { try peer.pull(from: other) }
        #expect(try c.vector() == a.vector())
        #expect(try c.digest() == a.digest())
        try b.write("CREATE TABLE w(k TEXT PRIMARY KEY, v)")
        try agree(a, b, c)
        #expect(try b.strings("SELECT * FROM w ORDER BY k") == ["a|new", "b|2", "c|3"])
    }

    // MARK: Tables that went

    @Test func aDroppedTableLeavesItsRowsTheirNames() throws {
        let a = try TestPeer(folder, "a", sql: Self.schema, leavesOutKeys: true)
        let b = try TestPeer(folder, "b", cloning: a)
        let c = try TestPeer(folder, "c", cloning: a)
        try a.write("DROP TABLE w")
        #expect(try a.recorded() == nil)
        #expect(try a.store.audit().problems == [])
        try b.write("DELETE FROM w WHERE k = 'a'; UPDATE w SET v = 'b' WHERE k = 'b'; INSERT INTO w VALUES ('n', 1)")
        try a.pull(from: b)
        // What it says of the rows is what there is, though it has none of them.
        try c.join(a.snapshot())
        #expect(try c.strings("SELECT k FROM w ORDER BY k") == ["b", "c", "n"])
        try converge(a, b, c)
        for peer in [a, b, c] { #expect(try peer.store.audit().problems == []) }
        #expect(try b.strings("SELECT * FROM w ORDER BY k") == ["b|b", "c|3", "n|1"])
    }

    @Test func aTableThatWasDroppedWhileNobodyLookedKeepsItsRows() throws {
        let a = try TestPeer(
            folder, "a",
            sql: Self.schema + """
                CREATE TABLE n(id INTEGER PRIMARY KEY, o INT REFERENCES o); INSERT INTO o VALUES (1, 'o'); INSERT INTO n VALUES (1, 1);
                CREATE TABLE i(id INTEGER PRIMARY KEY, v); INSERT INTO i VALUES (5, 'i');
                CREATE TABLE u(k TEXT PRIMARY KEY, v UNIQUE); INSERT INTO u VALUES ('u', 1);
                CREATE TABLE r(k TEXT PRIMARY KEY, v) WITHOUT ROWID; INSERT INTO r VALUES ('r', 1);
                """
        ) { $0.identities["i"] = .natural }
        let b = try TestPeer(folder, "b", cloning: a)
        try a.store.close()
        try a.write("DROP TABLE n; DROP TABLE w; DROP TABLE i; DROP TABLE u; DROP TABLE r")
        let again = try TestPeer(folder, "a", opening: try Store.open(a.path, configuration: TestPeer.configuration(1)))
        #expect(try again.recorded() == nil)
        #expect(try again.store.audit().problems == [])
        try b.write("UPDATE w SET v = 'b' WHERE k = 'b'; DELETE FROM i; UPDATE n SET o = NULL; UPDATE r SET v = 2")
        try converge(again, b)
        #expect(try again.store.audit().problems == [])
        #expect(
            try b.strings("SELECT k, v FROM w UNION ALL SELECT * FROM u UNION ALL SELECT * FROM r") == [
                "a|1", "b|b", "c|3", "u|1", "r|2",
            ])
    }

    @Test func aRowThatARebuildLeavesOutIsDeleted() throws {
        let a = try TestPeer(folder, "a", sql: Self.schema)
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write(
            """
            BEGIN; CREATE TABLE x(v, k TEXT PRIMARY KEY); INSERT INTO x(k, v) SELECT k, v FROM w WHERE k <> 'b';
            INSERT INTO x(k, v) VALUES ('d', 4); DROP TABLE w; ALTER TABLE x RENAME TO w; COMMIT
            """)
        #expect(try a.recorded() == "w +1 -1")
        try agree(a, b)
        #expect(try b.strings("SELECT k, v FROM w ORDER BY k") == ["a|1", "c|3", "d|4"])
    }

    @Test func aTableRenamedWhileNobodyLookedHasItsNewColumn() throws {
        let a = try TestPeer(folder, "a", sql: Self.schema)
        let b = try TestPeer(folder, "b", cloning: a)
        try a.store.close()
        try a.write("ALTER TABLE w RENAME TO words; ALTER TABLE words ADD COLUMN z")
        let again = try TestPeer(folder, "a", opening: try Store.open(a.path, configuration: TestPeer.configuration(1)))
        try again.write("UPDATE words SET z = 5 WHERE k = 'a'")
        try b.write("ALTER TABLE w ADD COLUMN z")
        try agree(again, b)
        #expect(try b.strings("SELECT z FROM w ORDER BY k") == ["5", "NULL", "NULL"])
    }

    // MARK: Columns that come

    @Test func aKeptCellIsShownBesideAReferenceThatIsReplaced() throws {
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE p(k TEXT PRIMARY KEY); CREATE TABLE t(k TEXT PRIMARY KEY, r TEXT REFERENCES p ON DELETE SET NULL);
                INSERT INTO p VALUES ('p');
                """)
        let b = try TestPeer(folder, "b", cloning: a)
        let column = "ALTER TABLE t ADD COLUMN z INT NOT NULL DEFAULT 7"
        try a.write(column)
        try a.write("INSERT INTO t VALUES ('t', 'p', 3)")
        try b.write("DELETE FROM p")
        try converge(a, b)
        #expect(try b.strings("SELECT * FROM t") == ["t|NULL"])
        try b.write(column)
        #expect(try b.recorded() == nil)
        try agree(a, b)
        #expect(try b.strings("SELECT * FROM t") == ["t|NULL|3"])
    }

    @Test func showingAKeptCellFiresNoTriggerOfAnEmbeddingProgram() throws {
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE t(k TEXT PRIMARY KEY, x); INSERT INTO t VALUES ('t', 'x');
                CREATE TRIGGER touch AFTER UPDATE ON t BEGIN UPDATE t SET x = 'touched' WHERE k = NEW.k; END;
                """)
        let b = try TestPeer(folder, "b", cloning: a)
        let column = "ALTER TABLE t ADD COLUMN z"
        try a.write(column)
        try a.write("INSERT INTO t VALUES ('n', 'x', 3)")
        try converge(a, b)
        try b.write(column)
        let queue = try DatabaseQueue(path: b.path)
        try b.embed(in: queue) {
            try $0.execute(sql: "INSERT INTO t VALUES ('o', 1, 1)")
        }
        try queue.close()
        try agree(a, b)
        #expect(try b.strings("SELECT * FROM t ORDER BY k") == ["n|x|3", "o|1|1", "t|x|NULL"])
    }
}
