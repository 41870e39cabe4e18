import Foundation
import GRDB
import LogSync
import LogSyncModel
import Testing

@Suite("A clone's integers")
struct CloneIntegerTests {
    /// As in Northwind: employees report to employees that come after them.
    private static func employees(_ auto: String) -> String {
        """
        CREATE TABLE e(id INTEGER PRIMARY KEY\(auto), boss INT REFERENCES e(id), name TEXT);
        INSERT INTO e VALUES(1,2,'a'),(2,NULL,'b'),(3,2,'c'),(4,9,'d'),(5,2,'e'),(9,5,'i');
        CREATE TABLE territory(e INT REFERENCES e(id), name TEXT, PRIMARY KEY(e, name));
        INSERT INTO territory VALUES(1,'x'),(4,'y');
        """
    }

    private static let shown = "SELECT id||' '||coalesce(boss,'-')||' '||name FROM e ORDER BY id"

    @Test("are its author's where rows refer to rows that come later", arguments: ["", " AUTOINCREMENT"])
    func forwardReferences(auto: String) async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(Self.employees(auto))
        try await a.initialize()
        let b = try await world.clone("b")
        #expect(try rows(Self.shown, b) == rows(Self.shown, a))
        #expect(try rows("SELECT e||name FROM territory ORDER BY 1", b) == ["1x", "4y"])
        // One that is there already imports them under the same.
        try a.execute("INSERT INTO e VALUES(20,22,'n'),(21,20,'o'),(22,NULL,'p')")
        try await settle(a, b)
        #expect(try rows(Self.shown, b) == rows(Self.shown, a))
        #expect(try rows(Self.shown, try await world.clone("c")) == rows(Self.shown, a))
        try await b.snapshot()
        #expect(try rows(Self.shown, try await world.clone("d")) == rows(Self.shown, a))
    }

    @Test("are the authors', in whatever order their transactions come; after it AUTOINCREMENT gives none twice")
    func autoincrement() async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute("CREATE TABLE n(id INTEGER PRIMARY KEY AUTOINCREMENT, v TEXT); INSERT INTO n(v) VALUES('1')")
        try await a.initialize()
        let b = try await world.clone("b")
        try a.execute("INSERT INTO n VALUES(5,'a5'),(30,'gone')")
        try b.execute("INSERT INTO n VALUES(20,'b20')")
        try await a.sync()
        try a.execute("DELETE FROM n WHERE id = 30; INSERT INTO n VALUES(7,'a7')")
        try await settle(a, b)
        let c = try await world.clone("c")
        let shown = "SELECT id||v FROM n ORDER BY id"
        #expect(try rows(shown, c) == ["11", "5a5", "7a7", "20b20"])
        try c.execute("INSERT INTO n(v) VALUES('c')")
        #expect(try rows(shown, c).last == "31c")
    }

    @Test("go on in a clone where somebody says that AUTOINCREMENT has given all that there are")
    func exhausted() async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute("CREATE TABLE n(id INTEGER PRIMARY KEY AUTOINCREMENT, v TEXT); INSERT INTO n(v) VALUES('1')")
        try await a.initialize()
        let liar = try await world.clone("liar")
        try liar.execute("INSERT OR REPLACE INTO logsync_setting VALUES('sequence', 'n', '9223372036854775807')")
        try await settle(a, liar)
        let b = try await world.clone("b")
        try b.execute("INSERT INTO n(v) VALUES('b')")
        #expect(try rows("SELECT id||v FROM n ORDER BY id", b) == ["11", "2b"])
    }

    private func rows(_ query: String, _ machine: Machine) throws -> [String] {
        let database = try machine.database()
        defer { try? database.close() }
        return try database.read { try String.fetchAll($0, sql: query) }
    }
}
