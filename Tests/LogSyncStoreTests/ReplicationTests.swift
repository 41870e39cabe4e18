import LogSyncModel
import Testing

@testable import LogSyncStore

@Suite struct ReplicationTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    @Test func aCloneShowsTheSameRowsAndIntegers() throws {
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT);
                CREATE TABLE album(id INTEGER PRIMARY KEY, title TEXT, artist INTEGER REFERENCES artist(id));
                INSERT INTO artist VALUES (3, 'Ella'), (7, 'Nina');
                INSERT INTO album VALUES (1, 'x', 7), (2, 'y', 3), (5, 'z', NULL);
                """)
        let b = try TestPeer(folder, "b", cloning: a)
        #expect(try b.strings("SELECT * FROM artist") == ["3|Ella", "7|Nina"])
        #expect(try b.strings("SELECT * FROM album") == ["1|x|7", "2|y|3", "5|z|NULL"])
        try converge(a, b)
    }

    @Test func collidingIntegersKeepBothRowsAndEveryReference() throws {
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT);
                CREATE TABLE album(id INTEGER PRIMARY KEY, title TEXT, artist INTEGER NOT NULL REFERENCES artist(id));
                INSERT INTO artist VALUES (1, 'Ella');
                """)
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write("INSERT INTO artist VALUES (2, 'Nina'); INSERT INTO album VALUES (1, 'of Nina', 2)")
        try b.write("INSERT INTO artist VALUES (2, 'Billie'); INSERT INTO album VALUES (1, 'of Billie', 2)")
        try converge(a, b)
        let query = "SELECT title, name FROM album JOIN artist ON artist.id = album.artist ORDER BY title"
        for peer in [a, b] {
            #expect(try peer.strings(query) == ["of Billie|Billie", "of Nina|Nina"])
            #expect(try peer.strings("SELECT count(*) FROM artist") == ["3"])
        }
    }

    @Test func joinTablesSelfReferencesAndCyclesAreTranslated() throws {
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT, boss INTEGER REFERENCES person(id),
                                    team INTEGER REFERENCES team(id));
                CREATE TABLE team(id INTEGER PRIMARY KEY, name TEXT, lead INTEGER REFERENCES person(id));
                CREATE TABLE member(team INTEGER REFERENCES team(id), person INTEGER REFERENCES person(id), role TEXT,
                                    PRIMARY KEY(team, person));
                INSERT INTO person VALUES (1, 'a', 2, 1), (2, 'b', NULL, NULL);
                INSERT INTO team VALUES (1, 't', 1);
                INSERT INTO member VALUES (1, 1, 'x'), (1, 2, 'y');
                """)
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write(
            "INSERT INTO person VALUES (3, 'c', 4, 2), (4, 'd', 3, 2); INSERT INTO team VALUES (2, 'u', 4); INSERT INTO member VALUES (2, 3, 'z')"
        )
        try b.write(
            "INSERT INTO person VALUES (3, 'e', 3, 1); INSERT INTO team VALUES (2, 'v', 3); INSERT INTO member VALUES (2, 3, 'w'), (1, 3, 'q'); DELETE FROM member WHERE role = 'x'"
        )
        try converge(a, b)
        let query = """
            SELECT t.name, l.name, p.name, b.name, m.role FROM member m JOIN team t ON t.id = m.team
            JOIN person p ON p.id = m.person LEFT JOIN person b ON b.id = p.boss LEFT JOIN person l ON l.id = t.lead
            ORDER BY 1, 3
            """
        let rows = ["t|a|b|NULL|y", "t|a|e|e|q", "u|d|c|d|z", "v|e|e|e|w"]
        for peer in [a, b] {
            let shown = try peer.strings(query)
            #expect(shown == rows)
        }
    }

    @Test func updatesAndDeletesTravelByColumn() throws {
        let a = try TestPeer(
            folder, "a",
            sql: "CREATE TABLE t(id TEXT PRIMARY KEY, x, y); INSERT INTO t VALUES ('p', 1, 1), ('q', 1, 1), ('r', 1, 1)"
        )
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write("UPDATE t SET x = 2 WHERE id = 'p'; DELETE FROM t WHERE id = 'q'")
        try b.write("UPDATE t SET y = 3 WHERE id = 'p'; UPDATE t SET x = x WHERE id = 'r'")
        try converge(a, b)
        for peer in [a, b] { #expect(try peer.strings("SELECT * FROM t ORDER BY id") == ["p|2|3", "r|1|1"]) }
        // b's update that changed nothing is not a change.
        #expect(
            try b.store.history(limit: 1, after: nil, author: nil, peer: nil, table: nil)[0].counts["t"]?.updated == 1)
    }

    @Test func theLastWriterOfACellShowsAndTheOtherIsKept() throws {
        let a = try TestPeer(folder, "a", sql: "CREATE TABLE t(id TEXT PRIMARY KEY, x); INSERT INTO t VALUES ('p', 1)")
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write("UPDATE t SET x = 'a'")
        _ = try a.store.record()
        try b.write("UPDATE t SET x = 'b'")
        try converge(a, b)
        let shown = try a.strings("SELECT x FROM t")
        #expect(try b.strings("SELECT x FROM t") == shown)
        #expect(try a.store.summary().conflicts == 1)
        #expect(try b.store.summary().conflicts == 1)
        try a.write("UPDATE t SET x = 'c'")
        try converge(a, b)
        #expect(try b.strings("SELECT x FROM t") == ["c"])
        #expect(try a.store.summary().conflicts == 0)
        #expect(try b.store.summary().conflicts == 0)
    }

    @Test func nothingIsRecordedTwice() throws {
        let a = try TestPeer(folder, "a", sql: "CREATE TABLE t(id TEXT PRIMARY KEY, x); INSERT INTO t VALUES ('p', 1)")
        let b = try TestPeer(folder, "b", cloning: a)
        try converge(a, b)
        #expect(try a.store.record() == nil)
        #expect(try b.store.record() == nil)
        #expect(try b.store.hasPendingChanges() == false)
    }

    @Test func concurrentInsertsOfOneKeyAreOneRow() throws {
        let a = try TestPeer(folder, "a", sql: "CREATE TABLE t(id TEXT PRIMARY KEY COLLATE NOCASE, x, y)")
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write("INSERT INTO t VALUES ('Bob', 1, 2)")
        try b.write("INSERT INTO t VALUES ('BOB', 3, 4)")
        try converge(a, b)
        #expect(try a.strings("SELECT * FROM t") == b.strings("SELECT * FROM t"))
        #expect(try a.strings("SELECT count(*) FROM t") == ["1"])
    }

    @Test func editsLostToADeleteAreKept() throws {
        let a = try TestPeer(folder, "a", sql: "CREATE TABLE t(id TEXT PRIMARY KEY, x); INSERT INTO t VALUES ('p', 1)")
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write("DELETE FROM t")
        try b.write("UPDATE t SET x = 2")
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT * FROM t") == [])
            #expect(try peer.store.summary().conflicts == 1)
        }
        try b.write("INSERT INTO t VALUES ('p', 5)")
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT * FROM t") == ["p|5"])
            #expect(try peer.store.summary().conflicts == 0)
        }
    }

    @Test func whereTwoTakeOneUniqueValueTheOlderStands() throws {
        let a = try TestPeer(
            folder, "a",
            sql: "CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT UNIQUE); INSERT INTO tag VALUES (1, 'x')")
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write("INSERT INTO tag(name) VALUES ('new')")
        _ = try a.store.record()
        try b.write("INSERT INTO tag(name) VALUES ('new')")
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT name FROM tag ORDER BY name") == ["new", "x"])
            #expect(try peer.store.summary().parked == 1)
        }
        try a.write("UPDATE tag SET name = 'other' WHERE name = 'new'")
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT name FROM tag ORDER BY name") == ["new", "other", "x"])
            #expect(try peer.store.summary().parked == 0)
        }
    }
}
