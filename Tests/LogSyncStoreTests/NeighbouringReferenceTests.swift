import LogSyncModel
import LogSyncSQLite
import Testing

@testable import LogSyncStore

/// Columns that are references by what is beside them, or by names that are short; as applications have them.
@Suite("Undeclared references by what is beside them")
struct NeighbouringReferenceTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    /// Each as `table.column parent`, in the order of names.
    private func asked(_ sql: String, in name: String = "app") throws -> [String] {
        try folder.examine(sql, in: name).undecided.map { "\($0.table).\($0.column) \($0.parent)" }.sorted()
    }

    /// As in Quassel.
    private static let messages = """
        CREATE TABLE backlog(messageid INTEGER PRIMARY KEY AUTOINCREMENT, bufferid INTEGER NOT NULL, message TEXT);
        CREATE TABLE buffer(bufferid INTEGER PRIMARY KEY AUTOINCREMENT, buffername TEXT, buffertype INTEGER NOT NULL DEFAULT 0,
            lastmsgid INTEGER NOT NULL DEFAULT 0, lastseenmsgid INTEGER NOT NULL DEFAULT 0,
            markerlinemsgid INTEGER NOT NULL DEFAULT 0, highlightcount INTEGER NOT NULL DEFAULT 0);
        """

    @Test("A name ends as the table's key does, or short of its vowels, with other words before it")
    func endings() throws {
        let rows = """
            INSERT INTO buffer VALUES(1, 'a', 2, 2, 1, 0, 1), (2, 'b', 2, 3, 3, 3, 2);
            INSERT INTO backlog VALUES(1, 1, 'x'), (2, 1, 'y'), (3, 2, 'z');
            """
        let expected = [
            "backlog.bufferid buffer", "buffer.lastmsgid backlog", "buffer.lastseenmsgid backlog",
            "buffer.markerlinemsgid backlog",
        ]
        #expect(try asked(Self.messages) == expected)
        #expect(try asked(Self.messages + rows, in: "b") == expected)
    }

    @Test("One that ends as a column does that a trigger says to refer is that table's, too, where it holds no others")
    func siblings() throws {
        let schema = """
            CREATE TABLE line(id INTEGER PRIMARY KEY, chan INTEGER, text TEXT);
            CREATE TABLE chan(id INTEGER PRIMARY KEY, lastpostid INTEGER, seenpostid INTEGER, oldpostid INTEGER, n INTEGER);
            CREATE TRIGGER new_line AFTER INSERT ON line BEGIN
                UPDATE chan SET lastpostid = NEW.id WHERE chan.id = NEW.chan;
            END;
            """
        let rows = """
            INSERT INTO chan VALUES(1, 0, 0, 70, 1), (2, 0, 0, 80, 2); INSERT INTO line VALUES(1, 1, 'x'), (2, 2, 'y');
            UPDATE chan SET seenpostid = id;
            """
        let expected = ["chan.lastpostid line", "chan.seenpostid line", "line.chan chan"]
        #expect(try asked(schema + rows) == expected)
    }

    /// As in Kanboard.
    @Test("A row above another of its table is one, whatever comes before the word, and so is the row below beside it")
    func parents() throws {
        let schema = """
            CREATE TABLE tasks(id INTEGER PRIMARY KEY, title TEXT, recurrence_status INTEGER DEFAULT 0,
                recurrence_parent INTEGER, recurrence_child INTEGER, has_parent INTEGER, parent_count INTEGER,
                task_limit INTEGER DEFAULT 0, position INTEGER);
            """
        let expected = ["tasks.recurrence_child tasks", "tasks.recurrence_parent tasks"]
        #expect(try asked(schema) == expected)
        let rows = """
            INSERT INTO tasks VALUES(1, 'a', 0, NULL, 2, 0, 0, 3, 1), (2, 'b', 1, 1, NULL, 1, 1, 0, 2),
                (3, 'c', 1, NULL, NULL, 0, 0, 1, 3);
            """
        #expect(try asked(schema + rows, in: "b") == expected)
    }

    /// As in Grafana.
    @Test("What a row of a table is or is not is what a column names that is called so")
    func kinds() throws {
        let schema = """
            CREATE TABLE user(id INTEGER PRIMARY KEY, login TEXT, is_service_account BOOLEAN DEFAULT 0, is_admin INTEGER);
            CREATE TABLE dashboard(id INTEGER PRIMARY KEY, title TEXT, is_folder INTEGER, folder_id INTEGER, version INTEGER,
                admin_level INTEGER);
            CREATE TABLE api_key(id INTEGER PRIMARY KEY, name TEXT, service_account_id INTEGER, is_revoked INTEGER);
            CREATE TABLE dashboard_version(id INTEGER PRIMARY KEY, dashboard_id INTEGER, parent_version INTEGER,
                version INTEGER);
            """
        let expected = [
            "api_key.service_account_id user", "dashboard.folder_id dashboard",
            "dashboard_version.dashboard_id dashboard",
        ]
        #expect(try asked(schema) == expected)
        let rows = """
            INSERT INTO user VALUES(1, 'ann', 0, 1), (2, 'bot', 1, 0); INSERT INTO api_key VALUES(1, 'k', 2, 0);
            INSERT INTO dashboard VALUES(1, 'f', 1, 0, 1, 1), (2, 'd', 0, 1, 2, 2);
            INSERT INTO dashboard_version VALUES(1, 2, 0, 1), (2, 2, 1, 2), (3, 1, 0, 1);
            """
        #expect(try asked(schema + rows, in: "b") == expected)
    }

    /// As in Cozy.
    private static func books(_ positions: [Int]) -> String {
        let rows = positions.enumerated().map { index, position in
            let (book, first) = (index + 1, index * 5)
            return "INSERT INTO book VALUES(\(book), 'b', \(position), 3, \(book), 5, 1700000000);"
                + (1...5).map { "INSERT INTO track VALUES(\(first + $0), \(book), \($0), 100);" }.joined()
        }
        return """
            CREATE TABLE book(id INTEGER PRIMARY KEY, name TEXT, position INTEGER, rating INTEGER, sort_order INTEGER,
                tracks_count INTEGER, last_played INTEGER);
            CREATE TABLE track(id INTEGER PRIMARY KEY, book_id INTEGER REFERENCES book(id), number INTEGER, length REAL);
            """ + rows.joined()
    }

    @Test(
        "A column that holds in each row one of the rows that belong to it names one of these",
        arguments: [[2, 8], [0, 9, 14], [0, 0, 0, 17], [3, 0, 12, -1]])
    func owned(positions: [Int]) throws {
        #expect(try asked(Self.books(positions)) == ["book.position track"])
    }

    @Test(
        "A column that may do so by chance, or names others' rows, is none",
        arguments: [[1, 2], [2, 0, 0], [8, 2], [1, 2, 3], [0, 0], [2, 8, 30]])
    func notOwned(positions: [Int]) throws {
        #expect(try asked(Self.books(positions)) == [])
    }

    @Test(
        "A name that is short for a table's, and only that, is the table's",
        arguments: [
            ("repository", "repo_id", true), ("repository", "repoid", true), ("message", "msg_id", true),
            ("quantity_units", "qu_id", true), ("quantity_units", "qu_id_stock", true),
            ("quantity_units", "from_qu_id", true), ("categories", "cat_id", true), ("repository", "rep_count", false),
            ("message", "msg_count", false), ("quantity_units", "qu", false), ("quantity_units", "qu_id_count", false),
            ("repository", "github_repo_id", false), ("message", "massage_id", false),
        ])
    func short(table: String, column: String, isAsked: Bool) throws {
        let schema = """
            CREATE TABLE \(table)(id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE t(k TEXT PRIMARY KEY, \(column) INTEGER);
            """
        #expect(try asked(schema) == (isAsked ? ["t.\(column) \(table)"] : []))
    }

    @Test("Flags, counts and other programs' numbers are no references, and a table's own key is its own")
    func others() throws {
        let schema = """
            CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT, gitlab_id INTEGER);
            CREATE TABLE albums(id INTEGER PRIMARY KEY, name TEXT, discogs_albumid INTEGER);
            CREATE TABLE members(k TEXT PRIMARY KEY, is_owner INTEGER, has_author INTEGER);
            CREATE TABLE column_has_restrictions(restriction_id INTEGER PRIMARY KEY, rule TEXT);
            CREATE TABLE column_has_move_restrictions(restriction_id INTEGER PRIMARY KEY, rule TEXT);
            CREATE TABLE entries(id BIGINT PRIMARY KEY NOT NULL, title TEXT);
            """
        #expect(try asked(schema) == [])
        let rows = """
            INSERT INTO users VALUES(1, 'a', 1), (2, 'b', 2), (3, 'c', 3); INSERT INTO albums VALUES(1, 'x', 1), (2, 'y', 2);
            INSERT INTO members VALUES('m', 1, 1), ('n', 0, 1); INSERT INTO entries VALUES(1, 'e'), (2, 'f'), (3, 'g');
            INSERT INTO column_has_restrictions VALUES(1, 'r'), (2, 's'); INSERT INTO column_has_move_restrictions VALUES(1, 't');
            """
        #expect(try folder.examine(schema + rows, in: "b").undecided.map { "\($0.table).\($0.column)" } == [])
    }
}
