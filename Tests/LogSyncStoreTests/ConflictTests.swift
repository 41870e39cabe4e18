import LogSyncModel
import Testing

@testable import LogSyncStore

@Suite struct ConflictTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    @Test func aConflictListsItsVersionsAndCanBeSettledWithEither() throws {
        for choice in 0...1 {
            let a = try TestPeer(
                folder, "a\(choice)", sql: "CREATE TABLE t(id INTEGER PRIMARY KEY, x); INSERT INTO t VALUES (5, 0)")
            let b = try TestPeer(folder, "b\(choice)", cloning: a)
            try a.write("UPDATE t SET x = 'of a'")
            try b.write("UPDATE t SET x = 'of b'")
            try converge(a, b)
            let conflicts = try b.store.conflicts(table: nil, all: false)
            let conflict = try #require(conflicts.first)
            #expect(conflicts.count == 1)
            #expect(conflict.key == [.integer(5)])
            #expect(conflict.column == "x")
            #expect(Set(conflict.versions.map(\.value)) == [.text("of a"), .text("of b")])
            #expect(conflict.shown == conflict.versions.last?.value)

            let version = conflict.versions[choice]
            try b.store.takeVersion(table: "t", key: conflict.key, column: "x", dot: version.dot)
            try converge(a, b)
            for peer in [a, b] {
                #expect(try peer.dump("SELECT x FROM t") == [[version.value]])
                #expect(try peer.store.conflicts(table: nil, all: true).isEmpty)
                #expect(try peer.store.audit().problems == [])
                #expect(try peer.store.record() == nil)
            }
        }
    }

    @Test func aCellThatWasWrittenSinceIsNoConflictWhoeverLooks() throws {
        let a = try TestPeer(
            folder, "a", sql: "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, x, y); INSERT INTO t VALUES ('k', 0, 0)")
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write("UPDATE t SET x = 'of a', y = 'of a'")
        try b.write("UPDATE t SET x = 'of b', y = 'of b'")
        try converge(a, b)
        #expect(try a.store.conflicts(table: nil, all: false).count == 2)
        try a.write("UPDATE t SET x = 'later'")
        // The version that was shown is in the table no more, and the write has seen it.
        let left = try a.store.conflicts(table: nil, all: false)
        #expect(left.map(\.column) == ["y"])
        #expect(try a.store.summary().conflicts == 1)
        try converge(a, b)
        for peer in [a, b] { #expect(try peer.store.conflicts(table: nil, all: false).map(\.column) == ["y"]) }
    }

    @Test func whatLogsyncKeepsOfItsOwnIsNoConflict() throws {
        let a = try TestPeer(folder, "a", sql: "CREATE TABLE t(id INTEGER PRIMARY KEY, x)")
        let b = try TestPeer(folder, "b", cloning: a)
        _ = try a.store.setPolicy("t.x", "max")
        _ = try b.store.setPolicy("t.x", "min")
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.store.conflicts(table: nil, all: true).isEmpty)
            #expect(try peer.store.summary().conflicts == 0)
        }
    }

    @Test func anEditLostToADeleteIsListedUntilTheRowIsWrittenAgain() throws {
        let a = try TestPeer(folder, "a", sql: "CREATE TABLE t(id TEXT PRIMARY KEY, x); INSERT INTO t VALUES ('p', 0)")
        let b = try TestPeer(folder, "b", cloning: a)
        try b.write("UPDATE t SET x = 'edit'")
        _ = try b.store.record()
        try a.write("DELETE FROM t")
        // The edit is here when the delete comes.
        try a.pull(from: b)
        try converge(a, b)
        for peer in [a, b] {
            let conflict = try #require(try peer.store.conflicts(table: "t", all: false).first)
            #expect(conflict.shown == nil)
            #expect(conflict.versions.map(\.value) == [.text("edit")])
        }
    }

    @Test func aParkedRowCanBeGivenAnotherValueOrDropped() throws {
        for drops in [false, true] {
            let a = try TestPeer(
                folder, "a\(drops)", sql: "CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT UNIQUE)")
            let b = try TestPeer(folder, "b\(drops)", cloning: a)
            try a.write("INSERT INTO tag(name) VALUES ('x')")
            try b.write("INSERT INTO tag(name) VALUES ('x')")
            try converge(a, b)
            let parked = try #require(try a.store.parkedRows(table: nil).first)
            #expect(parked.reason == "unique")
            #expect(parked.row["name"] == .text("x"))
            if drops {
                try a.store.dropParked(table: "tag", key: parked.key)
            } else {
                try a.store.setParked(table: "tag", key: parked.key, column: "name", value: .text("y"))
            }
            try converge(a, b)
            for peer in [a, b] {
                #expect(try peer.strings("SELECT name FROM tag ORDER BY name") == (drops ? ["x"] : ["x", "y"]))
                #expect(try peer.store.parkedRows(table: nil).isEmpty)
                #expect(try peer.store.audit().problems == [])
            }
        }
    }

    @Test func aTakenPeerNameIsRefused() throws {
        let a = try TestPeer(folder, "a", sql: "CREATE TABLE t(id TEXT PRIMARY KEY, x)")
        let b = try TestPeer(folder, "b", cloning: a)
        try b.store.renamePeer("c")
        try converge(a, b)
        #expect(try a.store.peerNames()[b.store.registration().peer] == "c")
        #expect { try b.store.renamePeer("a") } throws: { ($0 as? LogSyncError)?.code == .usage }
    }
}

extension ConflictTests {
    @Test(arguments: [true, false])
    func theSameReferenceTwiceIsNoConflictThoughItsRowIsGone(goesFirst: Bool) throws {
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE p(id INTEGER PRIMARY KEY, v);
                CREATE TABLE c(k TEXT PRIMARY KEY NOT NULL, p INTEGER REFERENCES p(id) ON DELETE SET NULL);
                INSERT INTO p VALUES (1, 'x'); INSERT INTO c VALUES ('k', NULL);
                """)
        let b = try TestPeer(folder, "b", cloning: a)
        let d = try TestPeer(folder, "d", cloning: a)
        try converge(a, b, d)
        for peer in [a, b] {
            try peer.write("UPDATE c SET p = (SELECT id FROM p)")
            _ = try peer.store.record()
        }
        try d.write("DELETE FROM p")
        _ = try d.store.record()
        for other in goesFirst ? [d, a] : [a, d] { try b.pull(from: other) }
        #expect(try b.strings("SELECT k, p FROM c") == ["k|NULL"])
        #expect(try b.store.conflicts(table: nil, all: false).map(\.column) == [])
        try converge(a, b, d)
    }
}
