import Foundation
import Testing

/// A comparer that finds nothing proves nothing.
@Suite(.turn) struct ComparerTests {
    private static let schema = """
        CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT, boss INTEGER REFERENCES person (id));
        CREATE TABLE likes (who INTEGER REFERENCES person (id), whom INTEGER REFERENCES person (id), PRIMARY KEY (who, whom));
        CREATE TABLE fact (name TEXT PRIMARY KEY, value);
        CREATE INDEX person_name ON person (name);

        """
    private static let rows = """
        INSERT INTO person VALUES (1, 'Ann', NULL), (2, 'Bob', 1), (3, 'Cy', 1);
        INSERT INTO likes VALUES (1, 2), (3, 2);
        INSERT INTO fact VALUES ('zero', 0.0), ('one', 1), ('text', 'a'), ('empty', x''), ('big', 9007199254740993);
        """
    private static let renumbered = """
        INSERT INTO person VALUES (7, 'Ann', NULL), (1, 'Bob', 7), (2, 'Cy', 7);
        INSERT INTO likes VALUES (7, 1), (2, 1);
        INSERT INTO fact VALUES ('big', 9007199254740993), ('zero', 0.0), ('one', 1), ('text', 'a'), ('empty', x'');
        """

    private func differs(_ mode: Sandbox.Likeness, _ sandbox: Sandbox, _ peers: [Peer]) async throws -> Bool {
        let script = packageFolder.appendingPathComponent("Fixtures/compare.py").path
        let finished = try await sandbox.run(
            Program.python, Program.pythonOptions + [script, mode.rawValue] + peers.map(\.path))
        #expect(finished.code == 0 || finished.code == 1 && !finished.output.isEmpty, "\(finished.errors)")
        return finished.code != 0
    }

    @Test(arguments: [
        "UPDATE fact SET value = -0.0 WHERE name = 'zero'",
        "UPDATE fact SET value = 1.0 WHERE name = 'one'",
        "UPDATE fact SET value = '1' WHERE name = 'one'",
        "UPDATE fact SET value = x'61' WHERE name = 'text'",
        "UPDATE fact SET value = NULL WHERE name = 'empty'",
        "UPDATE fact SET value = 9007199254740992 WHERE name = 'big'",
        "UPDATE person SET boss = 2 WHERE name = 'Cy'",
        "UPDATE person SET boss = NULL WHERE name = 'Cy'",
        "DELETE FROM likes WHERE who = 3",
        "UPDATE likes SET whom = 3 WHERE who = 3",
        "INSERT INTO person VALUES (8, 'Ann', NULL)",
        "DROP INDEX person_name",
        "CREATE VIEW brief AS SELECT 1",
    ])
    func `the comparer tells apart what differs in one value, row, reference or index`(change: String) async throws {
        try await withSandbox { sandbox in
            let one = try await sandbox.database("one", sql: Self.schema + Self.rows)
            let two = try await sandbox.database("two", sql: Self.schema + Self.rows + change + ";")
            #expect(try await differs(.equal, sandbox, [one, two]))
            #expect(try await differs(.meaning, sandbox, [one, two]))
        }
    }

    @Test func `other integers for the same rows mean the same, and are not equal`() async throws {
        try await withSandbox { sandbox in
            let one = try await sandbox.database("one", sql: Self.schema + Self.rows)
            let two = try await sandbox.database("two", sql: Self.schema + Self.renumbered)
            #expect(try await !differs(.meaning, sandbox, [one, two]))
            #expect(try await differs(.equal, sandbox, [one, two]))
            #expect(try await !differs(.equal, sandbox, [one, one]))
        }
    }

    @Test func `a union lacks no row of either side and has none twice`() async throws {
        try await withSandbox { sandbox in
            let base = try await sandbox.database("base", sql: Self.schema + Self.rows)
            let one = try await sandbox.database(
                "one",
                sql: Self.schema + Self.rows
                    + "INSERT INTO person VALUES (4, 'Dee', 2); INSERT INTO likes VALUES (4, 3);")
            let two = try await sandbox.database(
                "two",
                sql: Self.schema + Self.rows
                    + "INSERT INTO person VALUES (4, 'Eve', 3); INSERT INTO likes VALUES (4, 1);")
            let merged = try await sandbox.database(
                "merged",
                sql: Self.schema + Self.rows
                    + "INSERT INTO person VALUES (4, 'Dee', 2), (5, 'Eve', 3); INSERT INTO likes VALUES (4, 3), (5, 1);"
            )
            let crossed = try await sandbox.database(
                "crossed",
                sql: Self.schema + Self.rows
                    + "INSERT INTO person VALUES (4, 'Dee', 2), (5, 'Eve', 3); INSERT INTO likes VALUES (5, 3), (4, 1);"
            )
            #expect(try await !differs(.union, sandbox, [merged, base, one, two]))
            #expect(try await differs(.union, sandbox, [crossed, base, one, two]))
            #expect(try await differs(.union, sandbox, [one, base, one, two]))
        }
    }

    @Test func `a broken reference and a broken full-text index are faults of their own`() async throws {
        try await withSandbox { sandbox in
            let one = try await sandbox.database("one", sql: Self.schema + Self.rows)
            try await one.write("UPDATE person SET boss = 99 WHERE id = 3;", foreignKeys: false)
            #expect(try await differs(.equal, sandbox, [one, one]))
            let two = try await sandbox.database("two", schema: "kinds", rows: 2)
            #expect(try await !differs(.equal, sandbox, [two, two]))
            try await two.write("DROP TRIGGER article_updated; UPDATE article SET title = 'unnoticed';")
            #expect(try await differs(.equal, sandbox, [two, two]))
        }
    }

    @Test(arguments: CaptureCase.keys + CaptureCase.others)
    func `every step of the capture cases is SQL that the example schema takes`(kind: CaptureCase) async throws {
        try await withSandbox { sandbox in
            let store = try await sandbox.database("plain", schema: "kinds", rows: 3)
            for (number, sql) in kind.steps.enumerated() {
                try await store.write(sql, with: number % 2 == 0 ? .shell : .python)
            }
            try await sandbox.expect(.equal, [store])
        }
    }
}
