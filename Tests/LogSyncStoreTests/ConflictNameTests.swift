import LogSyncModel
import Testing

@testable import LogSyncStore

/// Conflicts and parked rows are listed and settled by the names that tables and columns have in the database now.
@Suite struct ConflictNameTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private func pair(_ sql: String) throws -> (TestPeer, TestPeer) {
        let a = try TestPeer(folder, "a", sql: sql)
        return (a, try TestPeer(folder, "b", cloning: a))
    }

    /// Both record what they wrote before they see the other's.
    private func meet(_ a: TestPeer, _ b: TestPeer) throws {
        for peer in [a, b] { _ = try peer.store.record() }
        try converge(a, b)
    }

    /// A column has the name that another one had, and the table a new one.
    private func migrated() throws -> (TestPeer, TestPeer) {
        let (a, b) = try pair(
            "CREATE TABLE t(k TEXT PRIMARY KEY, v TEXT, n TEXT NOT NULL UNIQUE); INSERT INTO t VALUES ('a', 'first', 'n')"
        )
        for peer in [a, b] {
            try peer.write(
                """
                ALTER TABLE t RENAME COLUMN v TO v_old; ALTER TABLE t ADD COLUMN v TEXT; ALTER TABLE t RENAME TO things;
                """)
            try converge(a, b)
        }
        return (a, b)
    }

    @Test func cellsAreCalledAsTheDatabaseCallsThem() throws {
        let (a, b) = try migrated()
        try a.write("UPDATE things SET v = 'new a', v_old = 'old a'")
        try b.write("UPDATE things SET v = 'new b', v_old = 'old b'")
        try meet(a, b)
        let listed = try a.store.conflicts(table: "things", all: false)
        #expect(Set(listed.map(\.column)) == ["v", "v_old"])
        for conflict in listed {
            #expect(conflict.table == "things")
            let prefix = conflict.column == "v" ? "new" : "old"
            #expect(Set(conflict.versions.map(\.value)) == [.text("\(prefix) a"), .text("\(prefix) b")])
        }
        let new = try #require(listed.first { $0.column == "v" }?.versions.first { $0.value == .text("new a") })
        try a.store.takeVersion(table: "things", key: [.text("a")], column: "v", dot: new.dot)
        let shown = try a.strings("SELECT v FROM things WHERE v_old LIKE 'old%'")
        #expect(shown == ["new a"])
        // A name in logs does where nothing else is called so here.
        let old = try #require(listed.first { $0.column == "v_old" }?.versions.first { $0.value == .text("old a") })
        try a.store.takeVersion(table: "t", key: [.text("a")], column: "V_OLD", dot: old.dot)
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT v, v_old FROM things") == ["new a|old a"])
            #expect(try peer.store.conflicts(table: nil, all: false).isEmpty)
        }
    }

    @Test func cellsOfParkedRowsAre() throws {
        let (a, b) = try migrated()
        try a.write("INSERT INTO things(k, v, v_old, n) VALUES ('x', 'new x', 'old x', 'same')")
        try b.write("INSERT INTO things(k, v, v_old, n) VALUES ('y', 'new y', 'old y', 'same')")
        try meet(a, b)
        let parked = try #require(try a.store.parkedRows(table: nil).first)
        let letter = try #require(parked.key.first) == .text("x") ? "x" : "y"
        #expect(parked.table == "things")
        #expect(
            parked.row == [
                "k": .text(letter), "n": .text("same"), "v": .text("new \(letter)"), "v_old": .text("old \(letter)"),
            ])
        try a.store.setParked(table: "things", key: parked.key, column: "v", value: .text("set"))
        try a.store.setParked(table: "things", key: parked.key, column: "n", value: .text("other"))
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT v, v_old FROM things WHERE n = 'other'") == ["set|old \(letter)"])
        }
    }

    @Test func aTableThatIsCalledAsAnotherWasIsThatTable() throws {
        let (a, b) = try pair(
            "CREATE TABLE t(k TEXT PRIMARY KEY, v); INSERT INTO t VALUES ('k', 0), ('l', 0), ('m', 0)")
        for peer in [a, b] {
            try peer.write("ALTER TABLE t RENAME TO former")
            try converge(a, b)
        }
        for peer in [a, b] {
            try peer.write("CREATE TABLE t(k TEXT PRIMARY KEY, v)")
            try converge(a, b)
        }
        try a.write("INSERT INTO t VALUES ('k', 0)")
        try converge(a, b)
        for (peer, name) in [(a, "a"), (b, "b")] {
            try peer.write("UPDATE t SET v = 't of \(name)'; UPDATE former SET v = 'former of \(name)' WHERE k = 'k'")
        }
        try meet(a, b)
        for table in ["t", "former"] {
            let listed = try a.store.conflicts(table: table, all: false)
            #expect(listed.map(\.table) == [table])
            #expect(listed.first?.versions.contains { $0.value == .text("\(table) of a") } ?? false)
        }
    }

    // MARK: What parked rows lack

    @Test(arguments: ["INTEGER", "TEXT"])
    func aRowThatIsParkedForAParkedOneNamesItsTable(type: String) throws {
        let (a, b) = try pair(
            """
            CREATE TABLE p(k \(type) PRIMARY KEY NOT NULL, n TEXT UNIQUE);
            CREATE TABLE c(k TEXT PRIMARY KEY NOT NULL, p \(type) NOT NULL REFERENCES p(k));
            """)
        try a.write("INSERT INTO p VALUES (1, 'same'); INSERT INTO c VALUES ('of a', 1)")
        _ = try a.store.record()
        try b.write("INSERT INTO p VALUES (2, 'same'); INSERT INTO c VALUES ('of b', 2)")
        try meet(a, b)
        for peer in [a, b] {
            let parked = try peer.store.parkedRows(table: nil)
            #expect(Set(parked.map(\.reason)) == ["unique", "foreign-key"])
            for row in parked { #expect(row.missing == (row.reason == "unique" ? [:] : ["p": "p"])) }
        }
    }

    @Test func aRowWhoseParentHasAKeyOfTwoColumnsNamesBoth() throws {
        let (a, b) = try pair(
            """
            CREATE TABLE p(k TEXT NOT NULL, l TEXT NOT NULL, PRIMARY KEY(k, l));
            CREATE TABLE c(
                k TEXT PRIMARY KEY NOT NULL, x TEXT, y TEXT, own TEXT REFERENCES c(k),
                FOREIGN KEY(x, y) REFERENCES p(k, l));
            INSERT INTO p VALUES ('1', '2');
            """)
        try a.write("DELETE FROM p")
        try b.write("INSERT INTO c VALUES ('row', '1', '2', 'row')")
        try meet(a, b)
        for peer in [a, b] {
            #expect(try peer.store.parkedRows(table: nil).map(\.missing) == [["x": "p", "y": "p"]])
        }
    }
}
