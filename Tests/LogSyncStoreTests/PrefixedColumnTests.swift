import LogSyncModel
import LogSyncSQLite
import Testing

@testable import LogSyncStore

/// Columns that all begin with what stands for their table.
@Suite("Undeclared references behind a table's own prefix")
struct PrefixedColumnTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    /// Each as `table.column parent`.
    private func asked(_ sql: String, in name: String = "app") throws -> [String] {
        try folder.examine(sql, in: name).undecided.map { "\($0.table).\($0.column) \($0.parent)" }
    }

    /// As MediaWiki lays it out.
    private static func wiki(_ prefix: String) -> String {
        let rows = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 36) INSERT INTO"
        return """
            CREATE TABLE \(prefix)user(user_id INTEGER PRIMARY KEY, user_name TEXT, user_editcount INTEGER);
            CREATE TABLE \(prefix)actor(actor_id INTEGER PRIMARY KEY, actor_user INTEGER, actor_name TEXT);
            CREATE TABLE \(prefix)page(page_id INTEGER PRIMARY KEY, page_namespace INTEGER, page_title TEXT,
                page_is_new INTEGER, page_latest INTEGER, page_len INTEGER);
            CREATE TABLE \(prefix)revision(rev_id INTEGER PRIMARY KEY, rev_page INTEGER, rev_actor INTEGER,
                rev_minor_edit INTEGER, rev_parent_id INTEGER, rev_sha1 TEXT);
            CREATE TABLE \(prefix)pagelinks(pl_from INTEGER, pl_namespace INTEGER, pl_title TEXT);
            CREATE TABLE \(prefix)category(cat_id INTEGER PRIMARY KEY, cat_title TEXT, cat_pages INTEGER);
            CREATE TABLE \(prefix)site_stats(ss_row_id INTEGER UNSIGNED PRIMARY KEY, ss_edits INTEGER);
            INSERT INTO \(prefix)category VALUES(1, 'c', 2), (2, 'd', 5); INSERT INTO \(prefix)site_stats VALUES(1, 9);
            \(rows) \(prefix)user SELECT i, 'u' || i, i * 7 FROM n WHERE i < 4;
            \(rows) \(prefix)actor SELECT i, i % 4, 'a' || i FROM n WHERE i < 5;
            \(rows) \(prefix)page SELECT i, 0, 'p' || i, i % 2, i * 3, i * 40 FROM n WHERE i < 13;
            \(rows) \(prefix)revision SELECT i, (i + 2) / 3, 1 + i % 4, 0, i - 1, 's' || i FROM n;
            \(rows) \(prefix)pagelinks SELECT i, 0, 'p' || i FROM n WHERE i < 12;
            """
    }

    @Test("What is called so only in its own table is named by the rest", arguments: ["", "mw_"])
    func wiki(prefix: String) throws {
        let found = try asked(Self.wiki(prefix))
        let sure = [
            "actor.actor_user user", "page.page_latest revision", "revision.rev_actor actor",
            "revision.rev_page page", "revision.rev_parent_id revision",
        ]
        for column in sure {
            let names = column.split(separator: " ")
            #expect(
                found.filter { $0.hasPrefix("\(prefix)\(names[0]) ") } == ["\(prefix)\(names[0]) \(prefix)\(names[1])"])
        }
        // Links are from rows of the tables that have so many.
        #expect(found.contains("\(prefix)pagelinks.pl_from \(prefix)page"))
        #expect(Set(found.map { $0.split(separator: " ")[0] }).count == sure.count + 1)
    }

    @Test(
        "Whatever the column is called behind it",
        arguments: ["rev_page", "rev_page_id", "revPage", "rev_from_page", "rev_parent_page"])
    func spelled(column: String) throws {
        let other = column == "revPage" ? ("revId", "revText") : ("rev_id", "rev_text")
        let schema = """
            CREATE TABLE pages(id INTEGER PRIMARY KEY, title TEXT); INSERT INTO pages VALUES(1, 'a'), (2, 'b'), (3, 'c');
            CREATE TABLE revision(\(other.0) INTEGER PRIMARY KEY, \(column) INTEGER, \(other.1) TEXT);
            INSERT INTO revision VALUES(1, 3, ''), (2, 1, '');
            """
        #expect(try asked(schema) == ["revision.\(column) pages"])
        #expect(try asked(schema + "INSERT INTO revision VALUES(3, 7, ''), (4, 8, ''), (5, 9, '');", in: "b") == [])
    }

    @Test("It may be the key that is called so, behind its table's own prefix")
    func keys() throws {
        let schema = """
            CREATE TABLE nation(n_nationkey INTEGER PRIMARY KEY, n_name TEXT, n_comment TEXT);
            CREATE TABLE customer(c_custkey INTEGER PRIMARY KEY, c_nationkey INTEGER, c_name TEXT);
            INSERT INTO nation VALUES(1, '', ''), (2, '', ''); INSERT INTO customer VALUES(1, 2, ''), (2, 2, '');
            """
        #expect(try asked(schema) == ["customer.c_nationkey nation"])
    }

    @Test("A word that only some columns begin with is none, nor one that says how rows stand to each other")
    func others() throws {
        let tables = """
            CREATE TABLE pages(id INTEGER PRIMARY KEY, title TEXT); INSERT INTO pages VALUES(1, 'a'), (2, 'b'), (3, 'c');
            """
        let some = """
            CREATE TABLE books(id INTEGER PRIMARY KEY, last_pages INTEGER, sort_page INTEGER, title TEXT, sort_title TEXT);
            INSERT INTO books VALUES(1, 1, 1, '', ''), (2, 2, 2, '', '');
            """
        #expect(try asked(tables + some).filter { $0.contains("sort") } == [])
        let strange = """
            CREATE TABLE sources(remote_id INTEGER PRIMARY KEY, remote_parent_id INTEGER, remote_name TEXT);
            INSERT INTO sources VALUES(1, 3, ''), (2, 1, ''), (3, 2, '');
            """
        #expect(try asked(tables + strange, in: "b") == [])
    }

    @Test("A column that is called as what a table's key numbers is that table's where it holds its integers")
    func numbered() throws {
        let schema = """
            CREATE TABLE filecache(fileid INTEGER PRIMARY KEY, path TEXT); INSERT INTO filecache VALUES(11, 'a'), (12, 'b');
            CREATE TABLE share(id INTEGER PRIMARY KEY, file_source INTEGER, file_target TEXT, file_size INTEGER);
            """
        #expect(try asked(schema + "INSERT INTO share VALUES(1, 12, '/b', 11);") == ["share.file_source filecache"])
        #expect(try asked(schema + "INSERT INTO share VALUES(1, 77, '/b', 11);", in: "b") == [])
        #expect(try asked(schema, in: "c") == [])
    }
}
