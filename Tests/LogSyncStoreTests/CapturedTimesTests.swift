import LogSyncModel
import LogSyncSQLite
import Testing

@testable import LogSyncStore

/// Edits that were captured before a program made their table anew, and are recorded after it.
@Suite("Times that triggers have noted before a rebuild")
struct CapturedTimesTests {
    struct Story: Sendable, CustomTestStringConvertible {
        var name: String
        var schema: String
        var firstTail = ""
        /// The columns of the table that is made anew.
        var columns: String
        var tail = ""
        var copied: String
        var changesKey = false
        var testDescription: String { name }

        var migration: String {
            """
            BEGIN; CREATE TABLE t_new(\(columns))\(tail); INSERT INTO t_new(\(copied)) SELECT \(copied) FROM t;
            DROP TABLE t; ALTER TABLE t_new RENAME TO t; COMMIT
            """
        }
    }

    static let stories = [
        Story(
            name: "nothing else changes", schema: "id INTEGER PRIMARY KEY, uid TEXT, v TEXT",
            columns: "id INTEGER PRIMARY KEY, uid TEXT, v TEXT", copied: "id, uid, v"),
        Story(
            name: "the columns change places", schema: "uid TEXT PRIMARY KEY, v TEXT",
            columns: "v TEXT, uid TEXT PRIMARY KEY", copied: "uid, v"),
        Story(
            name: "a column comes to be UNIQUE", schema: "id INTEGER PRIMARY KEY, uid TEXT, v TEXT",
            columns: "id INTEGER PRIMARY KEY, uid TEXT UNIQUE, v TEXT", copied: "id, uid, v"),
        Story(
            name: "a column joins the key", schema: "uid TEXT PRIMARY KEY, n INTEGER DEFAULT 1, v TEXT",
            columns: "uid TEXT, n INTEGER DEFAULT 1, v TEXT, PRIMARY KEY(uid, n)", copied: "uid, n, v",
            changesKey: true),
        Story(
            name: "the rowid goes", schema: "uid TEXT PRIMARY KEY NOT NULL, v TEXT",
            columns: "uid TEXT PRIMARY KEY NOT NULL, v TEXT", tail: " WITHOUT ROWID", copied: "uid, v"),
        Story(
            name: "the rowid comes", schema: "uid TEXT PRIMARY KEY NOT NULL, v TEXT", firstTail: " WITHOUT ROWID",
            columns: "uid TEXT PRIMARY KEY NOT NULL, v TEXT", copied: "uid, v"),
        Story(
            name: "a name becomes the key", schema: "id INTEGER PRIMARY KEY, uid TEXT, v TEXT",
            columns: "uid TEXT PRIMARY KEY, v TEXT", copied: "uid, v", changesKey: true),
        Story(
            name: "an integer becomes the key", schema: "uid TEXT PRIMARY KEY, v TEXT",
            columns: "id INTEGER PRIMARY KEY, uid TEXT UNIQUE, v TEXT", copied: "uid, v"),
        Story(
            name: "the key compares otherwise", schema: "uid TEXT PRIMARY KEY, v TEXT",
            columns: "uid TEXT PRIMARY KEY COLLATE NOCASE, v TEXT", copied: "uid, v"),
        Story(
            name: "there is no key", schema: "uid TEXT, v TEXT", columns: "uid TEXT, v TEXT, w TEXT", copied: "uid, v"),
    ]

    /// Lets all that is captured and not recorded seem to be that many seconds older.
    private func age(_ peer: TestPeer, by seconds: Int) throws {
        for id in try peer.strings("SELECT id FROM logsync_table WHERE log_name = 't'") {
            let extents = try TableExtent.all(on: peer.app)
            let recorded = extents[try #require(Int64(id))]?.recorded ?? 0
            try peer.write(
                "UPDATE logsync_pending_\(id) SET ms = ms - \(seconds)000 WHERE number > \(recorded)")
        }
    }

    @Test("An edit from before the rebuild loses to a later one", arguments: stories, [true, false])
    func losesToALaterOne(story: Story, isFirst: Bool) throws {
        // A replicator sees to what another key means for other peers' transactions.
        let isFirst = isFirst && !story.changesKey
        let folder = try TestFolder()
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE t(\(story.schema))\(story.firstTail);
                INSERT INTO t(uid, v) VALUES ('one', 'first'), ('two', 'first'), ('three', 'first')
                """)
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write("UPDATE t SET v = 'older' WHERE uid = 'two'; INSERT INTO t(uid, v) VALUES ('four', 'new')")
        try age(a, by: 600)
        try a.write(story.migration)
        try b.write("UPDATE t SET v = 'later' WHERE uid = 'two'")
        try age(b, by: 300)
        if !isFirst { try b.write(story.migration) }
        try converge(a, b)
        if isFirst {
            try b.write(story.migration)
            try converge(a, b)
        }
        for peer in [a, b] {
            #expect(
                try peer.strings("SELECT uid, v FROM t ORDER BY uid")
                    == ["four|new", "one|first", "three|first", "two|later"])
            #expect(try peer.store.audit().problems == [])
        }
    }

    @Test("An edit from before the rebuild loses to a later one where another row has gone and one has come")
    func losesToALaterOneBesideOthers() throws {
        let folder = try TestFolder()
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE t(id INTEGER PRIMARY KEY, uid TEXT UNIQUE, v TEXT);
                INSERT INTO t(uid, v) VALUES ('one', 'first'), ('two', 'first'), ('three', 'first')
                """)
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write("UPDATE t SET v = 'older' WHERE uid = 'two'; DELETE FROM t WHERE uid = 'one'")
        try age(a, by: 600)
        try a.write(
            """
            BEGIN; CREATE TABLE t_new(id INTEGER PRIMARY KEY, v TEXT, uid TEXT UNIQUE);
            INSERT INTO t_new(id, uid, v) SELECT id, uid, v FROM t; DROP TABLE t; ALTER TABLE t_new RENAME TO t; COMMIT;
            INSERT INTO t(uid, v) VALUES ('four', 'new')
            """)
        try b.write("UPDATE t SET v = 'later' WHERE uid = 'two'")
        try age(b, by: 300)
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT uid, v FROM t ORDER BY id") == ["two|later", "three|first", "four|new"])
        }
    }

    @Test("An edit from before a rebuild that numbers the rows anew loses to a later one")
    func losesToALaterOneUnderAnotherNumber() throws {
        let folder = try TestFolder()
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE t(id INTEGER PRIMARY KEY, uid TEXT UNIQUE, v TEXT);
                INSERT INTO t(uid, v) VALUES ('one', 'first'), ('two', 'first'), ('three', 'first')
                """)
        let b = try TestPeer(folder, "b", cloning: a)
        let migration = """
            BEGIN; CREATE TABLE t_new(id INTEGER PRIMARY KEY, uid TEXT UNIQUE, v TEXT);
            INSERT INTO t_new SELECT id * 10 + 3, uid, v FROM t; DROP TABLE t; ALTER TABLE t_new RENAME TO t; COMMIT
            """
        try a.write("UPDATE t SET v = 'older' WHERE uid = 'two'")
        try age(a, by: 600)
        try a.write(migration)
        try b.write("UPDATE t SET v = 'later' WHERE uid = 'two'")
        try age(b, by: 300)
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT uid, v FROM t ORDER BY id") == ["one|first", "two|later", "three|first"])
        }
    }

    @Test("An edit from after the rebuild, which nothing has noted, counts as made when it is found")
    func isNotedWhenItIsFound() throws {
        let folder = try TestFolder()
        let a = try TestPeer(
            folder, "a",
            sql: "CREATE TABLE t(uid TEXT PRIMARY KEY, v TEXT); INSERT INTO t VALUES ('one', 'first'), ('two', 'first')"
        )
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write(
            """
            BEGIN; CREATE TABLE t_new(uid TEXT PRIMARY KEY, v TEXT); INSERT INTO t_new SELECT * FROM t;
            DROP TABLE t; ALTER TABLE t_new RENAME TO t; COMMIT; UPDATE t SET v = 'later' WHERE uid = 'two'
            """)
        try b.write("UPDATE t SET v = 'older' WHERE uid = 'two'")
        try age(b, by: 300)
        try converge(a, b)
        #expect(try b.strings("SELECT uid, v FROM t ORDER BY uid") == ["one|first", "two|later"])
    }

    @Test(
        "What a program writes to a new column before the next migration has the time of that write",
        arguments: [
            "ALTER TABLE t ADD COLUMN z INT; UPDATE t SET z = id",
            """
            BEGIN; CREATE TABLE n(id INTEGER PRIMARY KEY, x TEXT, y TEXT, z INT); INSERT INTO n SELECT id, x, y, id FROM t;
            DROP TABLE t; ALTER TABLE n RENAME TO t; COMMIT
            """,
        ])
    func betweenMigrations(second: String) throws {
        let folder = try TestFolder()
        let a = try TestPeer(
            folder, "a",
            sql: "CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT); INSERT INTO t VALUES(1, 'i'), (2, 'ii'), (3, 'iii')")
        let b = try TestPeer(folder, "b", cloning: a)
        try converge(a, b)
        for (peer, seconds) in [(a, 100), (b, 50)] {
            try peer.write("ALTER TABLE t ADD COLUMN y TEXT")
            try peer.write("UPDATE t SET y = '\(peer === a ? "a" : "b")' WHERE id = 2")
            try age(peer, by: seconds)
            try peer.write(second)
        }
        // Whichever is recorded last.
        _ = try b.store.record()
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT y, z FROM t ORDER BY id") == ["NULL|1", "b|2", "NULL|3"])
        }
        #expect(try a.store.conflicts(table: "t", all: true).flatMap(\.versions).allSatisfy { $0.time > .zero })
    }
}
