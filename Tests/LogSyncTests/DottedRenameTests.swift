import Foundation
import GRDB
import LogSync
import LogSyncModel
import Testing

/// A target of a setting is `TABLE.COLUMN`, or a table: which of them it is, where dots stand in names, the database says.
@Suite("Names with a dot that settings have")
struct DottedRenameTests {
    private let world: World
    private let a: Machine

    init() throws {
        world = try World()
        a = try world.machine("a")
    }

    static let renames = [
        (schema: "t(k TEXT PRIMARY KEY, n INT)", migration: "ALTER TABLE t RENAME COLUMN n TO \"no.1\"", table: "t"),
        (
            schema: "t(k TEXT PRIMARY KEY, \"n.m\" INT)",
            migration: "ALTER TABLE t RENAME COLUMN \"n.m\" TO \"N.o=1.2\"", table: "t"
        ),
        (
            schema: "\"t.x\"(k TEXT PRIMARY KEY, \"n.m\" INT)",
            migration: "ALTER TABLE \"t.x\" RENAME COLUMN \"n.m\" TO \"n.o\"; ALTER TABLE \"t.x\" RENAME TO \"u.z\"",
            table: "u.z"
        ),
        (
            schema: "t(k TEXT PRIMARY KEY, n INT)", migration: "ALTER TABLE t RENAME TO \"t.n\"", table: "t.n"
        ),
    ]

    @Test("are followed by a clone where a column or table was renamed to them", arguments: renames)
    func renamed(schema: String, migration: String, table: String) async throws {
        try a.execute("CREATE TABLE \(schema)")
        try a.execute("INSERT INTO \"\(schema.split(separator: "(")[0].replacing("\"", with: ""))\" VALUES('x', 10)")
        try await a.initialize()
        try a.execute(migration)
        _ = try await a.sync()
        let b = try world.machine("b")
        let report = try await Replicator.clone(
            to: b.path, container: world.container, content: "notes", peerName: "b", configuration: b.configuration)
        #expect(report.unmade.isEmpty, "\(report.unmade)")
        try b.execute("INSERT INTO \"\(table)\" VALUES('y', 5)")
        try await settle(b, a)
        for machine in [a, b] {
            #expect(try rows(machine, table) == ["x 10", "y 5"], "\(migration)")
        }
    }

    private func rows(_ machine: Machine, _ table: String) throws -> [String] {
        let database = try machine.database()
        defer { try? database.close() }
        return try database.read { database in
            try Row.fetchAll(database, sql: "SELECT * FROM \"\(table)\" ORDER BY 1").map { row in
                row.map { "\($0.1)".replacing("\"", with: "") }.joined(separator: " ")
            }
        }
    }

    @Test("are a table's where it has a policy")
    func policy() async throws {
        try a.execute("CREATE TABLE \"my.t\"(k TEXT PRIMARY KEY, n INT); INSERT INTO \"my.t\" VALUES('x', 0)")
        var options = InitializeOptions()
        try options.addPolicy("my.t=sum")
        try await a.initialize(options)
        let b = try await world.clone("b")
        for machine in [a, b] { try machine.execute("UPDATE \"my.t\" SET n = n + 1") }
        try await settle(a, b)
        for machine in [a, b] { #expect(try rows(machine, "my.t") == ["x 2"]) }
    }
}
