import LogSyncModel
import Testing

@testable import LogSyncStore

/// Who stands where a constraint lets only one, and what becomes of the others.
@Suite struct ConstraintTests {
    let clock = TestClock()

    func pair(
        _ sql: String, plan: (inout InitializePlan) -> Void = { _ in }
    ) throws -> (TestFolder, TestPeer, TestPeer) {
        let folder = try TestFolder()
        let a = try TestPeer(folder, "a", sql: "PRAGMA foreign_keys=ON;" + sql, clock: clock, plan: plan)
        clock.milliseconds += 1000
        let b = try TestPeer(folder, "b", cloning: a, clock: clock)
        try b.write("PRAGMA foreign_keys=ON")
        return (folder, a, b)
    }

    func settle(_ peers: TestPeer..., breakingChecks: Bool = false) throws {
        for _ in 0..<3 { for x in peers { for y in peers where x !== y { try x.pull(from: y) } } }
        for peer in peers {
            #expect(try peer.digest() == peers[0].digest())
            #expect(try peer.store.audit().problems == [])
            if !breakingChecks { #expect(try peer.strings("PRAGMA integrity_check") == ["ok"]) }
            #expect(try peer.store.record() == nil, "a phantom change")
        }
    }

    /// Records, and lets a second pass, so that what comes after is younger.
    func record(_ peer: TestPeer) throws {
        _ = try peer.store.record()
        clock.milliseconds += 1000
    }

    func parked(_ peer: TestPeer, all: Bool = false) throws -> [String] {
        try peer.store.parkedRows(table: nil, all: all).map { "\($0.table) \($0.reason)" }.sorted()
    }

    // MARK: UNIQUE

    @Test(arguments: [
        "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT UNIQUE, v)",
        "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE UNIQUE, v)",
        "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, v); CREATE UNIQUE INDEX u ON t(lower(name))",
        "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, v); CREATE UNIQUE INDEX u ON t(name, 1) WHERE v > 0",
        "CREATE TABLE t(id TEXT PRIMARY KEY, name TEXT UNIQUE, v) WITHOUT ROWID",
        "CREATE TABLE t(id TEXT PRIMARY KEY, name TEXT, n TEXT AS (name || '!') UNIQUE, v)",
        "CREATE TABLE t(id TEXT PRIMARY KEY, name TEXT, v, UNIQUE(name) ON CONFLICT REPLACE)",
    ])
    func theOlderStandsAndTheYoungerComesBackWhenItIsGone(schema: String) throws {
        let (folder, a, b) = try pair(schema)
        try a.write("INSERT INTO t(id, name, v) VALUES (1, 'x', 1)")
        try record(a)
        try b.write("INSERT INTO t(id, name, v) VALUES (2, 'x', 2)")
        try record(b)
        let c = try TestPeer(folder, "c", cloning: a, clock: clock)
        try c.pull(from: b)
        try settle(a, b, c)
        for peer in [a, b, c] {
            #expect(try peer.strings("SELECT v FROM t") == ["1"])
            #expect(try parked(peer) == ["t unique"])
        }
        try b.write("DELETE FROM t")
        try settle(a, b, c)
        for peer in [a, b, c] {
            #expect(try peer.strings("SELECT v FROM t") == ["2"])
            #expect(try parked(peer) == [])
        }
    }

    @Test func aKeyMadeOfAReferenceIsComparedByTheIntegerOfARowThatGoesInTheSameTransaction() throws {
        let (folder, a, b) = try pair(
            """
            PRAGMA foreign_keys=OFF;
            CREATE TABLE parent(id INTEGER PRIMARY KEY, v);
            CREATE TABLE t(id INTEGER PRIMARY KEY, v, p INTEGER REFERENCES parent ON DELETE SET NULL);
            CREATE UNIQUE INDEX u ON t(coalesce(p, 'none'));
            INSERT INTO parent VALUES (1, 'x'), (2, 'y');
            """)
        try b.write("PRAGMA foreign_keys=OFF; INSERT INTO t(v, p) VALUES ('b', 2)")
        try record(b)
        // It leaves the reference dangling, which ends the key's enforcement.
        try a.write("INSERT INTO t(v, p) VALUES ('a', 2); DELETE FROM parent WHERE id = 2")
        try record(a)
        try settle(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT v FROM t") == ["b"])
            #expect(try parked(peer) == ["t unique"])
        }
        withExtendedLifetime(folder) {}
    }

    @Test func threeTakeOneNameAndAllComeBackInTurn() throws {
        let (folder, a, b) = try pair("CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT UNIQUE)")
        let c = try TestPeer(folder, "c", cloning: a, clock: clock)
        for peer in [c, b, a] {
            try peer.write("INSERT INTO t(name) VALUES ('x')")
            try record(peer)
        }
        try settle(a, b, c)
        #expect(try parked(a) == ["t unique", "t unique"])
        try a.write("UPDATE t SET name = 'y'")
        try settle(a, b, c)
        #expect(try b.strings("SELECT name FROM t ORDER BY 1") == ["x", "y"])
        #expect(try parked(b) == ["t unique"])
        try b.write("DELETE FROM t WHERE name = 'x'")
        try settle(a, b, c)
        #expect(try c.strings("SELECT name FROM t ORDER BY 1") == ["x", "y"])
        #expect(try parked(c) == [])
    }

    @Test func twoValuesAreSwappedInOneTransaction() throws {
        let (_, a, b) = try pair("CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT UNIQUE)")
        try a.write("INSERT INTO t VALUES (1, 'x'), (2, 'y')")
        try settle(a, b)
        try a.write(
            """
            BEGIN; UPDATE t SET name = 'z' WHERE id = 1; UPDATE t SET name = 'x' WHERE id = 2;
            UPDATE t SET name = 'y' WHERE id = 1; COMMIT
            """)
        try settle(a, b)
        #expect(try b.strings("SELECT name FROM t ORDER BY id") == ["y", "x"])
        #expect(try parked(b) == [])
    }

    // MARK: NOT NULL and CHECK

    @Test(arguments: ["", " WITHOUT ROWID"])
    func aRowThatBreaksACheckIsListedWhateverElseIsWrittenToIt(without: String) throws {
        let (_, a, b) = try pair(
            "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, low, high, note, CHECK(low <= high))\(without);"
                + "INSERT INTO t VALUES ('x', 1, 9, NULL)")
        try a.write("UPDATE t SET low = 5")
        try record(a)
        try b.write("UPDATE t SET high = 3")
        try settle(a, b, breakingChecks: true)
        for (number, writer) in [a, b].enumerated() {
            // SQLite looks at no constraint that names none of the columns written.
            try writer.write("UPDATE t SET note = \(number)")
            try settle(a, b, breakingChecks: true)
            for peer in [a, b] { #expect(try parked(peer) == ["t check"]) }
        }
        try b.write("UPDATE t SET high = 7")
        try settle(a, b)
        for peer in [a, b] { #expect(try parked(peer) == []) }
    }

    @Test func aCheckThatTwoGoodHalvesBreakIsShownAndListed() throws {
        let (_, a, b) = try pair(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, low, high, CHECK(low <= high)); INSERT INTO t VALUES (1, 1, 9)")
        try a.write("UPDATE t SET low = 8")
        try b.write("UPDATE t SET high = 2")
        try settle(a, b, breakingChecks: true)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT low, high FROM t") == ["8|2"])
            #expect(try parked(peer) == ["t check"])
        }
        try a.write("UPDATE t SET high = 10")
        try settle(a, b)
        for peer in [a, b] { #expect(try parked(peer) == []) }
    }

    @Test func aReferenceThatMayNotBeNullIsNotMadeNull() throws {
        let (_, a, b) = try pair(
            """
            CREATE TABLE p(id INTEGER PRIMARY KEY);
            CREATE TABLE c(id INTEGER PRIMARY KEY, p INTEGER NOT NULL REFERENCES p(id) ON DELETE SET NULL);
            INSERT INTO p VALUES (5);
            """)
        try a.write("DELETE FROM p")
        try record(a)
        try b.write("INSERT INTO c VALUES (1, 5)")
        try settle(a, b)
        for peer in [a, b] { #expect(try parked(peer) == ["c not-null"]) }
    }

    // MARK: unique-merge

    private static let tags = """
        CREATE TABLE post(id INTEGER PRIMARY KEY, title TEXT);
        CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE UNIQUE, color TEXT);
        CREATE TABLE tagging(post INTEGER REFERENCES post(id) ON DELETE CASCADE,
                             tag INTEGER REFERENCES tag(id) ON DELETE CASCADE, PRIMARY KEY(post, tag));
        INSERT INTO post VALUES (1, 'one'), (2, 'two');
        """

    @Test func duplicatesAreFoldedAndReferencesShowTheOlder() throws {
        let (_, a, b) = try pair(Self.tags) { $0.policies = [("tag", "unique-merge")] }
        try a.write("INSERT INTO tag VALUES (1, 'swift', 'red'); INSERT INTO tagging VALUES (1, 1), (2, 1)")
        try record(a)
        try b.write("INSERT INTO tag VALUES (1, 'Swift', 'blue'); INSERT INTO tagging VALUES (1, 1)")
        try settle(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT name, color FROM tag") == ["swift|red"])
            #expect(
                try peer.strings("SELECT post, name FROM tagging JOIN tag ON tag.id = tag ORDER BY post")
                    == ["1|swift", "2|swift"])
            #expect(try parked(peer) == [])
            #expect(try parked(peer, all: true) == ["tag merged", "tagging merged"])
        }
        try b.write("DELETE FROM tag")
        try settle(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT count(*) FROM tag") == ["0"])
            #expect(try peer.strings("SELECT count(*) FROM tagging") == ["0"])
            #expect(try parked(peer, all: true) == [])
        }
    }

    @Test(arguments: ["", "WITHOUT ROWID"])
    func aRowWhoseKeyFollowsAFoldedRowIsWrittenToUnderThatKey(option: String) throws {
        let (_, a, b) = try pair(
            """
            CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
            CREATE TABLE tagging(
                post TEXT NOT NULL, tag INTEGER NOT NULL REFERENCES tag, note TEXT, PRIMARY KEY(post, tag)) \(option);
            """
        ) { $0.policies = [("tag", "unique-merge")] }
        try a.write("INSERT INTO tag VALUES (1, 'swift')")
        try record(a)
        try b.write("INSERT INTO tag VALUES (7, 'swift'); INSERT INTO tagging VALUES ('x', 7, 'made')")
        try settle(a, b)
        func notes(_ expected: [String]) throws {
            for peer in [a, b] {
                #expect(try peer.strings("SELECT post, note, name FROM tagging JOIN tag ON tag.id = tag") == expected)
                #expect(try peer.store.audit().problems == [])
            }
        }
        try notes(["x|made|swift"])
        for (number, peer) in [b, a].enumerated() {
            try peer.write("UPDATE tagging SET note = 'edited \(number)'")
            try settle(a, b)
            try notes(["x|edited \(number)|swift"])
        }
        try b.write("REPLACE INTO tagging SELECT post, tag, 'replaced' FROM tagging")
        try settle(a, b)
        try notes(["x|replaced|swift"])
        try a.write("UPDATE tag SET name = 'bird'")
        try settle(a, b)
        try b.write("DELETE FROM tagging")
        try settle(a, b)
        try notes([])
    }

    @Test func aFoldedRowThatIsWrittenAgainIsNotDeletedWithTheOther() throws {
        let (_, a, b) = try pair(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, code TEXT UNIQUE)"
        ) {
            $0.policies = [("t", "unique-merge")]
            $0.identities["t"] = .columns(["name"])
        }
        try a.write("INSERT INTO t(name, code) VALUES ('a', 'x')")
        try record(a)
        try b.write("INSERT INTO t(name, code) VALUES ('b', 'x')")
        try settle(a, b)
        #expect(try parked(b, all: true) == ["t merged"])
        try b.write("DELETE FROM t; INSERT INTO t(name, code) VALUES ('b', 'y')")
        #expect(try b.recorded() == "t +1 -1")
        try settle(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT name, code FROM t") == ["b|y"])
            #expect(try parked(peer, all: true) == [])
        }
    }

    @Test func aFoldedRowComesOutAgainWhenTheNameIsAnother() throws {
        let (_, a, b) = try pair(Self.tags) { $0.policies = [("tag", "unique-merge")] }
        try a.write("INSERT INTO tag VALUES (1, 'swift', 'red')")
        try record(a)
        try b.write("INSERT INTO tag VALUES (1, 'Swift', 'blue'); INSERT INTO tagging VALUES (1, 1)")
        try settle(a, b)
        try a.write("UPDATE tag SET name = 'bird'")
        try settle(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT name FROM tag ORDER BY name COLLATE BINARY") == ["Swift", "bird"])
            #expect(try peer.strings("SELECT name FROM tagging JOIN tag ON tag.id = tag") == ["Swift"])
        }
    }

    // MARK: Deletes

    @Test func anEditBringsBackARowWholeUnderDeleteLoses() throws {
        let (_, a, b) = try pair(
            "CREATE TABLE t(id TEXT PRIMARY KEY, x, y); INSERT INTO t VALUES ('k', 1, 2), ('l', 3, 4)"
        ) { $0.policies = [("t", "delete-loses")] }
        try a.write("DELETE FROM t")
        try record(a)
        try b.write("UPDATE t SET x = 9 WHERE id = 'k'")
        try record(b)
        let step = try b.pull(from: a)
        #expect(step.count == 1)
        #expect(try b.strings("SELECT * FROM t") == ["k|9|2"])
        try settle(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT * FROM t") == ["k|9|2"])
            #expect(try peer.store.conflicts(table: nil, all: false).isEmpty)
        }
    }

    @Test func aRowThatComesBackIsStillTheOneThatOthersReferTo() throws {
        let (_, a, b) = try pair(
            """
            CREATE TABLE p(id INTEGER PRIMARY KEY, v);
            CREATE TABLE c(id INTEGER PRIMARY KEY, p INTEGER REFERENCES p(id) ON DELETE SET NULL);
            INSERT INTO p VALUES (3, 'old'); INSERT INTO c VALUES (1, 3);
            """
        ) { $0.policies = [("p", "delete-loses")] }
        try a.write("PRAGMA foreign_keys=OFF; DELETE FROM p")
        try record(a)
        try b.write("UPDATE p SET v = 'new'")
        try settle(a, b)
        for peer in [a, b] { #expect(try peer.strings("SELECT v FROM c JOIN p ON p.id = c.p") == ["new"]) }
    }

    // MARK: Counters

    @Test func aCounterAddsUpWhatEverybodyCounted() throws {
        let (folder, a, b) = try pair(
            "CREATE TABLE t(id TEXT PRIMARY KEY, n, x REAL); INSERT INTO t VALUES ('k', 10, 0.5)"
        ) {
            $0.policies = [("t.n", "sum"), ("t.x", "sum")]
        }
        let c = try TestPeer(folder, "c", cloning: a, clock: clock)
        try a.write("UPDATE t SET n = n + 1, x = x + 0.1")
        try a.write("UPDATE t SET n = n + 2")
        try b.write("UPDATE t SET n = n - 5, x = x + 0.2")
        try c.write("UPDATE t SET n = n + 100, x = x + 0.7")
        try settle(a, b, c)
        for peer in [a, b, c] {
            #expect(try peer.strings("SELECT n, round(x, 9) FROM t") == ["108|1.5"])
            #expect(try peer.strings("SELECT x FROM t") == a.strings("SELECT x FROM t"))
        }
        try a.write("UPDATE t SET n = n + 1")
        try b.write("UPDATE t SET n = n + 1")
        try settle(a, b, c)
        #expect(try c.strings("SELECT n FROM t") == ["110"])
        try a.write("UPDATE t SET n = 'none'")
        try settle(a, b, c)
        try c.write("UPDATE t SET n = 5")
        try settle(a, b, c)
        try a.write("UPDATE t SET n = n + 1")
        try b.write("UPDATE t SET n = n + 1")
        try settle(a, b, c)
        for peer in [a, b, c] { #expect(try peer.strings("SELECT n FROM t") == ["7"]) }
    }

    @Test func aColumnBecomesACounterLater() throws {
        let (_, a, b) = try pair("CREATE TABLE t(id INTEGER PRIMARY KEY, n); INSERT INTO t VALUES (1, 10), (2, 20)")
        try a.store.setPolicy("t.n", "sum")
        try settle(a, b)
        try a.write("UPDATE t SET n = n + 1")
        try b.write("UPDATE t SET n = n + 2; INSERT INTO t VALUES (3, 30)")
        try settle(a, b)
        for peer in [a, b] { #expect(try peer.strings("SELECT n FROM t ORDER BY id") == ["13", "23", "30"]) }
    }
}
