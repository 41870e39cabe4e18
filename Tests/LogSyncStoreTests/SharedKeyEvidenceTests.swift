import LogSyncModel
import LogSyncSQLite
import Testing

@testable import LogSyncStore

/// What is taken for evidence that a table's own integers are another's.
@Suite("Keys that seem to be another table's")
struct SharedKeyEvidenceTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    /// Each as `table.column parent`.
    private func asked(_ sql: String, in name: String = "app") throws -> [String] {
        try folder.examine(sql, in: name).undecided.map { "\($0.table).\($0.column) \($0.parent)" }
    }

    /// Two tables with rows 1 to 30, of which the second has some.
    private static func tables(_ parent: String, _ child: String, _ key: String, having rows: String) -> String {
        """
        CREATE TABLE \(child)(\(key) INTEGER PRIMARY KEY NOT NULL, more TEXT);
        CREATE TABLE \(parent)(\(key) INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, path TEXT);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30)
        INSERT INTO \(parent) SELECT i, 'p' || i FROM n;
        INSERT INTO \(child) SELECT \(key), 'more' FROM \(parent) WHERE \(rows);
        """
    }

    @Test("A table that has nothing but its key says which rows of another are meant")
    func sets() throws {
        let contacts = """
            CREATE TABLE contacts(_id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT);
            CREATE TABLE numbers(_id INTEGER PRIMARY KEY, phone TEXT);
            INSERT INTO contacts VALUES(1, 'a'), (2, 'b'), (3, 'c'); INSERT INTO numbers VALUES(1, 'x');
            """
        let named = contacts + "CREATE TABLE visible_contacts(_id INTEGER PRIMARY KEY);"
        #expect(try asked(named, in: "empty") == ["visible_contacts._id contacts"])
        let filled = named + "INSERT INTO visible_contacts VALUES(1), (3);"
        #expect(try asked(filled, in: "filled") == ["visible_contacts._id contacts"])
        // What others refer to is something by itself, and so is what SQLite counts, or has integers of its own.
        let things =
            "CREATE TABLE note(id INTEGER PRIMARY KEY, visible_contact INTEGER REFERENCES visible_contacts(_id));"
        #expect(try asked(filled + things, in: "things") == [])
        #expect(try asked(filled + "INSERT INTO visible_contacts VALUES(4), (5), (6), (7)", in: "others") == [])
        let counter = "CREATE TABLE visible_contacts(_id INTEGER PRIMARY KEY AUTOINCREMENT);"
        #expect(try asked(contacts + counter, in: "counter") == [])
        #expect(try asked(contacts + "CREATE TABLE chosen(_id INTEGER PRIMARY KEY);", in: "unnamed") == [])
    }

    @Test(
        "A key that is called as another table's, and not as any key, is that table's where it has no other integers",
        arguments: [
            ("oc_filecache", "oc_filecache_extended", "fileid"), ("filecache", "etags", "file_id"),
            ("accounts", "avatars", "user_id"), ("zoo", "animal_facts", "beast_no"),
        ])
    func calledTheSame(parent: String, child: String, key: String) throws {
        for rows in ["1", "\(key) < 4", "\(key) % 3 = 0"] {
            let schema = Self.tables(parent, child, key, having: rows)
            #expect(try asked(schema, in: "\(rows.count)") == ["\(child).\(key) \(parent)"])
        }
    }

    @Test("It is not where it has others, where the name says nothing, or where nothing has such a name but all tables")
    func othersIntegers() throws {
        #expect(try asked(Self.tables("accounts", "avatars", "user_id", having: "0")) == [])
        let more = Self.tables("accounts", "avatars", "user_id", having: "1") + "INSERT INTO avatars VALUES(77, '');"
        #expect(try asked(more + "INSERT INTO accounts VALUES(78, '')", in: "more") == [])
        for key in ["id", "Z_PK", "_id", "recid", "uid", "rowid"] {
            #expect(try asked(Self.tables("accounts", "avatars", key, having: "1"), in: key) == [])
        }
        #expect(try asked(Self.tables("wp_postmeta", "wp_commentmeta", "meta_id", having: "1"), in: "own") == [])
        let all = """
            CREATE TABLE a(serial_ident INTEGER PRIMARY KEY); CREATE TABLE b(serial_ident INTEGER PRIMARY KEY);
            CREATE TABLE c(serial_ident INTEGER PRIMARY KEY); INSERT INTO a VALUES(1), (2), (3);
            INSERT INTO b VALUES(1), (2); INSERT INTO c VALUES(1);
            """
        #expect(try asked(all, in: "all") == [])
    }

    @Test("Where one table is named after the other, it is while there are no rows, and where some of them have gone")
    func namedAfter() throws {
        let schema = Self.tables("oc_filecache", "oc_filecache_extended", "fileid", having: "0")
        #expect(try asked(schema) == ["oc_filecache_extended.fileid oc_filecache"])
        let rows = "INSERT INTO oc_filecache_extended VALUES(7, ''), (900, '');"
        #expect(try asked(schema + rows, in: "gone") == ["oc_filecache_extended.fileid oc_filecache"])
    }

    @Test("Several that add to one table are all its own")
    func several() throws {
        let schema =
            Self.tables("filecache", "etags", "fileid", having: "fileid < 20") + """
                CREATE TABLE hashes(fileid INTEGER PRIMARY KEY); INSERT INTO hashes VALUES(2), (3), (5);
                CREATE TABLE mounts(id INTEGER PRIMARY KEY); CREATE TABLE users(id INTEGER PRIMARY KEY);
                CREATE TABLE groups(id INTEGER PRIMARY KEY);
                """
        #expect(try asked(schema) == ["etags.fileid filecache", "hashes.fileid filecache"])
    }

    @Test(
        "A key that is called as any is another table's where its table's name says that it holds more of the same rows",
        arguments: [
            ("items", "item_details"), ("files", "files_extra"), ("app_note", "app_note_metadata"),
            ("items", "itemdetails"), ("photos", "extended_photos"), ("User", "UserProfile"),
        ])
    func more(parent: String, child: String) throws {
        for rows in ["1", "id < 6", "id % 3 = 0"] {
            let schema = Self.tables(parent, child, "id", having: rows)
            #expect(try asked(schema, in: "\(rows.count)") == ["\(child).id \(parent)"])
        }
        #expect(try asked(Self.tables(parent, child, "id", having: "id = 1"), in: "one") == [])
        let other = "INSERT INTO \(child) VALUES(99, '');"
        #expect(try asked(Self.tables(parent, child, "id", having: "1") + other, in: "other") == [])
    }

    @Test("Where it says something else, the integers have to be none that a counter of its own would give")
    func counted() throws {
        func asked(_ rows: String, _ more: String = "") throws -> [String] {
            try self.asked(Self.tables("photos", "photo_exifs", "id", having: rows) + more, in: "\(rows) \(more.count)")
        }
        #expect(try asked("1") == ["photo_exifs.id photos"])
        #expect(try asked("id % 3 = 0") == ["photo_exifs.id photos"])
        #expect(try asked("id < 20") == [])
        #expect(try asked("id IN (3, 9)") == [])
        // What refers, or is referred to, is something by itself.
        #expect(
            try asked("id % 3 = 0", "ALTER TABLE photos ADD COLUMN exif_id INTEGER;").filter { $0.contains(".id ") }
                == [])
        let declared = "ALTER TABLE photo_exifs ADD COLUMN of_photo INTEGER REFERENCES photos(id);"
        #expect(try asked("id % 3 = 0", declared) == [])
        // This may be a photo's.
        #expect(try asked("1", "ALTER TABLE photo_exifs ADD COLUMN whole_id INTEGER;") == [])
        let third = "CREATE TABLE uses(id INTEGER PRIMARY KEY, x INTEGER REFERENCES photo_exifs(id));"
        #expect(try asked("id % 3 = 0", third) == [])
    }

    @Test(
        "So is one that a view or a trigger compares with another table's",
        arguments: [
            "CREATE VIEW v AS SELECT path FROM songs AS s LEFT JOIN lyrics AS l ON l.id = s.id",
            "CREATE VIEW v AS SELECT path, more FROM songs LEFT JOIN lyrics USING (id)",
            "CREATE TRIGGER t AFTER DELETE ON songs BEGIN DELETE FROM lyrics WHERE id = OLD.id; END",
        ])
    func joined(object: String) throws {
        let schema = Self.tables("songs", "lyrics", "id", having: "id < 9")
        #expect(try asked(schema) == [])
        #expect(try asked("\(object);", in: "app") == ["lyrics.id songs"])
    }

    @Test("A table that shares its key has its rows go by the other's, whatever integers these have")
    func replicated() throws {
        let a = try TestPeer(
            folder, "a", sql: Self.tables("filecache", "filecache_extended", "fileid", having: "1")
        ) { $0.references = [("filecache_extended", "fileid", "filecache")] }
        let b = try TestPeer(folder, "b", cloning: a)
        for (peer, name) in [(a, "of a"), (b, "of b")] {
            try peer.write(
                """
                INSERT INTO filecache(path) VALUES('\(name)');
                INSERT INTO filecache_extended VALUES(last_insert_rowid(), '\(name)');
                """)
        }
        try converge(a, b)
        for peer in [a, b] {
            #expect(
                try peer.strings(
                    "SELECT path, more FROM filecache JOIN filecache_extended USING(fileid) WHERE fileid > 30 ORDER BY path"
                )
                    == ["of a|of a", "of b|of b"])
        }
    }

    @Test("A key that means something is asked for as such in both tables")
    func meaningful() throws {
        let report = try folder.examine(
            """
            CREATE TABLE years(year INTEGER PRIMARY KEY, note TEXT); CREATE TABLE budgets(year INTEGER PRIMARY KEY, sum REAL);
            INSERT INTO years VALUES(2021, ''), (2022, ''), (2023, ''); INSERT INTO budgets VALUES(2022, 1);
            """)
        #expect(report.undecided.isEmpty)
        #expect(report.undecidedKeys.map(\.table) == ["budgets", "years"])
    }
}
