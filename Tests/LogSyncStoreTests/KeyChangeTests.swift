import Testing

@testable import LogSyncStore

/// Rows that get another natural key, perhaps more than once between two recordings.
extension SchemaTests {
    private static let changes = [
        (["y"], "y"), (["y", "z"], "z"), (["y", "x"], "x"), (["y", "x", "z"], "z"), (["z", "y", "z"], "z"),
    ]

    @Test(arguments: changes, ["TEXT", "TEXT NOT NULL COLLATE NOCASE", "INTEGER"])
    func aRowTakesAlongWhatItsProgramDoesNotKnow(change: (keys: [String], last: String), type: String) throws {
        let key = { (name: String) in type == "INTEGER" ? "\(name.utf8.first ?? 0)" : "'\(name)'" }
        let (a, b) = try pair(
            "CREATE TABLE k(k \(type) PRIMARY KEY, v) WITHOUT ROWID; INSERT INTO k VALUES (\(key("x")), 1)")
        try a.write("ALTER TABLE k ADD COLUMN more; UPDATE k SET more = 'kept'")
        try b.pull(from: a)
        for name in change.keys { try b.write("UPDATE k SET k = \(key(name)), v = v + 1") }
        _ = try b.store.record()
        try b.write("ALTER TABLE k ADD COLUMN more")
        try agree(a, b)
        for peer in [a, b] {
            let row = "SELECT k = \(key(change.last)), v, more FROM k"
            #expect(try peer.strings(row) == ["1|\(1 + change.keys.count)|kept"])
        }
    }

    @Test(arguments: changes, ["", " WITHOUT ROWID"])
    func aRowThatBreaksACheckIsListedUnderAnotherKey(change: (keys: [String], last: String), without: String) throws {
        let (a, b) = try pair(
            "CREATE TABLE k(k TEXT PRIMARY KEY NOT NULL, low, high, CHECK(low <= high))\(without);"
                + "INSERT INTO k VALUES ('x', 1, 9)")
        try breakCheck(a, b)
        for name in change.keys { try b.write("UPDATE k SET k = '\(name)'") }
        _ = try b.store.record()
        try a.pull(from: b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT * FROM k") == ["\(change.last)|5|3"])
            #expect(try peer.store.parkedRows(table: nil).map(\.reason) == ["check"])
        }
    }

    @Test func aRowThatBreaksACheckIsListedInThePlaceOfAnother() throws {
        let (a, b) = try pair(
            "CREATE TABLE k(k TEXT PRIMARY KEY NOT NULL, low, high, CHECK(low <= high));"
                + "INSERT INTO k VALUES ('x', 1, 9), ('y', 1, 1)")
        try breakCheck(a, b)
        try b.write("UPDATE OR REPLACE k SET k = 'y' WHERE k = 'x'")
        try a.pull(from: b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT * FROM k") == ["y|5|3"])
            #expect(try peer.store.parkedRows(table: nil).map(\.reason) == ["check"])
        }
    }

    /// Leaves the row x on the second peer as one that breaks a CHECK by two good halves.
    private func breakCheck(_ a: TestPeer, _ b: TestPeer) throws {
        try a.write("UPDATE k SET low = 5 WHERE k = 'x'")
        _ = try a.store.record()
        try b.write("UPDATE k SET high = 3 WHERE k = 'x'")
        try b.pull(from: a)
        #expect(try b.store.parkedRows(table: nil).map(\.reason) == ["check"])
    }
}
