import LogSyncModel
import Testing

@testable import LogSyncStore

/// Tables that are made anew with another key.
@Suite struct KeyRebuildTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private static let names = """
        CREATE TABLE t(uid TEXT PRIMARY KEY NOT NULL, note TEXT);
        INSERT INTO t VALUES('a', 'of a'), ('b', 'of b'), ('c', 'of c'), ('d', 'of d');
        """

    private func pair(
        _ schema: String = names, plan: (inout InitializePlan) -> Void = { _ in }
    ) throws -> (TestPeer, TestPeer) {
        let a = try TestPeer(folder, "a", sql: schema, plan: plan)
        return (a, try TestPeer(folder, "b", cloning: a))
    }

    /// A record whose row is gone does not stand in the way of a row that has got its number as an integer.
    @Test(arguments: ["rowid", "rowid - 1", "-rowid", "2 - rowid"])
    func aRowThatWasDeletedBeforeItsTableGotIntegersIsDeletedEverywhere(integer: String) throws {
        let (a, b) = try pair()
        try b.write("UPDATE t SET note = 'by b' WHERE uid = 'd'; DELETE FROM t WHERE uid = 'a'")
        try a.write("INSERT INTO t VALUES('e', 'of e'); DELETE FROM t WHERE uid = 'b'; DELETE FROM t WHERE uid = 'c'")
        let migration = """
            BEGIN; CREATE TABLE n(id INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE, note TEXT);
            INSERT INTO n SELECT (SELECT \(integer) FROM t AS o WHERE o.uid = t.uid) - 1, uid, note FROM t;
            DROP TABLE t; ALTER TABLE n RENAME TO t; COMMIT;
            """
        try a.write(migration)
        #expect(try a.recorded() == "t +1 -2")
        try a.write("INSERT INTO t(uid, note) VALUES('f', 'of f')")
        try b.pull(from: a)
        try b.write(migration)
        try agree(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT uid, note FROM t ORDER BY 1") == ["d|by b", "e|of e", "f|of f"])
        }
    }

    /// Nothing tells such rows apart, under either key; and their records know less than the rows say by now.
    /// In between, rows are numbered in another order than they had.
    @Test func rowsStayTheSameWhereNamesBecomeTheKeyForTheSecondTime() throws {
        let (a, b) = try pair(
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, uid TEXT, v TEXT);
            INSERT INTO t(uid, v) VALUES ('r0', '1'), ('s0', '2'), ('r1', '3'), ('s1', '4');
            """)
        let named = """
            CREATE TABLE n(uid TEXT PRIMARY KEY NOT NULL, v TEXT) WITHOUT ROWID; INSERT INTO n SELECT uid, v FROM t;
            DROP TABLE t; ALTER TABLE n RENAME TO t
            """
        let numbered = """
            CREATE TABLE n(id INTEGER PRIMARY KEY, uid TEXT UNIQUE, v TEXT); INSERT INTO n(uid, v) SELECT uid, v FROM t;
            DROP TABLE t; ALTER TABLE n RENAME TO t
            """
        try a.write(named)
        try a.record()
        try a.write("INSERT INTO t VALUES ('a1', '5'), ('b3', '6'), ('q', '7')")
        try agree(a, b)
        for migration in [numbered, named] {
            try a.write(migration)
            #expect(try a.record() == nil)
        }
        try b.write("UPDATE t SET v = 'b' WHERE uid = 's0'")
        try agree(a, b)
        #expect(
            try a.strings("SELECT uid, v FROM t ORDER BY uid")
                == ["a1|5", "b3|6", "q|7", "r0|1", "r1|3", "s0|b", "s1|4"])
    }

    @Test func rowsThatHoldNothingStayTheSameUnderAnotherKeyAfterAColumnCame() throws {
        let (a, b) = try pair(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT); INSERT INTO t(v) VALUES(NULL), ('v'), (NULL);")
        for peer in [a, b] { try peer.write("ALTER TABLE t ADD COLUMN w TEXT") }
        try a.write("INSERT INTO t(w) VALUES('w'), (NULL)")
        try agree(a, b)
        let migration = """
            BEGIN; CREATE TABLE n(v TEXT, w TEXT, uid TEXT NOT NULL PRIMARY KEY);
            INSERT INTO n SELECT v, w, 'u' || id FROM t; DROP TABLE t; ALTER TABLE n RENAME TO t; COMMIT;
            """
        try a.write(migration)
        #expect(try a.recorded()?.contains("-") != true)
        try b.pull(from: a)
        try b.write(migration)
        try agree(a, b)
        for peer in [a, b] { #expect(try peer.strings("SELECT v, w FROM t").count == 5) }
    }

    /// Under NOCASE the two names are one: a clone that has that schema from the beginning has to keep them apart.
    @Test func namesThatAreOneUnderALaterCollationAreTwoRowsOfWhichOneIsParked() throws {
        let schema = "CREATE TABLE t(name TEXT PRIMARY KEY NOT NULL, note TEXT); INSERT INTO t VALUES('ann', 'of ann');"
        let (a, b) = try pair(schema)
        let migration = """
            BEGIN; CREATE TABLE n(name TEXT PRIMARY KEY NOT NULL COLLATE NOCASE, note TEXT);
            INSERT INTO n SELECT name, note FROM t; DROP TABLE t; ALTER TABLE n RENAME TO t; COMMIT;
            """
        try a.write(migration)
        try b.pull(from: a)
        // A peer that has not migrated writes both in one transaction.
        try b.write("INSERT INTO t VALUES('bob', 'of bob'), ('BOB', 'of BOB')")
        try b.write("UPDATE t SET note = 'by b' WHERE name = 'ann'")
        try a.pull(from: b)
        #expect(try a.strings("SELECT count(*) FROM t WHERE name = 'bob'") == ["1"])
        #expect(try a.store.parkedRows(table: nil).count == 1)
        let clone = try TestPeer(folder, "c", emptyLike: a)
        for other in [a, b] {
            do {
                try clone.pull(from: other)
            } catch let unready as UnreadyTable {
                // As whatever imports does.
                #expect(unready.need == .identities)
                try clone.store.prepare(unready)
                try clone.pull(from: other)
            }
        }
        try clone.pull(from: a)
        #expect(try clone.strings("SELECT * FROM t ORDER BY 1") == a.strings("SELECT * FROM t ORDER BY 1"))
        try a.write("UPDATE t SET name = 'robert' WHERE name = 'bob'")
        try b.pull(from: a)
        try b.write(migration)
        try agree(a, b, clone)
        for peer in [a, b, clone] {
            #expect(try peer.strings("SELECT count(*), count(DISTINCT name) FROM t") == ["3|3"])
            #expect(try peer.store.parkedRows(table: nil).isEmpty)
            #expect(try peer.strings("SELECT note FROM t WHERE name = 'ANN'") == ["by b"])
        }
    }

    private func rebuild(_ table: String, _ declaration: String, _ select: String) -> String {
        "BEGIN; CREATE TABLE n(\(declaration); INSERT INTO n SELECT \(select) FROM \(table); DROP TABLE \(table); "
            + "ALTER TABLE n RENAME TO \(table); COMMIT"
    }

    /// As whatever imports does.
    private func pull(from other: TestPeer, to peer: TestPeer) throws {
        do {
            try peer.pull(from: other)
        } catch let unready as UnreadyTable {
            try peer.store.prepare(unready)
            try peer.pull(from: other)
        }
    }

    /// Its rows are called by identities that their key does not spell.
    @Test(arguments: [(") WITHOUT ROWID", ")"), (")", ") WITHOUT ROWID")])
    func rowsOfAWiderKeyKeepTheirIdentitiesWhereTheRowidComesOrGoes(tails: (first: String, then: String)) throws {
        let (a, b) = try pair()
        let columns = "uid TEXT NOT NULL, note TEXT, grp TEXT NOT NULL DEFAULT 'g', PRIMARY KEY(uid, grp)"
        try a.write(rebuild("t", columns + tails.first, "uid, note, 'g'"))
        try a.record()
        try a.write(rebuild("t", columns + tails.then, "uid, note, grp"))
        #expect(try a.record() == nil)
        try b.write("UPDATE t SET note = 'by b' WHERE uid = 'a'")
        try b.write(rebuild("t", columns + tails.then, "uid, note, 'g'"))
        try agree(a, b)
        for peer in [a, b] { #expect(try peer.strings("SELECT note FROM t WHERE uid = 'a'") == ["by b"]) }
    }

    /// The new integers are those of other rows' names.
    @Test(arguments: [" UNIQUE", ""])
    func anIntegerThatWasTheKeyAndIsAColumnNowSaysWhichRowItIs(unique: String) throws {
        let a = try TestPeer(
            folder, "a",
            sql: "CREATE TABLE t(k INTEGER PRIMARY KEY, v TEXT); INSERT INTO t VALUES(2, 'two'), (3, 'three')",
            plan: { $0.identities["t"] = .natural })
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write(
            rebuild("t", "id INTEGER PRIMARY KEY, k INTEGER NOT NULL\(unique), v TEXT)", "k - 1, k, v"))
        #expect(try a.recorded() == nil)
        try b.write("UPDATE t SET v = 'by b' WHERE k = 2; INSERT INTO t VALUES(4, 'four')")
        try a.write("UPDATE t SET v = 'by a' WHERE k = 3")
        try b.pull(from: a)
        try a.pull(from: b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT k, v FROM t ORDER BY 1") == ["2|by b", "3|by a", "4|four"])
        }
        #expect(try a.digest() == b.digest())
    }

    /// What is UNIQUE beside the new integer says of a new row which one it is, and of these nothing.
    @Test func rowsThatHadOtherKeysKeepTheirIdentitiesBesideAnIntegerAndAUniqueName() throws {
        let (a, b) = try pair("CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT); INSERT INTO t(v) VALUES('x'), (NULL)")
        try a.write(rebuild("t", "v TEXT, uid TEXT PRIMARY KEY NOT NULL)", "v, 'u' || id"))
        try a.record()
        try a.write("INSERT INTO t VALUES('z', 'u3')")
        try a.write(rebuild("t", "id INTEGER PRIMARY KEY, v TEXT, uid TEXT NOT NULL UNIQUE)", "rowid + 5, v, uid"))
        #expect(try a.recorded() == "t +1")
        try b.write("UPDATE t SET v = 'by b' WHERE id = 2")
        try pull(from: a, to: b)
        try pull(from: b, to: a)
        #expect(try a.strings("SELECT v, uid FROM t ORDER BY uid") == ["x|u1", "by b|u2", "z|u3"])
        try a.write("UPDATE t SET uid = 'u4' WHERE uid = 'u1'; UPDATE t SET v = 'by a' WHERE uid = 'u2'")
        #expect(try a.recorded() == "t +1 ~1 -1")
        try pull(from: a, to: b)
        #expect(try b.strings("SELECT v FROM t ORDER BY 1") == ["by a", "x", "z"])
    }

    /// They would be deleted and come again, once for each peer that migrates.
    @Test func rowsThatHoldTheSameKeepTheirIdentitiesUnderNewKeys() throws {
        let (a, b) = try pair(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT); INSERT INTO t(v) VALUES('x'), ('x'), (NULL)")
        let migration = rebuild("t", "v TEXT, uid TEXT PRIMARY KEY NOT NULL)", "v, lower(hex(randomblob(8)))")
        try a.write(migration)
        try b.write("UPDATE t SET v = 'by b' WHERE id = 2")
        try b.record()
        try b.write(migration)
        try agree(a, b)
        #expect(try a.strings("SELECT v FROM t ORDER BY uid") == b.strings("SELECT v FROM t ORDER BY uid"))
        for peer in [a, b] {
            #expect(try peer.strings("SELECT coalesce(v, '-') FROM t ORDER BY 1") == ["-", "by b", "x"])
        }
    }

    /// Whether the other machine's migration was met before decides nothing.
    @Test(arguments: [true, false])
    func aTextKeyThatBecomesTheIntegerKeyGoesOnNamingTheRows(seesOther: Bool) throws {
        let (a, b) = try pair(
            """
            CREATE TABLE t(code TEXT PRIMARY KEY NOT NULL, n TEXT);
            CREATE TABLE c(id INTEGER PRIMARY KEY, code TEXT REFERENCES t(code), n TEXT);
            """)
        let migration = """
            BEGIN; CREATE TABLE m(code INTEGER PRIMARY KEY NOT NULL, n TEXT); INSERT INTO m SELECT * FROM t;
            CREATE TABLE o(id INTEGER PRIMARY KEY, code INT REFERENCES t(code), n TEXT); INSERT INTO o SELECT * FROM c;
            DROP TABLE c; DROP TABLE t; ALTER TABLE m RENAME TO t; ALTER TABLE o RENAME TO c; COMMIT;
            """
        func insert(_ code: Int, on peer: TestPeer) throws {
            try peer.write(
                "INSERT INTO t VALUES(\(code), 'n\(code)'); INSERT INTO c(code, n) VALUES(\(code), 'n\(code)')")
        }
        try insert(101, on: a)
        try insert(201, on: b)
        try agree(a, b)
        try insert(102, on: a)
        try a.write(migration)
        try insert(103, on: a)
        try insert(202, on: b)
        if seesOther { try b.pull(from: a) } else { try b.record() }
        try b.write(migration)
        try insert(203, on: b)
        try agree(a, b)
        try insert(104, on: a)
        try agree(a, b)
        for peer in [a, b] {
            let rows = try peer.strings("SELECT t.code, t.n, c.n FROM t JOIN c ON c.code = t.code ORDER BY 1")
            #expect(rows == [101, 102, 103, 104, 201, 202, 203].map { "\($0)|n\($0)|n\($0)" }, "\(peer.name)")
        }
    }

    /// A peer whose integers are the same everywhere gets a row of one that it has, under an identity that says nothing of it.
    @Test(arguments: ["", "; UPDATE t SET c = 'first'"])
    func anIntegerThatIsTheKeyStillIsOneRowsAlone(more: String) throws {
        let a = try TestPeer(folder, "a", sql: "CREATE TABLE t(k INTEGER PRIMARY KEY, c TEXT)") {
            $0.identities = ["t": .natural]
        }
        let b = try TestPeer(folder, "b", cloning: a)
        func rebuild(_ tail: String, _ columns: String) -> String {
            """
            BEGIN; CREATE TABLE n(id INTEGER PRIMARY KEY, k INTEGER NOT NULL, c TEXT);
            INSERT INTO n(\(columns)) SELECT \(columns) FROM t; DROP TABLE t; ALTER TABLE n RENAME TO t; \(tail); COMMIT
            """
        }
        let migrations = [rebuild("CREATE UNIQUE INDEX u ON t(k)", "k, c"), rebuild("", "id, k, c")]
        for migration in migrations {
            try a.write(migration)
            try a.record()
        }
        try a.write("INSERT INTO t(k, c) VALUES(6, 'of a'), (7, 'of a')\(more)")
        try b.write("INSERT INTO t(k, c) VALUES(6, 'of b')\(more)")
        for _ in 0..<2 {
            try b.pull(from: a)
            try a.pull(from: b)
        }
        #expect(try a.strings("SELECT k FROM t ORDER BY k") == ["6", "6", "7"])
        #expect(try b.strings("SELECT k FROM t ORDER BY k") == ["6", "7"])
        #expect(try b.store.audit().problems == [])
        for migration in migrations {
            try b.write(migration.replacing("UNIQUE INDEX", with: "INDEX"))
            try b.record()
        }
        try agree(a, b)
        #expect(try b.strings("SELECT k FROM t ORDER BY k") == ["6", "6", "7"])
    }

    private static let years = """
        CREATE TABLE yr(year INTEGER PRIMARY KEY, b TEXT);
        INSERT INTO yr VALUES(2020, 'r0'), (2021, 'r1'), (2022, 'r2');
        """

    private static func years(_ key: String) -> String {
        """
        BEGIN; CREATE TABLE n(\(key); INSERT INTO n SELECT year, b FROM yr;
        DROP TABLE yr; ALTER TABLE n RENAME TO yr; COMMIT;
        """
    }

    /// What says which row a record is of is the integer under which it stands, and the table has other rowids from then on.
    @Test(
        arguments: [
            "year INT NOT NULL PRIMARY KEY, b TEXT)", "year INTEGER PRIMARY KEY DESC, b TEXT)",
            "year TEXT PRIMARY KEY, b TEXT)", "year INTEGER PRIMARY KEY, b TEXT) WITHOUT ROWID",
            "year INT NOT NULL PRIMARY KEY, b TEXT UNIQUE)",
        ])
    func rowsStayTheSameWhoseIntegersBecomeAKeyBesideRowids(key: String) throws {
        let (a, b) = try pair(Self.years) { $0.identities["yr"] = .natural }
        try a.write("DELETE FROM yr WHERE year = 2021;" + Self.years(key))
        #expect(try a.recorded()?.contains("+") == false)
        try b.write("UPDATE yr SET b = 'by b' WHERE year = 2020")
        try b.pull(from: a)
        try b.write(Self.years(key))
        try agree(a, b)
        for peer in [a, b] { #expect(try peer.strings("SELECT * FROM yr ORDER BY 1") == ["2020|by b", "2022|r2"]) }
    }

    /// A row that is found by what it holds beside its key goes on under the identity that it was given, not under the one
    /// that its key spells by now: that would be said to nobody.
    @Test(
        arguments: [
            "UPDATE yr SET year = 2030 WHERE year = 2020",
            "INSERT INTO yr SELECT 2030, b FROM yr WHERE year = 2020; DELETE FROM yr WHERE year = 2020",
        ],
        [
            "y INT NOT NULL PRIMARY KEY, b TEXT)", "year TEXT PRIMARY KEY, b TEXT)",
            "year INT NOT NULL PRIMARY KEY, b TEXT)", "y INTEGER PRIMARY KEY, b TEXT) WITHOUT ROWID",
        ])
    func aRowWhoseIntegerChangesGoesOnAsItself(change: String, key: String) throws {
        let (a, b) = try pair(Self.years) { $0.identities["yr"] = .natural }
        let name = String(key.prefix { $0 != " " })
        let migration = Self.years(key)
        // Nothing captures that one.
        let later = "UPDATE yr SET \(name) = 2031 WHERE \(name) = 2021"
        try a.write(change + ";" + migration + later)
        try a.record()
        try b.write("UPDATE yr SET b = 'by b' WHERE year = 2020")
        try b.pull(from: a)
        try b.write(migration)
        try agree(a, b)
        #expect(try a.strings("SELECT \(name) FROM yr ORDER BY 1") == ["2022", "2030", "2031"])
        let clone = try TestPeer(folder, "c", emptyLike: a)
        for peer in [a, b] { try clone.pull(from: peer) }
        try agree(a, b, clone)
    }
}
