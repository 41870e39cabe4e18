import LogSyncModel
import Testing

@testable import LogSyncStore

/// Programs that write 0 or −1 where a row refers to none.
@Suite("References to no row")
struct PlainReferenceTests {
    private static let folders =
        "CREATE TABLE f(id INTEGER PRIMARY KEY, parent INTEGER NOT NULL DEFAULT 0 REFERENCES f(id), name TEXT);"
    private static let undeclared = "CREATE TABLE f(id INTEGER PRIMARY KEY, parent INTEGER NOT NULL, name TEXT);"

    private func pair(
        _ sql: String, isDeclared: Bool = true, comparingWays: Bool = true
    ) throws -> (a: TestPeer, b: TestPeer) {
        let folder = try TestFolder(comparingWays: comparingWays)
        let a = try TestPeer(folder, "a", sql: sql) { plan in
            if !isDeclared { plan.references = [("f", "parent", "f")] }
        }
        return (a, try TestPeer(folder, "b", cloning: a))
    }

    private func expectSound(_ peers: TestPeer...) throws {
        for peer in peers { #expect(try peer.store.audit().problems == []) }
    }

    @Test("The least integer of 32 bits, which programs write for none, too, is the same on every peer")
    func least() throws {
        let (a, b) = try pair(Self.folders + "INSERT INTO f VALUES(1, -2147483648, 'root')")
        try b.write("INSERT INTO f(parent, name) VALUES(-2147483648, 'of b')")
        try converge(a, b)
        for peer in [a, b] { #expect(try peer.strings("SELECT parent FROM f") == ["-2147483648", "-2147483648"]) }
        try expectSound(a, b)
    }

    @Test(
        "0 and −1 come out as they are on every peer, whether the reference is declared or told",
        arguments: [true, false])
    func plain(isDeclared: Bool) throws {
        let rows = "INSERT INTO f VALUES(1, 0, 'root'), (2, 1, 'sub'), (3, -1, 'minus');"
        let (a, b) = try pair(
            (isDeclared ? Self.folders : Self.undeclared) + rows, isDeclared: isDeclared)
        #expect(try b.strings("SELECT * FROM f") == ["1|0|root", "2|1|sub", "3|-1|minus"])
        try a.write("INSERT INTO f(parent, name) VALUES(0, 'a root'), (-1, 'a minus'), (1, 'a sub')")
        try b.write("INSERT INTO f(parent, name) VALUES(0, 'b root'), (-1, 'b minus'), (1, 'b sub')")
        try converge(a, b)
        try a.write("UPDATE f SET parent = -1 WHERE name = 'b root'; UPDATE f SET parent = 0 WHERE name = 'b sub'")
        try converge(a, b)
        for peer in [a, b] {
            #expect(
                try peer.strings(
                    """
                    SELECT f.name, coalesce(p.name, f.parent) FROM f LEFT JOIN f AS p ON p.id = f.parent ORDER BY f.name
                    """) == [
                        "a minus|-1", "a root|0", "a sub|root", "b minus|-1", "b root|-1", "b sub|0", "minus|-1",
                        "root|0", "sub|root",
                    ])
        }
        try expectSound(a, b)
    }

    @Test("So they do out of a snapshot")
    func snapshot() throws {
        let (a, b) = try pair(Self.folders + "INSERT INTO f VALUES(1, 0, 'root'), (2, 1, 'sub'), (3, -1, 'minus');")
        try b.write("INSERT INTO f VALUES(4, 0, 'of b'); UPDATE f SET parent = -1 WHERE id = 2")
        try converge(a, b)
        let c = try TestPeer(a.folder, "c", filling: try a.snapshot(), from: a)
        for peer in [a, b, c] {
            #expect(try peer.strings("SELECT * FROM f") == ["1|0|root", "2|-1|sub", "3|-1|minus", "4|0|of b"])
        }
        try c.write("INSERT INTO f VALUES(9, 0, 'of c')")
        try converge(a, b, c)
        for peer in [a, b, c] {
            #expect(try peer.strings("SELECT count(*) FROM f WHERE parent = 0") == ["3"])
        }
        try expectSound(a, b, c)
    }

    @Test("A row that comes with the integer 0 becomes the parent of those that held it, at its author and elsewhere")
    func later() throws {
        let (a, b) = try pair(Self.folders + "INSERT INTO f VALUES(1, 0, 'child');", comparingWays: false)
        try a.write("INSERT INTO f VALUES(0, 0, 'root')")
        try b.write("INSERT INTO f(parent, name) VALUES(0, 'of nobody')")
        try converge(a, b)
        for peer in [a, b] {
            #expect(
                try peer.strings("SELECT c.name, p.name FROM f AS c JOIN f AS p ON p.id = c.parent WHERE c.id <> p.id")
                    .contains("child|root"))
        }
        try expectSound(a, b)
    }

    @Test(
        "Where a row has the integer elsewhere, the number that a peer has written goes on being a number",
        arguments: [true, false])
    func number(isInsert: Bool) throws {
        let (a, b) = try pair(Self.folders, comparingWays: false)
        try a.write("INSERT INTO f VALUES(-1, 0, 'row'), (5, -1, 'child')")
        try converge(a, b)
        // Nothing here has the integer any more, and at the other peer the row keeps it.
        try a.write("UPDATE f SET id = 1 WHERE id = -1")
        try a.record()
        if isInsert { try a.write("DELETE FROM f WHERE id = 5; INSERT INTO f VALUES(6, -1, 'child')") }
        try converge(a, b)
        let c = try TestPeer(a.folder, "c", filling: try b.snapshot(), from: b)
        #expect(try b.strings("SELECT parent FROM f WHERE name = 'child'") == ["-1"])
        let shown = try a.store.audit().shown["f"]
        #expect(shown?.values.contains { $0["parent"] == .integer(-1) } == true)
        for peer in [b, c] { #expect(try peer.store.audit().shown["f"] == shown) }
        try expectSound(a, b, c)
    }

    @Test("A parent that has an integer below one keeps its children")
    func parentAtZero() throws {
        let (a, b) = try pair(
            Self.folders + "INSERT INTO f VALUES(0, 0, 'root'), (-1, 0, 'trash'), (5, -1, 'old');")
        try b.write("UPDATE f SET name = 'older' WHERE id = 5; INSERT INTO f VALUES(6, -1, 'new')")
        try converge(a, b)
        for peer in [a, b] {
            #expect(
                try peer.strings("SELECT c.name, p.name FROM f AS c JOIN f AS p ON p.id = c.parent ORDER BY c.name")
                    == ["new|trash", "older|trash", "root|root", "trash|root"])
        }
        try expectSound(a, b)
    }

    @Test(
        "A key that a migration declares asks for the rows that other peers' rows refer to",
        arguments: ["", " WITHOUT ROWID"], ["SET NULL", "CASCADE"])
    func declaredLater(kind: String, action: String) throws {
        let folder = try TestFolder()
        let schema =
            "CREATE TABLE p(id INTEGER PRIMARY KEY); CREATE TABLE c(k TEXT NOT NULL PRIMARY KEY, p INTEGER)\(kind);"
        let a = try TestPeer(folder, "a", sql: schema) { $0.references = [("c", "p", "p")] }
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write("INSERT INTO c VALUES('k', 4)")
        try converge(a, b)
        try b.write(
            """
            BEGIN; CREATE TABLE n(k TEXT NOT NULL PRIMARY KEY, p INTEGER REFERENCES p(id) ON DELETE \(action))\(kind);
            INSERT INTO n SELECT * FROM c; DROP TABLE c; ALTER TABLE n RENAME TO c; COMMIT
            """)
        #expect(try b.record() == nil)
        #expect(try b.strings("SELECT * FROM c") == (action == "CASCADE" ? [] : ["k|NULL"]))
        try a.write("INSERT INTO p VALUES(4)")
        try converge(a, b)
        #expect(try b.strings("SELECT k, p.id FROM c JOIN p ON p.id = c.p") == ["k|4"])
        try expectSound(a, b)
    }

    @Test("What stands for a row that is gone is no number that programs write for none")
    func dangling() throws {
        let (a, b) = try pair(
            "CREATE TABLE p(id INTEGER PRIMARY KEY); CREATE TABLE c(id INTEGER PRIMARY KEY, p INTEGER REFERENCES p(id));"
                + "INSERT INTO p VALUES(1); INSERT INTO c VALUES(1, 99);")
        try b.write("INSERT INTO c VALUES(2, 0), (3, -1)")
        try converge(a, b)
        #expect(try a.strings("SELECT p FROM c WHERE id > 1 ORDER BY id") == ["0", "-1"])
        let promised = try #require(Int64(try b.strings("SELECT p FROM c WHERE id = 1")[0]))
        #expect(promised < -1_000_000)
        try a.write("INSERT INTO p VALUES(99)")
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT c.id FROM c JOIN p ON p.id = c.p") == ["1"])
        }
        try expectSound(a, b)
    }

    @Test("What stands for a row that is gone goes where that row comes again, under whatever integer")
    func danglingComesAgain() throws {
        let folder = try TestFolder()
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE p(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
                CREATE TABLE c(id INTEGER PRIMARY KEY, p INTEGER REFERENCES p(id));
                CREATE TABLE one(id INTEGER PRIMARY KEY, p INTEGER UNIQUE REFERENCES p(id));
                INSERT INTO p VALUES(1, 'x'), (5, 'y'); INSERT INTO c VALUES(7, 99); INSERT INTO one VALUES(7, 99);
                """
        ) { plan in plan.identities["p"] = .columns(["name"]) }
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write("DELETE FROM p WHERE name = 'x'")
        _ = try a.record()
        try b.write("INSERT INTO c VALUES(1, 1), (2, 5); INSERT INTO one VALUES(1, 1)")
        try converge(a, b)
        let promised = try #require(Int64(try a.strings("SELECT p FROM c WHERE id = 1")[0]))
        #expect(promised < -1_000_000)
        // By a program that writes to what refers to it, too, and has a row already where there is room for one.
        try a.write(
            """
            INSERT INTO p VALUES(9, 'x'); INSERT INTO c VALUES(3, \(promised));
            UPDATE c SET p = \(promised) WHERE id = 2
            """)
        try converge(a, b)
        for peer in [a, b] {
            #expect(
                try peer.strings("SELECT c.id || p.name FROM c JOIN p ON p.id = c.p ORDER BY c.id")
                    == ["1x", "2x", "3x"])
            #expect(try peer.strings("SELECT one.id || p.name FROM one JOIN p ON p.id = one.p") == ["1x"])
        }
        #expect(try a.strings("SELECT id FROM p WHERE name = 'x'") == ["9"])
        try expectSound(a, b)
    }

    @Test("A key made of a reference to none is the same row everywhere")
    func inKeys() throws {
        let (a, b) = try pair(
            """
            CREATE TABLE p(id INTEGER PRIMARY KEY, v);
            CREATE TABLE l(p INTEGER REFERENCES p(id), n INTEGER, v, PRIMARY KEY(p, n)) WITHOUT ROWID;
            CREATE TABLE m(p INTEGER REFERENCES p(id), n INTEGER, v, PRIMARY KEY(p, n));
            INSERT INTO p VALUES(1, 'x'); INSERT INTO l VALUES(1, 1, 'a'), (0, 1, 'none');
            INSERT INTO m VALUES(1, 1, 'a'), (-1, 1, 'none');
            """)
        try b.write(
            "UPDATE l SET v = 'b' WHERE p = 0; UPDATE m SET v = 'b' WHERE p = -1; INSERT INTO l VALUES(0, 2, 'c')")
        try converge(a, b)
        try a.write("DELETE FROM l WHERE p = 0 AND n = 2; UPDATE m SET n = 5 WHERE p = -1")
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT * FROM l ORDER BY p") == ["0|1|b", "1|1|a"])
            #expect(try peer.strings("SELECT * FROM m ORDER BY p") == ["-1|5|b", "1|1|a"])
        }
        try expectSound(a, b)
    }
}
