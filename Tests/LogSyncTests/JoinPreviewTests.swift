import Foundation
import GRDB
import LogSyncModel
import Testing

@testable import LogSync

/// A database that would join a content is told what becomes of its rows.
@Suite struct JoinPreviewTests {
    private static let schema = """
        CREATE TABLE tag(name TEXT PRIMARY KEY, color TEXT);
        CREATE TABLE list(id INTEGER PRIMARY KEY, title TEXT NOT NULL);
        CREATE TABLE item(id INTEGER PRIMARY KEY, list INTEGER REFERENCES list(id), what TEXT);
        """

    private func preview(_ machine: Machine, _ world: World) async throws -> [String: TableReport.JoinCounts] {
        var options = InitializeOptions()
        options.dryRun = true
        let before = try (world.listing(), Data(contentsOf: URL(fileURLWithPath: machine.path)))
        let report = try await Replicator.initialize(
            machine.path, container: world.container, content: "notes", options: options,
            configuration: machine.configuration)
        #expect(report.obstacle == nil && report.joined)
        // Nothing is done, here or there.
        #expect(try world.listing() == before.0 && Data(contentsOf: URL(fileURLWithPath: machine.path)) == before.1)
        return Dictionary(
            uniqueKeysWithValues: report.tables.compactMap { table in table.join.map { (table.table, $0) } })
    }

    private func texts(_ sql: String, _ machine: Machine) throws -> [String] {
        let database = try machine.database()
        defer { try? database.close() }
        return try database.read { try String.fetchAll($0, sql: sql) }
    }

    @Test func `rows are the same, new, or in doubt`() async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(
            Self.schema + """
                INSERT INTO tag VALUES('red', '#f00'), ('blue', '#00f'), ('green', '#0f0');
                INSERT INTO list VALUES(1, 'home'), (2, 'work'), (3, 'garden');
                INSERT INTO item VALUES(1, 1, 'paint'), (2, 2, 'write'), (3, 3, 'dig');
                """)
        try await a.initialize()
        let b = try world.machine("b")
        try b.execute(
            Self.schema + """
                INSERT INTO tag VALUES('red', '#f00'), ('blue', '#00e'), ('pink', '#fcc');
                INSERT INTO list VALUES(1, 'home'), (2, 'office'), (7, 'car');
                INSERT INTO item VALUES(1, 1, 'paint'), (2, 2, 'write'), (8, 7, 'wash');
                """)
        let counts = try await preview(b, world)
        #expect(counts["tag"] == .init(same: 1, new: 1, doubt: 1))
        #expect(counts["list"] == .init(same: 1, new: 1, doubt: 1))
        // The second is of another list, so it is another item.
        #expect(counts["item"] == .init(same: 1, new: 1, doubt: 1))
        // What it says is what comes of it.
        try await b.initialize()
        try await settle(a, b)
        #expect(try a.count("SELECT count(*) FROM tag") == 4)
        #expect(try a.count("SELECT count(*) FROM list") == 5)
        #expect(try a.count("SELECT count(*) FROM item") == 5)
        #expect(try await a.with { try await $0.conflicts() }.conflicts.map(\.table) == ["tag"])
    }

    @Test func `names may have quotation marks`() async throws {
        let world = try World()
        let schema = #"""
            CREATE TABLE "ta""g"(id INTEGER PRIMARY KEY, "na""me" TEXT UNIQUE);
            CREATE TABLE "i'tem"("k""ey" TEXT PRIMARY KEY, "ta""g" INTEGER REFERENCES "ta""g"(id));
            """#
        let a = try world.machine("a")
        try a.execute(
            schema + #"INSERT INTO "ta""g" VALUES(1, 'red'), (2, 'blue'); INSERT INTO "i'tem" VALUES('x', 1)"#)
        try await a.initialize()
        let b = try world.machine("b")
        try b.execute(
            schema + #"INSERT INTO "ta""g" VALUES(2, 'pink'), (3, 'grey'); INSERT INTO "i'tem" VALUES('y', 2)"#)
        let counts = try await preview(b, world)
        #expect(counts[#"ta"g"#] == .init(same: 0, new: 1, doubt: 1))
        #expect(counts["i'tem"] == .init(same: 0, new: 1, doubt: 0))
        try await b.initialize()
        try await settle(a, b)
        #expect(
            try texts(#"SELECT "na""me" FROM "i'tem" JOIN "ta""g" ON id = "ta""g" ORDER BY 1"#, a) == ["pink", "red"])
    }

    @Test func `a copy of a store that was left is the same in all its rows, and an empty database has none`()
        async throws
    {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(
            Self.schema + "INSERT INTO list VALUES(1, 'home'); INSERT INTO item VALUES(1, 1, 'paint'), (2, 1, 'sew');")
        try await a.initialize()
        let b = try world.machine("b")
        try b.execute(
            Self.schema + "INSERT INTO list VALUES(1, 'home'); INSERT INTO item VALUES(1, 1, 'paint'), (2, 1, 'sew');")
        #expect(try await preview(b, world)["item"] == .init(same: 2, new: 0, doubt: 0))
        let c = try world.machine("c")
        try c.execute(Self.schema)
        #expect(try await preview(c, world)["item"] == .init(same: 0, new: 0, doubt: 0))
    }

    @Test func `an empty database that joins is told so, and nobody's clones and tables are made after it`()
        async throws
    {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(Self.schema + "INSERT INTO list VALUES(1, 'home')")
        try await a.initialize()
        let early = try world.machine("early")
        try early.execute("PRAGMA user_version = 7")
        let report = try await Replicator.initialize(
            early.path, container: world.container, content: "notes", configuration: early.configuration)
        #expect(report.warnings.count == 1 && report.warnings[0].contains("has no tables yet"))
        try await settle(a, early)

        let c = try await world.clone("c")
        #expect(try texts("SELECT title FROM list", c) == ["home"])
        let b = try world.machine("b")
        try b.execute(Self.schema + "INSERT INTO list VALUES(2, 'work')")
        try await b.initialize()
        try await settle(a, b, early)
        #expect(try texts("SELECT title FROM list ORDER BY 1", b) == ["home", "work"])
        // Its program comes to it.
        try early.execute(Self.schema)
        try await settle(a, b, early)
        #expect(try texts("SELECT title FROM list ORDER BY 1", early) == ["home", "work"])
    }

    @Test func `rows that could not be shown beside each other are said`() async throws {
        let world = try World()
        let schema = """
            CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
            CREATE TABLE item(id INTEGER PRIMARY KEY, tag INTEGER NOT NULL REFERENCES tag(id), what TEXT);
            """
        let a = try world.machine("a")
        try a.execute(schema + "INSERT INTO tag VALUES(1, 'red'), (2, 'blue'); INSERT INTO item VALUES(1, 1, 'a1');")
        try await a.initialize()
        let b = try world.machine("b")
        try b.execute(
            schema + "INSERT INTO tag VALUES(1, 'blue'), (2, 'red'); INSERT INTO item VALUES(1, 1, 'b1'), (2, 2, 'b2');"
        )
        // It is to be decided before anything is done, here or there.
        let before = try (world.listing(), Data(contentsOf: URL(fileURLWithPath: b.path)))
        var options = InitializeOptions()
        options.dryRun = true
        let report = try await b.initialize(options)
        #expect(report.contested == [.init(table: "tag", rows: 2, keys: [["name"]])])
        #expect(report.obstacle?.code == .configuration)
        let error = try #require(await #expect(throws: LogSyncError.self) { try await b.initialize() })
        #expect(error.code == .configuration && error.message.hasPrefix("2 rows of tag (UNIQUE: name): "), "\(error)")
        #expect(
            error.help?.contains("--policy tag=unique-merge") == true && error.help?.contains("unique-park") == true)
        #expect(try world.listing() == before.0 && Data(contentsOf: URL(fileURLWithPath: b.path)) == before.1)
        // That one of two is parked can be said, too, and is told then.
        options.policies = [("tag", "unique-park")]
        let parking = try await b.initialize(options)
        #expect(parking.obstacle == nil && parking.contested.isEmpty)
        #expect(parking.warnings.count == 2 && parking.warnings[0].contains(" of item, "), "\(parking.warnings)")
        #expect(parking.warnings.last?.hasPrefix("2 rows of tag, ") == true)
        // What is made one is in doubt where it is not the same, and loses nothing.
        options.policies = [("tag", "unique-merge")]
        let merging = try await b.initialize(options)
        #expect(merging.warnings.isEmpty && merging.obstacle == nil)
        #expect(merging.tables.first { $0.table == "tag" }?.join == .init(same: 0, new: 0, doubt: 2))
        options.dryRun = false
        #expect(try await b.initialize(options).joined)
        try await settle(a, b)
        let items = "SELECT what || ' ' || name FROM item JOIN tag ON tag = tag.id ORDER BY what"
        for machine in [a, b] { #expect(try texts(items, machine) == ["a1 red", "b1 blue", "b2 red"]) }
        #expect(try await a.with { try await $0.conflicts() }.parked.isEmpty)
        // Who comes later takes what was decided.
        let c = try world.machine("c")
        try c.execute(schema + "INSERT INTO tag VALUES(1, 'blue'); INSERT INTO item VALUES(1, 1, 'c1');")
        let joined = try await c.initialize()
        #expect(joined.warnings.isEmpty && joined.tables.allSatisfy { $0.suggestions.isEmpty }, "\(joined)")
        try await settle(a, b, c)
        #expect(try texts(items, a) == ["a1 red", "b1 blue", "b2 red", "c1 blue"])
    }
}
