import LogSyncModel
import Testing

@testable import LogSyncStore

/// What becomes of the rows of two databases that had been used apart, or were copied, when both found one content.
@Suite("Rows that are found")
struct FoundRowsTests {
    /// Two peers that each found the content with rows of their own, and have merged.
    private func joined(
        _ schema: String, _ first: String, _ second: String, plan: (inout InitializePlan) -> Void = { _ in }
    ) throws -> [TestPeer] {
        let folder = try TestFolder()
        let a = try TestPeer(folder, "a", sql: schema + first, plan: plan)
        let b = try TestPeer(folder, "b", sql: schema + second, plan: plan)
        try converge(a, b)
        #expect(try a.store.audit().problems == [] && b.store.audit().problems == [])
        return [a, b]
    }

    private static let accounts = """
        CREATE TABLE account(id INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE entry(id INTEGER PRIMARY KEY, account INTEGER REFERENCES account(id), cents INTEGER);
        CREATE TABLE remark(id INTEGER PRIMARY KEY, entry INTEGER REFERENCES entry(id), text TEXT);
        """
    private static let entries =
        "SELECT name, cents FROM account JOIN entry ON entry.account = account.id ORDER BY name, cents"

    @Test("Rows with the same integers that refer to unrelated rows are two")
    func unrelated() throws {
        for peer in try joined(
            Self.accounts, "INSERT INTO account VALUES(1, 'Ann'); INSERT INTO entry VALUES(1, 1, 3000);",
            "INSERT INTO account VALUES(1, 'Bob'); INSERT INTO entry VALUES(1, 1, 3000);")
        {
            #expect(try peer.strings(Self.entries) == ["Ann|3000", "Bob|3000"])
        }
    }

    @Test("So are rows that refer to unrelated rows by a row between them")
    func chain() throws {
        let rows = "INSERT INTO entry VALUES(1, 1, 3000); INSERT INTO remark VALUES(1, 1, 'late');"
        for peer in try joined(
            Self.accounts, "INSERT INTO account VALUES(1, 'Ann');" + rows,
            "INSERT INTO account VALUES(1, 'Bob');" + rows)
        {
            let remarks = try peer.strings(
                """
                SELECT name, text FROM remark JOIN entry ON entry.id = remark.entry
                JOIN account ON account.id = entry.account ORDER BY name
                """)
            #expect(remarks == ["Ann|late", "Bob|late"])
        }
    }

    @Test("A link table with a key of its own keeps all links")
    func links() throws {
        let schema = """
            CREATE TABLE post(id INTEGER PRIMARY KEY, title TEXT);
            CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE post_tag(id INTEGER PRIMARY KEY, post_id INTEGER REFERENCES post(id),
                                  tag_id INTEGER REFERENCES tag(id), UNIQUE(post_id, tag_id));
            """
        func rows(_ name: String) -> String {
            """
            INSERT INTO post VALUES(1, '\(name) post 1'), (2, '\(name) post 2');
            INSERT INTO tag VALUES(1, 'common'), (2, '\(name) tag');
            INSERT INTO post_tag VALUES(1, 1, 1), (2, 1, 2), (3, 2, 2);
            """
        }
        for peer in try joined(schema, rows("a"), rows("b")) {
            let links = try peer.strings(
                """
                SELECT title, name FROM post_tag JOIN post ON post.id = post_id JOIN tag ON tag.id = tag_id
                ORDER BY title, name
                """)
            #expect(
                links == [
                    "a post 1|a tag", "a post 1|common", "a post 2|a tag", "b post 1|b tag", "b post 1|common",
                    "b post 2|b tag",
                ])
            #expect(try peer.strings("SELECT count(*) FROM tag WHERE name = 'common'") == ["1"])
        }
    }

    @Test("Of a file that was copied each row is there once, and what either added beside it")
    func copied() throws {
        let rows = """
            INSERT INTO account VALUES(1, 'Ann'), (2, 'Bob'); INSERT INTO entry VALUES(1, 1, 3000), (2, 2, 50);
            INSERT INTO remark VALUES(1, 2, 'late');
            """
        for peer in try joined(
            Self.accounts, rows + "INSERT INTO account VALUES(3, 'Cleo'); INSERT INTO entry VALUES(3, 3, 100);",
            rows + "INSERT INTO account VALUES(3, 'Dan'); INSERT INTO entry VALUES(3, 3, 100);")
        {
            #expect(try peer.strings(Self.entries) == ["Ann|3000", "Bob|50", "Cleo|100", "Dan|100"])
            #expect(try peer.strings("SELECT count(*) FROM remark") == ["1"])
        }
    }

    private static let people = """
        CREATE TABLE person(id INTEGER PRIMARY KEY, boss INTEGER REFERENCES person(id), name TEXT);
        """
    private static let bosses = """
        SELECT p.name, coalesce(b.name, '-') FROM person AS p LEFT JOIN person AS b ON b.id = p.boss ORDER BY 1, 2
        """

    @Test("Rows that refer to their own table are told apart by those above them, wherever these stand")
    func ownTable() throws {
        let rows = "INSERT INTO person VALUES(1, 2, 'clerk'), (2, 3, 'manager'), (4, 1, 'trainee');"
        for peer in try joined(
            Self.people, "INSERT INTO person VALUES(3, NULL, 'Ann');" + rows,
            "INSERT INTO person VALUES(3, NULL, 'Bob');" + rows)
        {
            #expect(
                try peer.strings(Self.bosses) == [
                    "Ann|-", "Bob|-", "clerk|manager", "clerk|manager", "manager|Ann", "manager|Bob", "trainee|clerk",
                    "trainee|clerk",
                ])
        }
    }

    @Test("A long chain is followed to its end, and is there once where both have it")
    func longChain() throws {
        let rows = """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
            INSERT INTO person SELECT i, nullif(i + 1, 5001), 'p' FROM n;
            """
        for peer in try joined(Self.people, rows, rows) {
            #expect(try peer.strings("SELECT count(*), max(id) FROM person") == ["5000|5000"])
        }
    }

    @Test("Rows in a circle are there once where both have them, whatever else refers to them")
    func circle() throws {
        let rows = "INSERT INTO person VALUES(5, 6, 'Ann'), (6, 7, 'Bob'), (7, 5, 'Cleo'), (9, 9, 'Dan');"
        for peer in try joined(
            Self.people, rows + "INSERT INTO person VALUES(1, 7, 'first');",
            "INSERT INTO person VALUES(2, 6, 'second');" + rows)
        {
            #expect(
                try peer.strings(Self.bosses) == [
                    "Ann|Bob", "Bob|Cleo", "Cleo|Ann", "Dan|Dan", "first|Cleo", "second|Bob",
                ])
        }
    }

    @Test("Rows in a circle with unrelated rows are two")
    func unrelatedCircle() throws {
        let schema = """
            CREATE TABLE album(id INTEGER PRIMARY KEY, name TEXT, cover INTEGER REFERENCES photo(id));
            CREATE TABLE photo(id INTEGER PRIMARY KEY, album INTEGER REFERENCES album(id), file TEXT);
            INSERT INTO photo VALUES(1, 1, 'IMG_1'), (2, 1, 'IMG_2');
            """
        for peer in try joined(
            schema, "INSERT INTO album VALUES(1, 'Holiday', 1);", "INSERT INTO album VALUES(1, 'Work', 1);")
        {
            let photos = try peer.strings(
                """
                SELECT name, file, cover = photo.id FROM photo JOIN album ON album.id = photo.album ORDER BY name, file
                """)
            #expect(photos == ["Holiday|IMG_1|1", "Holiday|IMG_2|0", "Work|IMG_1|1", "Work|IMG_2|0"])
        }
    }

    @Test("What a natural identity names is followed whatever its integer")
    func naturalParents() throws {
        let schema = """
            CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
            CREATE TABLE alias(id INTEGER PRIMARY KEY, tag INTEGER REFERENCES tag(id), name TEXT, UNIQUE(tag, name));
            CREATE TABLE use(id INTEGER PRIMARY KEY, alias INTEGER REFERENCES alias(id), what TEXT);
            """
        for peer in try joined(
            schema,
            """
            INSERT INTO tag VALUES(1, 'x'), (2, 'y'); INSERT INTO alias VALUES(1, 1, 'ex'), (2, 2, 'why');
            INSERT INTO use VALUES(1, 1, 'same'), (2, 2, 'other');
            """,
            """
            INSERT INTO tag VALUES(7, 'x'), (8, 'z'); INSERT INTO alias VALUES(1, 7, 'ex'), (2, 8, 'why');
            INSERT INTO use VALUES(1, 1, 'same'), (2, 2, 'other');
            """,
            plan: {
                $0.identities = ["tag": .columns(["name"]), "alias": .columns(["tag", "name"])]
            })
        {
            let uses = try peer.strings(
                """
                SELECT what, alias.name, tag.name FROM use JOIN alias ON alias.id = alias JOIN tag ON tag.id = tag
                ORDER BY 1, 2, 3
                """)
            #expect(uses == ["other|why|y", "other|why|z", "same|ex|x"])
        }
    }

    @Test("Rows that a migration puts into its new table on both peers are told apart by what they refer to")
    func newTable() throws {
        let folder = try TestFolder()
        let a = try TestPeer(folder, "a", sql: "CREATE TABLE user(id INTEGER PRIMARY KEY, name TEXT);")
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write("INSERT INTO user(name) VALUES('Ann')")
        try b.write("INSERT INTO user(name) VALUES('Bob')")
        let migration = """
            CREATE TABLE profile(id INTEGER PRIMARY KEY, user INTEGER REFERENCES user(id), boss INTEGER
                                 REFERENCES profile(id));
            INSERT INTO profile SELECT id, id, id FROM user;
            """
        for peer in [a, b] { try peer.write(migration) }
        try converge(a, b)
        for peer in [a, b] {
            let profiles = try peer.strings(
                "SELECT name, boss = profile.id FROM profile JOIN user ON user.id = user ORDER BY name")
            #expect(profiles == ["Ann|1", "Bob|1"])
        }
    }
}
