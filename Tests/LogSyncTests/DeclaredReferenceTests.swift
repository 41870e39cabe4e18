import Foundation
import GRDB
import LogSync
import LogSyncModel
import Testing

/// Foreign keys that a migration declares or drops: both peers have rows under the same integers by then, and each row
/// goes on naming the parent that its writer meant.
@Suite("A foreign key that is declared later")
struct DeclaredReferenceTests {
    struct Story: Sendable, CustomTestStringConvertible {
        var name: String
        var schema: String
        /// Written by each on its own, before either has seen the other's.
        var first: String = ""
        var second: String = ""
        /// What the app's next version does; nil where the second peer stays with the former.
        var migration: String
        var later: String? = ""
        /// Written by the first peer after its migration, and by the second before its own.
        var new: String = ""
        var old: String = ""
        /// Written on the second when all is settled.
        var last: String = ""
        var query: String
        var expected: [String]
        /// Whether the founder says by hand that the column refers to the parents.
        var isNamed = false
        /// Whether it says that the column does not.
        var isDeclined = false

        var testDescription: String { name }
    }

    private static let parents = "CREATE TABLE p(id INTEGER PRIMARY KEY, uid TEXT); INSERT INTO p VALUES(1,'p1');"

    private static func rebuild(_ table: String, _ declaration: String, _ columns: String) -> String {
        "CREATE TABLE n(\(declaration));"
            + " INSERT INTO n(\(columns)) SELECT \(columns) FROM \(table); DROP TABLE \(table);"
            + " ALTER TABLE n RENAME TO \(table);"
    }

    private static let children =
        parents + "CREATE TABLE t(id INTEGER PRIMARY KEY, p_id INT, uid TEXT); INSERT INTO t VALUES(1,1,'t1');"
    private static let declared = rebuild(
        "t", "id INTEGER PRIMARY KEY, p_id INT REFERENCES p(id), uid TEXT", "id,p_id,uid")
    private static let dropped = rebuild("t", "id INTEGER PRIMARY KEY, p_id INT, uid TEXT", "id,p_id,uid")
    private static let shown =
        "SELECT t.uid||' '||coalesce(p.uid,'none') FROM t LEFT JOIN p ON p.id = p_id ORDER BY 1"
    private static func own(_ name: String) -> String {
        "INSERT INTO p VALUES(2,'p\(name)'); INSERT INTO t VALUES(2,2,'t\(name)')"
    }

    static let stories: [Story] =
        [
            Story(
                name: "by a rebuild on both", schema: children, first: own("a"), second: own("b"), migration: declared,
                new: "INSERT INTO t(p_id,uid) VALUES(2,'new')", old: "INSERT INTO t(p_id,uid) VALUES(3,'old')",
                last: "UPDATE t SET p_id = 1 WHERE uid = 'ta'", query: shown,
                expected: ["new pa", "old pa", "t1 p1", "ta p1", "tb pb"]),
            Story(
                name: "by a rebuild that numbers the rows anew", schema: children, first: own("a"), second: own("b"),
                migration: declared.replacing("SELECT id,", with: "SELECT id+100,"),
                new: "INSERT INTO t(p_id,uid) VALUES(2,'new')", old: "INSERT INTO t(p_id,uid) VALUES(3,'old')",
                query: shown, expected: ["new pa", "old pa", "t1 p1", "ta pa", "tb pb"]),
            Story(
                name: "on one peer alone", schema: children, first: own("a"), second: own("b"), migration: declared,
                later: nil, new: "INSERT INTO t(p_id,uid) VALUES(2,'new')",
                old: "UPDATE t SET p_id = 1 WHERE uid = 'tb'",
                last: "INSERT INTO t(p_id,uid) SELECT id, 'last' FROM p WHERE uid = 'pb'", query: shown,
                expected: ["last pb", "new pa", "t1 p1", "ta pa", "tb p1"]),
            Story(
                name: "and dropped on both",
                schema: parents
                    + "CREATE TABLE t(id INTEGER PRIMARY KEY, p_id INT REFERENCES p(id), uid TEXT); INSERT INTO t VALUES(1,1,'t1');",
                first: own("a"), second: own("b"), migration: dropped, new: "INSERT INTO t(p_id,uid) VALUES(2,'new')",
                old: "INSERT INTO t(p_id,uid) VALUES(1,'old')",
                last: "INSERT INTO t(p_id,uid) SELECT id, 'last' FROM p WHERE uid = 'pb'", query: shown,
                expected: ["last pb", "new pa", "old p1", "t1 p1", "ta pa", "tb pb"]),
            Story(
                name: "and dropped again on one", schema: children, first: own("a"), second: own("b"),
                migration: declared + dropped, later: declared, new: "INSERT INTO t(p_id,uid) VALUES(2,'new')",
                query: shown, expected: ["new pa", "t1 p1", "ta pa", "tb pb"]),
            Story(
                name: "of a table to itself",
                schema:
                    "CREATE TABLE t(id INTEGER PRIMARY KEY, boss INT, uid TEXT); INSERT INTO t VALUES(1,NULL,'t1');",
                first: "INSERT INTO t VALUES(2,1,'ta'),(3,2,'ua')", second: "INSERT INTO t VALUES(2,3,'tb'),(3,1,'ub')",
                migration: rebuild("t", "id INTEGER PRIMARY KEY, boss INT REFERENCES t(id), uid TEXT", "id,boss,uid"),
                new: "INSERT INTO t(boss,uid) VALUES(3,'new')",
                query: "SELECT t.uid||' '||coalesce(b.uid,'none') FROM t LEFT JOIN t b ON b.id = t.boss ORDER BY 1",
                expected: ["new ua", "t1 none", "ta t1", "tb ub", "ua ta", "ub t1"]),
            Story(
                name: "with numbers that name nothing", schema: children,
                first: own("a") + "; INSERT INTO t(p_id,uid) VALUES(0,'za'),(-1,'ya'),(NULL,'xa'),(99,'wa')",
                second: own("b") + "; INSERT INTO t(p_id,uid) VALUES(0,'zb'),(-1,'yb'),(NULL,'xb'),(88,'wb')",
                migration: declared, query: shown,
                expected: [
                    "t1 p1", "ta pa", "tb pb", "wa none", "wb none", "xa none", "xb none", "ya none", "yb none",
                    "za none",
                    "zb none",
                ]),
            Story(
                name: "on two columns, one of which had it",
                schema: parents
                    + "CREATE TABLE t(id INTEGER PRIMARY KEY, p_id INT, q_id INT REFERENCES p(id), uid TEXT); INSERT INTO t VALUES(1,1,1,'t1');",
                first: "INSERT INTO p VALUES(2,'pa'); INSERT INTO t VALUES(2,2,2,'ta')",
                second: "INSERT INTO p VALUES(2,'pb'); INSERT INTO t VALUES(2,2,1,'tb')",
                migration: rebuild(
                    "t", "id INTEGER PRIMARY KEY, p_id INT REFERENCES p(id), q_id INT REFERENCES p(id), uid TEXT",
                    "id,p_id,q_id,uid"),
                new: "UPDATE t SET q_id = 1 WHERE uid = 'ta'", old: "UPDATE t SET q_id = 2 WHERE uid = 't1'",
                query: """
                    SELECT t.uid||' '||coalesce(p.uid,'none')||' '||coalesce(q.uid,'none')
                    FROM t LEFT JOIN p ON p.id = p_id LEFT JOIN p q ON q.id = q_id ORDER BY 1
                    """,
                expected: ["t1 p1 pb", "ta pa p1", "tb pb p1"]),
            Story(
                name: "with the column that has it",
                schema: parents + "CREATE TABLE t(id INTEGER PRIMARY KEY, uid TEXT);",
                first: "INSERT INTO p VALUES(2,'pa'); INSERT INTO t VALUES(2,'ta')",
                second: "INSERT INTO p VALUES(2,'pb'); INSERT INTO t VALUES(2,'tb')",
                migration: "ALTER TABLE t ADD COLUMN p_id INT REFERENCES p(id)",
                new: "UPDATE t SET p_id = 2 WHERE uid = 'ta'", last: "UPDATE t SET p_id = 1 WHERE uid = 'tb'",
                query: shown, expected: ["ta pa", "tb p1"]),
            Story(
                name: "where the reference was named by hand", schema: children, first: own("a"), second: own("b"),
                migration: declared, new: "INSERT INTO t(p_id,uid) VALUES(2,'new')", query: shown,
                expected: ["new pa", "t1 p1", "ta pa", "tb pb"], isNamed: true),
            Story(
                name: "by a rebuild that renames the column and spells its type otherwise",
                schema: parents
                    + "CREATE TABLE t(id INTEGER PRIMARY KEY, par INT, uid TEXT); INSERT INTO t VALUES(1,1,'t1');",
                first: own("a"), second: own("b"),
                migration: rebuild(
                    "t", "id INTEGER PRIMARY KEY, p_id INTEGER REFERENCES p(id), uid TEXT", "id,p_id,uid"
                )
                .replacing("SELECT id,p_id", with: "SELECT id,par"),
                new: "INSERT INTO t(p_id,uid) VALUES(2,'new')", old: "INSERT INTO t(par,uid) VALUES(3,'old')",
                query: shown, expected: ["new pa", "old pa", "t1 p1", "ta pa", "tb pb"]),
        ]
        + ["TEXT", "REAL", "BLOB"].map { type in
            Story(
                name: "on a column that held numbers as \(type)",
                schema: children.replacing("p_id INT", with: "p_id \(type)").replacing("(1,1,", with: "(1,'1',"),
                first: own("a").replacing("(2,2,", with: "(2,'2',"),
                second: own("b").replacing("(2,2,", with: "(2,'2',"),
                migration: declared.replacing("p_id INT ", with: "p_id INTEGER "),
                new: "INSERT INTO t(p_id,uid) VALUES(2,'new')", old: "INSERT INTO t(p_id,uid) VALUES('3','old')",
                last: "UPDATE t SET p_id = 1 WHERE uid = 'ta'", query: shown,
                expected: ["new pa", "old pa", "t1 p1", "ta p1", "tb pb"], isDeclined: true)
        }
        + ["", " WITHOUT ROWID"].map { suffix in
            Story(
                name: "in a join table's key\(suffix)",
                schema: parents
                    + "CREATE TABLE q(id INTEGER PRIMARY KEY, uid TEXT); INSERT INTO q VALUES(1,'q1');"
                    + "CREATE TABLE t(a INT NOT NULL, b INT NOT NULL, PRIMARY KEY(a,b))\(suffix); INSERT INTO t VALUES(1,1);",
                first: "INSERT INTO p VALUES(2,'pa'); INSERT INTO q VALUES(5,'qa'); INSERT INTO t VALUES(2,5)",
                second: "INSERT INTO p VALUES(2,'pb'); INSERT INTO q VALUES(6,'qb'); INSERT INTO t VALUES(2,6)",
                migration: "CREATE TABLE n(a INT NOT NULL REFERENCES p(id), b INT NOT NULL REFERENCES q(id),"
                    + " PRIMARY KEY(a,b))\(suffix); INSERT INTO n SELECT a, b FROM t; DROP TABLE t;"
                    + " ALTER TABLE n RENAME TO t;",
                new: "INSERT INTO t SELECT p.id, q.id FROM p, q WHERE p.uid = 'pa' AND q.uid = 'q1'",
                last:
                    "DELETE FROM t WHERE a = (SELECT id FROM p WHERE uid = 'pa') AND b = (SELECT id FROM q WHERE uid = 'qa')",
                query: "SELECT p.uid||' '||q.uid FROM t JOIN p ON p.id = a JOIN q ON q.id = b ORDER BY 1",
                expected: ["p1 q1", "pa q1", "pb qb"])
        }

    @Test("goes on naming the rows that were meant", arguments: stories, [false, true])
    func story(story: Story, secondSyncsFirst: Bool) async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(story.schema)
        var options = InitializeOptions()
        if story.isNamed { try options.addReference("t.p_id=p") }
        if story.isDeclined { try options.addNoReference("t.p_id") }
        try await a.initialize(options)
        let b = try await world.clone("b")
        try await settle(a, b)
        try a.execute(story.first)
        try b.execute(story.second)
        try await settle(a, b)
        try migrate(story.migration, a)
        if secondSyncsFirst { try await a.sync() }
        try a.execute(story.new)
        try b.execute(story.old)
        for machine in secondSyncsFirst ? [b, a, b, a] : [a, b, a, b] {
            #expect(try await machine.sync().held.isEmpty)
        }
        if let later = story.later { try migrate(later.isEmpty ? story.migration : later, b) }
        try await settle(a, b)
        try b.execute(story.last)
        try await settle(a, b)
        for machine in [a, b] {
            let shown = try rows(story.query, machine)
            #expect(shown == story.expected, "\(machine.name): \(shown)")
            let report = try await Replicator.verify(machine.path, configuration: machine.configuration)
            #expect(report.findings.filter { $0.severity != .note }.isEmpty, "\(report.findings)")
            let status = try await machine.status()
            #expect(status.parked == 0 && status.conflicts == 0)
        }
        #expect(try await a.status().digest == b.status().digest)
        // From log files, and from a snapshot.
        #expect(try rows(story.query, try await world.clone("c")) == story.expected)
        try await b.snapshot()
        #expect(try rows(story.query, try await world.clone("d")) == story.expected)
    }

    @Test("and whose type no integers are is said, until the column has another", arguments: ["TEXT", "REAL"])
    func writtenOut(type: String) async throws {
        let world = try World()
        let a = try world.machine("a")
        let references = "id INTEGER PRIMARY KEY, p_id INT REFERENCES p(id), uid TEXT"
        try a.execute(Self.parents + "CREATE TABLE t(\(references)); INSERT INTO t VALUES(1,1,'t1')")
        try await a.initialize()
        let b = try await world.clone("b")
        for machine in [a, b] {
            try machine.execute(Self.own(machine.name))
            try migrate(Self.rebuild("t", references.replacing("INT REF", with: "\(type) REF"), "id,p_id,uid"), machine)
        }
        try await settle(a, b)
        func codes() async throws -> [String] {
            var codes: [String] = []
            for machine in [a, b] {
                let report = try await Replicator.doctor(machine.path, configuration: machine.configuration)
                codes += report.findings.filter { $0.severity == .trouble }.map(\.code)
            }
            return codes
        }
        #expect(try await codes() == ["untranslated-texts", "untranslated-texts"])
        for machine in [a, b] {
            try migrate(Self.rebuild("t", references, "id,p_id,uid"), machine)
            try await settle(a, b)
        }
        for machine in [a, b, try await world.clone("c")] {
            #expect(try rows(Self.shown, machine) == ["t1 p1", "ta pa", "tb pb"])
        }
        #expect(try await codes() == [])
    }

    /// As most programs migrate: a table goes for a moment to which others refer.
    private func migrate(_ sql: String, _ machine: Machine) throws {
        var configuration = GRDB.Configuration()
        configuration.foreignKeysEnabled = false
        let database = try DatabaseQueue(path: machine.path, configuration: configuration)
        defer { try? database.close() }
        try database.write { try $0.execute(sql: sql) }
    }

    private func rows(_ query: String, _ machine: Machine) throws -> [String] {
        let database = try machine.database()
        defer { try? database.close() }
        return try database.read { try String.fetchAll($0, sql: query) }
    }
}
