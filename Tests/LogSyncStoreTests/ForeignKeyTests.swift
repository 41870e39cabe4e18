import LogSyncModel
import Testing

@testable import LogSyncStore

/// Foreign keys, with every ON DELETE action.
extension ConstraintTests {
    @Test(arguments: [
        ("CASCADE", ""), ("NO ACTION", ""), ("RESTRICT", ""), ("SET NULL", "7|NULL"), ("SET DEFAULT", "7|1"),
    ])
    func aChildOfADeletedParent(action: String, shown: String) throws {
        let (_, a, b) = try pair(
            """
            CREATE TABLE p(id INTEGER PRIMARY KEY, v);
            CREATE TABLE c(id INTEGER PRIMARY KEY, p INTEGER DEFAULT 1 REFERENCES p(id) ON DELETE \(action), v);
            INSERT INTO p VALUES (1, 'default'), (5, 'to go');
            """)
        try a.write("DELETE FROM p WHERE id = 5")
        try record(a)
        try b.write("INSERT INTO c VALUES (7, 5, 'child')")
        try settle(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT id, p FROM c") == (shown.isEmpty ? [] : [shown]))
            #expect(try parked(peer) == (shown.isEmpty ? ["c foreign-key"] : []))
            #expect(try peer.strings("PRAGMA foreign_key_check") == [])
        }
    }

    @Test func aDefaultIntegerMeansTheRowThatHasHadItFromTheBeginning() throws {
        let schema = """
            CREATE TABLE p(id INTEGER PRIMARY KEY, v);
            CREATE TABLE c(k TEXT PRIMARY KEY, p INTEGER DEFAULT 1 REFERENCES p(id) ON DELETE SET DEFAULT);
            """
        for (rows, expected) in [("", "k NULL"), ("INSERT INTO p VALUES (1, 'first');", "k first")] {
            let (_, a, b) = try pair(schema + rows)
            for (peer, name) in [(a, "a"), (b, "b")] {
                try peer.write("INSERT INTO p(id, v) VALUES (coalesce((SELECT max(id) FROM p), 0) + 1, 'of \(name)')")
                try peer.write("INSERT INTO p(v) VALUES ('to go of \(name)')")
                try record(peer)
            }
            try settle(a, b)
            try a.write("DELETE FROM p WHERE v = 'to go of b'")
            try record(a)
            try b.write("INSERT INTO c SELECT 'k', id FROM p WHERE v = 'to go of b'")
            try settle(a, b)
            for peer in [a, b] {
                #expect(
                    try peer.strings("SELECT k, v FROM c LEFT JOIN p ON p.id = p").map { $0.replacing("|", with: " ") }
                        == [expected])
                #expect(try parked(peer) == [])
            }
        }
    }

    @Test func aParentThatReplaceCallsSomethingElseEndsTheEnforcementOfTheKeyThatNamedIt() throws {
        let (_, a, b) = try pair(
            """
            PRAGMA foreign_keys=OFF;
            CREATE TABLE p(k TEXT PRIMARY KEY NOT NULL, code INTEGER UNIQUE);
            CREATE TABLE c(k TEXT PRIMARY KEY NOT NULL, code INTEGER REFERENCES p(code));
            INSERT INTO p VALUES ('x', 3); INSERT INTO c VALUES ('y', 3);
            """)
        try a.write("REPLACE INTO p VALUES ('x', NULL)")
        try record(a)
        try settle(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT k, code FROM c") == ["y|3"])
            #expect(try peer.store.summary().unenforced == ["c.code"])
        }
    }

    @Test func aValueIsAParentsWhereTheParentsAffinitySaysSo() throws {
        let (_, a, b) = try pair(
            """
            PRAGMA foreign_keys=OFF;
            CREATE TABLE p(k TEXT PRIMARY KEY NOT NULL, code ANY UNIQUE) STRICT;
            CREATE TABLE c(k TEXT PRIMARY KEY NOT NULL, code NUMERIC REFERENCES p(code) ON DELETE SET NULL);
            INSERT INTO p VALUES ('x', '1'); INSERT INTO c VALUES ('y', '1');
            """)
        // The child's is a number, which is none of the parents'.
        try settle(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT k, typeof(code) FROM c") == ["y|integer"])
            #expect(try peer.store.summary().unenforced == ["c.code"])
        }
    }

    @Test(arguments: [
        ("TEXT", "'1'", "1"), ("INTEGER", "1", "'1'"), ("REAL", "1", "'1.0'"), ("NUMERIC", "1.5", "' 1.5'"),
    ])
    func aParentThatGoesIsMissedByAChildWithoutAffinity(type: String, parent: String, child: String) throws {
        let (_, a, b) = try pair(
            """
            CREATE TABLE p(k TEXT PRIMARY KEY NOT NULL, code \(type) UNIQUE);
            CREATE TABLE c(k TEXT PRIMARY KEY NOT NULL, code REFERENCES p(code) ON DELETE SET NULL);
            INSERT INTO p VALUES ('x', \(parent));
            """)
        try a.write("DELETE FROM p")
        try record(a)
        try b.write("INSERT INTO c VALUES ('y', \(child))")
        try settle(a, b)
        for peer in [a, b] { #expect(try peer.strings("SELECT k, code FROM c") == ["y|NULL"]) }
        try b.write("INSERT INTO p VALUES ('again', \(parent))")
        try settle(a, b)
        let shown = child.hasPrefix("'") ? String(child.dropFirst().dropLast()) : child
        for peer in [a, b] { #expect(try peer.strings("SELECT k, code FROM c") == ["y|\(shown)"]) }
    }

    @Test func aRowThatRefersToItselfNeedsNobodyElseThatIsCalledSo() throws {
        let (_, a, b) = try pair(
            "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, code INTEGER UNIQUE, u INTEGER REFERENCES t(code))")
        try b.write("INSERT INTO t VALUES ('older', 4, 4)")
        try record(b)
        try a.write("INSERT INTO t VALUES ('younger', 4, NULL)")
        try record(a)
        try settle(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT k FROM t") == ["older"])
            #expect(try parked(peer) == ["t unique"])
        }
    }

    @Test func aRowWhoseParentStandsIsNotParkedForAnotherThatIsCalledLikeIt() throws {
        let (_, a, b) = try pair(
            """
            CREATE TABLE t(
                k TEXT PRIMARY KEY NOT NULL, code INTEGER UNIQUE, name TEXT UNIQUE,
                u INTEGER REFERENCES t(code) ON DELETE SET NULL);
            """)
        try b.write("INSERT INTO t VALUES ('parent', 2, 'x', NULL), ('child', NULL, 'y', 2)")
        try record(b)
        try a.write("INSERT INTO t VALUES ('younger', 2, 'y', NULL)")
        try record(a)
        try settle(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT k, u FROM t ORDER BY k") == ["child|2", "parent|NULL"])
            #expect(try parked(peer) == ["t unique"])
        }
    }

    @Test func aKeyOfTwoColumnsThatTwoPeersMadeTogetherIsDecidedAsAWhole() throws {
        let (_, a, b) = try pair(
            """
            CREATE TABLE p(k TEXT NOT NULL, l TEXT NOT NULL, PRIMARY KEY(k, l));
            CREATE TABLE c(
                k TEXT PRIMARY KEY NOT NULL, x TEXT, y TEXT, FOREIGN KEY(x, y) REFERENCES p(k, l) ON DELETE SET NULL);
            INSERT INTO p VALUES ('1', '2'), ('3', '4'); INSERT INTO c VALUES ('row', NULL, NULL);
            """)
        try a.write("UPDATE c SET x = '1'")
        try record(a)
        try b.write("UPDATE c SET y = '4'")
        try settle(a, b)
        for peer in [a, b] { #expect(try peer.strings("SELECT k, x, y FROM c") == ["row|NULL|NULL"]) }
        try a.write("INSERT INTO p VALUES ('1', '4')")
        try settle(a, b)
        for peer in [a, b] { #expect(try peer.strings("SELECT k, x, y FROM c") == ["row|1|4"]) }
    }

    @Test func aParkedParentTakesItsFamilyAndBringsItBack() throws {
        let (_, a, b) = try pair(
            """
            CREATE TABLE p(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
            CREATE TABLE c(id INTEGER PRIMARY KEY, p INTEGER NOT NULL REFERENCES p(id));
            CREATE TABLE g(c INTEGER REFERENCES c(id), n TEXT, PRIMARY KEY(c, n));
            """)
        try a.write("INSERT INTO p VALUES (1, 'x')")
        try record(a)
        try b.write("INSERT INTO p VALUES (1, 'x'); INSERT INTO c VALUES (1, 1); INSERT INTO g VALUES (1, 'g')")
        try settle(a, b)
        for peer in [a, b] {
            #expect(try parked(peer) == ["c foreign-key", "g foreign-key", "p unique"])
            #expect(try peer.strings("SELECT count(*) FROM g") == ["0"])
        }
        try a.write("UPDATE p SET name = 'y'")
        try settle(a, b)
        for peer in [a, b] {
            #expect(try parked(peer) == [])
            #expect(try peer.strings("SELECT name, n FROM g JOIN c ON c.id = g.c JOIN p ON p.id = c.p") == ["x|g"])
        }
    }

    @Test func aSoftReferenceShowsItsParentAgain() throws {
        let (_, a, b) = try pair(
            """
            CREATE TABLE p(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
            CREATE TABLE c(id INTEGER PRIMARY KEY, p INTEGER REFERENCES p(id) ON DELETE SET NULL, v);
            """)
        try a.write("INSERT INTO p VALUES (1, 'x')")
        try record(a)
        try b.write("INSERT INTO p VALUES (1, 'x'); INSERT INTO c VALUES (1, 1, 'v')")
        try settle(a, b)
        #expect(try a.strings("SELECT p, v FROM c") == ["NULL|v"])
        try b.write("UPDATE c SET v = 'w'")
        try settle(a, b)
        #expect(try a.strings("SELECT p, v FROM c") == ["NULL|w"])
        try a.write("DELETE FROM p")
        try settle(a, b)
        for peer in [a, b] { #expect(try peer.strings("SELECT name, v FROM c JOIN p ON p.id = c.p") == ["x|w"]) }
    }

    @Test func foreignKeysByValue() throws {
        let (_, a, b) = try pair(
            """
            CREATE TABLE p(code TEXT PRIMARY KEY COLLATE NOCASE, email TEXT UNIQUE);
            CREATE TABLE c(id INTEGER PRIMARY KEY, code TEXT REFERENCES p(code));
            CREATE TABLE d(id INTEGER PRIMARY KEY, email TEXT REFERENCES p(email));
            INSERT INTO p VALUES ('A', 'a@x'), ('B', 'b@x');
            """)
        try a.write("DELETE FROM p WHERE code = 'B'")
        try record(a)
        try b.write("INSERT INTO c VALUES (1, 'b'); INSERT INTO d VALUES (1, 'b@x'), (2, 'a@x')")
        try settle(a, b)
        for peer in [a, b] {
            #expect(try parked(peer) == ["c foreign-key", "d foreign-key"])
            #expect(try peer.strings("SELECT id FROM d") == ["2"])
        }
        try a.write("UPDATE p SET email = 'c@x' WHERE NOT EXISTS (SELECT 1 FROM d WHERE d.email = p.email)")
        try a.write("INSERT INTO p VALUES ('b', 'b@x')")
        try settle(a, b)
        for peer in [a, b] { #expect(try parked(peer) == []) }
    }

    @Test func somebodysOwnDanglingReferenceEndsTheEnforcementForAll() throws {
        let (_, a, b) = try pair(
            """
            CREATE TABLE p(id INTEGER PRIMARY KEY, v);
            CREATE TABLE c(id INTEGER PRIMARY KEY, p INTEGER REFERENCES p(id), v);
            INSERT INTO p VALUES (5, 'to go');
            """)
        try a.write("DELETE FROM p")
        try record(a)
        try b.write("INSERT INTO c VALUES (7, 5, 'child')")
        try settle(a, b)
        #expect(try parked(a) == ["c foreign-key"])
        #expect(try a.store.summary().unenforced == [])
        try b.write("PRAGMA foreign_keys=OFF; INSERT INTO c VALUES (8, 99, 'dangles')")
        try settle(a, b)
        for peer in [a, b] {
            #expect(try peer.store.summary().unenforced == ["c.p"])
            #expect(try peer.strings("SELECT v FROM c ORDER BY id") == ["child", "dangles"])
            #expect(try parked(peer) == [])
        }
    }

    @Test func aDeletedParentWhoseChildrenStayEndsTheEnforcement() throws {
        let (_, a, b) = try pair(
            """
            CREATE TABLE p(id INTEGER PRIMARY KEY, v);
            CREATE TABLE c(id INTEGER PRIMARY KEY, p INTEGER REFERENCES p(id), v);
            INSERT INTO p VALUES (5, 'to go'); INSERT INTO c VALUES (1, 5, 'stays');
            """)
        try b.write("PRAGMA foreign_keys=OFF; DELETE FROM p")
        try settle(a, b)
        for peer in [a, b] {
            #expect(try peer.store.summary().unenforced == ["c.p"])
            #expect(try peer.strings("SELECT v FROM c") == ["stays"])
        }
    }

    @Test func aRowThatRefersToItsOwnTableMayDangleToo() throws {
        let (_, a, b) = try pair(
            "CREATE TABLE parent(id INTEGER PRIMARY KEY, name TEXT, up INTEGER REFERENCES parent(id))")
        try a.write("PRAGMA foreign_keys=OFF; INSERT INTO parent VALUES (8, 'x', 3)")
        try settle(a, b)
        for peer in [a, b] {
            #expect(try peer.store.summary().unenforced == ["parent.up"])
            #expect(try peer.strings("SELECT name FROM parent") == ["x"])
        }
    }

    @Test func aNewRowDoesNotTakeTheIdentityOfAParkedOne() throws {
        let (_, a, b) = try pair("CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT UNIQUE)")
        try a.write("INSERT INTO t VALUES (1, 'x')")
        try record(a)
        try b.write("INSERT INTO t VALUES (1, 'other'), (9, 'x')")
        try settle(a, b)
        #expect(try parked(b) == ["t unique"])
        try b.write("INSERT INTO t VALUES (9, 'new')")
        try settle(a, b)
        for peer in [a, b] { #expect(try parked(peer) == ["t unique"]) }
        try a.write("DELETE FROM t WHERE name = 'x'")
        try settle(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT name FROM t ORDER BY name") == ["new", "other", "x"])
        }
    }

    @Test func aContestedParentOfItsOwnTableWithoutRowidsStands() throws {
        let (_, a, b) = try pair(
            "CREATE TABLE t(k TEXT COLLATE NOCASE PRIMARY KEY, up TEXT REFERENCES t(k), v) WITHOUT ROWID")
        try a.write("INSERT INTO t VALUES ('B', NULL, 1)")
        try record(a)
        try b.write("INSERT INTO t VALUES ('b', NULL, 2), ('a', 'B', 3)")
        try settle(a, b)
        for peer in [a, b] { #expect(try peer.strings("SELECT k FROM t WHERE up IS NOT NULL") == ["a"]) }
    }

    @Test func whatWasCountedOnADeletedRowIsListed() throws {
        let (_, a, b) = try pair("CREATE TABLE t(id TEXT PRIMARY KEY, n); INSERT INTO t VALUES ('k', 3)") {
            $0.policies = [("t.n", "sum")]
        }
        try a.write("DELETE FROM t")
        try record(a)
        try b.write("UPDATE t SET n = n + 4")
        try settle(a, b)
        for peer in [a, b] {
            #expect(
                try peer.store.conflicts(table: nil, all: false).map { $0.versions.map(\.value) } == [[.integer(4)]])
        }
    }

    @Test func aParentGoesInTheTransactionThatGivesItsKeyUp() throws {
        let (folder, a, b) = try pair(
            """
            CREATE TABLE p(id INTEGER PRIMARY KEY, v);
            CREATE TABLE j(p INTEGER REFERENCES p(id), q TEXT, PRIMARY KEY(p, q));
            INSERT INTO p VALUES (6, 'goes'); INSERT INTO j VALUES (6, 'stays');
            """)
        let c = try TestPeer(folder, "c", cloning: a, clock: clock)
        try c.write("INSERT INTO j VALUES (6, 'too')")
        try record(c)
        try b.write("PRAGMA foreign_keys=OFF; DELETE FROM p")
        try settle(a, b, c)
        for peer in [a, b, c] {
            #expect(try peer.strings("SELECT q FROM j ORDER BY q") == ["stays", "too"])
            #expect(try peer.strings("SELECT count(DISTINCT p) FROM j") == ["1"])
        }
    }

    @Test func settlingAConflictMakesRoomForAParkedRow() throws {
        let (_, a, b) = try pair("CREATE TABLE t(id TEXT PRIMARY KEY, u UNIQUE); INSERT INTO t VALUES ('k', 0)")
        try a.write("UPDATE t SET u = 2")
        try record(a)
        try b.write("UPDATE t SET u = 1; INSERT INTO t VALUES ('l', 2)")
        try record(b)
        try b.write("UPDATE t SET u = 3 WHERE id = 'k'")
        try a.write("UPDATE t SET u = 2.5; UPDATE t SET u = 2")
        try record(a)
        try settle(a, b)
        let shown = try a.strings("SELECT u FROM t WHERE id = 'k'")
        if shown == ["2"] {
            #expect(try parked(a) == ["t unique"])
            let other = try #require(
                try a.store.conflicts(table: "t", all: false).first?.versions.first { $0.value != .integer(2) })
            try a.store.takeVersion(table: "t", key: [.text(Array("k".utf8)[...])], column: "u", dot: other.dot)
        }
        try settle(a, b)
        for peer in [a, b] { #expect(try parked(peer) == []) }
    }

    @Test func settlingAConflictTakesTheParentFromAChild() throws {
        let (_, a, b) = try pair(
            """
            CREATE TABLE p(k TEXT PRIMARY KEY, code INTEGER UNIQUE); INSERT INTO p VALUES ('p', 1);
            CREATE TABLE c(k TEXT PRIMARY KEY, code INTEGER REFERENCES p(code));
            """)
        try b.write("UPDATE p SET code = 3")
        try record(b)
        try a.write("UPDATE p SET code = 4; UPDATE p SET code = 2; INSERT INTO c VALUES ('c', 2)")
        try record(a)
        try settle(a, b)
        let shown = try a.dump("SELECT code FROM p")[0][0]
        let versions = try #require(try a.store.conflicts(table: "p", all: false).first?.versions)
        let other = try #require(versions.first { $0.value != shown })
        try a.store.takeVersion(table: "p", key: [.text(Array("p".utf8)[...])], column: "code", dot: other.dot)
        let expected = try a.strings("SELECT code FROM p") == ["2"] ? [] : ["c foreign-key"]
        #expect(try parked(a) == expected)
        try settle(a, b)
        for peer in [a, b] { #expect(try parked(peer) == expected) }
    }

    @Test func rowsThatReferToEachOtherStandOrFallTogether() throws {
        let (_, a, b) = try pair(
            """
            CREATE TABLE n(id INTEGER PRIMARY KEY, name TEXT UNIQUE, next INTEGER REFERENCES n(id)
                DEFERRABLE INITIALLY DEFERRED);
            """)
        try a.write("INSERT INTO n VALUES (1, 'x', NULL)")
        try record(a)
        try b.write("BEGIN; INSERT INTO n VALUES (1, 'x', 2), (2, 'y', 1), (3, 'z', 3); COMMIT")
        try settle(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT name FROM n ORDER BY name") == ["x", "z"])
            #expect(try parked(peer) == ["n foreign-key", "n unique"])
        }
        try a.write("DELETE FROM n WHERE name = 'x'")
        try settle(a, b)
        for peer in [a, b] {
            #expect(
                try peer.strings("SELECT n.name, m.name FROM n JOIN n m ON m.id = n.next ORDER BY 1")
                    == ["x|y", "y|x", "z|z"])
        }
    }
}
