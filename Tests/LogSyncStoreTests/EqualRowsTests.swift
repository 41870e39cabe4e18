import LogSyncModel
import Testing

@testable import LogSyncStore

/// Rows that are equal under the key that a migration gives to their table, of which machines keep different ones.
@Suite("Rows of which a migration keeps one")
struct EqualRowsTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    struct Story: Sendable, CustomTestStringConvertible {
        let former: String
        let next: String
        /// Three, of which the first, which is the oldest, and the second are equal.
        let rows: [String]
        var testDescription: String { next }
    }

    static let stories = [
        Story(
            former: "k TEXT PRIMARY KEY NOT NULL, v TEXT", next: "k TEXT PRIMARY KEY COLLATE NOCASE NOT NULL, v TEXT",
            rows: ["'bob', 'b1'", "'BOB', 'b2'", "'ann', 'a'"]),
        Story(
            former: "k TEXT PRIMARY KEY NOT NULL, v TEXT", next: "k TEXT PRIMARY KEY COLLATE RTRIM NOT NULL, v TEXT",
            rows: ["'bob ', 'b1'", "'bob', 'b2'", "'ann', 'a'"]),
        Story(
            former: "k TEXT NOT NULL, v TEXT, x INT NOT NULL, PRIMARY KEY(k, x)",
            next: "k TEXT NOT NULL, v TEXT, x INT NOT NULL, PRIMARY KEY(k)",
            rows: ["'bob', 'b1', 2", "'bob', 'b2', 1", "'ann', 'a', 1"]),
    ]

    /// - Parameter order: in which the migration reads the rows.
    private func migration(_ story: Story, _ order: String, _ tail: String) -> String {
        """
        BEGIN; CREATE TABLE n(\(story.next))\(tail); INSERT OR IGNORE INTO n SELECT * FROM t ORDER BY v \(order);
        DROP TABLE t; ALTER TABLE n RENAME TO t; COMMIT
        """
    }

    @Test("are one on all machines, whichever each has kept", arguments: stories, ["", " WITHOUT ROWID"])
    func one(story: Story, tail: String) throws {
        let a = try TestPeer(folder, "a", sql: "CREATE TABLE t(\(story.former))\(tail)")
        let b = try TestPeer(folder, "b", cloning: a)
        for row in story.rows {
            try a.write("INSERT INTO t VALUES(\(row))")
            try b.pull(from: a)
        }
        try a.write(migration(story, "", tail))
        try b.write(migration(story, "DESC", tail))
        #expect(try a.strings("SELECT v FROM t ORDER BY v") == ["a", "b1"])
        #expect(try b.strings("SELECT v FROM t ORDER BY v") == ["a", "b2"])
        try converge(a, b)
        let clone = try TestPeer(folder, "c", emptyLike: a)
        try converge(a, b, clone)
        for peer in [a, b, clone] {
            #expect(try peer.strings("SELECT v FROM t ORDER BY v") == ["a", "b2"])
            #expect(try peer.strings("SELECT * FROM t ORDER BY v") == a.strings("SELECT * FROM t ORDER BY v"))
            #expect(try peer.store.audit().problems == [])
            #expect(try peer.store.parkedRows(table: nil).isEmpty)
        }
        try b.write("UPDATE t SET v = 'e' WHERE v <> 'a'")
        try converge(a, b)
        #expect(try a.strings("SELECT v FROM t ORDER BY v") == ["a", "e"])
        try a.write("DELETE FROM t WHERE v = 'e'")
        try converge(a, b)
        for peer in [a, b] { #expect(try peer.strings("SELECT v FROM t") == ["a"]) }
    }

    @Test("are what is left where a program has deleted the oldest", arguments: stories)
    func deleted(story: Story) throws {
        let a = try TestPeer(folder, "a", sql: "CREATE TABLE t(\(story.former))")
        let b = try TestPeer(folder, "b", cloning: a)
        for row in story.rows {
            try a.write("INSERT INTO t VALUES(\(row))")
            try b.pull(from: a)
        }
        try a.write("DELETE FROM t WHERE v = 'b1'")
        try a.write(migration(story, "", ""))
        try a.pull(from: b)
        try b.write("UPDATE t SET v = 'other' WHERE v = 'b1'")
        try b.pull(from: a)
        try b.write(migration(story, "", ""))
        try converge(a, b)
        for peer in [a, b] { #expect(try peer.strings("SELECT v FROM t ORDER BY v") == ["a", "b2"]) }
    }
}
