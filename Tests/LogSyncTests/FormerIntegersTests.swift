import Foundation
import LogSync
import LogSyncModel
import Testing

/// Integers that logsync has put into references to rows that are not there, in a database that has been a store before.
@Suite("Integers of a former store")
struct FormerIntegersTests {
    private static let shown = "SELECT c.x || ' ' || coalesce(t.tag, '-') FROM c LEFT JOIN t ON t.id = c.t ORDER BY c.x"

    @Test("are given to no other row in the next content", arguments: [false, true])
    func rows(isRestarted: Bool) async throws {
        var options = InitializeOptions()
        options.references = [InitializeOptions.Reference(table: "c", column: "t", parent: "t")]
        let former = try World()
        let a = try former.machine("a")
        try a.execute(
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, tag TEXT UNIQUE); CREATE TABLE c(id INTEGER PRIMARY KEY, t INTEGER, x TEXT);
            """)
        _ = try await a.initialize(options)
        let b = try await former.clone("b")
        try a.execute("INSERT INTO c(t, x) VALUES(77, 'one')")
        try await settle(a, b)
        try #require(try b.strings("SELECT t || '' FROM c") != ["77"])
        try await b.with { _ = try await $0.leave() }

        let world = try World()
        let founder = try world.machine("founder")
        try FileManager.default.copyItem(atPath: b.path, toPath: founder.path)
        _ = try await founder.initialize(options)
        let other = try await world.clone("other")
        try other.execute("INSERT INTO c(t, x) VALUES(88, 'two')")
        try await settle(other, founder)
        if isRestarted {
            try other.execute("INSERT INTO c(t, x) VALUES(99, 'three')")
            try await settle(other, founder)
        }
        let integers = try founder.strings("SELECT t || '' FROM c")
        #expect(Set(integers).count == integers.count)
        try other.execute("INSERT INTO t(id, tag) VALUES(88, 'came')")
        try await settle(other, founder)
        let expected = ["one -"] + (isRestarted ? ["three -"] : []) + ["two came"]
        for machine in [founder, other, try await world.clone("third")] {
            #expect(try machine.strings(Self.shown) == expected, "\(machine.name)")
        }
    }
}
