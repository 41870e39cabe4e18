import LogSyncModel
import Testing

@testable import LogSyncStore

/// Programs are upgraded on one machine after the other, and each runs its migration on what it finds.
@Suite("What programs do after their migration stays as others migrate")
struct StagedUpgradeTests {
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private func peers(_ sql: String) throws -> [TestPeer] {
        let a = try TestPeer(folder, "a", sql: sql)
        return [a, try TestPeer(folder, "b", cloning: a), try TestPeer(folder, "c", cloning: a)]
    }

    /// One machine after the other migrates; before the others do, the first one's program writes.
    ///
    /// - Parameter joining: whether what it writes comes to them as a snapshot, after its migration.
    private func upgrade(_ peers: [TestPeer], _ migration: String, then writes: String, joining: Bool = false) throws {
        try peers[0].write(migration)
        try peers[0].record()
        if joining { for peer in peers.dropFirst() { try peer.pull(from: peers[0]) } }
        try peers[0].awaitAnotherMillisecond()
        try peers[0].write(writes)
        try peers[0].record()
        for (index, peer) in peers.enumerated().dropFirst() {
            if joining { try peer.joinNews(from: peers[index - 1]) }
            for other in peers[..<index] { try peer.pull(from: other) }
            try peer.write(migration)
            try peer.record()
        }
        try converge(peers[0], peers[1], peers[2])
        for peer in peers { #expect(try peer.store.audit().problems == []) }
    }

    /// One machine after the other migrates, and hears of the others afterwards.
    private func upgradeUnheard(_ peers: [TestPeer], _ migration: String) throws {
        for peer in peers {
            try peer.awaitAnotherMillisecond()
            try peer.write(migration)
            try peer.record()
        }
        try converge(peers[0], peers[1], peers[2])
    }

    private static let people = (1...5).map { "(\($0), 'name \($0)', 'text \($0)')" }.joined(separator: ", ")

    @Test(
        "An edit of what has got a table of its own",
        arguments: [
            "user INTEGER PRIMARY KEY REFERENCES u(id) ON DELETE CASCADE", "user INTEGER REFERENCES u(id) UNIQUE",
            "user INT PRIMARY KEY NOT NULL",
        ])
    func newTable(key: String) throws {
        let peers = try peers("CREATE TABLE u(id INTEGER PRIMARY KEY, n, bio); INSERT INTO u VALUES \(Self.people)")
        try upgrade(
            peers,
            """
            BEGIN; CREATE TABLE profile(\(key), bio TEXT); INSERT INTO profile SELECT id, bio FROM u;
            ALTER TABLE u DROP COLUMN bio; COMMIT
            """, then: "UPDATE profile SET bio = 'new' WHERE bio = 'text 1'")
        for peer in peers {
            #expect(
                try peer.strings("SELECT n || ' ' || profile.bio FROM u JOIN profile ON user = id ORDER BY n")
                    == ["name 1 new"] + (2...5).map { "name \($0) text \($0)" })
        }
    }

    @Test("An edit of what was one of a row's columns and is a row", arguments: [false, true])
    func keyValue(isEditedBefore: Bool) throws {
        let peers = try peers(
            """
            CREATE TABLE settings(id INTEGER PRIMARY KEY, font TEXT, lang TEXT);
            INSERT INTO settings VALUES(1, 'Helvetica', 'german')
            """)
        if isEditedBefore {
            try peers[0].awaitAnotherMillisecond()
            try peers[1].awaitAnotherMillisecond()
        }
        try peers[0].write(
            """
            BEGIN; CREATE TABLE prefs(key TEXT PRIMARY KEY, value TEXT);
            INSERT INTO prefs SELECT 'font', font FROM settings UNION ALL SELECT 'lang', lang FROM settings;
            DROP TABLE settings; COMMIT
            """)
        try peers[0].record()
        try peers[0].awaitAnotherMillisecond()
        try peers[0].write("UPDATE prefs SET value = 'Times' WHERE key = 'font'")
        try peers[0].record()
        if isEditedBefore {
            // Under the former release, after that.
            for _ in 0..<3 { try peers[1].awaitAnotherMillisecond() }
            try peers[1].write("UPDATE settings SET font = 'Courier'")
            try peers[1].record()
        }
        for (index, peer) in peers.enumerated().dropFirst() {
            for other in peers[..<index] { try peer.pull(from: other) }
            try peer.write(
                """
                BEGIN; CREATE TABLE prefs(key TEXT PRIMARY KEY, value TEXT);
                INSERT INTO prefs SELECT 'font', font FROM settings UNION ALL SELECT 'lang', lang FROM settings;
                DROP TABLE settings; COMMIT
                """)
            try peer.record()
        }
        try converge(peers[0], peers[1], peers[2])
        for peer in peers {
            #expect(
                try peer.strings("SELECT value FROM prefs ORDER BY key")
                    == [isEditedBefore ? "Courier" : "Times", "german"])
            #expect(try peer.store.audit().problems == [])
        }
    }

    private static let listed = [
        """
        ALTER TABLE doc ADD COLUMN status_id INTEGER REFERENCES status(id);
        UPDATE doc SET status_id = (SELECT id FROM status WHERE name = doc.status); ALTER TABLE doc DROP COLUMN status
        """,
        """
        CREATE TABLE doc_new(id INTEGER PRIMARY KEY, name TEXT, status_id INTEGER REFERENCES status(id));
        INSERT INTO doc_new SELECT id, name, (SELECT id FROM status WHERE name = doc.status) FROM doc;
        DROP TABLE doc; ALTER TABLE doc_new RENAME TO doc
        """,
    ]

    @Test(
        "An edit, among others of its row, of what the next migration looks up in a table", arguments: listed, [0, 1])
    func editBeforeLookup(migration: String, first: Int) throws {
        let rows = (1...8).map { "(\($0), 'name \($0)', '\($0 % 2 == 0 ? "open" : "new")')" }.joined(separator: ", ")
        let peers = try peers(
            "CREATE TABLE doc(id INTEGER PRIMARY KEY, name TEXT, status TEXT); INSERT INTO doc VALUES \(rows)")
        let migration = """
            BEGIN; CREATE TABLE status(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
            INSERT INTO status(name) VALUES('new'), ('open'), ('shut'); \(migration); COMMIT
            """
        for peer in peers { try peer.awaitAnotherMillisecond() }
        // The one that migrates first, and the one that does so later. To what another row had, and to what none had.
        try peers[first].write("UPDATE doc SET name = 'edited 1', status = 'open' WHERE id = 1")
        try peers[1 - first].write("UPDATE doc SET name = 'edited 3', status = 'shut' WHERE id = 3")
        try upgradeUnheard([peers[first], peers[1 - first], peers[2]], migration)
        for peer in peers {
            #expect(
                try peer.strings(
                    "SELECT doc.name || ' ' || status.name FROM doc JOIN status ON status.id = status_id ORDER BY doc.id"
                )
                    == [
                        "edited 1 open", "name 2 open", "edited 3 shut", "name 4 open", "name 5 new", "name 6 open",
                        "name 7 new", "name 8 open",
                    ])
            #expect(try peer.store.audit().problems == [])
        }
    }

    @Test("An edit, among others of its row, of what the next migration divides", arguments: [0, 1])
    func editBeforeDivision(first: Int) throws {
        let rows = (1...8).map { "(\($0), 'title \($0)', 'a\($0) b\($0)')" }.joined(separator: ", ")
        let peers = try peers(
            "CREATE TABLE doc(id INTEGER PRIMARY KEY, title TEXT, name TEXT); INSERT INTO doc VALUES \(rows)")
        let migration = """
            BEGIN; CREATE TABLE doc_new(id INTEGER PRIMARY KEY, title TEXT, first TEXT, last TEXT, kind TEXT);
            INSERT INTO doc_new SELECT id, title, substr(name, 1, 2), substr(name, 4), 'person' FROM doc; DROP TABLE doc;
            ALTER TABLE doc_new RENAME TO doc; COMMIT
            """
        for peer in peers { try peer.awaitAnotherMillisecond() }
        try peers[first].write("UPDATE doc SET title = 'edited 1', name = 'c1 d1' WHERE id = 1")
        try peers[1 - first].write("UPDATE doc SET title = 'edited 3', name = 'c3 d3' WHERE id = 3")
        try upgradeUnheard([peers[first], peers[1 - first], peers[2]], migration)
        for peer in peers {
            #expect(
                try peer.strings(
                    "SELECT title || ' ' || first || ' ' || last || ' ' || kind FROM doc WHERE id < 5 ORDER BY id")
                    == [
                        "edited 1 c1 d1 person", "title 2 a2 b2 person", "edited 3 c3 d3 person",
                        "title 4 a4 b4 person",
                    ])
            #expect(try peer.store.audit().problems == [])
        }
    }

    @Test("A reference that was NULL when another machine's migration came with a table that other columns refer to")
    func unrelatedReference() throws {
        let peers = try peers(
            """
            CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE doc(id INTEGER PRIMARY KEY, name TEXT, person INTEGER REFERENCES person(id), status TEXT);
            INSERT INTO person VALUES(1, 'Ann'), (2, 'Bo');
            INSERT INTO doc VALUES(1, 'x', NULL, 'open'), (2, 'y', NULL, 'shut'), (3, 'z', 2, 'open')
            """)
        let migration = """
            BEGIN; CREATE TABLE status(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
            INSERT INTO status(name) VALUES('open'), ('shut');
            ALTER TABLE doc ADD COLUMN status_id INTEGER REFERENCES status(id);
            UPDATE doc SET status_id = (SELECT id FROM status WHERE name = doc.status); ALTER TABLE doc DROP COLUMN status; COMMIT
            """
        try peers[0].write(migration)
        try peers[0].record()
        for peer in peers.dropFirst() { try peer.pull(from: peers[0]) }
        try peers[0].awaitAnotherMillisecond()
        try peers[0].write("UPDATE doc SET person = 1, status_id = 2 WHERE name = 'x'")
        try peers[0].record()
        for peer in peers.dropFirst() {
            try peer.awaitAnotherMillisecond()
            try peer.write(migration)
            try peer.record()
        }
        try converge(peers[0], peers[1], peers[2])
        for peer in peers {
            #expect(
                try peer.strings(
                    """
                    SELECT doc.name || ' ' || coalesce(person.name, '-') || ' ' || status.name FROM doc
                    LEFT JOIN person ON person.id = person LEFT JOIN status ON status.id = status_id ORDER BY 1
                    """) == ["x Ann shut", "y - shut", "z Bo open"])
            #expect(try peer.store.audit().problems == [])
        }
    }

    @Test(
        "A deletion in a table that the migration has made",
        arguments: [
            ("DELETE FROM link WHERE task = 3", ["1 1", "2 2"], ["tag 1", "tag 2", "tag 3"]),
            ("DELETE FROM tag WHERE name = 'tag 3'", ["1 1", "2 2"], ["tag 1", "tag 2"]),
        ], [false, true])
    func deletion(expected: (sql: String, links: [String], tags: [String]), joining: Bool) throws {
        let peers = try peers(
            """
            CREATE TABLE task(id INTEGER PRIMARY KEY, tag TEXT);
            INSERT INTO task VALUES(1, 'tag 1'), (2, 'tag 2'), (3, 'tag 3')
            """)
        try upgrade(
            peers,
            """
            BEGIN; CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
            CREATE TABLE link(
                task INTEGER REFERENCES task(id), tag INTEGER REFERENCES tag(id) ON DELETE CASCADE, PRIMARY KEY(task, tag));
            INSERT INTO tag(name) SELECT DISTINCT tag FROM task;
            INSERT INTO link SELECT task.id, tag.id FROM task JOIN tag ON tag = name;
            ALTER TABLE task DROP COLUMN tag; COMMIT
            """, then: "PRAGMA foreign_keys = ON; \(expected.sql)", joining: joining)
        for peer in peers {
            #expect(
                try peer.strings(
                    """
                    SELECT task || ' ' || substr(name, 5) FROM link JOIN tag ON tag.id = link.tag ORDER BY task
                    """) == expected.links)
            #expect(try peer.strings("SELECT name FROM tag ORDER BY name") == expected.tags)
        }
    }

    @Test("A row that was deleted elsewhere is there where a row of this machine refers to it")
    func referred() throws {
        let peers = try peers("CREATE TABLE task(id INTEGER PRIMARY KEY, tag TEXT); INSERT INTO task VALUES(1, 'x')")
        let migration = """
            BEGIN; CREATE TABLE tag(name TEXT PRIMARY KEY NOT NULL);
            CREATE TABLE link(task INTEGER REFERENCES task(id), tag TEXT REFERENCES tag(name), PRIMARY KEY(task, tag));
            INSERT INTO tag SELECT DISTINCT tag FROM task; INSERT INTO link SELECT id, tag FROM task; COMMIT
            """
        try peers[0].write(migration)
        try peers[0].record()
        try peers[0].write("DELETE FROM link; DELETE FROM tag")
        try peers[0].record()
        try peers[1].write("INSERT INTO task VALUES(2, 'x')")
        try peers[1].pull(from: peers[0])
        try peers[1].write(migration)
        try peers[1].record()
        try converge(peers[0], peers[1])
        for peer in peers[..<2] {
            #expect(try peer.strings("SELECT tag FROM link") == ["x"])
            #expect(try peer.strings("SELECT name FROM tag") == ["x"])
            #expect(try peer.store.audit().problems == [])
        }
    }

    @Test("Rows of a table that was here before, and comes again, are inserted though others have deleted theirs")
    func tableThatWasHere() throws {
        let peers = try peers("CREATE TABLE cache(k TEXT PRIMARY KEY, v); INSERT INTO cache VALUES('x', 1), ('y', 2)")
        try peers[1].write("DROP TABLE cache")
        try peers[1].record()
        try peers[0].write("DELETE FROM cache")
        try peers[0].record()
        try peers[1].pull(from: peers[0])
        try peers[1].write("CREATE TABLE cache(k TEXT PRIMARY KEY, v); INSERT INTO cache VALUES('x', 3)")
        try peers[1].record()
        try converge(peers[0], peers[1])
        for peer in peers[..<2] { #expect(try peer.strings("SELECT k || v FROM cache") == ["x3"]) }
    }

    @Test(
        "What a migration makes of rows that have come meanwhile takes the place of what another has made before",
        arguments: [
            (
                "(SELECT group_concat(text) FROM (SELECT text FROM item WHERE task = task.id ORDER BY text))",
                ["a", "b,c"]
            ),
            ("(SELECT count(*) FROM item WHERE task = task.id)", ["1", "2", "1", "1"]),
            ("(SELECT hex(randomblob(8)) || count(*) FROM item)", []),
        ])
    func fills(value: String, expected: [String]) throws {
        let peers = try peers(
            """
            CREATE TABLE task(id INTEGER PRIMARY KEY);
            CREATE TABLE item(id INTEGER PRIMARY KEY, task INTEGER REFERENCES task(id), text TEXT);
            INSERT INTO task VALUES(1), (2)\(expected.count > 2 ? ", (3), (4)" : "");
            INSERT INTO item(task, text) VALUES(1, 'a'), (2, 'b')\(expected.count > 2 ? ", (3, 'd'), (4, 'e')" : "")
            """)
        let migration =
            "BEGIN; ALTER TABLE task ADD COLUMN list; UPDATE task SET list = \(value); DROP TABLE item; COMMIT"
        let shown = "SELECT list FROM task ORDER BY id"
        try peers[0].write(migration)
        try peers[0].record()
        let first = try peers[0].strings(shown)
        try peers[1].write("INSERT INTO item(task, text) VALUES(2, 'c')")
        try peers[1].record()
        for (index, peer) in peers.enumerated().dropFirst() {
            for other in peers[..<index] { try peer.pull(from: other) }
            try peer.write(migration)
            try peer.record()
        }
        try converge(peers[0], peers[1], peers[2])
        for peer in peers {
            #expect(try peer.strings(shown) == (expected.isEmpty ? first : expected))
            #expect(try peer.store.audit().problems == [])
        }
    }

    @Test(
        "Edits of several rows at once, after a migration has filled a column of all, are edits",
        arguments: [
            (
                "UPDATE t SET place = 50 WHERE id = 5; UPDATE t SET place = 0 WHERE id = 3", false,
                ["3 0", "5 50", "7 70"]
            ),
            (
                "UPDATE t SET place = 51 WHERE id = 3; UPDATE t SET place = 0 WHERE id = 5", true,
                ["3 51", "5 0", "7 70"]
            ),
            // As a migration does that goes on.
            ("UPDATE t SET place = -1 WHERE id IN (3, 5)", false, ["3 30", "5 50", "7 70"]),
        ])
    func editsAfterFill(edits: String, areLate: Bool, expected: [String]) throws {
        let peers = try peers(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, name); INSERT INTO t VALUES(1, 1), (3, 3), (5, 5), (7, 7), (8, 8)")
        let migration =
            "BEGIN; ALTER TABLE t ADD COLUMN place INTEGER NOT NULL DEFAULT 0; UPDATE t SET place = id * 10; COMMIT"
        try peers[0].write(migration)
        try peers[0].awaitAnotherMillisecond()
        try peers[0].write("BEGIN; \(edits); COMMIT")
        if areLate {
            let table = try #require(peers[0].strings("SELECT id FROM logsync_table WHERE name = 't'").first)
            try peers[0].write(
                """
                UPDATE logsync_pending_\(table) SET ms = ms + 5000
                WHERE number > (SELECT max(number) - 2 FROM logsync_pending_\(table))
                """)
        }
        try peers[0].record()
        for row in [3, 5] { try peers[1].write("UPDATE t SET name = 'new' WHERE id = \(row)") }
        try peers[1].pull(from: peers[0])
        try peers[1].write(migration)
        try converge(peers[0], peers[1])
        for peer in peers[..<2] {
            #expect(try peer.strings("SELECT id || ' ' || place FROM t WHERE id IN (3, 5, 7) ORDER BY id") == expected)
            #expect(try peer.store.audit().problems == [])
        }
    }
}
