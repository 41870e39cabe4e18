import Forgery
import Foundation
import GRDB
import LogSync
import LogSyncFormat
import LogSyncModel
import Testing

/// What SQL in the shared folder, and settings that anybody wrote, can have a store do.
@Suite("A schema that a liar publishes")
struct HostileSchemaTests {
    private let world: World
    private let a: Machine
    private let folder: ForgedFolder
    private let stranger = PeerID(high: 0x5747_0000_0000_0000, low: 1)

    init() async throws {
        world = try World()
        a = try await world.founder("a", rows: ["one"])
        folder = ForgedFolder(world.contentPath)
    }

    /// Publishes a schema that is newer than everybody's, and a row of a table that nobody has: then all are read.
    private func publish(_ schema: String) throws {
        let text = "PRAGMA user_version = 1000000;\n" + schema
        let name = Forge.sha256(Array(text.utf8)).prefix(16).map { String(format: "%02x", $0) }.joined()
        try folder.write(Array(text.utf8), to: "schemas/\(name).sql", of: stranger)
        let column = ForgedGroup.Column("body", ForgedValues.texts(["x"]))
        let group = ForgedGroup(.insert, "unheardof", key: "k", columns: [column])
        try folder.put(ForgedLogFile([ForgedTransaction(Dot(stranger, 1), groups: [group])]), of: stranger)
    }

    private func photos(_ path: String) throws -> Int {
        let database = try a.database(path)
        defer { try? database.close() }
        return try database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM photo") ?? 0 }
    }

    @Test(
        "reaches no file and runs no code",
        arguments: [
            "ATTACH 'VICTIM' AS o; DELETE FROM o.photo;", "VACUUM INTO 'VICTIM.copy';",
            "SELECT fts3_tokenizer('x', x'4141414141414141'); CREATE VIRTUAL TABLE t USING fts3(tokenize=x);",
            "CREATE TABLE t AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c;",
        ])
    func refused(sql: String) async throws {
        let victim = "\(world.root)/victim.db"
        try a.execute("CREATE TABLE photo(id INTEGER PRIMARY KEY); INSERT INTO photo VALUES(1)", at: victim)
        try publish("CREATE TABLE note(id TEXT PRIMARY KEY, body);\n" + sql.replacing("VICTIM", with: victim))
        for _ in 0..<2 { try await a.sync() }
        try await a.snapshot()
        _ = try await a.compact()
        for path in [a.path, world.container] {
            let report = try await Replicator.doctor(path, configuration: a.configuration)
            #expect(
                path == a.path || report.findings.contains { $0.code == "refused-schema" && $0.severity == .damage })
            _ = try await Replicator.verify(path, configuration: a.configuration)
        }
        let error = await #expect(throws: LogSyncError.self) { try await world.clone("c") }
        #expect(error?.code == .invalidStore)
        #expect(try photos(victim) == 1)
        #expect(!FileManager.default.fileExists(atPath: victim + ".copy"))
        #expect(try a.ids() == ["one"])
    }

    @Test("is cloned without the triggers, views and defaults that call what is not harmless, and says which")
    func leftOut() async throws {
        try publish(
            """
            CREATE TABLE note(id TEXT PRIMARY KEY, body TEXT);
            CREATE VIEW notes AS SELECT id, edit('', 'touch owned') FROM note;
            CREATE TRIGGER owns AFTER INSERT ON note BEGIN UPDATE logsync_store SET value = 'x' WHERE key = 'container'; END;
            CREATE TRIGGER sorts AFTER INSERT ON note BEGIN UPDATE note SET body = title_sort(new.id); END;
            """)
        let c = try world.machine("c")
        let report = try await Replicator.clone(
            to: c.path, container: world.container, content: "notes", peerName: "c", functions: ["title_sort"],
            configuration: c.configuration)
        #expect(report.unmade.map(\.object).sorted() == ["notes", "owns"])
        #expect(report.unmade.first { $0.object == "notes" }?.reason.contains("edit") == true)
        #expect(try await c.status().unmade.map(\.object) == ["notes", "owns"])
        #expect(try c.ids() == ["one"])
        #expect(try c.count("SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND name = 'sorts'") == 1)
        // One that comes to be is no longer listed.
        try c.execute("CREATE VIEW notes AS SELECT id FROM note")
        #expect(try await c.status().unmade.map(\.object) == ["owns"])
        // One that goes by the schema of a clone is told of the same.
        try c.execute("ALTER TABLE note ADD COLUMN more")
        try await c.sync()
        let d = try world.machine("d")
        let later = try await Replicator.clone(
            to: d.path, container: world.container, content: "notes", peerName: "d", configuration: d.configuration)
        #expect(try d.count("SELECT count(*) FROM pragma_table_info('note') WHERE name = 'more'") == 1)
        #expect(later.unmade.map(\.object).sorted() == ["owns", "sorts"])
    }

    @Test("has no table published that was left out with --skip, whatever the content's settings say")
    func skipped() async throws {
        let other = try World()
        let machine = try other.machine("s")
        try machine.execute(
            """
            CREATE TABLE note(id TEXT PRIMARY KEY, body TEXT);
            CREATE TABLE token(id INTEGER PRIMARY KEY, secret TEXT);
            INSERT INTO token VALUES(1, 'hunter2');
            CREATE TABLE schema_migrations(version TEXT);
            INSERT INTO schema_migrations VALUES('hunter3');
            CREATE TABLE v(x);
            INSERT INTO v VALUES('here alone');
            """)
        var options = InitializeOptions()
        // The second is one of those that are local, and published, unless something is said.
        options.skip = ["token", "schema_migrations"]
        options.local = ["v"]
        try await machine.initialize(options)
        // What rows are identified by is said of tables that are replicated.
        let lies = [
            ["local", "token"], ["identity", "token"], ["identity", "v"], ["identity", "schema_migrations"],
        ]
        let group = ForgedGroup(
            .insert, "logsync_setting",
            identities: lies.map { Array(RowIdentity(natural: $0.map { .text(Array($0.utf8)[...]) }).bytes) },
            columns: [ForgedGroup.Column("value", ForgedValues.texts(["1", "surrogate", "surrogate", "natural"]))])
        try ForgedFolder(other.contentPath).put(
            ForgedLogFile([ForgedTransaction(Dot(stranger, 1), groups: [group])]), of: stranger)
        #expect(try await machine.sync().imported == 1)
        try machine.execute("ALTER TABLE note ADD COLUMN x; INSERT INTO note(id) VALUES('later')")
        try await machine.sync()
        let files = try FileManager.default.subpathsOfDirectory(atPath: other.contentPath).filter {
            $0.hasSuffix(".sql")
        }
        let texts = try files.map { try String(contentsOfFile: "\(other.contentPath)/\($0)", encoding: .utf8) }
        #expect(texts.contains { $0.contains("'here alone'") })
        #expect(!texts.contains { $0.contains("hunter") })
        let left = "'token', 'v', 'schema_migrations'"
        #expect(try machine.count("SELECT count(*) FROM logsync_table WHERE name IN (\(left))") == 0)
        #expect(
            try machine.count("SELECT count(*) FROM sqlite_master WHERE type = 'trigger' AND tbl_name IN (\(left))")
                == 0)
    }

    @Test(
        "says as often as it likes what a column refers to, and keeps nobody from what others made",
        .timeLimit(.minutes(30)))
    func references() async throws {
        try a.execute("CREATE TABLE photo(id INTEGER PRIMARY KEY, title TEXT)")
        try await a.sync()
        let b = try await world.clone("b")
        func lie(_ sequence: UInt64, _ parent: String) -> ForgedTransaction {
            let identity = RowIdentity(natural: ["reference", "note.body"].map { .text(Array($0.utf8)[...]) })
            return ForgedTransaction(
                Dot(stranger, sequence),
                groups: [
                    ForgedGroup(
                        .insert, "logsync_setting", identities: [Array(identity.bytes)],
                        columns: [ForgedGroup.Column("value", ForgedValues.texts([parent]))])
                ])
        }
        var chain = ChainHash.zero
        for (sequence, parent) in [(1, "note"), (2, "photo"), (3, "note"), (4, "photo")] as [(UInt64, String)] {
            let transaction = lie(sequence, parent)
            try folder.put(ForgedLogFile([transaction], after: chain), of: stranger)
            chain = transaction.segment(after: chain).chain
            try a.insert("row \(sequence)")
            for machine in [a, b, a, b] { try await machine.sync() }
            #expect(try b.ids().contains("row \(sequence)"))
        }
        #expect(try a.ids() == b.ids())
    }

    private static let endings = [
        "INSERT INTO schema_migrations(version) \(Self.endless) SELECT x FROM c",
        "INSERT INTO schema_migrations(version) SELECT 1 WHERE (\(Self.endless) SELECT count(*) FROM c) = 0",
    ]

    @Test(
        "keeps no clone at work for ever: a trigger that has no end is left out by its name", .timeLimit(.minutes(30)),
        arguments: zip(["INSERT", "INSERT", "UPDATE", "DELETE"], [0, 1, 1, 0]))
    func endlessTrigger(event: String, statement: Int) async throws {
        try a.insert("gone")
        try await a.sync()
        try a.execute("UPDATE note SET body = 'changed'")
        try await a.sync()
        try a.execute("DELETE FROM note WHERE id = 'gone'")
        try await a.sync()
        try publish(
            """
            CREATE TABLE note(id TEXT PRIMARY KEY, body TEXT); CREATE TABLE schema_migrations(version TEXT);
            CREATE TRIGGER endless AFTER \(event) ON note BEGIN \(Self.endings[statement]); END;
            CREATE TRIGGER counts AFTER INSERT ON note BEGIN INSERT INTO schema_migrations(version) VALUES('1'); END;
            """)
        let c = try world.machine("c")
        let report = try await Replicator.clone(
            to: c.path, container: world.container, content: "notes", peerName: "c", configuration: c.configuration)
        #expect(report.held.isEmpty)
        #expect(try c.notes() == ["one=changed"])
        // The others fire.
        #expect(try c.count("SELECT count(*) FROM schema_migrations") == 2)
        let unmade = try await c.status().unmade
        #expect(
            unmade.map(\.object) == ["endless"] && unmade[0].reason.contains("does not come to an end"), "\(unmade)")
    }

    @Test(
        "or a program that makes a trigger without an end has what fires it held, with the trigger's name",
        .timeLimit(.minutes(30)), arguments: ["INSERT", "UPDATE", "DELETE"])
    func endlessTriggerOfProgram(event: String) async throws {
        try a.execute("CREATE TABLE schema_migrations(version TEXT)")
        try await a.sync()
        let c = try await world.clone("c")
        try c.execute("CREATE TRIGGER endless AFTER \(event) ON note BEGIN \(Self.endings[0]); END")
        try await c.sync()
        let statements = [
            "INSERT": "INSERT INTO note(id) VALUES('two')", "UPDATE": "UPDATE note SET body = 'x'",
            "DELETE": "DELETE FROM note",
        ]
        try a.execute(statements[event] ?? "")
        try await a.sync()
        try await c.sync()
        let held = try #require(try await c.status().held.first)
        #expect(held.reason == .refused && held.detail?.contains("the trigger logsync_copy_endless") == true, "\(held)")
        try c.execute("DROP TRIGGER endless")
        try await c.sync()
        #expect(try c.notes() == a.notes())
    }

    /// What compares halves of a long value with all of it: columns after `body`, and statements after the table.
    private static let comparisons = [
        ("CHECK (instr(body, substr(body, 1, length(body) / 2) || 'b') = 0)", ""),
        ("CHECK (body NOT LIKE '%' || substr(body, 1, 20000) || 'b')", ""),
        ("CHECK (body NOT LIKE '%' || substr(body, 1, 20000) || 'b' ESCAPE '!')", ""),
        ("CHECK (body NOT GLOB '*' || substr(body, 1, 20000) || 'b')", ""),
        (", bare AS (trim(body, substr(body, 1, 100000) || 'b')) STORED", ""),
        ("", "CREATE INDEX other ON note(length(replace(body, substr(body, 1, length(body) / 2) || 'b', '')))"),
        ("", "CREATE INDEX other ON note(id) WHERE instr(body, substr(body, 1, length(body) / 2) || 'b')"),
        (
            "",
            """
            CREATE TRIGGER other AFTER INSERT ON note BEGIN
                INSERT INTO schema_migrations SELECT instr(new.body, substr(new.body, 1, length(new.body) / 2) || 'b'); END
            """
        ),
    ]

    @Test(
        "keeps no import at work for days by a long row, however it compares its values", .timeLimit(.minutes(30)),
        arguments: comparisons)
    func longValues(columns: String, statement: String) async throws {
        try publish(
            """
            CREATE TABLE note(id TEXT PRIMARY KEY, body TEXT \(columns)); CREATE TABLE schema_migrations(version TEXT);
            \(statement);
            """)
        let c = try await world.clone("c")
        #expect(try await c.status().unmade.isEmpty)
        let stranger = PeerID(high: 0x5747_0000_0000_0000, low: 7)
        let long = String(repeating: "a", count: 4_000_000)
        let group = ForgedGroup(
            .insert, "note", identities: [ForgedIdentity.natural("long")],
            columns: [.init("id", ForgedValues.keyPart(0)), .init("body", ForgedValues.texts([long]))])
        try ForgedFolder(world.contentPath).put(
            ForgedLogFile([ForgedTransaction(Dot(stranger, 1), groups: [group])]), of: stranger)
        let held = try await c.sync().held
        #expect(held.map(\.reason) == [.refused], "\(held)")
        #expect(held.first?.detail?.contains("takes longer than a row may") == true, "\(held)")
        try a.insert("after", "of a")
        try await a.sync()
        try await c.sync()
        #expect(try c.ids() == ["after", "one"])
    }

    @Test(
        "with a trigger that takes from a full-text index what is not in it ends no clone, and is left out by its name")
    func unsoundIndex() async throws {
        try publish(
            """
            CREATE TABLE note(id TEXT PRIMARY KEY, body TEXT);
            CREATE VIRTUAL TABLE found USING fts5(body, content='note');
            CREATE TRIGGER takes AFTER INSERT ON note BEGIN
                INSERT INTO found(found, rowid, body) VALUES('delete', new.rowid, new.body); END;
            """)
        let c = try await world.clone("c")
        #expect(try c.ids() == ["one"])
        #expect(try await c.status().unmade.map(\.object) == ["takes"])
        // So it is where a snapshot brings the rows.
        _ = try await a.with { try await $0.snapshot() }
        let d = try await world.clone("d")
        #expect(try d.ids() == ["one"])
        #expect(try await d.status().unmade.map(\.object) == ["takes"])
    }

    @Test("An index that is behind its table holds what changes the table, until it is brought up to date")
    func indexBehindItsTable() async throws {
        // As SQLite's own page on FTS5 has it.
        try a.execute(
            """
            CREATE VIRTUAL TABLE found USING fts5(body, content='note');
            CREATE TRIGGER note_ai AFTER INSERT ON note BEGIN
                INSERT INTO found(rowid, body) VALUES(new.rowid, new.body); END;
            CREATE TRIGGER note_ad AFTER DELETE ON note BEGIN
                INSERT INTO found(found, rowid, body) VALUES('delete', old.rowid, old.body); END;
            CREATE TRIGGER note_au AFTER UPDATE ON note BEGIN
                INSERT INTO found(found, rowid, body) VALUES('delete', old.rowid, old.body);
                INSERT INTO found(rowid, body) VALUES(new.rowid, new.body); END;
            INSERT INTO found(found) VALUES('rebuild'); UPDATE note SET body = 'word';
            """)
        try await a.sync()
        let c = try await world.clone("c")
        #expect(try await c.status().unmade.isEmpty)
        #expect(try c.count("SELECT count(*) FROM found('word')") == 1)
        try c.execute("INSERT INTO found(found) VALUES('delete-all')")
        try a.execute("UPDATE note SET body = 'other'")
        try await a.sync()
        try await c.sync()
        let held = try #require(try await c.status().held.first)
        #expect(held.reason == .refused && held.detail?.contains("note_au") == true, "\(held)")
        try c.execute("INSERT INTO found(found) VALUES('rebuild')")
        try await c.sync()
        #expect(try await c.status().held.isEmpty && c.notes() == ["one=other"])
        #expect(try c.count("SELECT count(*) FROM found('other')") == 1)
    }

    private static let endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"

    @Test("leaves no table out of a clone that is replicated, and none without its name")
    func leftOutByName() async throws {
        let other = try World()
        let machine = try other.machine("s")
        try machine.execute(
            """
            CREATE TABLE note(id TEXT PRIMARY KEY, body TEXT);
            CREATE TABLE photo(id INTEGER PRIMARY KEY, title TEXT);
            CREATE TABLE cache(k TEXT PRIMARY KEY);
            INSERT INTO note VALUES('one', '');
            INSERT INTO photo VALUES(1, 'wedding');
            """)
        var options = InitializeOptions()
        options.skip = ["cache"]
        try await machine.initialize(options)
        func settings(_ all: [[String]]) -> [[UInt8]] {
            all.map { Array(RowIdentity(natural: $0.map { .text(Array($0.utf8)[...]) }).bytes) }
        }
        let lies = settings([["skip", "note"], ["local", "photo"]])
        let inserts = ForgedGroup(
            .insert, "logsync_setting", identities: lies,
            columns: [ForgedGroup.Column("value", ForgedValues.texts(["1", "1"]))])
        let first = ForgedTransaction(Dot(stranger, 1), groups: [inserts])
        let folder = ForgedFolder(other.contentPath)
        try folder.put(ForgedLogFile([first]), of: stranger)
        func clone(_ name: String) async throws -> (store: Machine, leftOut: [String]) {
            let clone = try other.machine(name)
            let report = try await Replicator.clone(
                to: clone.path, container: other.container, content: "notes", peerName: name,
                configuration: clone.configuration)
            return (clone, report.leftOut.map { "\($0.setting) \($0.table)" })
        }
        let c = try await clone("c")
        #expect(c.leftOut == ["skip cache"])
        #expect(try c.store.ids() == ["one"])
        #expect(try c.store.count("SELECT count(*) FROM photo WHERE title = 'wedding'") == 1)
        // A setting that is deleted says the same as before: no peer deletes any.
        let vector = try await machine.status().vector
        let second = ForgedTransaction(
            Dot(stranger, 2), dependencies: vector.dots.map { Dependency($0) },
            groups: [ForgedGroup(.delete, "logsync_setting", identities: settings([["identity", "photo"]]))])
        try folder.put(ForgedLogFile([second], after: first.segment().chain), of: stranger)
        #expect(try await clone("d").leftOut == ["skip cache"])
    }

    @Test("goes by what the content has settled where a liar deletes or empties it", arguments: [true, false])
    func deletedSettings(deletes: Bool) async throws {
        let other = try World()
        let machine = try other.machine("s")
        try machine.execute(
            """
            CREATE TABLE note(id TEXT PRIMARY KEY, body TEXT);
            CREATE TABLE photo(id INTEGER PRIMARY KEY, title TEXT NOT NULL UNIQUE);
            CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE cache(k TEXT PRIMARY KEY);
            INSERT INTO note VALUES('one', '');
            INSERT INTO photo VALUES(1, 'wedding');
            INSERT INTO tag VALUES(1, 'white');
            """)
        var options = InitializeOptions()
        options.skip = ["cache"]
        options.identities = ["photo": .columns(["title"])]
        options.policies = [("note.body", "first-writer")]
        try await machine.initialize(options)
        func rows(_ sql: String, _ path: String) throws -> [[String]] {
            let database = try machine.database(path)
            defer { try? database.close() }
            return try database.read { try Row.fetchAll($0, sql: sql).map { [$0[0], $0[1]] } }
        }
        let settled = try rows("SELECT kind, target FROM logsync_setting WHERE kind <> 'peer'", machine.path)
        #expect(settled.count >= 4)
        func identities(_ store: Machine) throws -> [[String]] {
            try rows("SELECT name, identity || ifnull(key_columns, '') FROM logsync_table ORDER BY 1", store.path)
        }
        let targets = settled.map { Array(RowIdentity(natural: $0.map { .text(Array($0.utf8)[...]) }).bytes) }
        let vector = try await machine.status().vector
        let group =
            deletes
            ? ForgedGroup(.delete, "logsync_setting", identities: targets)
            : ForgedGroup(
                .update, "logsync_setting", identities: targets,
                columns: [ForgedGroup.Column("value", ForgedValues.nulls())])
        try ForgedFolder(other.contentPath).put(
            ForgedLogFile([
                ForgedTransaction(
                    Dot(stranger, 1), dependencies: vector.dots.map { Dependency($0) }, groups: [group])
            ]), of: stranger)
        #expect(try await machine.sync().imported == 1)
        let c = try await other.clone("c")
        #expect(try identities(c) == identities(machine))
        #expect(try identities(c).map { $0[0] } == ["logsync_setting", "note", "photo", "tag"])
        try c.execute("INSERT INTO photo VALUES(7, 'beach'); INSERT INTO tag VALUES(7, 'black')")
        for store in [c, machine, c] { try await store.sync() }
        for table in ["photo", "tag"] {
            #expect(try machine.count("SELECT count(*) FROM \(table)") == 2)
            #expect(try c.count("SELECT count(*) FROM \(table)") == 2)
        }
        #expect(try c.count("SELECT count(*) FROM cache") == 0)
    }
}
