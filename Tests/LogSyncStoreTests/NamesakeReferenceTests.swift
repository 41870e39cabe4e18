import LogSyncModel
import LogSyncSQLite
import Testing

@testable import LogSyncStore

/// Columns without a key that are called as columns with one in other tables.
@Suite("Undeclared references that other tables declare")
struct NamesakeReferenceTests {
    private static let schema = """
        CREATE TABLE library(id INTEGER PRIMARY KEY, title TEXT); INSERT INTO library VALUES(11, 'a'), (12, 'b');
        CREATE TABLE PlaylistTracks(
            id INTEGER PRIMARY KEY, track_id INTEGER REFERENCES library(id), next INTEGER REFERENCES PlaylistTracks(id));
        INSERT INTO PlaylistTracks VALUES(12, 11, 12), (13, 12, NULL);
        """

    private func asked(_ sql: String) throws -> [String] {
        try TestFolder().examine(Self.schema + sql, in: "app").references.filter { !$0.taken }.map {
            "\($0.table).\($0.column) \($0.parent) \($0.evidence.rawValue)"
        }
    }

    @Test("One means what it means there, though its name is nearer to another table's")
    func named() throws {
        let table = "CREATE TABLE tagging(id INTEGER PRIMARY KEY, track_id INTEGER);"
        #expect(try asked(table) == ["tagging.track_id library name"])
        let filled = table + "INSERT INTO tagging(track_id) VALUES(12)"
        #expect(try asked(filled) == ["tagging.track_id library name-and-data"])
    }

    @Test(
        "It does not where it holds something else, stands beside its type, or where the name only says how rows stand to rows",
        arguments: [
            ("track_id INTEGER", "'x'"), ("track_id INTEGER, track_type TEXT", "11, 'note'"), ("next INTEGER", "12"),
        ])
    func otherwise(columns: String, values: String) throws {
        let sql = "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, \(columns)); INSERT INTO t VALUES('k', \(values))"
        #expect(try !asked(sql).contains { $0.contains("library") })
    }

    @Test("A name all of whose words are one table's means that, and not what it ends as")
    func words() throws {
        let tables = """
            CREATE TABLE messages(id INTEGER PRIMARY KEY, global_message_id INTEGER NOT NULL);
            CREATE TABLE message_global_data(id INTEGER PRIMARY KEY, message_hash INTEGER UNIQUE);
            """
        #expect(try asked(tables) == ["messages.global_message_id message_global_data name"])
        let rows = """
            INSERT INTO message_global_data VALUES(1, 71), (2, 72), (3, 73), (4, 74);
            INSERT INTO messages VALUES(1, 2), (2, 1), (3, 4), (4, 3);
            """
        #expect(
            try asked(tables + rows).first == "messages.global_message_id message_global_data name-and-data")
    }

    @Test("One that is called as several rows, which refer to its own table, counts them")
    func counts() throws {
        let album = "CREATE TABLE album(id INTEGER PRIMARY KEY, tracks INTEGER NOT NULL DEFAULT 0);"
        let rows = "INSERT INTO album VALUES(1, 2), (2, 1); INSERT INTO tracks(album) VALUES(1), (1), (2);"
        let tracks = "CREATE TABLE tracks(id INTEGER PRIMARY KEY, album INTEGER REFERENCES album(id));"
        #expect(try asked(album + tracks) == [])
        #expect(try asked(album + tracks + rows) == [])
        let others = "CREATE TABLE tracks(id INTEGER PRIMARY KEY, album TEXT);"
        #expect(try asked(album + others) == ["album.tracks tracks name"])
    }

    @Test("It does not where it has a foreign key of its own, though no row keeps to that")
    func declaredOtherwise() throws {
        let sql = """
            CREATE TABLE track(number INTEGER PRIMARY KEY, name TEXT); INSERT INTO track VALUES(1, 'a');
            CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, track_id INTEGER REFERENCES track);
            INSERT INTO t VALUES('k', 11);
            """
        let report = try TestFolder().examine(Self.schema + sql) { $0.identities["track"] = .natural }
        #expect(report.references.filter { $0.table == "t" }.isEmpty)
    }
}
