import Foundation
import LogSyncModel
import Testing

@testable import LogSyncStore

/// How a store follows what the app does to its schema.
@Suite struct SchemaTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    static let schema = """
        CREATE TABLE t(k TEXT PRIMARY KEY, x, y); CREATE TABLE i(id INTEGER PRIMARY KEY, x UNIQUE, t TEXT REFERENCES t);
        CREATE TABLE c(id INTEGER PRIMARY KEY, i INT REFERENCES i);
        INSERT INTO t VALUES ('a', 1, 1), ('b', 2, 2); INSERT INTO i VALUES (1, 'p', 'a'), (2, 'q', 'b'); INSERT INTO c VALUES (1, 2);
        """

    func pair(_ sql: String = schema) throws -> (TestPeer, TestPeer) {
        let a = try TestPeer(folder, "a", sql: sql)
        return (a, try TestPeer(folder, "b", cloning: a))
    }

    // MARK: Columns

    @Test func anAddedColumnIsNoWrite() throws {
        let (a, b) = try pair()
        for peer in [a, b] {
            try peer.write("ALTER TABLE t ADD COLUMN z TEXT DEFAULT 'd'; ALTER TABLE i ADD COLUMN z")
            #expect(try peer.recorded() == nil)
        }
        try agree(a, b)
        try a.write(
            "UPDATE t SET z = 'new' WHERE k = 'a'; UPDATE i SET z = 1 WHERE id = 1; INSERT INTO t VALUES ('c', 3, 3, NULL)"
        )
        #expect(try a.recorded() == "i ~1, t +1 ~1")
        #expect(try a.lastGroups().flatMap(\.columns).allSatisfy { $0.operation == .set })
        try agree(a, b)
        #expect(try b.strings("SELECT k, z FROM t") == ["a|new", "b|d", "c|NULL"])
        try b.write("UPDATE t SET z = 'd' WHERE k = 'a'")
        #expect(try b.recorded() == "t ~1")
        try agree(a, b)
    }

    @Test func aNewerPeersColumnWaitsAtAnOlderOne() throws {
        let (a, b) = try pair()
        try a.write("ALTER TABLE t ADD COLUMN z DEFAULT 'd'; ALTER TABLE i ADD COLUMN c INT REFERENCES c")
        try a.write(
            "UPDATE t SET z = 'za' WHERE k = 'a'; UPDATE i SET c = 1 WHERE id = 2; INSERT INTO t VALUES ('n', 1, 1, 'zn')"
        )
        try b.pull(from: a)
        #expect(try b.strings("SELECT * FROM t") == ["a|1|1", "b|2|2", "n|1|1"])
        #expect(try b.recorded() == nil)
        // What the older one writes meanwhile leaves them alone.
        try b.write("UPDATE t SET x = 9 WHERE k = 'a'")
        try converge(a, b)
        #expect(try a.strings("SELECT * FROM t") == ["a|9|1|za", "b|2|2|d", "n|1|1|zn"])
        try a.write("UPDATE t SET z = 'zb' WHERE k = 'b'")
        try converge(a, b)
        try b.write("ALTER TABLE t ADD COLUMN z DEFAULT 'd'; ALTER TABLE i ADD COLUMN c INT REFERENCES c")
        #expect(try b.recorded() == nil)
        let shown = try b.strings("SELECT * FROM t")
        #expect(shown == ["a|9|1|za", "b|2|2|zb", "n|1|1|zn"])
        #expect(try b.strings("SELECT c FROM i") == ["NULL", "1"])
        try agree(a, b)
        try b.write("UPDATE t SET z = 'b' WHERE k = 'a'")
        try agree(a, b)
        #expect(try a.strings("SELECT z FROM t WHERE k = 'a'") == ["b"])
    }

    @Test func valuesThatAMigrationGaveGiveWayToWrites() throws {
        let (a, b) = try pair()
        try a.write("ALTER TABLE t ADD COLUMN z")
        _ = try a.store.record()
        try a.write("UPDATE t SET z = 'written' WHERE k = 'a'")
        _ = try a.store.record()
        // The other one's migration fills the column, later by the clock.
        try b.write("ALTER TABLE t ADD COLUMN z; UPDATE t SET z = 'filled'")
        _ = try b.store.record()
        try agree(a, b)
        for peer in [a, b] {
            let shown = try peer.strings("SELECT z FROM t")
            #expect(shown == ["written", "filled"])
        }
    }

    @Test func whatAProgramWritesToANewColumnIsAWriteOfItsTime() throws {
        for later in ["a", "b"] {
            for fill in [
                "", "UPDATE t SET z = 'filled';",
                """
                UPDATE t SET z = 'f' WHERE k = 'a'; UPDATE t SET z = 'f' WHERE k = 'b'; \
                UPDATE t SET z = 'f' WHERE k = 'c';
                """,
            ] {
                let folder = try TestFolder()
                let a = try TestPeer(
                    folder, "a",
                    sql: "CREATE TABLE t(k TEXT PRIMARY KEY, x); INSERT INTO t VALUES('a', 1), ('b', 2), ('c', 3)")
                let b = try TestPeer(folder, "b", cloning: a)
                try a.write("ALTER TABLE t ADD COLUMN z;" + fill)
                try b.write("ALTER TABLE t ADD COLUMN z;" + fill)
                // Before anything looks again, at one peer after the other. In a millisecond of their own: rows that are
                // written in one and the same may be one statement's.
                Thread.sleep(forTimeInterval: 0.003)
                let (first, second) = later == "a" ? (b, a) : (a, b)
                try first.write("UPDATE t SET z = 'first' WHERE k = 'b'")
                try second.write("UPDATE t SET z = 'only' WHERE k = 'a'")
                Thread.sleep(forTimeInterval: 0.003)
                try second.write("UPDATE t SET z = 'last' WHERE k = 'b'")
                try agree(a, b)
                for peer in [a, b] {
                    let written = try peer.strings("SELECT z FROM t WHERE k <> 'c' ORDER BY k")
                    #expect(written == ["only", "last"], "\(fill), \(later)")
                }
            }
        }
    }

    @Test func ofTwoMigrationsTheOneThatHasSeenTheOtherCounts() throws {
        for later in ["a", "b"] {
            let folder = try TestFolder()
            let a = try TestPeer(
                folder, "a", sql: "CREATE TABLE t(k TEXT PRIMARY KEY, v); INSERT INTO t VALUES('1', 'x1'), ('2', 'x2')")
            let b = try TestPeer(folder, "b", cloning: a)
            let migration = """
                BEGIN; ALTER TABLE t RENAME COLUMN v TO w; ALTER TABLE t ADD COLUMN v INT; UPDATE t SET v = length(w); COMMIT
                """
            let (first, second) = later == "a" ? (b, a) : (a, b)
            try first.write(migration)
            try second.write("UPDATE t SET v = 'edited' WHERE k = '2'")
            for _ in 0..<2 {
                try a.pull(from: b)
                try b.pull(from: a)
            }
            try second.write(migration)
            try agree(a, b)
            for peer in [a, b] {
                #expect(try peer.strings("SELECT w, v FROM t ORDER BY k") == ["x1|2", "edited|6"])
                #expect(try peer.store.conflicts(table: nil, all: false).isEmpty)
            }
        }
    }

    @Test func aKeptValueGoesWithARowWhoseKeyChangesWhenItsColumnComes() throws {
        for table in ["t", "w", "r"] {
            let folder = try TestFolder()
            let schema = """
                CREATE TABLE t(k TEXT PRIMARY KEY, x); CREATE TABLE w(k TEXT PRIMARY KEY, x) WITHOUT ROWID;
                CREATE TABLE r(k INTEGER PRIMARY KEY, x); INSERT INTO r VALUES (1, 1), (2, 2);
                INSERT INTO t VALUES (1, 1), (2, 2); INSERT INTO w VALUES (1, 1), (2, 2);
                """
            let a = try TestPeer(folder, "a", sql: schema) { $0.identities["r"] = .natural }
            let b = try TestPeer(folder, "b", cloning: a)
            let column = "ALTER TABLE \(table) ADD COLUMN z DEFAULT 'd';"
            try a.write(column + "UPDATE \(table) SET z = 'z' || k")
            try b.pull(from: a)
            try b.write(
                column + "UPDATE \(table) SET k = 7 WHERE k = 1; UPDATE \(table) SET k = 8, z = 'b' WHERE k = 2")
            try agree(a, b)
            for peer in [a, b] {
                #expect(try peer.strings("SELECT * FROM \(table) ORDER BY k") == ["7|1|z1", "8|2|b"])
            }
        }
    }

    @Test func aKeptValueComesBeforeAMigrationsFill() throws {
        let (a, b) = try pair()
        try a.write("ALTER TABLE t ADD COLUMN z")
        _ = try a.store.record()
        try a.write("UPDATE t SET z = 'written' WHERE k = 'a'")
        try b.pull(from: a)
        try b.write("ALTER TABLE t ADD COLUMN z; UPDATE t SET z = 'filled'")
        try agree(a, b)
        for peer in [a, b] {
            let shown = try peer.strings("SELECT z FROM t")
            #expect(shown == ["written", "filled"])
        }
    }

    @Test func aDroppedColumnGoesOnElsewhere() throws {
        let (a, b) = try pair()
        try a.write("ALTER TABLE t DROP COLUMN y")
        #expect(try a.recorded() == nil)
        try b.write("UPDATE t SET y = 'b' WHERE k = 'a'")
        try a.write("UPDATE t SET x = 'a' WHERE k = 'a'; INSERT INTO t VALUES ('n', 3)")
        try converge(a, b)
        #expect(try a.store.audit().problems == [])
        #expect(try b.store.audit().problems == [])
        #expect(try a.strings("SELECT * FROM t") == ["a|a", "b|2", "n|3"])
        #expect(try b.strings("SELECT * FROM t") == ["a|a|b", "b|2|2", "n|3|NULL"])
        #expect(try a.recorded() == nil)
        try b.write("ALTER TABLE t DROP COLUMN y")
        try agree(a, b)
        try b.write("DELETE FROM t WHERE k = 'a'; UPDATE t SET k = 'm' WHERE k = 'b'")
        try agree(a, b)
    }

    @Test func aRenamedColumnIsTheSameColumn() throws {
        let (a, b) = try pair()
        try a.write("ALTER TABLE t RENAME COLUMN x TO \"X x\"; ALTER TABLE i RENAME COLUMN x TO y")
        #expect(try a.recorded() == nil)
        #expect(try a.store.audit().problems == [])
        try a.write(
            "UPDATE t SET \"X x\" = 'new' WHERE k = 'a'; INSERT INTO t VALUES ('c', 5, 5); UPDATE i SET y = 'r' WHERE id = 1"
        )
        try b.write("UPDATE t SET x = 'other' WHERE k = 'b'")
        try converge(a, b)
        #expect(try b.strings("SELECT * FROM t") == ["a|new|1", "b|other|2", "c|5|5"])
        #expect(try a.strings("SELECT * FROM t") == ["a|new|1", "b|other|2", "c|5|5"])
        #expect(try b.strings("SELECT x FROM i ORDER BY id") == ["r", "q"])
        try b.write("ALTER TABLE t RENAME COLUMN x TO \"X x\"; ALTER TABLE i RENAME COLUMN x TO y")
        try agree(a, b)
        let c = try TestPeer(folder, "c", cloning: b)
        try c.pull(from: a)
        try c.write("UPDATE t SET \"X x\" = 'c' WHERE k = 'b'")
        try agree(a, b, c)
        #expect(try a.strings("SELECT \"X x\" FROM t WHERE k = 'b'") == ["c"])
    }

    @Test func aRenamedKeyColumnIsTheSameKey() throws {
        let (a, b) = try pair()
        try a.write("ALTER TABLE t RENAME COLUMN k TO kk; ALTER TABLE i RENAME COLUMN id TO ii")
        #expect(try a.recorded() == nil)
        try a.write(
            "UPDATE t SET x = 'new' WHERE kk = 'a'; INSERT INTO t VALUES ('c', 5, 5); INSERT INTO i VALUES (3, 'r', 'c'); DELETE FROM t WHERE kk = 'b'; UPDATE c SET i = 3"
        )
        try converge(a, b)
        #expect(try a.store.audit().problems == [])
        #expect(try b.strings("SELECT * FROM t") == ["a|new|1", "c|5|5"])
        #expect(try b.strings("SELECT i.x FROM c JOIN i ON i.id = c.i") == ["r"])
        try b.write(
            "ALTER TABLE t RENAME COLUMN k TO kk; ALTER TABLE i RENAME COLUMN id TO ii; UPDATE t SET kk = 'd' WHERE kk = 'c'"
        )
        try agree(a, b)
        #expect(try a.strings("SELECT kk FROM t") == ["a", "d"])
    }

    @Test func aColumnDroppedAndAnotherAddedInItsPlaceIsNoRename() throws {
        let (a, b) = try pair()
        try a.write("ALTER TABLE t DROP COLUMN y; ALTER TABLE t ADD COLUMN z; UPDATE t SET z = 'zz' WHERE k = 'a'")
        try converge(a, b)
        #expect(try b.strings("SELECT * FROM t") == ["a|1|1", "b|2|2"])
        #expect(try a.strings("SELECT * FROM t") == ["a|1|zz", "b|2|NULL"])
        #expect(try a.store.audit().problems == [])
    }

    // MARK: Tables

    @Test func aRenamedTableIsTheSameTable() throws {
        for (index, legacy) in ["OFF", "ON"].enumerated() {
            let a = try TestPeer(folder, "a\(index)", sql: Self.schema)
            let b = try TestPeer(folder, "b\(index)", cloning: a)
            try a.write(
                "PRAGMA legacy_alter_table = \(legacy); ALTER TABLE t RENAME TO \"t t\"; ALTER TABLE \"t t\" ADD COLUMN z; ALTER TABLE i RENAME TO ii"
            )
            #expect(try a.recorded() == nil)
            #expect(try a.store.audit().problems == [])
            try a.write(
                "UPDATE \"t t\" SET x = 'new', z = 1 WHERE k = 'a'; INSERT INTO ii VALUES (3, 'r', 'a'); UPDATE c SET i = 3"
            )
            try b.write("UPDATE t SET y = 'b' WHERE k = 'a'; DELETE FROM t WHERE k = 'b'")
            try converge(a, b)
            #expect(try a.store.audit().problems == [])
            #expect(try b.store.audit().problems == [])
            #expect(try a.strings("SELECT * FROM \"t t\"") == ["a|new|b|1"])
            #expect(try b.strings("SELECT * FROM t") == ["a|new|b"])
            #expect(try b.strings("SELECT i.x FROM c JOIN i ON i.id = c.i") == ["r"])
            try b.write("ALTER TABLE t RENAME TO \"t t\"; ALTER TABLE \"t t\" ADD COLUMN z; ALTER TABLE i RENAME TO ii")
            try agree(a, b)
            #expect(try b.strings("SELECT * FROM \"t t\"") == ["a|new|b|1"])
            let c = try TestPeer(folder, "c\(index)", cloning: a)
            try c.pull(from: b)
            try c.write("UPDATE \"t t\" SET z = 'c'")
            try agree(a, b, c)
        }
    }

    @Test func aNewTableIsTracked() throws {
        let (a, b) = try pair()
        for peer in [a, b] {
            try peer.write(
                "CREATE TABLE n(id INTEGER PRIMARY KEY, v); INSERT INTO n VALUES (1, 'seed'); CREATE TABLE m(k TEXT PRIMARY KEY, n INT REFERENCES n); CREATE TABLE nokey(rowid, oid, _rowid_)"
            )
        }
        try a.write("INSERT INTO n VALUES (2, 'a'); INSERT INTO m VALUES ('x', 2)")
        #expect(try a.recorded() == "m +1, n +2")
        try agree(a, b)
        // The rows that both migrations brought are the same.
        for peer in [a, b] {
            #expect(try peer.strings("SELECT v FROM n ORDER BY v") == ["a", "seed"])
            #expect(try peer.strings("SELECT n.v FROM m JOIN n ON n.id = n") == ["a"])
        }
        try b.write("UPDATE n SET v = 'b' WHERE v = 'seed'; INSERT INTO nokey VALUES (1, 2, 3)")
        #expect(try b.recorded() == "n ~1")
        try agree(a, b)
    }

    @Test func aNewerPeersTableWaitsAtAnOlderOne() throws {
        let (a, b) = try pair()
        try a.write(
            """
            CREATE TABLE z(id INTEGER PRIMARY KEY, v); CREATE TABLE m(id INTEGER PRIMARY KEY, z INT REFERENCES z, i INT REFERENCES i, v);
            INSERT INTO z VALUES (1, 'p'), (2, 'q'), (3, 'r'); INSERT INTO m VALUES (1, 2, 1, 'x'), (2, 3, 2, 'y');
            """)
        try b.pull(from: a)
        #expect(try b.store.summary().hiddenForUnknownSchema == 5)
        try a.write("UPDATE m SET v = 'X' WHERE id = 1; DELETE FROM z WHERE id = 1")
        try converge(a, b)
        try b.write(
            "CREATE TABLE z(id INTEGER PRIMARY KEY, v); CREATE TABLE m(id INTEGER PRIMARY KEY, z INT REFERENCES z, i INT REFERENCES i, v)"
        )
        _ = try b.store.record()
        #expect(try b.strings("SELECT * FROM z") == ["2|q", "3|r"])
        #expect(try b.strings("SELECT * FROM m") == ["1|2|1|X", "2|3|2|y"])
        #expect(try b.store.summary().hiddenForUnknownSchema == 0)
        try agree(a, b)
        try b.write("UPDATE m SET v = 'b' WHERE id = 2; DELETE FROM z WHERE id = 2")
        try agree(a, b)
    }

    @Test func aDroppedTableIsNoDeletion() throws {
        let (a, b) = try pair()
        try a.write("DROP TABLE c; DROP TABLE i")
        #expect(try a.recorded() == nil)
        try b.write("UPDATE i SET x = 'b' WHERE id = 1; DELETE FROM i WHERE id = 2; INSERT INTO i VALUES (3, 'n', 'a')")
        try a.write("UPDATE t SET x = 'a'")
        try converge(a, b)
        #expect(try b.strings("SELECT * FROM i") == ["1|b|a", "3|n|a"])
        #expect(try b.strings("SELECT x FROM t") == ["a", "a"])
        for peer in [a, b] {
            #expect(try peer.store.audit().problems == [])
            #expect(try peer.recorded() == nil)
        }
        // Come again, it is no deletion either; what this peer still knows is shown.
        try a.write(
            "CREATE TABLE i(id INTEGER PRIMARY KEY, x UNIQUE, t TEXT REFERENCES t); INSERT INTO i VALUES (7, 'own', 'b')"
        )
        _ = try a.store.record()
        #expect(try a.strings("SELECT x FROM i ORDER BY x") == ["n", "own"])
        try converge(a, b)
        #expect(try b.strings("SELECT x FROM i ORDER BY x") == ["b", "n", "own"])
        #expect(try a.store.audit().problems == [])
        #expect(try b.store.audit().problems == [])
    }

    @Test func aTableDroppedAndMadeAgainHoldsWhatItHolds() throws {
        let (a, b) = try pair(
            "CREATE TABLE t(k TEXT PRIMARY KEY, x, y, z UNIQUE); INSERT INTO t VALUES ('a', 1, 1, 1), ('b', 2, 2, 2)")
        try a.write(
            "DROP TABLE t; CREATE TABLE t(k TEXT PRIMARY KEY, x, y, z UNIQUE); INSERT INTO t VALUES ('a', 1, 'new', 1), ('n', 1, 1, 4)"
        )
        #expect(try a.recorded() == "t +1 ~1 -1")
        try agree(a, b)
        #expect(try b.strings("SELECT k, x, y FROM t ORDER BY k") == ["a|1|new", "n|1|1"])
        try a.write("UPDATE t SET x = 5")
        try agree(a, b)
        #expect(try b.strings("SELECT x FROM t") == ["5", "5"])
    }

    @Test func aRebuildWithChangesInside() throws {
        let (a, b) = try pair()
        try a.write("UPDATE t SET x = 'before' WHERE k = 'a'; INSERT INTO i VALUES (5, 'five', NULL)")
        try a.write(
            """
            PRAGMA foreign_keys = OFF; BEGIN;
            CREATE TABLE new_t(k TEXT PRIMARY KEY, y, x NOT NULL DEFAULT 'none', z DEFAULT 'zd') WITHOUT ROWID;
            INSERT INTO new_t(k, y, x) SELECT k, y, x FROM t; INSERT INTO new_t(k) VALUES ('added'); UPDATE new_t SET y = 'inside' WHERE k = 'a';
            DROP TABLE t; ALTER TABLE new_t RENAME TO t;
            CREATE TABLE new_i(id INTEGER PRIMARY KEY AUTOINCREMENT, x UNIQUE, t TEXT REFERENCES t, extra);
            INSERT INTO new_i SELECT id, x || '!', t, NULL FROM i; DROP TABLE i; ALTER TABLE new_i RENAME TO i; CREATE INDEX i_t ON i(t); COMMIT;
            """)
        try a.write("UPDATE t SET z = 'after' WHERE k = 'added'; DELETE FROM i WHERE id = 1")
        try converge(a, b)
        #expect(try a.store.audit().problems == [])
        #expect(try b.store.audit().problems == [])
        #expect(try b.strings("SELECT * FROM t ORDER BY k") == ["a|before|inside", "added|none|NULL", "b|2|2"])
        #expect(try b.strings("SELECT x FROM i ORDER BY x") == ["five!", "q!"])
        #expect(try b.strings("SELECT i.x FROM c JOIN i ON i.id = c.i") == ["q!"])
        #expect(try a.recorded() == nil)
        try b.write("UPDATE t SET x = 'b' WHERE k = 'a'; UPDATE i SET x = 'Q' WHERE x = 'q!'")
        try converge(a, b)
        #expect(try a.strings("SELECT x, z FROM t WHERE k = 'a'") == ["b|zd"])
        #expect(try a.strings("SELECT x FROM i ORDER BY x") == ["Q", "five!"])
    }

    @Test func aRebuildByWayOfTheOldTablesName() throws {
        let (a, b) = try pair(
            "CREATE TABLE t(k INT, l INT, x, y UNIQUE, PRIMARY KEY(k, l)); INSERT INTO t VALUES ('a', 1, 1, 1), ('b', 1, 2, 2)"
        )
        try a.write(
            """
            PRAGMA legacy_alter_table = ON; PRAGMA foreign_keys = OFF; BEGIN; ALTER TABLE t RENAME TO old_t;
            CREATE TABLE t(k INT, l INT, x, y UNIQUE, PRIMARY KEY(k, l)); INSERT INTO t SELECT * FROM old_t WHERE k = 'a'; DROP TABLE old_t; COMMIT
            """)
        try a.write("INSERT INTO t VALUES ('n', 1, 1, 5)")
        #expect(try a.recorded() == "t +1 -1")
        try agree(a, b)
        #expect(try b.strings("SELECT * FROM t ORDER BY k") == ["a|1|1|1", "n|1|1|5"])
    }
}
