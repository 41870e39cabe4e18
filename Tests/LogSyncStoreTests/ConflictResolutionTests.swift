import LogSyncModel
import Testing

@testable import LogSyncStore

/// What `conflicts list` lists is settled by `take`, `set` and `drop`, or they say truthfully why not.
@Suite struct ConflictResolutionTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private func pair(
        _ sql: String, plan: (inout InitializePlan) -> Void = { _ in }
    ) throws -> (TestPeer, TestPeer) {
        let a = try TestPeer(folder, "a", sql: sql, plan: plan)
        return (a, try TestPeer(folder, "b", cloning: a))
    }

    /// Both record what they wrote before they see the other's.
    private func meet(_ a: TestPeer, _ b: TestPeer) throws {
        for peer in [a, b] { _ = try peer.store.record() }
        try converge(a, b)
    }

    private func expectSound(_ peers: TestPeer...) throws {
        for peer in peers {
            #expect(try peer.store.audit().problems == [])
            #expect(try peer.store.record() == nil)
            #expect(try peer.store.conflicts(table: nil, all: false).isEmpty)
            #expect(try peer.store.parkedRows(table: nil).isEmpty)
            #expect(try peer.store.summary().conflicts == 0)
        }
    }

    private func expectRefused(_ says: String, _ body: () throws -> Void) {
        #expect {
            try body()
        } throws: { error in
            guard let error = error as? LogSyncError else { return false }
            return error.code == .usage && error.message.contains(says)
        }
    }

    // MARK: Keys with a NULL in them

    @Test func aKeyWithANullInItIsListedAsItIs() throws {
        let (a, b) = try pair(
            """
            CREATE TABLE k(a PRIMARY KEY, v); INSERT INTO k(rowid, a, v) VALUES (3, NULL, 'null'), (1, 3, 'three');
            CREATE TABLE two(a, b, v, PRIMARY KEY(a, b)); INSERT INTO two VALUES (NULL, 7, 'x');
            """)
        try a.write("UPDATE k SET v = 'A'; UPDATE two SET v = 'A'")
        try b.write("UPDATE k SET v = 'B' WHERE a IS NULL; UPDATE k SET v = 'C' WHERE a = 3; UPDATE two SET v = 'B'")
        try meet(a, b)
        let listed = try a.store.conflicts(table: nil, all: false)
        #expect(Set(listed.map(\.key)) == [[.null], [.integer(3)], [.null, .integer(7)]])
        let dot = try #require(listed.first?.versions.first { $0.value == .text("A") }?.dot)
        for conflict in listed {
            try a.store.takeVersion(table: conflict.table, key: conflict.key, column: "v", dot: dot)
        }
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT v FROM k UNION ALL SELECT v FROM two") == ["A", "A", "A"])
        }
        try expectSound(a, b)
    }

    @Test(
        "A row with a NULL in its key that REPLACE displaced is gone, whatever comes to its place",
        arguments: ["'a', 1", "NULL, 1"])
    func displaced(row: String) throws {
        let (a, b) = try pair(
            """
            CREATE TABLE two(a, b, v, u UNIQUE, PRIMARY KEY(a, b));
            INSERT INTO two VALUES ('k', 7, 'first', 'one'), (NULL, 7, 'null', 'two');
            """)
        try a.write("UPDATE two SET v = v || '!'")
        // What displaces it has another rowid, and is gone again.
        try a.write("BEGIN; INSERT OR REPLACE INTO two SELECT * FROM two WHERE a IS NULL; DELETE FROM two; COMMIT")
        try a.write("INSERT INTO two VALUES ('l', 7, 'other', 'one'), (\(row), 'new', 'two')")
        try converge(a, b)
        for peer in [a, b] { #expect(try peer.strings("SELECT v FROM two ORDER BY v") == ["new", "other"]) }
        try expectSound(a, b)
    }

    @Test func ofSeveralRowsWithOneKeyTheVersionOrTheIdentitySaysWhich() throws {
        let (a, b) = try pair("CREATE TABLE k(a PRIMARY KEY, v); INSERT INTO k VALUES (NULL, 1), (NULL, 2)")
        try b.write("UPDATE k SET v = 'b' || v")
        for number in 1...2 {
            try a.write("UPDATE k SET v = 'a\(number)' WHERE v = \(number)")
            _ = try a.store.record()
        }
        try meet(a, b)
        let listed = try a.store.conflicts(table: "k", all: false)
        #expect(listed.map(\.key) == [[.null], [.null]])
        let second = try #require(listed.first { $0.versions.contains { $0.value == .text("b2") } })
        let theirs = try #require(second.versions.first { $0.value == .text("b2") }?.dot)
        expectRefused("2 rows of k have this key") {
            try a.store.takeVersion(table: "k", key: [.null], column: "v", dot: theirs)
        }
        try a.store.takeVersion(
            table: "k", key: [.null], identity: second.identity.description, column: "v", dot: theirs)
        let ours = try #require(listed.flatMap(\.versions).first { $0.value == .text("a1") }?.dot)
        try a.store.takeVersion(table: "k", key: [.null], column: "v", dot: ours)
        try converge(a, b)
        for peer in [a, b] { #expect(try peer.strings("SELECT v FROM k ORDER BY v") == ["a1", "b2"]) }
        try expectSound(a, b)
    }

    @Test func ofSeveralParkedRowsWithOneKeyOnlyTheNamedOneIsDropped() throws {
        let (a, b) = try pair("CREATE TABLE k(a PRIMARY KEY, n UNIQUE)")
        try a.write("INSERT INTO k VALUES ('x', 1), ('y', 2)")
        _ = try a.store.record()
        try b.write("INSERT INTO k VALUES (NULL, 1), (NULL, 2)")
        try meet(a, b)
        let parked = try a.store.parkedRows(table: "k")
        #expect(parked.map(\.key) == [[.null], [.null]])
        let first = try #require(parked.first { $0.row["n"] == .integer(1) })
        expectRefused("2 rows of k have this key") { try a.store.dropParked(table: "k", key: [.null]) }
        expectRefused("2 rows of k have this key") {
            try a.store.setParked(table: "k", key: [.null], column: "n", value: .integer(3))
        }
        expectRefused("k.a says which row it is") {
            try a.store.setParked(
                table: "k", key: [.null], identity: first.identity.description, column: "a", value: .integer(3))
        }
        try a.store.dropParked(table: "k", key: [.null], identity: first.identity.description)
        try a.store.setParked(table: "k", key: [.null], column: "n", value: .integer(3))
        try converge(a, b)
        for peer in [a, b] { #expect(try peer.strings("SELECT n FROM k ORDER BY n") == ["1", "2", "3"]) }
        try expectSound(a, b)
    }

    // MARK: Edits lost to a delete

    @Test(arguments: ["id INTEGER PRIMARY KEY", "id TEXT PRIMARY KEY"])
    func anEditLostToADeleteIsSaidToBeLostAndCanBeTakenOffTheList(key: String) throws {
        let (a, b) = try pair("CREATE TABLE t(\(key), x, y); INSERT INTO t VALUES (1, 'x', 'y'), (2, 'x', 'y')")
        try a.write("DELETE FROM t WHERE id = 1")
        try b.write("UPDATE t SET x = 'edit', y = 'edit' WHERE id = 1")
        try meet(a, b)
        let lost = try #require(try a.store.conflicts(table: "t", all: false).first)
        let dot = try #require(lost.versions.first?.dot)
        // Where the edit came after the row was gone, nothing says any more who deleted it.
        for (peer, author) in [(a, ""), (b, " by a:2")] {
            let says = "deleted\(author), and the edit by b:2 lost to that"
            expectRefused(says) { try peer.store.takeVersion(table: "t", key: lost.key, column: "x", dot: dot) }
            expectRefused(says) {
                try peer.store.setParked(table: "t", key: lost.key, column: "x", value: .text("edit"))
            }
        }
        try a.store.dropParked(table: "t", key: lost.key)
        try expectSound(a)
        try converge(a, b)
        for peer in [a, b] { #expect(try peer.strings("SELECT id FROM t") == ["2"]) }
        try expectSound(a, b)
    }

    @Test(
        "What a migration puts into a row that was deleted elsewhere is nobody's edit",
        arguments: [
            "ALTER TABLE t ADD COLUMN z; UPDATE t SET z = 'all'",
            """
            CREATE TABLE new(id TEXT PRIMARY KEY, x, y); INSERT INTO new SELECT 'k' || x, x, y FROM t; DROP TABLE t;
            ALTER TABLE new RENAME TO t
            """,
        ])
    func fills(migration: String) throws {
        let (a, b) = try pair(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, x, y); INSERT INTO t VALUES(1, 'x', 1), (2, 'v', 1)")
        // A row that is edited before its key changes is inserted under the other one.
        try a.write(
            migration.contains("ALTER TABLE t") ? "DELETE FROM t WHERE id = 1" : "UPDATE t SET y = 2 WHERE id = 1")
        for peer in [a, b] { try peer.write(migration) }
        try meet(a, b)
        for peer in [a, b] {
            #expect(try peer.store.conflicts(table: nil, all: true).isEmpty)
            #expect(try peer.store.summary().conflicts == 0)
        }
        #expect(try b.strings("SELECT y FROM t WHERE x = 'x'") == (migration.contains("ALTER TABLE t") ? [] : ["2"]))
        try expectSound(a, b)
    }

    @Test func anEditThatTheDroppingPeerHasNotSeenStaysListed() throws {
        let (a, b) = try pair("CREATE TABLE t(id TEXT PRIMARY KEY, x); INSERT INTO t VALUES ('p', 0)")
        let c = try TestPeer(folder, "c", cloning: a)
        try a.write("DELETE FROM t")
        try b.write("UPDATE t SET x = 'of b'")
        try c.write("UPDATE t SET x = 'of c'")
        for peer in [a, b, c] { _ = try peer.store.record() }
        try converge(a, b)
        try a.store.dropParked(table: "t", key: [.text("p")])
        try converge(a, b, c)
        for peer in [a, b, c] {
            let listed = try peer.store.conflicts(table: nil, all: false)
            #expect(listed.flatMap(\.versions).map(\.value) == [.text("of c")])
            #expect(try peer.store.audit().problems == [])
        }
    }

    // MARK: Rows that break a CHECK

    private func broken(_ more: String = "") throws -> (TestPeer, TestPeer) {
        let (a, b) = try pair(
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, low, high, CHECK(low <= high)); INSERT INTO t VALUES (1, 1, 9);
            """ + more)
        try a.write("UPDATE t SET low = 8")
        try b.write("UPDATE t SET high = 2")
        try meet(a, b)
        #expect(try a.store.parkedRows(table: "t").map(\.reason) == ["check"])
        return (a, b)
    }

    @Test func aRowThatBreaksACheckIsGivenAValueThatKeepsIt() throws {
        let (a, b) = try broken()
        expectRefused("breaks a constraint") {
            try a.store.setParked(table: "t", key: [.integer(1)], column: "low", value: .integer(5))
        }
        #expect(try a.strings("SELECT low, high FROM t") == ["8|2"])
        try a.store.setParked(table: "t", key: [.integer(1)], column: "low", value: .integer(2))
        try converge(a, b)
        for peer in [a, b] { #expect(try peer.strings("SELECT low, high FROM t") == ["2|2"]) }
        try expectSound(a, b)
    }

    @Test func aRowThatBreaksACheckIsDroppedAndItsChildrenAreParked() throws {
        let (a, b) = try broken(
            "CREATE TABLE c(k TEXT PRIMARY KEY, t INTEGER REFERENCES t(id)); INSERT INTO c VALUES ('c', 1)")
        try a.store.dropParked(table: "t", key: [.integer(1)])
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT id FROM t").isEmpty)
            #expect(try peer.strings("SELECT k FROM c").isEmpty)
            #expect(try peer.store.parkedRows(table: nil).map(\.reason) == ["foreign-key"])
            #expect(try peer.store.summary().unenforced == [])
            #expect(try peer.store.audit().problems == [])
            #expect(try peer.store.record() == nil)
        }
    }

    @Test func aColumnOfTheKeyIsNotSet() throws {
        let (a, b) = try pair("CREATE TABLE k(a TEXT PRIMARY KEY COLLATE NOCASE, n UNIQUE)")
        try a.write("INSERT INTO k VALUES ('x', 1)")
        _ = try a.store.record()
        try b.write("INSERT INTO k VALUES ('y', 1)")
        try meet(a, b)
        expectRefused("k.a says which row it is") {
            try a.store.setParked(table: "k", key: [.text("y")], column: "a", value: .text("z"))
        }
        // The same key in other letters is another value of the same row.
        try a.store.setParked(table: "k", key: [.text("y")], column: "a", value: .text("Y"))
        try a.store.setParked(table: "k", key: [.text("y")], column: "n", value: .integer(2))
        try converge(a, b)
        for peer in [a, b] { #expect(try peer.strings("SELECT a, n FROM k ORDER BY n") == ["x|1", "Y|2"]) }
        try expectSound(a, b)
    }

    // MARK: Counters

    @Test func whatSeveralPeersAddedToACounterIsListedOnDemand() throws {
        let (a, b) = try pair("CREATE TABLE t(id TEXT PRIMARY KEY, n); INSERT INTO t VALUES ('x', 10), ('y', 0)") {
            $0.policies = [("t.n", "sum")]
        }
        try a.write("UPDATE t SET n = n + 1 WHERE id = 'x'")
        try converge(a, b)
        #expect(try a.store.conflicts(table: nil, all: true).isEmpty, "one peer alone counts")
        try a.write("UPDATE t SET n = n + 2 WHERE id = 'x'")
        try b.write("UPDATE t SET n = n + 5 WHERE id = 'x'")
        try meet(a, b)
        for peer in [a, b] {
            #expect(try peer.store.conflicts(table: nil, all: false).isEmpty)
            let listed = try peer.store.conflicts(table: "t", all: true)
            #expect(listed.map(\.key) == [[.text("x")]])
            #expect(listed.first?.shown == .integer(18))
            let values = try #require(listed.first?.versions.map(\.value))
            // Both peers may have added in one millisecond.
            #expect(values.first == .integer(10) && Set(values.dropFirst()) == [.integer(3), .integer(5)])
            #expect(listed.first?.versions.map(\.isAddition) == [false, true, true])
        }
        let dot = try #require(try a.store.conflicts(table: "t", all: true).first?.versions.last?.dot)
        expectRefused("added to the counter t.n") {
            try a.store.takeVersion(table: "t", key: [.text("x")], column: "n", dot: dot)
        }
    }

    // MARK: Tables

    @Test func aTableIsFoundInAnySpellingAndAnUnknownOneRefused() throws {
        let (a, b) = try pair("CREATE TABLE Word(id TEXT PRIMARY KEY, x); INSERT INTO Word VALUES ('p', 0)")
        try a.write("UPDATE Word SET x = 'a'")
        try b.write("UPDATE Word SET x = 'b'")
        try meet(a, b)
        func history(_ table: String) throws -> Int {
            try a.store.history(limit: nil, after: nil, author: nil, peer: nil, table: table).count
        }
        #expect(try history("Word") == 3)
        #expect(try history("WORD") == 3)
        #expect(try a.store.conflicts(table: "WORD", all: false).count == 1)
        try a.write("ALTER TABLE Word RENAME TO Term")
        _ = try a.store.record()
        #expect(try history("term") == 3)
        #expect(try a.store.conflicts(table: "term", all: false).count == 1)
        try a.write("DROP TABLE Term")
        _ = try a.store.record()
        #expect(try history("word") == 3)
        #expect(try a.store.conflicts(table: "word", all: false).isEmpty)
        for name in ["nobody", "logsync_clock_1"] {
            expectRefused("knows no table") { _ = try history(name) }
            expectRefused("knows no table") { _ = try a.store.conflicts(table: name, all: false) }
            expectRefused("knows no table") { _ = try a.store.parkedRows(table: name) }
            expectRefused("knows no table") { try a.store.dropParked(table: name, key: [.null]) }
        }
    }
}
