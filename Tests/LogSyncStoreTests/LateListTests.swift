import LogSyncModel
import Testing

@testable import LogSyncStore

/// Columns whose names have gone to others in releases that one peer runs at once, before any of its rows was recorded.
@Suite("Columns of a table without records that another peer has followed")
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
}
