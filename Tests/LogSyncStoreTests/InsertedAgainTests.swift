import LogSyncModel
import Testing

@testable import LogSyncStore

/// Programs that save by deleting rows and inserting them again, where nothing but what they hold says which is which.
@Suite("Rows that were deleted and inserted again as they were")
struct InsertedAgainTests {
    enum Kind: CaseIterable {
        case integers, autoincrement, without, named, namedWithoutRowid, chosen

        var schema: String {
            switch self {
            case .integers: "CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT, n INT)"
            case .autoincrement: "CREATE TABLE t(id INTEGER PRIMARY KEY AUTOINCREMENT, x TEXT UNIQUE, n INT)"
            case .without: "CREATE TABLE t(x TEXT, n INT)"
            case .named: "CREATE TABLE t(x TEXT PRIMARY KEY, n INT)"
            case .namedWithoutRowid: "CREATE TABLE t(x TEXT PRIMARY KEY, n INT) WITHOUT ROWID"
            case .chosen: "CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT UNIQUE NOT NULL, n INT)"
            }
        }

        var identities: [String: IdentityChoice] { self == .chosen ? ["t": .columns(["x"])] : [:] }
    }

    private func pair(_ kind: Kind, _ more: String = "") throws -> (a: TestPeer, b: TestPeer) {
        let folder = try TestFolder()
        let a = try TestPeer(
            folder, "a",
            sql: kind.schema + "; INSERT INTO t(x, n) VALUES('one', 1), ('two', 2), ('three', 3);" + more
        ) { $0.identities = kind.identities }
        let b = try TestPeer(folder, "b", cloning: a)
        try converge(a, b)
        return (a, b)
    }

    /// Saves all rows, one of them changed.
    private static func save(_ change: String = "", deleting: String = "1") -> String {
        """
        BEGIN; CREATE TEMP TABLE saved AS SELECT * FROM t WHERE \(deleting); DELETE FROM t WHERE \(deleting); \(change);
        INSERT INTO t SELECT * FROM saved; DROP TABLE saved; COMMIT
        """
    }

    private static let rows = "SELECT x, n FROM t ORDER BY n, x"

    private func expect(_ rows: [String], _ a: TestPeer, _ b: TestPeer) throws {
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings(Self.rows) == rows)
            #expect(try peer.store.conflicts(table: nil, all: true).isEmpty)
            #expect(try peer.store.audit().problems == [])
        }
    }

    @Test(
        "They are the rows that were there: nothing is recorded, and an edit elsewhere is kept",
        arguments: Kind.allCases)
    func nothing(kind: Kind) throws {
        let (a, b) = try pair(kind)
        try a.write(Self.save())
        try b.write("UPDATE t SET n = 20 WHERE x = 'two'")
        #expect(try a.recorded() == nil)
        try expect(["one|1", "three|3", "two|20"], a, b)
    }

    @Test("Two machines that save have each row once, and what each has changed", arguments: Kind.allCases)
    func both(kind: Kind) throws {
        let (a, b) = try pair(kind)
        try a.write(Self.save("UPDATE saved SET n = 10 WHERE x = 'one'; INSERT INTO saved(x, n) VALUES('four', 4)"))
        try b.write(Self.save("UPDATE saved SET n = 30 WHERE x = 'three'"))
        try expect(["two|2", "four|4", "one|10", "three|30"], a, b)
    }

    @Test(
        "A row that is changed after it was inserted again, in the same save on two machines, is there once",
        arguments: Kind.allCases)
    func changedAfterwards(kind: Kind) throws {
        let (a, b) = try pair(kind)
        try a.write(Self.save() + "; UPDATE t SET n = 10 WHERE x = 'one'; UPDATE t SET x = 'deux' WHERE x = 'two'")
        _ = try a.store.record()
        try b.write(Self.save() + "; UPDATE t SET n = 11 WHERE x = 'one'; UPDATE t SET n = 30 WHERE x = 'three'")
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT x FROM t WHERE n IN (10, 11)") == ["one"])
            #expect(try peer.strings("SELECT n FROM t WHERE x = 'three'") == ["30"])
            #expect(try peer.store.audit().problems == [])
        }
    }

    @Test(
        "A row that gets the integer of a deleted one, and is written then, is another",
        arguments: [Kind.integers, .autoincrement, .without, .chosen])
    func writtenAfterwards(kind: Kind) throws {
        let (a, b) = try pair(kind)
        try a.write(
            "DELETE FROM t WHERE x = 'three'; INSERT INTO t(rowid, x, n) VALUES(3, '', 3); UPDATE t SET x = 'four' WHERE rowid = 3"
        )
        try b.write("UPDATE t SET n = 33 WHERE x = 'three'")
        try converge(a, b)
        #expect(try a.strings("SELECT x, n FROM t ORDER BY n") == ["one|1", "two|2", "four|3"])
    }

    @Test(
        "A row that has what is UNIQUE under its integer, or without one in any place, is the one that it was",
        arguments: ["id INTEGER PRIMARY KEY, x TEXT UNIQUE, n INT", "x TEXT UNIQUE, n INT, w TEXT"])
    func unique(columns: String) throws {
        let folder = try TestFolder()
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE t(\(columns)); INSERT INTO t(x, n) VALUES('one', 1), ('two', 2), ('three', 3);
                CREATE TABLE child(id INTEGER PRIMARY KEY, x TEXT)
                """)
        let b = try TestPeer(folder, "b", cloning: a)
        try converge(a, b)
        try a.write(Self.save("UPDATE saved SET n = 10 WHERE x = 'one'"))
        try b.write(Self.save("UPDATE saved SET n = 11 WHERE x = 'one'; UPDATE saved SET n = 30 WHERE x = 'three'"))
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT x FROM t ORDER BY x") == ["one", "three", "two"])
            #expect(try peer.strings("SELECT n FROM t WHERE x <> 'one' ORDER BY n") == ["2", "30"])
            #expect(try peer.store.conflicts(table: nil, all: true).map(\.column) == ["n"])
            #expect(try peer.store.audit().problems == [])
        }
    }

    @Test("A row that takes a deleted one's integer is another where what is UNIQUE is a small number, or another's")
    func uniqueNumber() throws {
        let folder = try TestFolder()
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE t(id INTEGER PRIMARY KEY, place INT UNIQUE, x TEXT UNIQUE);
                INSERT INTO t VALUES(1, 1, 'one'), (2, 2, 'two'), (3, 3, NULL);
                """)
        let b = try TestPeer(folder, "b", cloning: a)
        try converge(a, b)
        try a.write("BEGIN; DELETE FROM t; INSERT INTO t VALUES(1, 1, 'two'), (2, 2, 'deux'), (3, 3, NULL); COMMIT")
        try b.write("UPDATE t SET place = place + 10")
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT place, x FROM t ORDER BY place") == ["1|two", "2|deux", "13|NULL"])
            #expect(try peer.store.audit().problems == [])
        }
    }

    @Test("A row of a chosen name is the one that it was under another integer, and what refers to it goes along")
    func renumbered() throws {
        let (a, b) = try pair(
            .chosen,
            """
            CREATE TABLE child(id INTEGER PRIMARY KEY, t INTEGER REFERENCES t); INSERT INTO child(t) VALUES(1), (2)
            """)
        try a.write(
            """
            BEGIN; CREATE TEMP TABLE saved AS SELECT * FROM t; DELETE FROM t;
            INSERT INTO t(x, n) SELECT x, n FROM saved ORDER BY n DESC;
            UPDATE child SET t = (SELECT t.id FROM t JOIN saved ON saved.x = t.x WHERE saved.id = child.t); COMMIT
            """)
        try b.write("UPDATE t SET n = 20 WHERE x = 'two'")
        try expect(["one|1", "three|3", "two|20"], a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT x FROM child JOIN t ON t.id = child.t ORDER BY 1") == ["one", "two"])
        }
    }

    @Test("A row of a link is the one that it was, unless what it joins is another row", arguments: [false, true])
    func links(isAnother: Bool) throws {
        let (a, b) = try pair(
            .integers,
            """
            CREATE TABLE link(t INTEGER REFERENCES t(id), tag TEXT, n INT, PRIMARY KEY(t, tag));
            INSERT INTO link VALUES(1, 'x', 1), (2, 'y', 2)
            """)
        let renewed = isAnother ? "DELETE FROM t WHERE id = 2; INSERT INTO t VALUES(2, 'another', 9);" : ""
        try a.write(
            """
            BEGIN; CREATE TEMP TABLE saved AS SELECT * FROM link; DELETE FROM link; \(renewed)
            INSERT INTO link SELECT * FROM saved; COMMIT
            """)
        try b.write("UPDATE link SET n = 10 WHERE tag = 'x'")
        try converge(a, b)
        for peer in [a, b] {
            #expect(
                try peer.strings("SELECT t.x, tag, link.n FROM link JOIN t ON t.id = link.t ORDER BY tag")
                    == ["one|x|10", "\(isAnother ? "another" : "two")|y|2"])
            #expect(try peer.store.audit().problems == [])
        }
    }

    @Test("Rows that get other rowids are found by what they hold, as many as there are")
    func elsewhere() throws {
        let (a, b) = try pair(.without, "INSERT INTO t VALUES('two', 2), ('two', 2), ('last', 9)")
        // Two of three.
        try a.write(Self.save("DELETE FROM saved WHERE rowid = 1", deleting: "x = 'two'"))
        try b.write(Self.save(deleting: "n < 3"))
        try expect(["one|1", "two|2", "two|2", "three|3", "last|9"], a, b)
        // By this peer's rowids, whatever the other's are.
        try b.write("UPDATE t SET n = 10 WHERE x = 'one'")
        try a.write("UPDATE t SET x = 'III' WHERE x = 'three'")
        try expect(["two|2", "two|2", "III|3", "last|9", "one|10"], a, b)
    }

    @Test("So are many of them")
    func manyElsewhere() throws {
        let many = "WITH RECURSIVE i(n) AS (VALUES(100) UNION ALL SELECT n + 1 FROM i WHERE n < 699)"
        let (a, b) = try pair(
            .without, "\(many) INSERT INTO t SELECT 'of ' || n, n FROM i; INSERT INTO t VALUES('last', 9)")
        for peer in [a, b] { try peer.write(Self.save(deleting: "n >= 100")) }
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT count(*), count(DISTINCT n) FROM t") == ["604|604"])
            #expect(try peer.store.audit().problems == [])
        }
    }

    @Test("What refers to another row now is recorded, though it holds the same integer", arguments: [false, true])
    func parents(cascades: Bool) throws {
        let (a, b) = try pair(
            .integers,
            """
            CREATE TABLE child(id INTEGER PRIMARY KEY, t INTEGER REFERENCES t \(cascades ? "ON DELETE CASCADE" : ""));
            INSERT INTO child(t) VALUES(1), (2)
            """)
        try a.write(
            """
            PRAGMA foreign_keys = \(cascades ? 1 : 0);
            BEGIN; DELETE FROM child; DELETE FROM t WHERE id = 2;
            INSERT INTO t VALUES(2, 'another', 9); INSERT INTO child VALUES(1, 1), (2, 2); COMMIT
            """)
        try b.write("UPDATE t SET n = 5 WHERE x = 'one'")
        try expect(["three|3", "one|5", "another|9"], a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT x FROM child JOIN t ON t.id = child.t ORDER BY 1") == ["another", "one"])
        }
    }

    @Test("A row that was deleted before the last recording is another one", arguments: Kind.allCases)
    func later(kind: Kind) throws {
        let (a, b) = try pair(kind)
        try a.write("DELETE FROM t WHERE x = 'two'")
        #expect(try a.recorded() != nil)
        try a.write("INSERT INTO t(x, n) VALUES('two', 2)")
        #expect(try a.recorded() != nil)
        try expect(["one|1", "two|2", "three|3"], a, b)
    }
}
