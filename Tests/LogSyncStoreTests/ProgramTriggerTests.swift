import GRDBSQLite
import LogSyncModel
import LogSyncSQLite
import Testing

@testable import LogSyncStore

/// Triggers that need what only their own program has, and triggers that keep counts.
@Suite("A program's triggers")
struct ProgramTriggerTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    /// Lets the program have a function of its own.
    private func addFunction(to peer: TestPeer) {
        sqlite3_create_function_v2(
            peer.app.handle, "norm", 1, SQLITE_UTF8, nil,
            { context, _, arguments in sqlite3_result_value(context, arguments?[0]) }, nil, nil, nil)
    }

    private static let tables = """
        CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT); CREATE TABLE f(id INTEGER PRIMARY KEY, n TEXT);
        CREATE TABLE other(k TEXT PRIMARY KEY); CREATE TABLE noted(n TEXT);
        INSERT INTO t VALUES(1, 'One');
        CREATE TRIGGER fine AFTER UPDATE ON t BEGIN INSERT INTO noted VALUES(new.name); END;
        """

    @Test(
        "One that needs a function of the program's is left out of imports and named, and the others fire",
        arguments: [
            "AFTER INSERT ON t BEGIN INSERT INTO f(n) VALUES(norm(new.name)); END",
            "AFTER UPDATE ON t BEGIN INSERT INTO f(n) VALUES(norm(new.name)); END",
            "AFTER UPDATE ON t BEGIN UPDATE f SET n = norm(new.name); END",
            "AFTER UPDATE ON t WHEN norm(new.name) = 'x' BEGIN INSERT INTO f(n) VALUES('y'); END",
            "AFTER DELETE ON t BEGIN DELETE FROM f WHERE n = norm(old.name); END",
        ])
    func left(body: String) throws {
        let a = try TestPeer(folder, "a", sql: Self.tables + "CREATE TRIGGER tr \(body);") { plan in
            plan.skip = ["f", "noted"]
        }
        let b = try TestPeer(folder, "b", cloning: a)
        addFunction(to: a)
        try a.write("UPDATE t SET name = 'Two'; INSERT INTO t(name) VALUES('x'); INSERT INTO other VALUES('k')")
        try converge(a, b)
        try a.write("DELETE FROM t WHERE id = 1")
        try converge(a, b)
        #expect(try b.strings("SELECT name FROM t") == ["x"])
        #expect(try b.strings("SELECT k FROM other") == ["k"])
        #expect(try b.strings("SELECT n FROM noted") == ["Two"])
        let unmade = try b.store.unmadeObjects()
        #expect(unmade.map(\.object) == ["tr"] && unmade[0].reason.contains("norm"))
    }

    @Test("One that writes replicated tables alone needs no copy, and is not named")
    func selfWriting() throws {
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, sort TEXT);
                CREATE TRIGGER tr AFTER INSERT ON t BEGIN UPDATE t SET sort = norm(new.name) WHERE id = new.id; END;
                CREATE TRIGGER bad BEFORE UPDATE ON t BEGIN SELECT RAISE(ABORT, 'bad') WHERE norm(new.name) = 'bad'; END;
                """)
        let b = try TestPeer(folder, "b", cloning: a)
        addFunction(to: a)
        try a.write("INSERT INTO t(name) VALUES('x')")
        try converge(a, b)
        #expect(try b.strings("SELECT name, sort FROM t") == ["x|x"])
        #expect(try a.store.unmadeObjects().isEmpty)
    }

    @Test("Counts that triggers keep in a local table come out right in a clone and after imports")
    func counts() throws {
        let sql = """
            CREATE TABLE post(slug TEXT PRIMARY KEY NOT NULL, title TEXT);
            CREATE TABLE _counts("table" TEXT PRIMARY KEY, count INTEGER DEFAULT 0);
            CREATE TABLE state(k TEXT PRIMARY KEY, v); INSERT INTO state VALUES('copied', 'once');
            INSERT INTO post VALUES('s0', 'x'), ('s1', 'x'); INSERT INTO _counts VALUES('post', 2);
            CREATE TRIGGER more AFTER INSERT ON post BEGIN INSERT OR REPLACE INTO _counts
                VALUES('post', coalesce((SELECT count FROM _counts WHERE "table" = 'post'), 0) + 1); END;
            CREATE TRIGGER fewer AFTER DELETE ON post BEGIN INSERT OR REPLACE INTO _counts
                VALUES('post', coalesce((SELECT count FROM _counts WHERE "table" = 'post'), 0) - 1); END;
            """
        let a = try TestPeer(folder, "a", sql: sql) { $0.local = ["_counts", "state"] }
        let b = try TestPeer(folder, "b", cloning: a)
        #expect(try b.strings("SELECT count FROM _counts") == ["2"])
        #expect(try b.strings("SELECT v FROM state") == ["once"])
        try a.write("INSERT INTO post VALUES('s2', 'y'), ('s3', 'y'); DELETE FROM post WHERE slug = 's0'")
        try b.write("INSERT INTO post VALUES('s4', 'z'); UPDATE post SET title = 'q' WHERE slug = 's1'")
        try converge(a, b)
        for peer in [a, b] { #expect(try peer.strings("SELECT count FROM _counts") == ["4"]) }
    }

    @Test("What triggers have added to a local table is copied, and an upsert's counts are not")
    func additions() throws {
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL); CREATE TABLE log(k TEXT); CREATE TABLE "the counts"(t PRIMARY KEY, n);
                CREATE TRIGGER added AFTER INSERT ON t BEGIN INSERT INTO log VALUES(new.k); END;
                CREATE TRIGGER counted AFTER INSERT ON t BEGIN
                    INSERT INTO "the counts" VALUES('t', 1) ON CONFLICT(t) DO UPDATE SET n = n + 1; END;
                INSERT INTO t VALUES('x'), ('y'); DELETE FROM t WHERE k = 'x';
                UPDATE "the counts" SET n = 1;
                """
        ) { $0.local = ["log", "the counts"] }
        let b = try TestPeer(folder, "b", cloning: a)
        #expect(try b.strings("SELECT n FROM \"the counts\"") == ["1"])
        #expect(try b.strings("SELECT count(*) FROM log WHERE k = 'x'") == ["1"])
    }

    @Test("A program that takes integers from a table of its own goes on above the rows that come, by a trigger")
    func allocators() throws {
        let sql = """
            CREATE TABLE employee(pk INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE z_primarykey(ent INTEGER PRIMARY KEY, name TEXT, top INTEGER);
            CREATE TRIGGER employee_max AFTER INSERT ON employee BEGIN
                UPDATE z_primarykey SET top = new.pk WHERE name = 'Employee' AND top < new.pk; END;
            INSERT INTO z_primarykey VALUES(1, 'Employee', 0);
            """
        let a = try TestPeer(folder, "a", sql: sql) { $0.local = ["z_primarykey"] }
        func save(_ peer: TestPeer, _ name: String) throws {
            try peer.write(
                """
                UPDATE z_primarykey SET top = top + 1 WHERE name = 'Employee';
                INSERT INTO employee SELECT top, '\(name)' FROM z_primarykey WHERE name = 'Employee';
                """)
        }
        try save(a, "first")
        let b = try TestPeer(folder, "b", cloning: a)
        for _ in 0..<2 {
            for peer in [a, b] { for _ in 0..<3 { try save(peer, peer.name) } }
            try converge(a, b)
        }
        for peer in [a, b] {
            #expect(try peer.strings("SELECT count(*) FROM employee") == ["13"])
            #expect(try peer.strings("SELECT top >= (SELECT max(pk) FROM employee) FROM z_primarykey") == ["1"])
        }
    }
}
