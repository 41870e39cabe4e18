import LogSyncModel
import Testing

@testable import LogSyncStore

/// Columns that ALTER TABLE has added, dropped and renamed with nobody looking in between.
@Suite("Columns that are added, dropped and renamed in one go")
struct ColumnPlacesTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private static let table = "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b TEXT, c TEXT);"
    private static let rows =
        "INSERT INTO t(a, b, c) VALUES('a1', 'b1', 'c1'), ('a2', 'b2', 'c2'), ('a3', 'b3', 'c3');"

    private func pair(_ sql: String) throws -> (TestPeer, TestPeer) {
        let a = try TestPeer(folder, "a", sql: sql)
        return (a, try TestPeer(folder, "b", cloning: a))
    }

    @Test(
        "are what they are called where one was added and one dropped",
        arguments: ["", rows], ["", "UPDATE t SET d = 'd' || a;"])
    func addedAndDropped(rows: String, fill: String) throws {
        for order in ["one first", "both at once", "two looks"] {
            let folder = try TestFolder()
            let a = try TestPeer(folder, "a", sql: Self.table + rows)
            let b = try TestPeer(folder, "b", cloning: a)
            if rows.isEmpty { try b.write("INSERT INTO t(a, b, c) VALUES('ap', 'bp', 'cp')") }
            let (first, second) = ("ALTER TABLE t ADD COLUMN d TEXT;" + fill, "ALTER TABLE t DROP COLUMN a;")
            try a.write(first)
            if order == "two looks" { try a.record() }
            try a.write(second)
            if order == "one first" { try b.pull(from: a) }
            try b.write(first + second)
            try converge(a, b)
            try a.write("INSERT INTO t(b, c, d) VALUES('b8', 'c8', 'd8')")
            try b.write("INSERT INTO t(b, c, d) VALUES('b9', 'c9', 'd9')")
            try agree(a, b)
            for peer in [a, b] {
                for row in try peer.strings("SELECT b, c, coalesce(d, 'd') FROM t") {
                    #expect(row.split(separator: "|").map { $0.prefix(1) } == ["b", "c", "d"], "\(order): \(row)")
                }
            }
        }
    }

    @Test(
        "have given each other their names where another was dropped",
        arguments: [
            "n TEXT, a TEXT, b TEXT, c TEXT", "a TEXT, n TEXT, b TEXT, c TEXT", "a TEXT, b TEXT, c TEXT, n TEXT",
        ])
    func roundAndDropped(columns: String) throws {
        let (a, b) = try pair("CREATE TABLE t(id INTEGER PRIMARY KEY, \(columns));" + Self.rows)
        let rotation = """
            ALTER TABLE t RENAME b TO away; ALTER TABLE t RENAME a TO b; ALTER TABLE t RENAME c TO a;
            ALTER TABLE t RENAME away TO c;
            """
        try a.write(rotation + "ALTER TABLE t DROP n; UPDATE t SET b = 'a1e' WHERE b = 'a1'")
        try a.record()
        for change in [rotation, "ALTER TABLE t DROP n"] {
            try b.write(change)
            try b.record()
        }
        try b.write("UPDATE t SET c = 'b2e' WHERE c = 'b2'; INSERT INTO t(b, c, a) VALUES('a4', 'b4', 'c4')")
        try agree(a, b)
        for peer in [a, b] {
            #expect(
                try peer.strings("SELECT b, c, a FROM t ORDER BY b")
                    == ["a1e|b1|c1", "a2|b2e|c2", "a3|b3|c3", "a4|b4|c4"])
        }
    }

    @Test("have moved where their values have")
    func renamedInTurn() throws {
        let (a, b) = try pair(Self.table + Self.rows)
        let chain = """
            ALTER TABLE t RENAME c TO d; ALTER TABLE t RENAME b TO c; ALTER TABLE t RENAME a TO b;
            UPDATE t SET d = 'late' WHERE b = 'a3';
            """
        try a.write(chain)
        try b.write("UPDATE t SET a = 'a1e' WHERE a = 'a1'")
        try converge(a, b)
        try b.write(chain)
        try agree(a, b)
        #expect(try a.strings("SELECT b, c, d FROM t ORDER BY 1") == ["a1e|b1|c1", "a2|b2|c2", "a3|b3|late"])
    }

    @Test(
        "have been renamed where a new name stands before one that stayed", arguments: ["", rows])
    func namesBeforeOthers(rows: String) throws {
        let (a, b) = try pair(Self.table + rows)
        let migration = """
            ALTER TABLE t DROP COLUMN a; ALTER TABLE t RENAME b TO x; ALTER TABLE t ADD COLUMN d TEXT;
            ALTER TABLE t ADD COLUMN e TEXT;
            """
        try a.write(migration)
        try a.write("INSERT INTO t(x, c, d) VALUES('b8', 'c8', 'd8')")
        try converge(a, b)
        // In an empty table nothing tells which of both was renamed, until the other peer has the same columns.
        if !rows.isEmpty { #expect(try b.strings("SELECT a, b FROM t WHERE c = 'c8'") == ["NULL|b8"]) }
        try b.write(migration)
        try agree(a, b)
        #expect(try b.strings("SELECT x, c, d FROM t WHERE c = 'c8'") == ["b8|c8|d8"])
        #expect(try b.strings("SELECT x, c FROM t WHERE c < 'c8' ORDER BY 1").first == (rows.isEmpty ? nil : "b1|c1"))
    }

    @Test("are told from dropped ones by their values", arguments: [true, false], ["", "'a4', 'b4', 'c4'"])
    func renamedAfterADrop(isImported: Bool, insert: String) throws {
        let (a, b) = try pair(Self.table + Self.rows)
        let (first, second) = ("ALTER TABLE t DROP COLUMN c;", "ALTER TABLE t RENAME b TO b2;")
        let (third, fourth) = ("ALTER TABLE t DROP COLUMN a;", "INSERT INTO t(b2) VALUES('b9');")
        for step in [first, third, second, fourth] {
            try a.write(step)
            try a.record()
        }
        if isImported { try b.pull(from: a) }
        if !insert.isEmpty { try b.write("INSERT INTO t(a, b, c) VALUES(\(insert))") }
        try b.write("UPDATE t SET b = 'b1e' WHERE a = 'a1'")
        try b.write(first + third + second)
        try agree(a, b)
        let expected = ["b1e", "b2", "b3"] + (insert.isEmpty ? [] : ["b4"]) + ["b9"]
        #expect(try b.strings("SELECT b2 FROM t ORDER BY 1") == expected)
    }

    @Test("are not told by a default that new columns have in all rows")
    func newColumnWithADefault() throws {
        let (a, b) = try pair(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b INT, c INT); INSERT INTO t(a, b, c) VALUES('a1', 0, 0)")
        try a.write("ALTER TABLE t DROP b; ALTER TABLE t DROP c; ALTER TABLE t ADD d INT DEFAULT 0;")
        try a.record()
        try a.write("UPDATE t SET d = 7")
        try converge(a, b)
        #expect(try b.strings("SELECT a, b, c FROM t") == ["a1|0|0"])
    }
}
