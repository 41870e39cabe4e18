import Foundation
import GRDB
import LogSync
import LogSyncModel
import Testing

/// A program's next release has its table need a function or collation of its own, which `init` would have refused.
@Suite("A table that a migration makes its program's alone")
struct UnwritableTableTests {
    let world: World
    let a: Machine
    let b: Machine

    init() async throws {
        world = try World()
        a = try world.machine("a")
        try a.execute(
            """
            CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, body TEXT, stars INTEGER);
            CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, size INTEGER);
            INSERT INTO item(name) VALUES('The'), ('Zoo');
            """)
        try await a.initialize()
        b = try await world.clone("b")
        try await settle(a, b)
    }

    /// Runs SQL as the program does, which has what its schema needs.
    private func program(_ sql: String, at path: String) throws {
        var configuration = GRDB.Configuration()
        configuration.prepareDatabase { db in
            db.add(
                function: DatabaseFunction("norm", argumentCount: 1, pure: true) { values in
                    String.fromDatabaseValue(values[0])?.lowercased()
                })
            db.add(
                collation: DatabaseCollation("mine") {
                    $0 < $1 ? .orderedAscending : $0 > $1 ? .orderedDescending : .orderedSame
                })
        }
        let database = try DatabaseQueue(path: path, configuration: configuration)
        try database.write { try $0.execute(sql: sql) }
        try database.close()
    }

    private static let migrations: [(sql: String, object: String, need: String, undo: String)] = [
        ("CREATE INDEX wild ON item(norm(name))", "the index wild of item", "the function norm", "DROP INDEX wild"),
        (
            "CREATE INDEX wild ON item(size) WHERE norm(name) = 'x'", "the index wild of item", "the function norm",
            "DROP INDEX wild"
        ),
        (
            "CREATE INDEX wild ON item(name COLLATE mine)", "the index wild of item", "the collation mine",
            "DROP INDEX wild"
        ),
        (
            "ALTER TABLE item ADD COLUMN plain AS (norm(name))", "the table item", "the function norm",
            "ALTER TABLE item DROP COLUMN plain"
        ),
        (
            """
            CREATE TABLE new(id INTEGER PRIMARY KEY, name TEXT CHECK(norm(name) <> ''), size INTEGER);
            INSERT INTO new SELECT * FROM item; DROP TABLE item; ALTER TABLE new RENAME TO item
            """, "the table item", "the function norm",
            """
            CREATE TABLE new(id INTEGER PRIMARY KEY, name TEXT, size INTEGER);
            INSERT INTO new SELECT * FROM item; DROP TABLE item; ALTER TABLE new RENAME TO item
            """
        ),
    ]

    @Test(
        "is named with what it needs, holds what comes for it, and takes it in when it can",
        arguments: migrations.indices)
    func held(index: Int) async throws {
        let (sql, object, need, undo) = Self.migrations[index]
        try program(sql, at: a.path)
        try program("INSERT INTO item(name) VALUES('here')", at: a.path)
        try a.insert("here")
        try await a.sync()
        let unwritable = try await a.status().unwritable
        #expect(unwritable.map(\.table) == ["item"])
        let reason = try #require(unwritable.first?.reason)
        #expect(reason.hasPrefix("\(object) needs \(need), which"), "\(reason)")
        // What programs write here goes out.
        try await b.sync()
        #expect(try b.count("SELECT count(*) FROM item WHERE name = 'here'") == 1)
        #expect(try b.ids() == ["here"])

        try b.execute("INSERT INTO item(name) VALUES('there')")
        try await b.sync()
        try b.insert("there")
        try await b.sync()
        for _ in 0..<2 {
            let result = try await a.sync()
            #expect(result.held.map(\.reason) == [.unwritable], "\(result.held)")
            #expect(result.held.first?.detail == reason && Outcome(held: result.held) == .held)
        }
        #expect(try await a.status().held.map(\.reason) == [.unwritable])
        let findings = try await Replicator.doctor(a.path, configuration: a.configuration).findings
        #expect(findings.contains { $0.code == "unwritable-table" && $0.why.hasPrefix(reason) }, "\(findings)")
        #expect(findings.contains { $0.code == "held-unwritable" }, "\(findings)")
        #expect(!findings.contains { $0.severity == .damage }, "\(findings)")
        // A snapshot has the rows of that table, too.
        _ = try await b.with { try await $0.snapshot() }
        #expect(try await a.sync().held.allSatisfy { $0.reason == .unwritable })

        try program(undo, at: a.path)
        try await settle(a, b)
        let status = try await a.status()
        #expect(status.held.isEmpty && status.unwritable.isEmpty)
        #expect(try a.ids() == ["here", "there"])
        #expect(try a.count("SELECT count(*) FROM item") == 4)
        #expect(try await a.status().digest == b.status().digest)
    }
}
