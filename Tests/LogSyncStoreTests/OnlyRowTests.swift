import LogSyncModel
import LogSyncSQLite
import Testing

@testable import LogSyncStore

/// A table whose key a CHECK constraint lets have one value, as programs keep their settings in.
@Suite("A table that can have one row")
struct OnlyRowTests {
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private static func settings(_ check: String = "id = 1") -> String {
        """
        CREATE TABLE settings(
            id INTEGER PRIMARY KEY CHECK (\(check)), theme TEXT DEFAULT 'dark', lang TEXT DEFAULT 'en');
        """
    }

    private func pair(_ sql: String = "CREATE TABLE note(title TEXT)") throws -> (TestPeer, TestPeer) {
        let a = try TestPeer(folder, "a", sql: sql)
        return (a, try TestPeer(folder, "b", cloning: a))
    }

    private func expect(_ row: String, _ a: TestPeer, _ b: TestPeer) throws {
        try converge(a, b)
        for peer in [a, b] {
            let shown = try peer.strings("SELECT * FROM settings")
            #expect(shown == [row], "\(peer.name)")
            #expect(try peer.store.audit().problems == [], "\(peer.name)")
            #expect(try peer.store.parkedRows(table: nil).isEmpty, "\(peer.name)")
        }
    }

    @Test(
        "that a migration makes is one row, whatever programs edit before anybody looks",
        arguments: [
            "id = 1", "1 == (id)", "id IS 1", "(id) IN (1)", "settings.id = 1 AND (theme IS NOT NULL)",
            "(lang <> '' AND id = 1)",
        ])
    func migrated(check: String) throws {
        let (a, b) = try pair()
        let migration = Self.settings(check) + "INSERT INTO settings(id) VALUES(1);"
        try a.write(migration + "UPDATE settings SET theme = 'light'")
        try a.record()
        try b.pull(from: a)
        try b.write(migration + "UPDATE settings SET lang = 'de'")
        try expect("1|light|de", a, b)
    }

    @Test("that a migration makes of other tables is one row, of which the later machine's counts")
    func made() throws {
        let (a, b) = try pair(
            "CREATE TABLE kv(key TEXT PRIMARY KEY, value); INSERT INTO kv VALUES('theme', 'dark'), ('lang', 'en')")
        let migration =
            Self.settings() + """
                INSERT INTO settings SELECT 1, (SELECT value FROM kv WHERE key = 'theme'),
                    (SELECT value FROM kv WHERE key = 'lang');
                DROP TABLE kv
                """
        try a.write(migration)
        try b.pull(from: a)
        try b.write("UPDATE kv SET value = 'de' WHERE key = 'lang'")
        try b.record()
        try b.write(migration)
        try expect("1|dark|de", a, b)
    }

    @Test("has one row where programs insert it on two machines", arguments: [1, 0, -5])
    func inserted(id: Int) throws {
        let (a, b) = try pair(Self.settings("id = \(id)"))
        try a.write("INSERT INTO settings(id, theme) VALUES(\(id), 'light')")
        try a.record()
        try b.awaitAnotherMillisecond()
        try b.write("INSERT INTO settings(id, theme) VALUES(\(id), 'grey')")
        try expect("\(id)|grey|en", a, b)
        try a.write("UPDATE settings SET lang = 'de'")
        try b.write("UPDATE settings SET theme = 'light'")
        try expect("\(id)|light|de", a, b)
    }

    @Test("has one row where programs delete it and insert it again on two machines")
    func replaced() throws {
        let (a, b) = try pair(Self.settings() + "INSERT INTO settings(id) VALUES(1)")
        for peer in [a, b] {
            try peer.write("DELETE FROM settings; INSERT INTO settings VALUES(1, 'by \(peer.name)', '\(peer.name)')")
            try peer.record()
            try peer.awaitAnotherMillisecond()
        }
        try expect("1|by b|b", a, b)
        try a.write("DELETE FROM settings")
        try a.record()
        try a.write("INSERT INTO settings VALUES(1, 'again', 'a')")
        try expect("1|again|a", a, b)
    }

    @Test("has one row where it is dropped and made anew on two machines")
    func remade() throws {
        let (a, b) = try pair(
            Self.settings() + "INSERT INTO settings(id) VALUES(1); CREATE TABLE note(title TEXT, s REFERENCES settings)"
        )
        for peer in [a, b] {
            try peer.write(
                "DROP TABLE settings;" + Self.settings() + "INSERT INTO settings VALUES(1, 'by \(peer.name)', 'x')")
            try peer.record()
        }
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT id, lang FROM settings") == ["1|x"])
            #expect(try peer.strings("SELECT theme FROM settings") == a.strings("SELECT theme FROM settings"))
        }
    }

    @Test("has one row for those who found it with other values")
    func founded() throws {
        let a = try TestPeer(folder, "a", sql: Self.settings() + "INSERT INTO settings VALUES(1, 'light', 'en')")
        let settings = try a.app.rows("SELECT kind, target, value FROM logsync_setting").map {
            (kind: String(text: $0[0]), target: String(text: $0[1]), value: String(text: $0[2]))
        }
        let b = try TestPeer(folder, "b", sql: Self.settings() + "INSERT INTO settings VALUES(1, 'grey', 'en')") {
            $0.settings = settings
        }
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT id, lang FROM settings") == ["1|en"])
            #expect(try peer.strings("SELECT theme FROM settings") == a.strings("SELECT theme FROM settings"))
        }
    }

    @Test("has the row that others have founded without saying that it is the only one")
    func foundedBefore() throws {
        let sql = Self.settings() + "INSERT INTO settings VALUES(1, 'light', 'en')"
        let identity = (kind: "identity", target: "settings", value: "surrogate")
        let a = try TestPeer(folder, "a", sql: sql) { $0.settings = [identity] }
        let b = try TestPeer(folder, "b", sql: sql) { $0.settings = [identity] }
        let name = try #require(try a.store.database.read { try Self.identity(in: $0) })
        #expect(try b.store.database.read { try Self.identity(in: $0) } == name)
        #expect(try a.store.database.read { $0.catalog["settings"]?.onlyIdentity(at: 1) } != name)
        try b.write("UPDATE settings SET lang = 'de'")
        try expect("1|light|de", a, b)
    }

    private static func identity(in store: OpenStore) throws -> RowIdentity? {
        let table = try #require(store.catalog["settings"])
        return try ClockTable(table: table, connection: store.connection).identity(at: 1)
    }

    @Test("is named by rows that come before its row")
    func namedBefore() throws {
        let sql = Self.settings() + "CREATE TABLE note(title TEXT, s INTEGER REFERENCES settings(id));"
        let (a, b) = try pair(sql)
        try a.write("INSERT INTO note VALUES('by a', 1); INSERT INTO note VALUES('none', NULL)")
        try a.record()
        try b.write("INSERT INTO settings(id) VALUES(1)")
        try a.write("INSERT INTO settings(id, lang) VALUES(1, 'de')")
        try converge(a, b)
        for peer in [a, b] {
            let named = try peer.strings("SELECT title FROM note JOIN settings ON settings.id = s")
            #expect(named == ["by a"], "\(peer.name)")
            #expect(try peer.strings("SELECT count(*) FROM settings") == ["1"], "\(peer.name)")
        }
    }

    @Test("is one like others once its key may have other values")
    func released() throws {
        let (a, b) = try pair(Self.settings() + "INSERT INTO settings(id) VALUES(1)")
        for peer in [a, b] {
            try peer.write(
                """
                BEGIN; CREATE TABLE new_settings(
                    id INTEGER PRIMARY KEY, theme TEXT DEFAULT 'dark', lang TEXT DEFAULT 'en');
                INSERT INTO new_settings SELECT * FROM settings; DROP TABLE settings;
                ALTER TABLE new_settings RENAME TO settings; COMMIT
                """)
            try converge(a, b)
        }
        for peer in [a, b] { try peer.write("INSERT INTO settings(theme) VALUES('by \(peer.name)')") }
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT theme FROM settings ORDER BY theme") == ["by a", "by b", "dark"])
        }
    }

    @Test(
        "is not taken for one where a condition may hold for other keys",
        arguments: [
            "id = 1 OR id = 2", "id IN (1, 2)", "theme BETWEEN 'a' AND id = 1", "NOT id = 1", "'id' = 1", "id > 1",
            "CASE WHEN theme = 'a' AND id = 1 THEN 0 ELSE 1 END", "id IS NOT 1", "lang = 1", "other.id = 1",
            "id = 1 + 1",
        ])
    func others(check: String) throws {
        let tokens = SQLTokens("CREATE TABLE settings(id INTEGER PRIMARY KEY CHECK (\(check)), theme, lang)")
        #expect(OnlyInteger.find(of: "id", in: "settings", declared: tokens) == nil)
    }
}
