import Foundation
import GRDB
import LogSync
import LogSyncModel
import Testing

/// What `status` and `doctor` say of two peers' schemas.
@Suite("Schemas of two peers")
struct SchemaDifferenceTests {
    struct Pair: Sendable, CustomTestStringConvertible {
        let name: String
        let first: String
        let second: String
        /// What the second peer says.
        var lines: [String] = []
        var testDescription: String { name }

        init(_ name: String, _ first: String, _ second: String, _ lines: String...) {
            (self.name, self.first, self.second, self.lines) = (name, first, second, lines)
        }
    }

    private static func rebuild(_ declaration: String) -> String {
        """
        BEGIN; CREATE TABLE n(\(declaration); INSERT INTO n(k, v, w) SELECT k, v, w FROM t; DROP TABLE t;
        ALTER TABLE n RENAME TO t; COMMIT
        """
    }

    static let others = [
        Pair(
            "an index with two definitions", "CREATE INDEX i ON t(v)", "CREATE INDEX i ON t(w DESC)",
            "t: the index i is another at a"),
        Pair(
            "a partial UNIQUE index with two conditions", "CREATE UNIQUE INDEX i ON t(v) WHERE w = 1",
            "CREATE UNIQUE INDEX i ON t(v) WHERE w = 2",
            "t: what is unique is (v) where w = 2 here and (v) where w = 1 at a"),
        Pair(
            "a UNIQUE index over an expression", "CREATE UNIQUE INDEX i ON t(lower(v))",
            "CREATE UNIQUE INDEX i ON t(upper(v))",
            "t: what is unique is (upper (v)) here and (lower (v)) at a"),
        Pair(
            "a CHECK of a column", "ALTER TABLE t ADD COLUMN n TEXT CHECK(n <> 'X')", "ALTER TABLE t ADD COLUMN n TEXT",
            "t: what is checked is none here and (n <> 'X') at a"),
        Pair(
            "a text in a CHECK", "ALTER TABLE t ADD COLUMN n TEXT CHECK(n <> 'x')",
            "ALTER TABLE t ADD COLUMN n TEXT CHECK(n <> 'X')",
            "t: what is checked is (n <> 'X') here and (n <> 'x') at a"),
        Pair(
            "a CHECK of the table", rebuild("k TEXT PRIMARY KEY, v TEXT, w TEXT, CHECK(v <> w))"), "SELECT 1",
            "t: what is checked is none here and (v <> w) at a"),
        Pair(
            "a generated column with two expressions", "ALTER TABLE t ADD COLUMN n TEXT AS (v) VIRTUAL",
            "ALTER TABLE t ADD COLUMN n TEXT AS (w) VIRTUAL", "t.n: what it is made of is (w) here and (v) at a"),
        Pair(
            "a generated column that is stored", rebuild("k TEXT PRIMARY KEY, v TEXT, w TEXT, n AS (v) STORED)"),
            "ALTER TABLE t ADD COLUMN n AS (v)", "t.n: what it is made of is (v) here and (v) STORED at a"),
        Pair(
            "STRICT", rebuild("k TEXT PRIMARY KEY, v TEXT, w TEXT) STRICT"), "SELECT 1",
            "t: the kind of table is none here and STRICT at a"),
        Pair(
            "a view", "CREATE VIEW q AS SELECT v FROM t", "CREATE VIEW q AS SELECT w FROM t",
            "q: the view is another at a"),
        Pair(
            "a view that one has", "CREATE VIEW q AS SELECT v FROM t", "SELECT 1",
            "q: a has the view, this store has not"),
        Pair(
            "a trigger", "CREATE TRIGGER q AFTER INSERT ON t BEGIN SELECT 1; END",
            "CREATE TRIGGER q AFTER INSERT ON t BEGIN SELECT 2; END", "t: the trigger q is another at a"),
        Pair(
            "a trigger that one has", "SELECT 1", "CREATE TRIGGER q AFTER INSERT ON t BEGIN SELECT 2; END",
            "t: this store has the trigger q, a has not"),
    ]

    @Test("that differ in anything that they declare are told apart, a line each", arguments: others)
    func told(pair: Pair) async throws {
        let (a, b) = try await machines(pair)
        let schemas = try await b.status().schemas
        #expect(schemas.map(\.peer.name) == ["a"])
        #expect(schemas.first?.lines == pair.lines)
        let report = try await Replicator.doctor(b.path, configuration: b.configuration)
        let finding = report.findings.first { $0.code == "other-schema" }
        #expect(finding?.severity == .note && finding?.why == pair.lines.joined(separator: "; "))
        #expect(try await a.status().schemas.first?.lines.count == pair.lines.count)
        #expect(!report.findings.contains { $0.severity != .note }, "\(report.findings)")
    }

    static let alike = [
        Pair(
            "spaces, comments, quotes, cases and pairs of parentheses",
            """
            CREATE INDEX i ON t(v, w); CREATE UNIQUE INDEX u ON t(lower(v)) WHERE w != 'X';
            CREATE VIEW q AS SELECT v FROM t WHERE w IS NULL;
            CREATE TRIGGER r AFTER INSERT ON t BEGIN UPDATE t SET v = 'a' WHERE k = new.k; END;
            ALTER TABLE t ADD COLUMN n INT CHECK (n > 0); ALTER TABLE t ADD COLUMN m AS (n + 1);
            """,
            """
            create index "i" on "t"( "v" asc , `w` ); CREATE UNIQUE INDEX u ON t((LOWER(v))) WHERE w<>'X' /* some */;
            CREATE VIEW q AS select "v" from [t]
                where W is null; -- all
            CREATE TRIGGER r AFTER INSERT ON "t" BEGIN update T set V='a' where K == NEW.K; END;
            ALTER TABLE t ADD COLUMN "n" INT check(("n">0)); ALTER TABLE t ADD COLUMN m GENERATED ALWAYS as ((n+1)) VIRTUAL;
            """),
        Pair(
            "what ALTER TABLE makes, and a rebuild of the same",
            """
            ALTER TABLE t ADD COLUMN n INT CHECK (n > 0); ALTER TABLE t ADD COLUMN old INT CHECK (old > n);
            ALTER TABLE t DROP COLUMN old
            """,
            """
            BEGIN; CREATE TABLE x(k TEXT PRIMARY KEY, v TEXT, w TEXT, n INT, CONSTRAINT positive CHECK (x.n > 0));
            INSERT INTO x(k, v, w) SELECT k, v, w FROM t; DROP TABLE t; ALTER TABLE x RENAME TO t; COMMIT
            """),
        Pair(
            "a renamed table with a renamed column", "SELECT 1",
            "ALTER TABLE o RENAME COLUMN n TO nn; ALTER TABLE o RENAME TO oo"),
        Pair(
            "a view of two tables, of which one calls a column as the other called another one", "SELECT 1",
            "ALTER TABLE s RENAME COLUMN v TO w"),
        Pair("an index that only one has", "CREATE INDEX i ON t(v)", "SELECT 1"),
        Pair(
            "an index of the same terms under another name", "CREATE UNIQUE INDEX i ON t(lower(v))",
            "CREATE UNIQUE INDEX j ON t(lower(v))"),
        Pair("a table that is not replicated", "SELECT 1", "CREATE TRIGGER r AFTER INSERT ON l BEGIN SELECT 1; END"),
    ]

    @Test("that say the same in other words are no difference", arguments: alike)
    func same(pair: Pair) async throws {
        let (a, b) = try await machines(pair)
        for machine in [a, b] {
            let found = try await machine.status().schemas.flatMap(\.differences)
            #expect(found == [])
        }
    }

    private func machines(_ pair: Pair) async throws -> (Machine, Machine) {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(
            """
            CREATE TABLE t(k TEXT PRIMARY KEY, v TEXT, w TEXT); CREATE TABLE s(k TEXT PRIMARY KEY, v TEXT);
            INSERT INTO t VALUES('x', '1', '2'); CREATE TABLE l(k PRIMARY KEY);
            CREATE TABLE o(k PRIMARY KEY, v TEXT, w TEXT, n INT CHECK (n <> v), m AS (n + 1)); CREATE INDEX oi ON o(n);
            INSERT INTO o VALUES('x', 'y', 'z', 5);
            CREATE UNIQUE INDEX ou ON o(n, v) WHERE o.n > 0; CREATE VIEW ov AS SELECT o.n FROM o;
            CREATE TRIGGER "or" AFTER UPDATE OF n ON o BEGIN UPDATE o SET n = 1 WHERE n = new.n; END;
            CREATE VIEW both AS SELECT o.w, s.v FROM o, s;
            """)
        var options = InitializeOptions()
        options.skip = ["l"]
        try await a.initialize(options)
        let b = try await world.clone("b")
        for (machine, sql) in [(a, pair.first), (b, pair.second)] {
            let database = try machine.database()
            try await database.writeWithoutTransaction { db in try db.execute(sql: sql) }
            try database.close()
        }
        try await settle(a, b)
        return (a, b)
    }
}
