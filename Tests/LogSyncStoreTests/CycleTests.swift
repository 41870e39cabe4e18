import Foundation
import Testing

@testable import LogSyncStore

/// Rows that wait for each other, by references, by defaults, and by what they share.
extension ConstraintTests {
    @Test(arguments: [false, true])
    func rowsThatDependOnEachOtherByTheHundredCostWhatEachCosts(isCircle: Bool) throws {
        func cost(_ count: Int) throws -> UInt64 {
            let (_, a, b) = try pair(
                """
                CREATE TABLE t(id INTEGER PRIMARY KEY, parent INTEGER REFERENCES t(id), root INTEGER REFERENCES t(id));
                INSERT INTO t VALUES (1, NULL, NULL);
                """)
            try b.write("DELETE FROM t")
            try record(b)
            try a.write(
                """
                WITH RECURSIVE c(i) AS (VALUES(2) UNION ALL SELECT i + 1 FROM c WHERE i < \(count + 1))
                INSERT INTO t SELECT i, i - 1, NULL FROM c
                """)
            if isCircle { try a.write("UPDATE t SET parent = \(count + 1), root = 1 WHERE id = 2") }
            try record(a)
            let begin = processorTime()
            try a.pull(from: b)
            let end = processorTime()
            #expect(try parked(a).count == count)
            return end - begin
        }
        _ = try cost(10)
        let (few, many) = (try cost(50), try cost(400))
        // Eight times as many; sixty-four times the cost were each decided with all the others again.
        #expect(many < few * 24, "\(few), \(many)")
    }

    @Test func aRowWhoseDefaultReferenceIsItselfShowsThat() throws {
        let (_, a, b) = try pair(
            """
            CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, r TEXT DEFAULT 'a' REFERENCES t ON DELETE SET DEFAULT);
            INSERT INTO t VALUES ('a', NULL), ('b', NULL);
            """)
        try a.write("DELETE FROM t WHERE k = 'b'")
        try record(a)
        try b.write("UPDATE t SET r = 'b' WHERE k = 'a'")
        try settle(a, b)
        for peer in [a, b] { #expect(try peer.strings("SELECT k, r FROM t") == ["a|a"]) }
    }

    /// The row that d shows by default waits for d, and d is the older.
    @Test func aDefaultThatWaitsForTheRowItselfGivesWayToNull() throws {
        let (folder, a, b) = try pair(
            """
            CREATE TABLE p(k TEXT PRIMARY KEY NOT NULL, c TEXT NOT NULL REFERENCES c);
            CREATE TABLE c(k TEXT PRIMARY KEY NOT NULL, p TEXT DEFAULT 'a' REFERENCES p ON DELETE SET DEFAULT);
            INSERT INTO c VALUES ('d', NULL), ('e', NULL);
            """)
        try a.write("INSERT INTO p VALUES ('b', 'e')")
        try record(a)
        try b.pull(from: a)
        let c = try TestPeer(folder, "c", cloning: a, clock: clock)
        let d = try TestPeer(folder, "d", cloning: a, clock: clock)
        try a.write("UPDATE c SET p = 'b' WHERE k = 'd'")
        try record(a)
        try b.write("DELETE FROM p; INSERT INTO p VALUES ('a', 'd')")
        try record(b)
        try c.pull(from: a)
        try c.pull(from: b)
        try d.pull(from: b)
        try d.pull(from: a)
        try settle(a, b, c, d)
        for peer in [a, b, c, d] { #expect(try peer.strings("SELECT k, p FROM c ORDER BY k") == ["d|NULL", "e|NULL"]) }
    }

    /// a waits for x by its reference, x for the older b by what they share, b for y, and y for the older a.
    @Test func aKnotMayLeadThroughRowsThatShareAKey() throws {
        let (folder, a, b) = try pair(
            """
            CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, r TEXT REFERENCES t, u INTEGER);
            CREATE UNIQUE INDEX t_u ON t(u) WHERE r IS NOT NULL;
            INSERT INTO t(k) VALUES ('a'), ('b');
            """)
        let peers = try ["c", "d", "e"].map { try TestPeer(folder, $0, cloning: a, clock: clock) }
        try a.write("INSERT INTO t VALUES ('x', 'a', 3); UPDATE t SET u = 3 WHERE k = 'b'")
        try record(a)
        try b.write("INSERT INTO t VALUES ('y', 'y', 1); UPDATE t SET r = 'y' WHERE k = 'b'")
        try record(b)
        try peers[0].pull(from: a)
        try peers[1].pull(from: b)
        try a.write("UPDATE t SET r = 'x' WHERE k = 'x'; UPDATE t SET r = 'x', u = 1 WHERE k = 'a'")
        try record(a)
        for peer in peers { for other in [b, a] { try peer.pull(from: other) } }
        try settle(a, b, peers[0], peers[1], peers[2])
        for peer in [a, b] + peers { #expect(try peer.strings("SELECT k FROM t ORDER BY k") == ["a", "x"]) }
    }
}
