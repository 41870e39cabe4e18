import Forgery
import Foundation
import GRDB
import LogSync
import LogSyncFormat
import LogSyncModel
import Testing

/// Settings that give tables and columns each other's names, or names that nobody has.
@Suite("Names that a liar gives")
struct HostileRenamesTests {
    private let world: World
    private let a: Machine
    private let folder: ForgedFolder
    private static let stranger = PeerID(high: 0x5747_0000_0000_0000, low: 1)
    private static let tables = """
        CREATE TABLE tag(name TEXT PRIMARY KEY, color TEXT); CREATE TABLE plain(a, b);
        CREATE TABLE secret(id INTEGER PRIMARY KEY, pw TEXT); CREATE TABLE box(id TEXT PRIMARY KEY, a, b);
        """

    struct Setting: CustomTestStringConvertible {
        var kind = "rename"
        var target: String
        var value: String
        var testDescription: String { "\(kind) \(target) = \(value)" }

        init(_ target: String, _ value: String) { (self.target, self.value) = (target, value) }

        init(_ table: String, _ here: [String], _ logs: [String]) {
            func list(_ names: [String]) -> String {
                "[" + names.map { "\"\($0)\"" }.joined(separator: ",") + "]"
            }
            (kind, target, value) = ("columns", "\(table) \(list(here))", list(logs))
        }
    }

    init() async throws {
        world = try World()
        a = try world.machine("a")
        try a.execute(
            Self.tables
                + """
                INSERT INTO tag VALUES('red', '#f00'), ('blue', '#00f');
                INSERT INTO plain VALUES(1, 2), (1, 2), ('x', NULL);
                INSERT INTO secret VALUES(1, 'hunter2');
                INSERT INTO box VALUES('1', 'a', 'b');
                """)
        var options = InitializeOptions()
        options.skip = ["secret"]
        try await a.initialize(options)
        folder = ForgedFolder(world.contentPath)
    }

    private func lie(
        _ settings: [Setting], schemas: [String] = [], by stranger: PeerID = Self.stranger
    ) throws {
        for schema in schemas {
            let name = Forge.sha256(Array(schema.utf8)).prefix(16).map { String(format: "%02x", $0) }.joined()
            try folder.write(Array(schema.utf8), to: "schemas/\(name).sql", of: stranger)
        }
        let group = ForgedGroup(
            .insert, "logsync_setting",
            identities: settings.map { setting in
                Array(RowIdentity(natural: [setting.kind, setting.target].map { .text(Array($0.utf8)[...]) }).bytes)
            }, columns: [ForgedGroup.Column("value", ForgedValues.texts(settings.map(\.value)))])
        var transaction = ForgedTransaction(Dot(stranger, 1), groups: [group])
        // After all that anybody has set.
        transaction.time = HybridTime(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
        try folder.put(ForgedLogFile([transaction]), of: stranger)
    }

    private func clone(_ name: String) async throws -> (store: Machine, report: CloneReport) {
        let machine = try world.machine(name)
        let report = try await Replicator.clone(
            to: machine.path, container: world.container, content: "notes", peerName: name,
            configuration: machine.configuration)
        return (machine, report)
    }

    private func rows(_ machine: Machine, _ tables: [String] = ["tag", "plain", "box"]) throws -> [[String]] {
        let database = try machine.database()
        defer { try? database.close() }
        return try database.read { database in
            try tables.map { table in
                try Row.fetchAll(database, sql: "SELECT * FROM \(table)").map { "\($0.map { $0.1 })" }.sorted()
            }
        }
    }

    @Test(
        "leave a clone's rows where they are, and are named",
        arguments: [
            [Setting("tag", ["name", "color"], ["color", "name"])], [Setting("plain", ["a", "b"], ["b", "a"])],
            [Setting("box", ["id", "a", "b"], ["id", "zz", "b"])], [Setting("plain", "secret")],
            [Setting("plain", "zz")], [Setting("plain", "box"), Setting("box", "plain")],
            [Setting("plain.a", "b"), Setting("plain.b", "a")], [Setting("box.a", "zz")], [Setting("PLAIN", "tag")],
        ], [false, true])
    func forged(settings: [Setting], hasSchema: Bool) async throws {
        try lie(settings, schemas: hasSchema ? [Self.tables] : [])
        try await a.sync()
        let (c, report) = try await clone("c")
        #expect(try rows(c) == rows(a))
        let named = settings.map(\.testDescription).sorted()
        #expect(report.unmade.map(\.object).sorted() == named)
        #expect(try await c.status().unmade.map(\.object).sorted() == named)
        #expect(try c.count("SELECT count(*) FROM secret") == 0)
        // What it writes is where the others have it, also after its schema has been looked at again.
        try c.execute(
            "CREATE INDEX by_b ON box(b); INSERT INTO box VALUES('2', 'a2', 'b2'); INSERT INTO plain VALUES(3, 4)")
        try await settle(c, a)
        #expect(try rows(c) == rows(a))
        #expect(try a.count("SELECT count(*) FROM box WHERE a = 'a2' AND b = 'b2'") == 1)
        #expect(try a.count("SELECT count(*) FROM plain WHERE a = 3 AND b = 4") == 1)
    }

    /// What two liars say, the one this, and the other that.
    static let contradictions: [[Setting]] = [
        [Setting("plain.a", "b"), Setting("plain.a", "zz")], [Setting("plain.c", "b"), Setting("plain.c", "a")],
        [Setting("simple", "box"), Setting("simple", "tag")], [Setting("plain", "simple"), Setting("simple", "plain")],
        [Setting("plain", ["a", "b"], ["b", "a"]), Setting("plain", ["a", "b"], ["a", "zz"])],
        [Setting("plain", ["c", "b"], ["b", "a"]), Setting("plain", ["b", "a"], ["b", "a"])],
        [Setting("box", ["a", "id", "b"], ["id", "a", "b"]), Setting("box", ["a", "id", "b"], ["b", "b", "b"])],
        [Setting("box.b", "a"), Setting("box.a", "b")],
    ]

    /// What programs do to the tables, the one and then the other; and what becomes of their names.
    static let migrations = [
        "ALTER TABLE plain RENAME COLUMN a TO c", "ALTER TABLE plain RENAME TO simple",
        """
        CREATE TABLE n(b, a); INSERT INTO n(b, a) SELECT b, a FROM plain; DROP TABLE plain;
        ALTER TABLE n RENAME TO plain
        """,
        "ALTER TABLE box ADD COLUMN c", "ALTER TABLE box DROP COLUMN b",
        """
        CREATE TABLE n(a TEXT PRIMARY KEY, id TEXT, b); INSERT INTO n SELECT a, id, b FROM box; DROP TABLE box;
        ALTER TABLE n RENAME TO box
        """,
    ]

    @Test(
        "that contradict each other, and come before or after a migration, end nobody's replication and part no stores",
        arguments: contradictions, migrations)
    func contradiction(told: [Setting], migration: String) async throws {
        // The lies come before the migration or after it.
        let isBefore = (told[0].value + migration).utf8.count.isMultiple(of: 2)
        let b = try await clone("b").store
        try await settle(a, b)
        func lies() throws {
            for (number, setting) in told.enumerated() {
                try lie(
                    [setting], schemas: [Self.tables], by: PeerID(high: Self.stranger.high, low: UInt64(number) + 5))
            }
        }
        if isBefore { try lies() }
        for machine in [a, b] { try await machine.sync() }
        try a.execute(migration)
        try await a.sync()
        if !isBefore { try lies() }
        for machine in [b, a] { try await machine.sync() }
        try b.execute(migration)
        try await settle(b, a)
        let table = migration.contains("TO simple") ? "simple" : "plain"
        for (machine, number) in [(a, 1), (b, 2)] {
            try machine.execute(
                """
                INSERT INTO tag VALUES('of \(number)', NULL); INSERT INTO \(table) VALUES('of \(number)', \(number));
                INSERT INTO box(id, a) VALUES('of \(number)', 'key \(number)'); UPDATE tag SET color = 'c\(number)' WHERE name = 'red'
                """)
        }
        try await settle(a, b, a)
        let label = Comment("\(told.map(\.testDescription)), \(migration), \(isBefore)")
        #expect(try rows(a, ["tag", table, "box"]) == rows(b, ["tag", table, "box"]), label)
        for machine in [a, b] {
            for number in [1, 2] {
                #expect(try machine.count("SELECT count(*) FROM tag WHERE name = 'of \(number)'") == 1, label)
                #expect(
                    try machine.count(
                        "SELECT count(*) FROM \(table) WHERE 'of \(number)' IN (\(columns(of: table, machine)))") == 1,
                    label)
                #expect(
                    try machine.count("SELECT count(*) FROM box WHERE id = 'of \(number)' AND a = 'key \(number)'")
                        == 1, label)
            }
            #expect(try machine.count("SELECT count(*) FROM secret") == (machine.path == a.path ? 1 : 0), label)
            _ = try await Replicator.doctor(machine.path, configuration: machine.configuration)
            _ = try await Replicator.verify(machine.path, configuration: machine.configuration)
        }
        let c = try await clone("c").store
        #expect(try rows(c, ["tag"]) == rows(a, ["tag"]), label)
    }

    private func columns(of table: String, _ machine: Machine) throws -> String {
        let database = try machine.database()
        defer { try? database.close() }
        return try database.read { database in
            try String.fetchAll(database, sql: "SELECT name FROM pragma_table_info('\(table)')").joined(separator: ", ")
        }
    }

    @Test("do not stand for those that a migration gave")
    func overwritten() async throws {
        try a.execute("ALTER TABLE plain RENAME TO simple; ALTER TABLE tag RENAME color TO paint")
        try await a.sync()
        try lie([Setting("simple", "zz"), Setting("tag.paint", "name")])
        try await a.sync()
        let (c, report) = try await clone("c")
        #expect(try rows(c, ["tag", "simple", "box"]) == rows(a, ["tag", "simple", "box"]))
        #expect(report.unmade.map(\.object).sorted() == ["rename simple = zz", "rename tag.paint = name"])
        #expect(report.warnings.isEmpty, "\(report.warnings)")
        try c.execute("INSERT INTO simple VALUES('later', 1)")
        try await settle(c, a)
        #expect(try a.count("SELECT count(*) FROM simple WHERE a = 'later'") == 1)
    }

    @Test("are said where they cannot be told from a migration's")
    func exchanged() async throws {
        let other = Self.tables.replacing("plain(a, b)", with: "plain(b, a)")
        try lie([Setting("plain", ["a", "b"], ["b", "a"])], schemas: [Self.tables, other])
        try await a.sync()
        let report = try await clone("c").report
        #expect(report.warnings.contains { $0.contains("a, b of plain") && $0.contains("b, a") }, "\(report.warnings)")
    }

    @Test("are said of columns where one that is here is called by another's")
    func columnsExchanged() async throws {
        let other = Self.tables.replacing("tag(name TEXT PRIMARY KEY, color TEXT)", with: "tag(color TEXT, name TEXT)")
        try lie([Setting("tag.name", "color"), Setting("tag.color", "name")], schemas: [Self.tables, other])
        try await a.sync()
        let warnings = try await clone("c").report.warnings
        let said = "the column tag.color is the one that was called name"
        #expect(warnings.contains { $0.contains(said) }, "\(warnings)")
    }

    @Test("are followed without a word after a migration that everybody has made")
    func migrated() async throws {
        try a.execute(
            """
            CREATE TABLE book(id INTEGER PRIMARY KEY, mark TEXT UNIQUE, title TEXT);
            INSERT INTO book VALUES(1, 'm', 't')
            """)
        try await a.sync()
        let b = try await clone("b").store
        try await settle(a, b)
        let migration = """
            CREATE TABLE new(id TEXT PRIMARY KEY, title TEXT); INSERT INTO new SELECT mark, title FROM book;
            DROP TABLE book; ALTER TABLE new RENAME TO book
            """
        try a.execute(migration)
        try await a.sync()
        // Another peer has both columns still.
        let warnings = try await clone("c").report.warnings
        #expect(warnings.count == 1 && warnings[0].contains("nothing has to be done"), "\(warnings)")
        try b.execute(migration)
        try await settle(a, b)
        let (d, report) = try await clone("d")
        #expect(report.warnings.isEmpty, "\(report.warnings)")
        #expect(try d.count("SELECT count(*) FROM book WHERE id = 'm' AND title = 't'") == 1)
    }

    @Test("are followed where programs have exchanged them", arguments: [true, false])
    func honest(isOld: Bool) async throws {
        let b = try await clone("b").store
        try await settle(a, b)
        let migration = "ALTER TABLE box RENAME a TO t; ALTER TABLE box RENAME b TO a; ALTER TABLE box RENAME t TO b"
        for machine in isOld ? [a] : [a, b] {
            try machine.execute(migration)
            try await settle(machine)
        }
        try await settle(a, b)
        let (c, report) = try await clone("c")
        #expect(try rows(c) == rows(a))
        #expect(report.unmade.isEmpty, "\(report.unmade)")
        #expect(try c.count("SELECT count(*) FROM box WHERE b = 'a' AND a = 'b'") == 1)
    }
}
