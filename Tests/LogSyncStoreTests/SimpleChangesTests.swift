import LogSyncModel
import LogSyncSQLite
import Testing

@testable import LogSyncStore

/// What a program writes many rows of at once, with rows among them to which more has happened. Each recording and import
/// is done both ways, in batches and row by row.
@Suite struct SimpleChangesTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder(comparingWays: true) }

    private static let schema = """
        CREATE TABLE text(k TEXT PRIMARY KEY, a, b INTEGER, c REAL);
        CREATE TABLE pair(x INTEGER, y BLOB, a, PRIMARY KEY(x, y));
        CREATE TABLE number(id INTEGER PRIMARY KEY, a, b);
        CREATE TABLE parent(id INTEGER PRIMARY KEY, a);
        CREATE TABLE child(id INTEGER PRIMARY KEY AUTOINCREMENT, parent INTEGER REFERENCES parent(id), a);
        """

    private func pair() throws -> (TestPeer, TestPeer) {
        let a = try TestPeer(folder, "a", sql: Self.schema) { $0.identities["number"] = .natural }
        return (a, try TestPeer(folder, "b", cloning: a))
    }

    /// So many numbers, as a table `n(i)`.
    private func numbers(_ range: ClosedRange<Int>) -> String {
        """
        WITH RECURSIVE n(i) AS (VALUES(\(range.lowerBound)) UNION ALL SELECT i + 1 FROM n WHERE i < \(range.upperBound))
        """
    }

    private func fill(_ peer: TestPeer, _ range: ClosedRange<Int>) throws {
        let n = numbers(range)
        try peer.write(
            """
            BEGIN;
            \(n) INSERT INTO text SELECT printf('key %d', i * 7919 % 1000), 'text ' || i, i, i / 4.0 FROM n;
            \(n) INSERT INTO pair SELECT i % 10, CAST(i AS BLOB), NULL FROM n;
            \(n) INSERT INTO number SELECT i, x'00' || i, -i FROM n;
            \(n) INSERT INTO parent SELECT i, 'of \(peer.name) ' || i FROM n;
            \(n) INSERT INTO child SELECT NULL, i / 2 + \(range.lowerBound / 2), i FROM n WHERE i < \(range.upperBound);
            COMMIT;
            """)
    }

    private let children = "SELECT c.a, p.a FROM child c LEFT JOIN parent p ON p.id = c.parent ORDER BY c.a, p.a"

    @Test func everyKindOfKeyIsInsertedUpdatedAndDeleted() throws {
        let (a, b) = try pair()
        try fill(a, 1...300)
        #expect(try a.recorded() == "child +299, number +300, pair +300, parent +300, text +300")
        try agree(a, b)
        #expect(try a.strings(children) == b.strings(children))
        try a.write(
            """
            UPDATE text SET a = a || '!', b = b + 1 WHERE b % 3; UPDATE text SET c = 'x' WHERE b % 2 AND a NOT LIKE '%!';
            UPDATE pair SET a = x; UPDATE number SET b = b; UPDATE number SET b = NULL WHERE id < 50;
            UPDATE parent SET a = a WHERE id < 100; UPDATE parent SET a = 'other' WHERE id > 290;
            UPDATE child SET parent = parent + 1 WHERE id < 20;
            """)
        let before = try a.strings("SELECT count(*) FROM text WHERE a LIKE '%!' OR c = 'x'")[0]
        #expect(try a.recorded() == "child ~19, number ~49, pair ~300, parent ~10, text ~\(before)")
        try agree(a, b)
        #expect(try a.strings(children) == b.strings(children))
        // Again, now that records say more than their base.
        try b.write("UPDATE text SET b = 0, a = 'b'; UPDATE pair SET a = 9; DELETE FROM number WHERE id > 200")
        #expect(try b.recorded() == "number -100, pair ~270, text ~300")
        try agree(a, b)
        try a.write("DELETE FROM text WHERE k < 'key 5'; DELETE FROM child WHERE a % 2; DELETE FROM pair")
        try a.write("DELETE FROM parent WHERE id > 200")
        try agree(a, b)
        #expect(try a.strings("SELECT count(*) FROM child") == b.strings("SELECT count(*) FROM child"))
        #expect(try b.strings("SELECT count(*) FROM pair") == ["0"])
        let clone = try TestPeer(folder, "c", filling: try b.snapshot(), from: b)
        try agree(a, b, clone)
    }

    @Test func rowsToWhichMoreHappenedAreRecordedAmongTheOthers() throws {
        let (a, b) = try pair()
        try fill(a, 1...120)
        try agree(a, b)
        try fill(a, 121...240)
        try a.write(
            """
            UPDATE text SET b = -1 WHERE k IN ('key 1', 'key 919'); DELETE FROM text WHERE b % 40 = 0;
            INSERT INTO text(k, a) SELECT printf('key %d', i * 7919 % 1000), 'again' FROM (SELECT 40 AS i UNION SELECT 200);
            REPLACE INTO text(rowid, k, a) VALUES (130, 'new at 130', 1);
            UPDATE text SET rowid = 5000 WHERE rowid = 140; UPDATE text SET k = 'moved' WHERE rowid = 150;
            REPLACE INTO text(k, a) SELECT k, 'replaced' FROM text WHERE rowid IN (20, 160);
            INSERT INTO pair VALUES (NULL, 'n', 1), (NULL, 'n', 2), (77, x'00', 3), (77, '', 4);
            UPDATE pair SET x = 78 WHERE y = x'00'; DELETE FROM pair WHERE y = '';
            DELETE FROM number WHERE id IN (3, 130); INSERT INTO number VALUES (3, 'again', 1), (130, 'again', 2);
            UPDATE number SET id = 9000 WHERE id = 131; DELETE FROM parent WHERE id = 240; INSERT INTO parent VALUES (240, 'another');
            DELETE FROM child WHERE id = 2; INSERT INTO child VALUES (2, 240, 'another');
            """)
        try agree(a, b)
        #expect(try a.strings(children) == b.strings(children))
        for table in ["text", "pair", "number"] {
            let all = "SELECT * FROM \(table) ORDER BY 1, 2, 3"
            #expect(try a.strings(all) == b.strings(all))
        }
    }

    @Test func rowsThatMovedUnseenSinceTheyWereCapturedAreFound() throws {
        let (a, b) = try pair()
        try fill(a, 1...100)
        try a.write("DELETE FROM text WHERE rowid % 3 = 0")
        try agree(a, b)
        try fill(a, 101...200)
        try a.write("UPDATE text SET a = 'up' WHERE rowid % 2; DELETE FROM text WHERE rowid % 5 = 0")
        try a.write("VACUUM")
        try agree(a, b)
        let all = "SELECT * FROM text ORDER BY k"
        #expect(try a.strings(all) == b.strings(all))
        // Gone with no trigger to say so: what was never recorded never was.
        try fill(a, 201...260)
        try a.app.setTriggersEnabled(false)
        try a.write("DELETE FROM text WHERE b = 230")
        try a.app.setTriggersEnabled(true)
        try agree(a, b)
        #expect(try a.strings(all) == b.strings(all))
    }

    @Test func aClockThatWentBackByWeeksGivesRowsTheTimesThatItHad() throws {
        let (a, b) = try pair()
        try fill(a, 1...60)
        for table in try a.strings("SELECT name FROM sqlite_schema WHERE name GLOB 'logsync_pending_*'") {
            try a.write("UPDATE \(table) SET ms = ms - 5000000000 WHERE number % 3 = 0")
        }
        try agree(a, b)
        let number = try #require(a.strings("SELECT id FROM logsync_table WHERE name = 'number'").first)
        let span = "(max(time) - min(time)) >> 16"
        #expect(try a.strings("SELECT \(span) > 4900000000 FROM logsync_clock_\(number)") == ["1"])
    }

    @Test func rowsThatSomebodyElseHasToDoWithTooAreMerged() throws {
        let (a, b) = try pair()
        try fill(a, 1...100)
        try agree(a, b)
        for peer in [a, b] {
            try fill(peer, 101...160)
            try peer.write(
                """
                UPDATE text SET a = '\(peer.name)' WHERE b % 4 = 0; UPDATE text SET b = b + 100000 WHERE rowid % 3 = \(peer === a ? 0 : 1);
                DELETE FROM number WHERE id % 7 = \(peer === a ? 0 : 1); UPDATE number SET a = '\(peer.name)' WHERE id % 2;
                DELETE FROM parent WHERE id = \(peer === a ? 8 : 90); UPDATE child SET a = '\(peer.name)' WHERE id % 9 = 0;
                """)
        }
        try agree(a, b)
        try a.write("UPDATE text SET a = 'both', b = 1, c = 2; DELETE FROM pair WHERE x < 5; UPDATE child SET a = 1")
        try agree(a, b)
        let clone = try TestPeer(folder, "c", filling: try a.snapshot(), from: a)
        try agree(a, b, clone)
        #expect(try a.strings("SELECT count(*) FROM parent") == b.strings("SELECT count(*) FROM parent"))
    }

    @Test func referencesThatArePointedElsewhereMeanTheSameRows() throws {
        let (a, b) = try pair()
        // Other numbers on the other peer.
        try fill(b, 1...90)
        try fill(a, 1...120)
        try agree(a, b)
        try a.write(
            """
            UPDATE child SET parent = (parent * 7 + 3) % 60 + 1, a = 'moved ' || a WHERE id % 5;
            UPDATE child SET parent = NULL WHERE id % 11 = 0;
            INSERT INTO parent VALUES (1000, 'with it'); UPDATE child SET parent = 1000 WHERE id % 13 = 0;
            UPDATE child SET parent = 77777 WHERE id % 17 = 0;
            """)
        try agree(a, b)
        let rows = try a.strings(children)
        #expect(try b.strings(children) == rows)
        #expect(rows.contains { $0.contains("with it") })
        // To the same rows, and to one that goes; then back from where nobody stands.
        try b.write("UPDATE child SET parent = (SELECT id FROM parent WHERE a = 'with it')")
        try a.write("DELETE FROM parent WHERE a = 'with it'")
        try agree(a, b)
        try b.write("UPDATE child SET parent = (SELECT min(id) FROM parent WHERE a LIKE 'of b %')")
        try agree(a, b)
        #expect(try a.strings(children) == b.strings(children))
        #expect(try Set(a.strings("SELECT p.a FROM child c JOIN parent p ON p.id = c.parent")).count == 1)
    }

    @Test(arguments: ["last-writer", "first-writer", "max", "prefer c,a"])
    func cellsThatThreePeersGiveValuesKeepAllOfThem(policy: String) throws {
        let (a, b) = try pair()
        let c = try TestPeer(folder, "c", cloning: a)
        try a.write("INSERT INTO logsync_setting(kind, target, value) VALUES ('policy', 'text', '\(policy)')")
        try fill(a, 1...80)
        try agree(a, b, c)
        for (peer, rest) in [(a, 0), (b, 1), (c, 2)] {
            // Two of three write each row, all of them some; some of them the same.
            try peer.write(
                """
                UPDATE text SET a = '\(peer.name)' || b, c = b % 7 WHERE b % 3 <> \(rest) OR b % 10 = 0;
                UPDATE number SET b = \(rest) WHERE id % 4 = 0;
                """)
        }
        try agree(a, b, c)
        let contested = try [a, b, c].map { try $0.store.summary().conflicts }
        // Every text, and the fourth part of the numbers; a maximum is no conflict to look at.
        #expect(contested == Array(repeating: policy == "max" ? 20 : 100, count: 3))
        // Who has seen them all settles some, while another writes without having seen that.
        try b.write("UPDATE text SET a = 'settled' WHERE b <= 60")
        try c.write("UPDATE text SET a = 'late' WHERE b <= 10; DELETE FROM text WHERE b BETWEEN 41 AND 44")
        try agree(a, b, c)
        try a.write("UPDATE text SET a = 'end'; UPDATE number SET b = 99")
        try agree(a, b, c)
        // Edits that the deletion took.
        #expect(try [a, b, c].map { try $0.store.summary().conflicts } == [4, 4, 4])
        #expect(try c.strings("SELECT DISTINCT a FROM text") == ["end"])
        let clone = try TestPeer(folder, "d", filling: try c.snapshot(), from: c)
        try agree(a, b, c, clone)
    }

    @Test func uniqueKeysAreFollowedAndWhatTheyDisplaceIsFound() throws {
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE account(
                    id INTEGER PRIMARY KEY, email TEXT COLLATE NOCASE UNIQUE, x, y, v, UNIQUE(x, y));
                CREATE TABLE user(k TEXT PRIMARY KEY, email TEXT UNIQUE, v);
                """)
        let b = try TestPeer(folder, "b", cloning: a)
        func fill(_ peer: TestPeer, _ range: ClosedRange<Int>, _ verb: String = "INSERT") throws {
            let n = numbers(range)
            try peer.write(
                """
                \(n) \(verb) INTO account(email, x, y, v) SELECT 'Mail ' || i, i % 7, nullif(i / 7, 3), '\(peer.name)' FROM n;
                \(n) \(verb) INTO user SELECT printf('key %d', i * 7919 % 1000), 'mail ' || i, '\(peer.name)' FROM n;
                """)
        }
        let all = "SELECT email, x, y, v FROM account ORDER BY email"
        try fill(a, 1...200)
        #expect(try a.recorded() == "account +200, user +200")
        try agree(a, b)
        // Other keys, keys that change hands, and none.
        try a.write(
            """
            UPDATE account SET v = 1 WHERE id % 3; UPDATE account SET email = email || '!' WHERE id > 150;
            UPDATE account SET x = -id WHERE id BETWEEN 20 AND 40; UPDATE user SET email = 'other' || email WHERE v = 'a';
            UPDATE account SET email = NULL WHERE id = 9; UPDATE account SET email = 'mail 9' WHERE id = 10;
            """)
        let touched = "SELECT count(*) FROM account WHERE v = 1 OR id > 150 OR id = 9 OR id BETWEEN 20 AND 40"
        #expect(try a.recorded() == "account ~\(a.strings(touched)[0]), user ~200")
        try agree(a, b)
        // What a new row displaced, and what another took that had just been given up.
        try fill(b, 100...130, "REPLACE")
        try b.write(
            """
            DELETE FROM account WHERE id IN (50, 51); INSERT INTO account(id, email) VALUES (1000, 'MAIL 50');
            DELETE FROM user WHERE email = 'othermail 7'; INSERT INTO user VALUES ('seven', 'othermail 7', 7);
            UPDATE OR REPLACE account SET email = 'Mail 61' WHERE id = 60;
            UPDATE account SET email = 'gone' WHERE id = 62; INSERT INTO account(id, email) VALUES (1001, 'Mail 62');
            """)
        try agree(a, b)
        #expect(try a.strings(all) == b.strings(all))
        #expect(try a.strings("SELECT count(*) FROM account WHERE email = 'mail 50'") == ["1"])
        // The same keys on both peers: one of each is parked, and comes back.
        try fill(a, 300...360)
        try fill(b, 330...390)
        try agree(a, b)
        #expect(try a.store.summary().parked == 31)
        try a.write("DELETE FROM account WHERE email LIKE 'mail 3%'; DELETE FROM user WHERE email LIKE 'mail 3%'")
        try agree(a, b)
        let clone = try TestPeer(folder, "c", filling: try b.snapshot(), from: b)
        try agree(a, b, clone)
    }

    @Test func rowsThatDoNotFitInMemoryAreRecordedBitByBit() throws {
        let a = try TestPeer(folder, "a", sql: Self.schema, seed: 3)
        #expect(TestPeer.configuration(3).recordingMemory == 500)
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write(
            """
            \(numbers(1...400)) INSERT INTO text SELECT 'key ' || (i * 7 % 401), 'value ' || i, i, i / 3.0 FROM n;
            \(numbers(1...400)) INSERT INTO parent SELECT i, 'parent ' || i FROM n;
            \(numbers(1...400)) INSERT INTO child SELECT i, 401 - i, 'child ' || i FROM n;
            UPDATE text SET a = 'again' WHERE b % 50 = 0; DELETE FROM child WHERE id % 60 = 0;
            """)
        try agree(a, b)
        #expect(try b.strings("SELECT count(*), sum(b), count(DISTINCT k) FROM text") == ["400|80200|400"])
        #expect(try b.strings("SELECT count(*) FROM child JOIN parent ON parent.id = child.parent") == ["394"])
        try a.write("UPDATE text SET a = a || '!', c = 0; UPDATE child SET a = 'other'")
        try agree(a, b)
        #expect(try b.strings("SELECT count(*) FROM text WHERE a LIKE '%!' AND c = 0") == ["400"])
    }

    /// A program that runs for months records often.
    @Test func nothingOfARecordingIsLeft() throws {
        let sql = "CREATE TABLE t(id INTEGER PRIMARY KEY, n); CREATE TABLE u(k TEXT PRIMARY KEY NOT NULL, v);"
        let a = try TestPeer(folder, "a", sql: sql) { $0.policies = [("t.n", "sum")] }
        weak var left: Recorder?
        for sql in [
            "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3); INSERT INTO u VALUES ('a', 1), ('b', 2), ('c', 3)",
            "UPDATE t SET n = n + 1; UPDATE u SET v = 4", "DELETE FROM t WHERE id < 3; DELETE FROM u WHERE k < 'c'",
        ] {
            try a.write(sql)
            try a.store.database.write { session in
                let recorder = Recorder(session)
                left = recorder
                let recorded = try recorder.record(PendingRows(session))
                #expect(recorded != nil)
            }
            #expect(left == nil)
        }
    }

    /// Where both ways write rows in one order, they write the same bytes. Deletes come by rowid or by identity.
    @Test(arguments: [
        ("INSERT INTO text SELECT printf('new %03d', i * 7919 % 1000), 'text ' || i, i, i / 4.0 FROM n", true),
        ("INSERT INTO pair SELECT i % 10, CAST(i AS BLOB), NULL FROM n", true),
        ("INSERT INTO child SELECT NULL, i, i FROM n", true), ("UPDATE text SET a = a || '!', b = -b", true),
        ("UPDATE child SET parent = 101 - parent", true), ("DELETE FROM text WHERE b % 2", true),
        ("DELETE FROM child", false), ("DELETE FROM parent WHERE id > 50", false),
        ("UPDATE text SET a = '!' WHERE b % 2; UPDATE text SET c = 0 WHERE b % 2 = 0", true),
        ("DELETE FROM text WHERE b % 2; UPDATE text SET c = 0; INSERT INTO text(k) VALUES ('z')", false),
    ])
    func theSameChangesMakeTheSameTransaction(sql: String, isInOneOrder: Bool) throws {
        let a = try TestPeer(folder, "a", sql: Self.schema, seed: 1)
        let n = numbers(1...100)
        try a.write(
            """
            \(n) INSERT INTO text SELECT printf('old %03d', i), 'text ' || i, i, i / 4.0 FROM n;
            \(n) INSERT INTO parent SELECT i, 'parent ' || i FROM n;
            \(n) INSERT INTO child SELECT i, i, i FROM n;
            """)
        try a.record()
        try a.write(sql.hasPrefix("INSERT") ? "\(n) \(sql)" : sql)
        let general = try GeneralWay(of: a)
        let recorded = try #require(try a.record())
        #expect(try general.store.record()?.counts == recorded.counts)
        let entries = try [a.store, general.store].map { try #require(try $0.outbox(unpublishedOnly: false).last) }
        #expect(try a.store.changes(of: entries[0]) == general.store.changes(of: entries[1]))
        let blocks = try [a.store.blocks(of: entries[0].dot), general.store.blocks(of: entries[1].dot)]
        #expect((blocks[0] == blocks[1]) == isInOneOrder)
        #expect((entries[0].chain == entries[1].chain) == isInOneOrder)
    }
}
