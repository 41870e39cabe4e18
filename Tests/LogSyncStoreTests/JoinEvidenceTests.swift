import LogSyncModel
import LogSyncSQLite
import Testing

@testable import LogSyncStore

/// What triggers and views say of columns that they do not compare with a key.
@Suite("Undeclared references by what a program joins")
struct JoinEvidenceTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    /// Each as `table.column parent`, in the order in which they are offered.
    private func asked(_ sql: String, in name: String = "app") throws -> [String] {
        try folder.examine(sql, in: name).undecided.map { "\($0.table).\($0.column) \($0.parent)" }
    }

    /// As in Android's contacts.
    @Test(
        "A key is that of the rows to which a column refers that is compared with it, or written into it",
        arguments: [
            "DELETE FROM default_directory WHERE _id = OLD.contact_id AND (SELECT count(*) FROM raw WHERE contact_id = OLD.contact_id) = 1",
            "INSERT OR IGNORE INTO default_directory SELECT contact_id FROM raw",
        ])
    func keys(statement: String) throws {
        let schema = """
            CREATE TABLE contacts(_id INTEGER PRIMARY KEY AUTOINCREMENT);
            CREATE TABLE directories(_id INTEGER PRIMARY KEY AUTOINCREMENT);
            CREATE TABLE raw(_id INTEGER PRIMARY KEY AUTOINCREMENT, contact_id INTEGER REFERENCES contacts(_id));
            CREATE TABLE default_directory(_id INTEGER PRIMARY KEY);
            CREATE TRIGGER gone BEFORE DELETE ON raw BEGIN \(statement); END;
            """
        #expect(try asked(schema) == ["default_directory._id contacts"])
        let rows = """
            INSERT INTO contacts VALUES(1), (2), (3); INSERT INTO directories VALUES(1), (2), (3);
            INSERT INTO default_directory VALUES(1), (3);
            """
        #expect(try asked(schema + rows, in: "b") == ["default_directory._id contacts"])
    }

    @Test("A column refers to what one does that it is compared with, or given the value of")
    func columns() throws {
        let schema = """
            CREATE TABLE albums(id INTEGER PRIMARY KEY); INSERT INTO albums VALUES(1), (2);
            CREATE TABLE tracks(id INTEGER PRIMARY KEY, album INTEGER REFERENCES albums(id));
            CREATE TABLE plays(id INTEGER PRIMARY KEY, whole INTEGER, part INTEGER);
            INSERT INTO plays VALUES(7, 1, 1), (8, 2, 3);
            CREATE VIEW played AS SELECT * FROM plays JOIN tracks ON plays.whole = tracks.album;
            CREATE TRIGGER skipped AFTER DELETE ON tracks BEGIN INSERT INTO plays(part) VALUES(OLD.album); END;
            """
        #expect(try asked(schema) == ["plays.whole albums", "plays.part albums"])
    }

    /// As in Android's messages.
    @Test("What a trigger compares with a key comes before what ends as the column is called")
    func beforeNames() throws {
        let schema = """
            CREATE TABLE pending_msgs(id INTEGER PRIMARY KEY); CREATE TABLE pdu(id INTEGER PRIMARY KEY);
            CREATE TABLE addr(id INTEGER PRIMARY KEY, msg_id INTEGER);
            INSERT INTO pending_msgs VALUES(1), (2); INSERT INTO pdu VALUES(1), (2); INSERT INTO addr VALUES(7, 1), (8, 2);
            CREATE TRIGGER gone AFTER DELETE ON pdu BEGIN DELETE FROM addr WHERE msg_id = OLD.id; END;
            """
        #expect(try asked(schema) == ["addr.msg_id pdu"])
    }

    /// As in Tautulli.
    @Test("A table whose rows SQLite does not count, unlike those of the table that it says more of, has theirs")
    func counted() throws {
        let schema = """
            CREATE TABLE history(id INTEGER PRIMARY KEY AUTOINCREMENT, started INTEGER);
            CREATE TABLE history_media_info(id INTEGER PRIMARY KEY, rating_key INTEGER, title TEXT);
            CREATE TABLE history_kinds(id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT);
            CREATE TABLE users(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT);
            """
        #expect(try asked(schema) == ["history_media_info.id history"])
        let rows = """
            INSERT INTO history VALUES(1, 10), (2, 20), (3, 30);
            INSERT INTO history_media_info VALUES(1, 4711, 'a'), (3, 4712, 'b'); INSERT INTO history_kinds VALUES(1, 'x'), (2, 'y');
            """
        #expect(try asked(schema + rows, in: "b") == ["history_media_info.id history"])
        let all = schema.replacing("id INTEGER PRIMARY KEY, r", with: "id INTEGER PRIMARY KEY AUTOINCREMENT, r")
        #expect(try asked(all, in: "c") == [])
    }
}
