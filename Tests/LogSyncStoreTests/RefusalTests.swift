import Foundation
import GRDBSQLite
import LogSyncModel
import LogSyncSQLite
import Testing

@testable import LogSyncStore

/// What cannot be a store is refused with a way out, and left as it was.
@Suite struct RefusalTests {
    let folder: TestFolder
    var path: String { folder.path + "/app.db" }

    init() throws { folder = try TestFolder() }

    private func withApp(_ body: (OpaquePointer, Connection) throws -> Void) throws {
        var handle: OpaquePointer?
        #expect(sqlite3_open(path, &handle) == SQLITE_OK)
        let opened = try #require(handle)
        let connection = Connection(opened)
        defer {
            connection.finalizeStatements()
            sqlite3_close_v2(opened)
        }
        try body(opened, connection)
    }

    private func initialize(_ change: (inout InitializePlan) -> Void = { _ in }) throws -> Store {
        var plan = InitializePlan(content: "test", container: "/nowhere", peerName: "a")
        change(&plan)
        var configuration = TestPeer.configuration(1)
        configuration.busyTimeout = 0.1
        return try Store.initialize(path, plan: plan, configuration: configuration).store
    }

    /// Expects that init is refused, names the way out, and leaves the file's content as it was.
    private func expectRefusal(
        _ expected: LogSyncError.Code, mentions: String? = nil, _ change: (inout InitializePlan) -> Void = { _ in },
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        do {
            try initialize(change).close()
            Issue.record("it was made a store", sourceLocation: sourceLocation)
        } catch let error as LogSyncError {
            #expect(error.code == expected, "\(error)", sourceLocation: sourceLocation)
            #expect(error.help != nil, "\(error)", sourceLocation: sourceLocation)
            if let mentions {
                #expect("\(error)".contains(mentions), "\(error)", sourceLocation: sourceLocation)
            }
        }
        #expect(
            try Data(contentsOf: URL(fileURLWithPath: path)) == before, "it was changed", sourceLocation: sourceLocation
        )
        for tail in ["-wal", "-journal"] {
            let size = (try? FileManager.default.attributesOfItem(atPath: path + tail)[.size] as? Int) ?? 0
            #expect(size == 0, sourceLocation: sourceLocation)
        }
    }

    @Test func aTableWithoutPrimaryKeyOrRowid() throws {
        try withApp { _, app in
            try app.execute(
                "CREATE TABLE ok(k PRIMARY KEY); CREATE TABLE \"no key\"(rowid, oid, _rowid_); INSERT INTO ok VALUES (1)"
            )
        }
        try expectRefusal(.unsupportedTable, mentions: "--skip 'no key'")
        let store = try initialize { $0.skip = ["no key"] }
        defer { try? store.close() }
        try withApp { _, app in
            try app.execute("INSERT INTO \"no key\" VALUES (1, 2, 3)")
            #expect(try app.rows("SELECT journal_mode FROM pragma_journal_mode")[0][0] == .text("wal"))
        }
        #expect(try store.record() == nil)
    }

    @Test func allTablesAtOnce() throws {
        try withApp { handle, app in
            sqlite3_create_collation_v2(handle, "mine", SQLITE_UTF8, nil, { _, _, _, _, _ in 0 }, nil)
            try app.execute(
                "CREATE TABLE a(rowid, oid, _rowid_); CREATE TABLE \"b b\"(rowid, oid, _rowid_); CREATE TABLE c(k TEXT PRIMARY KEY COLLATE mine); CREATE TABLE ok(k PRIMARY KEY)"
            )
        }
        let plan = InitializePlan(content: "test", container: "/nowhere", peerName: "a")
        let report = try Store.examine(path, plan: plan, configuration: TestPeer.configuration(1))
        #expect(report.refusals.map(\.table).sorted() == ["a", "b b", "c"])
        #expect(report.tables.map(\.table) == ["ok"])
        for option in ["--skip a", "--local 'b b'", "--skip c", "--identity a=COLUMN,…"] {
            try expectRefusal(.unsupportedTable, mentions: option)
        }
        try initialize { plan in
            plan.skip = ["a", "c"]
            plan.local = ["b b"]
        }.close()
    }

    @Test func aFunctionIsNamedAndNothingElse() throws {
        try withApp { handle, app in
            sqlite3_create_function_v2(
                handle, "mine", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nil, { _, _, _ in }, nil, nil, nil)
            try app.execute("CREATE TABLE t(k TEXT PRIMARY KEY, v CHECK (mine(v)))")
        }
        let plan = InitializePlan(content: "test", container: "/nowhere", peerName: "a")
        let refusals = try Store.examine(path, plan: plan, configuration: TestPeer.configuration(1)).refusals
        #expect(refusals.map(\.reason) == ["uses the function mine, which only its own program has"])
    }

    @Test func aCollationOfTheApp() throws {
        try withApp { handle, app in
            sqlite3_create_collation_v2(handle, "mine", SQLITE_UTF8, nil, { _, _, _, _, _ in 0 }, nil)
            try app.execute("CREATE TABLE t(k TEXT PRIMARY KEY COLLATE mine, v)")
        }
        try expectRefusal(.unsupportedTable, mentions: "MINE")
    }

    @Test func aCollationOfTheAppInAnIndex() throws {
        for (index, sql) in [
            "CREATE TABLE t(k TEXT PRIMARY KEY, v); CREATE UNIQUE INDEX i ON t(v COLLATE mine)",
            "CREATE TABLE t(k TEXT PRIMARY KEY, v); CREATE INDEX i ON t(v COLLATE mine)",
            "CREATE TABLE t(k TEXT PRIMARY KEY, v TEXT COLLATE mine)",
            "CREATE TABLE t(k TEXT PRIMARY KEY, v, CHECK (v = 'x' COLLATE mine))",
        ].enumerated() {
            try? FileManager.default.removeItem(atPath: path)
            try withApp { handle, app in
                sqlite3_create_collation_v2(handle, "mine", SQLITE_UTF8, nil, { _, _, _, _, _ in 0 }, nil)
                try app.execute(sql)
            }
            try expectRefusal(.unsupportedTable, mentions: "--skip t")
            _ = index
        }
    }

    @Test func aFunctionOfTheApp() throws {
        for sql in [
            "CREATE TABLE t(k TEXT PRIMARY KEY, v CHECK (mine(v)))",
            "CREATE TABLE t(k TEXT PRIMARY KEY, v); CREATE INDEX i ON t(mine(v))",
            "CREATE TABLE t(k TEXT PRIMARY KEY, v); CREATE UNIQUE INDEX i ON t(v) WHERE mine(v)",
            "CREATE TABLE t(k TEXT PRIMARY KEY, v, g AS (mine(v)))",
            "CREATE TABLE t(k TEXT PRIMARY KEY, v, g AS (mine(v)) STORED)",
        ] {
            try? FileManager.default.removeItem(atPath: path)
            try withApp { handle, app in
                sqlite3_create_function_v2(
                    handle, "mine", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nil,
                    { context, _, _ in sqlite3_result_int(context, 1) }, nil, nil, nil)
                try app.execute(sql)
                try app.execute("INSERT INTO t(k, v) VALUES (1, 2)")
            }
            try expectRefusal(.unsupportedTable, mentions: "--skip t")
        }
    }

    @Test func aFileThatIsNoDatabase() throws {
        try Data("hello, this is just some text, long enough to have a header of its own; or so one would think".utf8)
            .write(to: URL(fileURLWithPath: path))
        try expectRefusal(.invalidStore)
        try expect(.invalidStore) { _ = try Store.open(path, configuration: TestPeer.configuration(1)) }
        try expect(.noStore) { _ = try Store.open(folder.path + "/none", configuration: TestPeer.configuration(1)) }
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/none"))
        try expect(.noStore) { _ = try Store.open(folder.path, configuration: TestPeer.configuration(1)) }
    }

    @Test func aPlaceWhereNoFileCanBeMade() throws {
        for place in ["no/such/store.db", "file/store.db"] {
            #expect(FileManager.default.createFile(atPath: folder.path + "/file", contents: nil))
            try expect(.cannotCreate) {
                _ = try Store.create(
                    folder.path + "/" + place, schema: "",
                    plan: InitializePlan(content: "test", container: "/nowhere", peerName: "a"),
                    configuration: TestPeer.configuration(1))
            }
        }
    }

    @Test func aDatabaseThatIsNoStore() throws {
        try withApp { _, app in try app.execute("CREATE TABLE t(k PRIMARY KEY)") }
        try expect(.notReplicated) { _ = try Store.open(path, configuration: TestPeer.configuration(1)) }
    }

    @Test func aLockedDatabase() throws {
        try withApp { _, app in
            try app.execute("CREATE TABLE t(k PRIMARY KEY); BEGIN EXCLUSIVE")
            let before = try Data(contentsOf: URL(fileURLWithPath: path))
            try expect(.locked) { try initialize().close() }
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
            try app.execute("COMMIT")
        }
        let store = try initialize()
        defer { try? store.close() }
        try withApp { _, app in
            try app.execute("BEGIN IMMEDIATE; INSERT INTO t VALUES (1)")
            try expect(.locked) { _ = try store.setContent("x", container: "/x") }
            try app.execute("COMMIT")
        }
        #expect(try store.record()?.counts["t"]?.inserted == 1)
    }

    @Test func aStoreOfANewerFormat() throws {
        try withApp { _, app in try app.execute("CREATE TABLE t(k PRIMARY KEY)") }
        try initialize().close()
        try withApp { _, app in try app.execute("UPDATE logsync_store SET value = 99 WHERE key = 'format'") }
        try expect(.newerFormat) { _ = try Store.open(path, configuration: TestPeer.configuration(1)) }
    }

    @Test func aStoreThatIsOneAlready() throws {
        try withApp { _, app in try app.execute("CREATE TABLE t(k PRIMARY KEY)") }
        try initialize().close()
        try expect(.configuration) { try initialize().close() }
        let store = try Store.open(path, configuration: TestPeer.configuration(1))
        defer { try? store.close() }
        #expect(try store.audit().problems == [])
    }

    @Test func flagsThatNameNothing() throws {
        try withApp { _, app in
            try app.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, v); CREATE TABLE k(k TEXT PRIMARY KEY, u UNIQUE)")
        }
        try expectRefusal(.usage) { $0.skip = ["nothing"] }
        try expectRefusal(.usage) { $0.identities["t"] = .columns(["v"]) }
        try expectRefusal(.usage) { $0.identities["t"] = .columns(["nothing"]) }
        try expectRefusal(.usage) { $0.identities["k"] = .surrogate }
        try expectRefusal(.usage) { $0.references = [("t", "nothing", "k")] }
    }

    @Test func examiningChangesNothing() throws {
        try withApp { _, app in
            try app.execute(
                "CREATE TABLE t(id INTEGER PRIMARY KEY, v UNIQUE, k_id INT); CREATE TABLE k(id INTEGER PRIMARY KEY); INSERT INTO k VALUES (1)"
            )
        }
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        let reports = try Store.examine(
            path, plan: InitializePlan(content: "test", container: "/nowhere", peerName: "a"),
            configuration: TestPeer.configuration(1)
        ).tables
        #expect(reports.map(\.table).sorted() == ["k", "t"])
        #expect(reports.first { $0.table == "t" }?.suggestions.count == 2)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
    }

    @Test func leavingRemovesEveryTrace() throws {
        try withApp { _, app in
            try app.execute(
                """
                CREATE TABLE t(id INTEGER PRIMARY KEY, v UNIQUE); INSERT INTO t VALUES (1, 'x'); CREATE VIEW w AS SELECT * FROM t;
                CREATE TRIGGER own AFTER INSERT ON t BEGIN SELECT 1; END; CREATE TABLE logsyncish(k PRIMARY KEY);
                """)
        }
        let store = try initialize()
        try withApp { _, app in try app.execute("INSERT INTO t VALUES (2, 'y')") }
        _ = try store.record()
        try withApp { _, app in
            try app.execute(
                """
                INSERT INTO t VALUES (3, 'z');
                CREATE TABLE logsync_notes(k PRIMARY KEY); CREATE TABLE logsync_clock_of(k PRIMARY KEY);
                CREATE TRIGGER logsync_own AFTER INSERT ON logsync_notes BEGIN SELECT 1; END;
                CREATE VIEW logsync_view AS SELECT * FROM t; INSERT INTO logsync_notes VALUES ('kept');
                """)
        }
        try store.leave()
        try withApp { _, app in
            let names = try app.rows("SELECT name FROM sqlite_master WHERE type <> 'index' ORDER BY name")
                .map { String(text: $0[0]) }
            let strays = ["logsync_clock_of", "logsync_notes", "logsync_own", "logsync_view"]
            #expect(names == strays + ["logsyncish", "own", "t", "w"])
            #expect(try app.rows("SELECT k FROM logsync_notes")[0][0] == .text("kept"))
            try app.execute("DROP VIEW logsync_view; DROP TABLE logsync_notes; DROP TABLE logsync_clock_of")
            #expect(try app.rows("SELECT count(*) FROM t")[0][0] == .integer(3))
            #expect(try app.rows("PRAGMA journal_mode")[0][0] == .text("delete"))
            try app.execute("UPDATE t SET v = v || '!'; DELETE FROM t WHERE id = 1")
        }
        try expect(.notReplicated) { _ = try Store.open(path, configuration: TestPeer.configuration(1)) }
        // It can begin anew.
        try initialize().close()
    }

    @Test(
        arguments: [
            "CREATE TABLE logsync_notes(k PRIMARY KEY)", "CREATE TABLE Logsync_Pending_1(k)",
            "CREATE TRIGGER logsync_t AFTER INSERT ON t BEGIN SELECT 1; END", "CREATE INDEX logsync_i ON t(k)",
            "CREATE VIEW logsync_v AS SELECT * FROM t",
        ])
    func namesThatAreKeptForLogsync(sql: String) throws {
        try withApp { _, app in try app.execute("CREATE TABLE t(k PRIMARY KEY); \(sql)") }
        try expectRefusal(.unsupportedTable, mentions: "another name")
    }

    @Test(arguments: ["delete-loses", "delete-wins", "unique-merge", "unique-park", "last-writer-row"])
    func aColumnHasNoPolicyOfTables(policy: String) throws {
        try withApp { _, app in try app.execute("CREATE TABLE t(k PRIMARY KEY, v)") }
        try expectRefusal(.usage, mentions: "t") { $0.policies = [("t.v", policy)] }
        let store = try initialize { $0.policies = [("t", policy)] }
        #expect(throws: LogSyncError.self) { try store.setPolicy("t.v", policy) }
        try store.close()
    }

    @Test func leavingWithTheJournalKept() throws {
        try withApp { _, app in try app.execute("PRAGMA journal_mode=WAL; CREATE TABLE t(k PRIMARY KEY)") }
        let store = try initialize { $0.keepJournal = true }
        try store.leave()
        try withApp { _, app in
            let journal = try app.rows("PRAGMA journal_mode")
            #expect(journal[0][0] == .text("wal"))
        }
    }
}
