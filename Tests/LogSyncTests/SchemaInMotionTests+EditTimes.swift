import LogSync
import Testing

/// When an edit was made, over whose row a migration has gone since.
extension SchemaInMotionTests {
    @Test(
        "An edit that a migration finds unrecorded keeps its time, though the migration goes over its row",
        arguments: ["k TEXT PRIMARY KEY", "id INTEGER PRIMARY KEY, k TEXT UNIQUE"],
        [nil, "k TEXT PRIMARY KEY", "id INTEGER PRIMARY KEY, k TEXT UNIQUE", "k TEXT COLLATE NOCASE PRIMARY KEY"])
    func timeOfAnEdit(key: String, keyRebuilt: String?) async throws {
        try await begin("CREATE TABLE t(\(key), v TEXT, w TEXT); INSERT INTO t(k) VALUES('1'),('2'),('3'),('4')")
        var migration = "ALTER TABLE t ADD n INTEGER; UPDATE t SET n = length(k);"
        if let keyRebuilt {
            migration += """
                CREATE TABLE t_new(\(keyRebuilt), v TEXT, w TEXT, n INTEGER);
                INSERT INTO t_new(k, v, w, n) SELECT k, v, w, n FROM t ORDER BY k DESC;
                DROP TABLE t; ALTER TABLE t_new RENAME TO t
                """
        }
        try a.execute("UPDATE t SET v = 'early' WHERE k = '1'; UPDATE t SET v = 'early' WHERE k = '2'")
        try await Task.sleep(for: .milliseconds(5))
        try b.execute("UPDATE t SET v = 'late' WHERE k = '1'")
        try await Task.sleep(for: .milliseconds(5))
        try a.execute(migration + "; UPDATE t SET w = 'after' WHERE k = '3'")
        try await settle(a, b)
        try b.execute(migration)
        try await expect(
            "SELECT k || ' ' || coalesce(v, w, '') || ' ' || n FROM t ORDER BY k",
            ["1 late 1", "2 early 1", "3 after 1", "4  1"])
    }

    @Test(
        "An edit keeps its time where migrations have gone over all rows before it and after it, and nothing else is left of them",
        arguments: ["k TEXT PRIMARY KEY", "id INTEGER PRIMARY KEY, k TEXT UNIQUE"],
        ["", "DELETE FROM t WHERE k = '4';"])
    func timeBetweenPasses(key: String, deletion: String) async throws {
        try await begin("CREATE TABLE t(\(key), v TEXT); INSERT INTO t(k) VALUES('1'),('2'),('3'),('4')")
        try a.execute("UPDATE t SET v = v; ALTER TABLE t ADD n INTEGER")
        try await Task.sleep(for: .milliseconds(5))
        try a.execute("UPDATE t SET v = 'early' WHERE k = '1'; UPDATE t SET v = 'early' WHERE k = '2';" + deletion)
        try await Task.sleep(for: .milliseconds(5))
        try b.execute("UPDATE t SET v = 'late' WHERE k = '1'; DELETE FROM t WHERE k = '4'")
        try await Task.sleep(for: .milliseconds(5))
        try a.execute("UPDATE t SET v = v; ALTER TABLE t DROP n; UPDATE t SET v = 'after' WHERE k = '3'")
        try await settle(a, b)
        try await expect("SELECT k || ' ' || v FROM t ORDER BY k", ["1 late", "2 early", "3 after"])
    }
}
