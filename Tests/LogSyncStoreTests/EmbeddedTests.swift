import GRDB
import Testing

@testable import LogSyncStore

/// Writes on a connection of the program's own, where SQLite enforces its keys.
extension ConstraintTests {
    @Test(arguments: ["CASCADE", "SET NULL"])
    func aCountedRowStaysInItsTableForItsChildren(action: String) throws {
        let (_, a, b) = try pair(
            """
            CREATE TABLE q(id INTEGER PRIMARY KEY);
            CREATE TABLE p(id INTEGER PRIMARY KEY, n INTEGER, q INTEGER REFERENCES q ON DELETE SET NULL);
            CREATE TABLE c(id INTEGER PRIMARY KEY, p INTEGER REFERENCES p ON DELETE \(action));
            INSERT INTO q VALUES (1); INSERT INTO p VALUES (1, 1, NULL); INSERT INTO c VALUES (1, 1);
            """
        ) { $0.policies = [("p.n", "sum")] }
        try a.write("DELETE FROM q")
        try record(a)
        try b.write("UPDATE p SET q = 1")
        try settle(a, b)
        var configuration = GRDB.Configuration()
        configuration.foreignKeysEnabled = true
        let queue = try DatabaseQueue(path: a.path, configuration: configuration)
        let written = try a.store.write(in: queue, author: nil, context: nil) {
            try $0.execute(sql: "UPDATE p SET n = n + 1")
        }
        #expect(written.recorded != nil)
        #expect(try a.strings("SELECT p.id, n, q, c.p FROM p JOIN c") == ["1|2|NULL|1"])
        #expect(try a.store.audit().problems == [])
        try queue.close()
        try settle(a, b)
        for peer in [a, b] { #expect(try peer.strings("SELECT p.id, n, q, c.p FROM p JOIN c") == ["1|2|NULL|1"]) }
    }
}
