import LogSyncModel
import Testing

@testable import LogSyncStore

/// Columns whose names have gone to others in releases that one peer runs at once, before any of its rows was recorded, or that
/// have come in one of them.
@Suite("Columns of which another peer has followed what this one has skipped")
struct LateListTests {
    struct Releases: CustomTestStringConvertible, Sendable {
        var testDescription: String
        /// Each with the columns' values by their names before.
        var steps: [String]
        /// What a user says after the first, where values tell of none.
        var decided: [Renaming] = []

        private static func rebuild(_ columns: String, _ values: String) -> String {
            LateRenameTests.KeyRename.rebuild(columns, values)
        }

        static let all = [
            Releases(
                testDescription: "a name goes to a new column, and others to other places",
                steps: [
                    rebuild("k TEXT NOT NULL PRIMARY KEY, v_old TEXT, n INT, v TEXT", "k, v, n, 'new ' || k"),
                    rebuild("n INT, v TEXT, v_old TEXT, k TEXT NOT NULL PRIMARY KEY", "n, v, v_old, k"),
                ], decided: [Renaming(table: "t", column: "v", to: "v_old")]),
            Releases(
                testDescription: "the same by ALTER TABLE, then a rebuild",
                steps: [
                    "ALTER TABLE t RENAME v TO v_old; ALTER TABLE t ADD v TEXT; UPDATE t SET v = 'new ' || k",
                    rebuild("n INT, v TEXT, v_old TEXT, k TEXT NOT NULL PRIMARY KEY", "n, v, v_old, k"),
                ]),
            Releases(
                testDescription: "a name goes to a column that was there",
                steps: [
                    "ALTER TABLE t ADD w TEXT; UPDATE t SET w = 'new ' || k",
                    "ALTER TABLE t RENAME v TO v_old; ALTER TABLE t RENAME w TO v",
                    rebuild("v TEXT, n INT, v_old TEXT, k TEXT NOT NULL PRIMARY KEY", "v, n, v_old, k"),
                ]),
        ]
    }

    @Test("are what it has found them to be", arguments: Releases.all, [0, 1, 3])
    func late(releases: Releases, own: Int) throws {
        let folder = try TestFolder()
        let a = try TestPeer(folder, "a", sql: "CREATE TABLE t(k TEXT NOT NULL PRIMARY KEY, v TEXT, n INT);")
        let b = try TestPeer(folder, "b", cloning: a)
        func write(_ count: Int, by peer: TestPeer) throws {
            for number in 0..<count {
                try peer.write("INSERT INTO t(k, v) VALUES('\(peer.name)\(number)', 'v of \(peer.name)\(number)')")
            }
        }
        try write(4, by: a)
        try a.record()
        for (number, step) in releases.steps.enumerated() {
            try a.write(step)
            try a.record()
            if number == 0, !releases.decided.isEmpty {
                _ = try a.store.migrate("", renamings: releases.decided)
            }
        }
        try write(own, by: b)
        try b.write(releases.steps.joined(separator: ";"))
        try b.record()
        try agree(a, b)
        try agree(a, b)
        try a.write("INSERT INTO t(k, v_old, v) VALUES('a9', 'old', 'later')")
        try b.write(
            "INSERT INTO t(k, v_old, v) VALUES('b9', 'old', 'later'); UPDATE t SET v_old = 'by b' WHERE k = 'a0'")
        try agree(a, b)
        let c = try TestPeer(folder, "c", cloning: b)
        try agree(a, b, c)
        let rows = (1..<4).map { "a\($0)|v of a\($0)|new a\($0)" } + (0..<own).map { "b\($0)|v of b\($0)|new b\($0)" }
        for peer in [a, b, c] {
            let found = try peer.strings("SELECT k, v_old, v FROM t ORDER BY k")
            #expect(found == (["a0|by b|new a0", "a9|old|later", "b9|old|later"] + rows).sorted())
            #expect(try peer.store.lostColumns().isEmpty)
        }
        #expect(try a.record() == nil)
        #expect(try b.record() == nil)
    }

    @Test(
        "are what it has found them to be, where names have gone round before the first row", arguments: [true, false])
    func round(isRebuilt: Bool) throws {
        let folder = try TestFolder()
        let a = try TestPeer(folder, "a", sql: "CREATE TABLE t(k TEXT PRIMARY KEY, ra TEXT, v TEXT, rb TEXT)")
        let b = try TestPeer(folder, "b", cloning: a)
        let release =
            isRebuilt
            ? LateRenameTests.KeyRename.rebuild("k TEXT PRIMARY KEY, rb TEXT, ra TEXT, v TEXT", "k, ra, v, rb")
            : """
            ALTER TABLE t RENAME rb TO away; ALTER TABLE t RENAME ra TO rb; ALTER TABLE t RENAME v TO ra;
            ALTER TABLE t RENAME away TO v
            """
        try b.write("INSERT INTO t(k, ra, v, rb) VALUES('b0', 'b0 ra', 'b0 v', 'b0 rb')")
        try b.write(release)
        try b.write("INSERT INTO t(k, rb, ra, v) VALUES('b1', 'b1 ra', 'b1 v', 'b1 rb')")
        try a.write(
            "INSERT INTO t(k, ra, v, rb) VALUES('a0', 'a0 ra', 'a0 v', 'a0 rb'), ('a1', 'a1 ra', 'a1 v', 'a1 rb')")
        try converge(a, b)
        try b.write("ALTER TABLE t ADD x TEXT; UPDATE t SET x = k || ' x' WHERE k > 'b'")
        try converge(a, b)
        try b.write("UPDATE t SET ra = 'later' WHERE k = 'b1'")
        try a.write(release)
        try a.write("ALTER TABLE t ADD x TEXT; INSERT INTO t(k, rb, ra, v) VALUES('a2', 'a2 ra', 'a2 v', 'a2 rb')")
        try agree(a, b)
        try agree(a, b)
        for peer in [a, b] {
            let found = try peer.strings("SELECT k, rb, ra, v, x FROM t ORDER BY k")
            let expected = ["a0", "a1", "a2", "b0", "b1"].map { row in
                "\(row)|\(row) ra|\(row == "b1" ? "later" : row + " v")|\(row) rb|\(row > "b" ? row + " x" : "NULL")"
            }
            #expect(found == expected, "\(peer.name): \(found)")
        }
    }

    @Test("are no writes where rows hold what was known of them, so that others' edits from before the migration stay")
    func known() throws {
        let folder = try TestFolder()
        let a = try TestPeer(folder, "a", sql: "CREATE TABLE t(k TEXT PRIMARY KEY, u TEXT, v TEXT)")
        let b = try TestPeer(folder, "b", cloning: a)
        let release = """
            ALTER TABLE t RENAME u TO away; ALTER TABLE t RENAME v TO u; ALTER TABLE t RENAME away TO v;
            ALTER TABLE t ADD y TEXT
            """
        for peer in [a, b] {
            try peer.write("ALTER TABLE t ADD x TEXT")
            try peer.record()
        }
        try a.write("INSERT INTO t(k, u, v) VALUES('a0', 'a0 u', 'a0 v'), ('a1', 'a1 u', 'a1 v')")
        try b.write("INSERT INTO t(k, u, v) VALUES('b0', 'b0 u', 'b0 v')")
        try agree(a, b)
        try a.write(release)
        try converge(a, b)
        try a.write("UPDATE t SET u = 'edited' WHERE k IN ('a0', 'b0')")
        try b.awaitAnotherMillisecond()
        try b.write(release)
        try b.write("UPDATE t SET v = 'by b' WHERE k = 'a1'")
        try b.record()
        try agree(a, b)
        for peer in [a, b] {
            let found = try peer.strings("SELECT k, v, u FROM t ORDER BY k")
            #expect(found == ["a0|a0 u|edited", "a1|by b|a1 v", "b0|b0 u|edited"], "\(peer.name): \(found)")
            #expect(try peer.store.conflicts(table: nil, all: true).isEmpty)
        }
    }

    @Test("are what it has found them to be, where nothing is left of what was known of a column but its name")
    func nothingLeft() throws {
        let folder = try TestFolder()
        let a = try TestPeer(folder, "a", sql: "CREATE TABLE t(k TEXT PRIMARY KEY, note TEXT)")
        let b = try TestPeer(folder, "b", cloning: a)
        let reuse = "ALTER TABLE t RENAME note TO note_o; ALTER TABLE t ADD note TEXT; UPDATE t SET note = 'N' || k;"
        let rebuild = LateRenameTests.KeyRename.rebuild(
            "k TEXT PRIMARY KEY, note_o TEXT, note TEXT, x1 TEXT", "k, note_o, note, x")
        try b.write("INSERT INTO t(k, note) VALUES('b0', 'of b0')")
        try converge(a, b)
        let add = "ALTER TABLE t ADD x TEXT; INSERT INTO t(k, note_o, x) VALUES('a0', 'of a0', 'a0 x')"
        for change in [reuse, add, rebuild] {
            try a.write(change)
            try a.record()
        }
        try b.write("UPDATE t SET note = 'by b' WHERE k = 'b0'; INSERT INTO t(k, note) VALUES('b1', 'of b1')")
        try b.write(reuse + "ALTER TABLE t ADD x TEXT;" + rebuild)
        try b.write("INSERT INTO t(k, note_o, x1) VALUES('b2', 'of b2', 'b2 x')")
        try agree(a, b)
        try agree(a, b)
        for peer in [a, b] {
            let found = try peer.strings("SELECT k, note_o, note, x1 FROM t ORDER BY k")
            let expected = ["a0|of a0|NULL|a0 x", "b0|by b|Nb0|NULL", "b1|of b1|Nb1|NULL", "b2|of b2|NULL|b2 x"]
            #expect(found == expected, "\(peer.name): \(found)")
        }
    }

    @Test(
        "are filled by their migration there, which is no write over what others have written to them",
        arguments: [true, false])
    func filled(looksBetween: Bool) throws {
        let folder = try TestFolder()
        let a = try TestPeer(
            folder, "a", sql: "CREATE TABLE t(k TEXT PRIMARY KEY, n INT); INSERT INTO t VALUES('r1', 1), ('r2', 2)")
        let b = try TestPeer(folder, "b", cloning: a)
        for change in [
            "ALTER TABLE t ADD x TEXT; UPDATE t SET x = 'filled'", "ALTER TABLE t RENAME x TO y",
            "UPDATE t SET y = 'edited' WHERE k = 'r1'",
        ] {
            try a.write(change)
            // Else the name comes together with the edit.
            if looksBetween || !change.contains("RENAME") { try a.record() }
        }
        try b.awaitAnotherMillisecond()
        try b.write("ALTER TABLE t ADD y TEXT; UPDATE t SET y = 'filled'")
        try b.record()
        try agree(a, b)
        try agree(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT k, y FROM t ORDER BY k") == ["r1|edited", "r2|filled"], "\(peer.name)")
        }
    }

    /// What was `x` is `x1` in the second release; the third has another `x`.
    private static let added = [
        "ALTER TABLE t ADD x TEXT;", "ALTER TABLE t RENAME x TO x1;", "ALTER TABLE t ADD x TEXT;",
    ]

    @Test(
        "are that of a peer, too, whose rows were there when a name came and went that has come to another since",
        arguments: [true, false], [true, false])
    func skipped(writesFirst: Bool, looksInBetween: Bool) throws {
        let folder = try TestFolder()
        let a = try TestPeer(
            folder, "a",
            sql:
                "CREATE TABLE t(k TEXT PRIMARY KEY, n INT); INSERT INTO t VALUES('r1', 1), ('r2', 2), ('r3', 3), ('r4', 4)"
        )
        let b = try TestPeer(folder, "b", cloning: a)
        let byB = """
            UPDATE t SET x = k || ' second' WHERE k IN ('b1', 'r2'); UPDATE t SET x1 = k || ' first' WHERE k IN ('r2', 'r4')
            """
        try a.write(Self.added[0])
        try a.record()
        try a.write("INSERT INTO t(k, x) VALUES('a1', 'a1 first'); UPDATE t SET x = k || ' first' WHERE k = 'r1'")
        try a.write("UPDATE t SET x = 'by a' WHERE k = 'r4'")
        try b.write(Self.added[0] + Self.added[1])
        if looksInBetween {
            try b.record()
            try b.write("INSERT INTO t(k, x1) VALUES('b1', 'b1 first')")
            try b.pull(from: a)
            try a.pull(from: b)
        } else {
            try b.write("INSERT INTO t(k, x1) VALUES('b1', 'b1 first')")
        }
        try b.write(Self.added[2])
        try b.record()
        if writesFirst {
            try b.write(byB)
            try b.record()
        }
        for change in Self.added[1...] {
            try a.write(change)
            try a.record()
        }
        if writesFirst { try a.write("UPDATE t SET x = k || ' second' WHERE k IN ('a1', 'r1')") }
        try agree(a, b)
        try agree(a, b)
        if !writesFirst {
            try b.write(byB)
            try a.write("UPDATE t SET x = k || ' second' WHERE k IN ('a1', 'r1')")
            try agree(a, b)
        }
        let c = try TestPeer(folder, "c", cloning: b)
        try agree(a, b, c)
        let written = ["a1", "b1", "r1", "r2"].map { "\($0)|\($0) first|\($0) second" }
        for peer in [a, b, c] {
            let found = try peer.strings("SELECT k, x1, x FROM t ORDER BY k")
            #expect(found == written + ["r3|NULL|NULL", "r4|r4 first|NULL"], "\(peer.name): \(found)")
        }
        #expect(try a.record() == nil)
        #expect(try b.record() == nil)
    }

    @Test(
        "are that, too, where the peer that has followed them had to be told what they were, having met them elsewhere")
    func toldAfterwards() throws {
        let folder = try TestFolder()
        let a = try TestPeer(
            folder, "a", sql: "CREATE TABLE t(k TEXT PRIMARY KEY, n INT); INSERT INTO t VALUES('r', 1)")
        let b = try TestPeer(folder, "b", cloning: a)
        let add = "ALTER TABLE t ADD x TEXT;"
        let rename = """
            CREATE TABLE made(k TEXT PRIMARY KEY, n INT, x1 TEXT); INSERT INTO made SELECT k, n, x FROM t; DROP TABLE t;
            ALTER TABLE made RENAME TO t;
            """
        try a.write(add + rename)
        try a.record()
        try a.write("INSERT INTO t(k, x1) VALUES('a', 'by a')")
        for change in [add, rename] {
            try b.write(change)
            try b.record()
        }
        try b.write("INSERT INTO t(k, x1) VALUES('b', 'by b'); UPDATE t SET x1 = 'r by b' WHERE k = 'r'")
        for _ in 0..<2 {
            try a.pull(from: b)
            try b.pull(from: a)
        }
        #expect(try b.store.summary().undecided.isEmpty == false)
        _ = try b.store.migrate("", renamings: [Renaming(table: "t", column: "x", to: "x1")])
        try agree(a, b)
        try agree(a, b)
        for peer in [a, b] {
            #expect(
                try peer.strings("SELECT k, x1 FROM t ORDER BY k") == ["a|by a", "b|by b", "r|r by b"], "\(peer.name)")
        }
        try a.write("UPDATE t SET x1 = 'later' WHERE k = 'b'")
        try b.write("UPDATE t SET x1 = 'later' WHERE k = 'a'")
        try agree(a, b)
        for peer in [a, b] {
            #expect(
                try peer.strings("SELECT k, x1 FROM t ORDER BY k") == ["a|later", "b|later", "r|r by b"], "\(peer.name)"
            )
        }
    }
}
