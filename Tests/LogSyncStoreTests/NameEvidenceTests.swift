import LogSyncModel
import LogSyncSQLite
import Testing

@testable import LogSyncStore

/// What a column's and a table's names are held against each other by, as applications have them.
@Suite("Undeclared references by what names are made of")
struct NameEvidenceTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    /// Each as `table.column parent`, in the order in which they are offered.
    private func asked(_ sql: String, in name: String = "app") throws -> [String] {
        try folder.examine(sql, in: name).undecided.map { "\($0.table).\($0.column) \($0.parent)" }
    }

    /// As in iOS's contacts, and in Lightroom.
    @Test("An abbreviation is a word of its own")
    func abbreviations() throws {
        let schema = """
            CREATE TABLE ABPersonLink(ROWID INTEGER PRIMARY KEY, guid TEXT);
            CREATE TABLE ABMultiValue(UID INTEGER PRIMARY KEY, value TEXT);
            CREATE TABLE ABPhone(multivalue_id INTEGER PRIMARY KEY, value TEXT);
            CREATE TABLE Person(id INTEGER PRIMARY KEY, PersonLink INTEGER, cameraSNRef INTEGER, openURLs INTEGER);
            CREATE TABLE InternedCameraSN(id INTEGER PRIMARY KEY, value TEXT);
            """
        #expect(
            try asked(schema) == [
                "Person.PersonLink ABPersonLink", "Person.cameraSNRef InternedCameraSN",
                "ABPhone.multivalue_id ABMultiValue",
            ])
    }

    /// As in Bacula.
    @Test("So is a letter before a name: the path above a path")
    func letters() throws {
        let schema = """
            CREATE TABLE Path(PathId INTEGER PRIMARY KEY, Path TEXT);
            CREATE TABLE PathHierarchy(Row TEXT PRIMARY KEY, PPathId INTEGER NOT NULL);
            """
        #expect(try asked(schema) == ["PathHierarchy.PPathId Path"])
    }

    @Test("A table's name of a letter or two says nothing")
    func shortNames() throws {
        let schema =
            "CREATE TABLE a(id INTEGER PRIMARY KEY); CREATE TABLE b(id INTEGER PRIMARY KEY, a_id INTEGER, a INTEGER);"
        #expect(try asked(schema) == [])
    }

    private static let board = """
        CREATE TABLE phpbb_extension_groups(group_id INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE phpbb_extensions(extension_id INTEGER PRIMARY KEY, group_id INTEGER);
        CREATE TABLE phpbb_groups(group_id INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE phpbb_users(user_id INTEGER PRIMARY KEY, group_id INTEGER);
        CREATE TABLE phpbb_posts(post_id INTEGER PRIMARY KEY, post_edit_user INTEGER);
        """

    /// As in phpBB.
    @Test("What all tables' names begin with is no part of them")
    func prefixes() throws {
        let rows = """
            INSERT INTO phpbb_users VALUES(2, 1), (3, 2), (5, 2); INSERT INTO phpbb_posts VALUES(1, 3), (2, 5), (3, 0);
            """
        #expect(try asked(Self.board + rows).contains("phpbb_posts.post_edit_user phpbb_users"))
        // Of tables that are all a user's, users are what is said.
        let others = """
            CREATE TABLE user_mails(id INTEGER PRIMARY KEY, user_id INTEGER); CREATE TABLE user_keys(id INTEGER PRIMARY KEY);
            CREATE TABLE user_roles(id INTEGER PRIMARY KEY); CREATE TABLE user_notes(id INTEGER PRIMARY KEY);
            CREATE TABLE user_teams(id INTEGER PRIMARY KEY, top_role INTEGER);
            INSERT INTO user_roles VALUES(1), (2), (3); INSERT INTO user_teams VALUES(7, 3), (8, 2);
            """
        #expect(try asked(others, in: "b") == [])
    }

    @Test(
        "Of tables that fit alike, the one that shares a word with the column's, and the one that is called so, come first"
    )
    func order() throws {
        let offered = try asked(Self.board)
        #expect(
            offered.first { $0.hasPrefix("phpbb_extensions.group_id") }
                == "phpbb_extensions.group_id phpbb_extension_groups")
        #expect(offered.first { $0.hasPrefix("phpbb_users.group_id") } == "phpbb_users.group_id phpbb_groups")
    }

    /// As in Redmine.
    @Test("A name that ends as a table is called is that table's, and not one's that ends so, too")
    func wholeNames() throws {
        let schema = """
            CREATE TABLE member_roles(id INTEGER PRIMARY KEY); CREATE TABLE roles(id INTEGER PRIMARY KEY);
            CREATE TABLE managed(id INTEGER PRIMARY KEY, managed_role_id INTEGER);
            """
        #expect(try asked(schema) == ["managed.managed_role_id roles"])
    }

    /// As in phpBB, and in Bacula.
    @Test("A key that is called as its own table's part, or short for it, is no other's")
    func ownKeys() throws {
        let schema = """
            CREATE TABLE log(log_id INTEGER PRIMARY KEY); CREATE TABLE location_log(loc_log_id INTEGER PRIMARY KEY);
            INSERT INTO log VALUES(1), (2), (3); INSERT INTO location_log VALUES(1), (2), (3);
            """
        #expect(try asked(schema) == [])
        #expect(try !asked(Self.board, in: "b").contains { $0.hasPrefix("phpbb_extension_groups") })
    }

    /// As in Redmine.
    @Test("A version is a number where the program says of those that are rows that they refer")
    func marked() throws {
        let schema = """
            CREATE TABLE versions(id INTEGER PRIMARY KEY); CREATE TABLE contents(id INTEGER PRIMARY KEY, version INTEGER);
            """
        #expect(try asked(schema) == ["contents.version versions"])
        let marked = schema + "CREATE TABLE issues(id INTEGER PRIMARY KEY, fixed_version_id INTEGER);"
        #expect(try asked(marked, in: "b") == ["issues.fixed_version_id versions"])
    }

    /// As in Gajim.
    @Test("Of a table and one that has its integers, the first is offered alone")
    func shares() throws {
        let schema = """
            CREATE TABLE jids(jid_id INTEGER PRIMARY KEY, jid TEXT);
            CREATE TABLE last_message(jid_id INTEGER PRIMARY KEY, at TEXT); CREATE TABLE logs(id INTEGER PRIMARY KEY, jid_id INTEGER);
            """
        #expect(try asked(schema) == ["logs.jid_id jids", "last_message.jid_id jids"])
        // As in Drupal, where two tables that count for themselves call their keys alike.
        let counted = """
            CREATE TABLE node_revision(vid INTEGER PRIMARY KEY AUTOINCREMENT); INSERT INTO node_revision VALUES(1), (2), (3);
            CREATE TABLE vocabulary(vid INTEGER PRIMARY KEY AUTOINCREMENT); INSERT INTO vocabulary VALUES(1), (2);
            CREATE TABLE terms(name TEXT, vid INTEGER); INSERT INTO terms VALUES('a', 1), ('b', 2);
            """
        #expect(try asked(counted, in: "b") == ["terms.vid node_revision", "terms.vid vocabulary"])
    }

    /// As in Redmine, whose members are the users of a project.
    @Test("Who did something is first of the people that are no others")
    func people() throws {
        let schema = """
            CREATE TABLE members(id INTEGER PRIMARY KEY, user_id INTEGER NOT NULL, project TEXT);
            CREATE TABLE users(id INTEGER PRIMARY KEY, login TEXT);
            CREATE TABLE news(id INTEGER PRIMARY KEY, author_id INTEGER);
            """
        #expect(try asked(schema) == ["members.user_id users", "news.author_id users", "news.author_id members"])
    }

    /// As in Redmine, and in Android's launcher.
    @Test(
        "What was done with a row names one, and so does what it is within", arguments: ["inherited_from", "container"])
    func relatives(column: String) throws {
        let schema = """
            CREATE TABLE items(id INTEGER PRIMARY KEY, title TEXT, \(column) INTEGER);
            INSERT INTO items VALUES(1, 'a', NULL), (2, 'b', -100), (3, 'c', 1), (4, 'd', 2), (5, 'e', 3);
            """
        #expect(try asked(schema) == ["items.\(column) items"])
    }

    /// As in Drupal.
    @Test("A short name that few tables' keys have is that table's, and so is what ends as it is called")
    func shortKeys() throws {
        let schema = """
            CREATE TABLE users(uid INTEGER PRIMARY KEY); CREATE TABLE url_alias(pid INTEGER PRIMARY KEY);
            CREATE TABLE term(tid INTEGER PRIMARY KEY); CREATE TABLE hierarchy(tid INTEGER, parent INTEGER, PRIMARY KEY(tid, parent));
            CREATE TABLE comment(cid INTEGER PRIMARY KEY, pid INTEGER, uid INTEGER, last_uid INTEGER, first_tid INTEGER);
            """
        let names = [
            "comment.pid comment", "comment.pid url_alias", "comment.uid users", "hierarchy.parent term",
            "hierarchy.tid term",
        ]
        #expect(try asked(schema).sorted() == names)
        let rows = """
            INSERT INTO users VALUES(1), (2), (3); INSERT INTO term VALUES(1), (2), (3); INSERT INTO url_alias VALUES(1);
            INSERT INTO comment VALUES(1, 0, 2, 1, 3), (2, 1, 3, 3, 1), (3, 2, 1, 1, 0); INSERT INTO hierarchy VALUES(2, 1);
            """
        #expect(
            try asked(schema + rows, in: "b").sorted() == [
                "comment.first_tid term", "comment.last_uid users", "comment.pid comment", "comment.uid users",
                "hierarchy.parent term", "hierarchy.tid term",
            ])
        // A letter before the table's own key, or for its first, says that it is another row.
        let beside = """
            CREATE TABLE node(nid INTEGER PRIMARY KEY, tnid INTEGER); INSERT INTO node VALUES(1, 0), (2, 1), (3, 2), (4, 1);
            CREATE TABLE menu(mlid INTEGER PRIMARY KEY, plid INTEGER, xlid INTEGER);
            INSERT INTO menu VALUES(1, 0, 0), (2, 1, 1), (3, 2, 2), (4, 1, 3);
            """
        #expect(try asked(beside, in: "d") == ["menu.plid menu", "node.tnid node"])
        // Where all keys are called so, it says nothing.
        let others =
            "CREATE TABLE a(uid INTEGER PRIMARY KEY); CREATE TABLE b(uid INTEGER PRIMARY KEY); CREATE TABLE c(x TEXT, uid INTEGER);"
        #expect(try asked(others, in: "c") == [])
    }

    /// As in Synapse.
    @Test("Texts that a table has beside its integers are what texts of their name hold")
    func texts() throws {
        let schema = """
            CREATE TABLE events(stream_ordering INTEGER PRIMARY KEY, event_id TEXT NOT NULL UNIQUE);
            CREATE TABLE edges(event_id TEXT, prev_event_id TEXT); CREATE TABLE books(id INTEGER PRIMARY KEY, book_id TEXT);
            CREATE TABLE notes(id INTEGER PRIMARY KEY, book_id TEXT);
            """
        let warned = try folder.examine(schema).warnings.filter { $0.contains("is a text") }
        #expect(warned.count == 1 && warned.allSatisfy { $0.contains("notes.book_id") })
    }

    /// As in Kodi.
    @Test("A name that is the own key's, and says that it is the row above, is that")
    func aboveTheKey() throws {
        let schema =
            "CREATE TABLE timers(iClientIndex INTEGER PRIMARY KEY, iParentClientIndex INTEGER, iPriority INTEGER);"
        #expect(try asked(schema) == ["timers.iParentClientIndex timers"])
    }

    /// As in Lightroom.
    @Test("A table that is called after two others joins them, whatever its second column is called")
    func links() throws {
        let schema = """
            CREATE TABLE Image(id INTEGER PRIMARY KEY); CREATE TABLE Keyword(id INTEGER PRIMARY KEY);
            CREATE TABLE KeywordImage(id INTEGER PRIMARY KEY, image INTEGER, tag INTEGER);
            INSERT INTO Image VALUES(1), (2), (3); INSERT INTO Keyword VALUES(1), (2), (3), (4);
            """
        let rows = "INSERT INTO KeywordImage VALUES(7, 1, 4), (8, 2, 3), (9, 2, 2);"
        #expect(try asked(schema + rows) == ["KeywordImage.image Image", "KeywordImage.tag Keyword"])
        #expect(
            try asked(schema + rows + "INSERT INTO KeywordImage VALUES(10, 1, 30);", in: "b") == [
                "KeywordImage.image Image"
            ])
    }

    /// As in Clementine, whose songs have no key.
    @Test("What only says that it refers may name rows of a table without a key")
    func keyless() throws {
        let schema = """
            CREATE TABLE songs(title TEXT); INSERT INTO songs VALUES('a'), ('b'), ('c'), ('d');
            CREATE TABLE lists(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO lists VALUES(1, 'x');
            CREATE TABLE list_items(type TEXT, library_id INTEGER);
            """
        let rows = "INSERT INTO list_items VALUES('L', 4), ('L', 2), ('F', NULL), ('L', 3);"
        #expect(try asked(schema + rows) == ["list_items.library_id songs"])
        #expect(try asked(schema + rows + "INSERT INTO list_items VALUES('L', 40);", in: "b") == [])
    }

    /// As in Lollypop.
    @Test("What a table without a key has a column for is no row of it")
    func properties() throws {
        let schema = """
            CREATE TABLE albums(id INTEGER PRIMARY KEY, popularity INTEGER); INSERT INTO albums VALUES(1, 1), (2, 3);
            CREATE TABLE timed_popularity(mtime INTEGER, popularity INTEGER); INSERT INTO timed_popularity VALUES(1, 9), (2, 9), (3, 9);
            """
        #expect(try asked(schema) == [])
    }

    /// As in Skrooge.
    @Test("A number that a table without a key has twice is not its rows'")
    func repeated() throws {
        let schema = """
            CREATE TABLE budget(id INTEGER PRIMARY KEY); INSERT INTO budget VALUES(4), (5), (6);
            CREATE TABLE budget_rows(id INTEGER NOT NULL, note TEXT);
            """
        let rows = "INSERT INTO budget_rows VALUES(4, 'a'), (5, 'b'), (6, 'c')"
        #expect(try asked(schema + rows) == [])
        #expect(try asked(schema + rows + ", (4, 'd');", in: "b") == ["budget_rows.id budget"])
    }

    /// As in Vikunja.
    @Test(
        "A number may say of which table the row is that another names",
        arguments: ["entity_type", "entity_kind", "kind"])
    func numberedTypes(type: String) throws {
        let schema = """
            CREATE TABLE tasks(id INTEGER PRIMARY KEY); CREATE TABLE projects(id INTEGER PRIMARY KEY);
            CREATE TABLE subscriptions(id INTEGER PRIMARY KEY, \(type) INTEGER, entity_id INTEGER);
            """
        #expect(try Set(asked(schema)) == ["subscriptions.entity_id tasks", "subscriptions.entity_id projects"])
        let rows = """
            INSERT INTO tasks VALUES(1), (2), (3), (4); INSERT INTO projects VALUES(1);
            INSERT INTO subscriptions VALUES(7, 1, 1), (8, 2, 4), (9, 1, 9);
            """
        #expect(try asked(schema + rows, in: "b") == ["subscriptions.entity_id tasks"])
    }

    /// As in Tautulli, whose users have the numbers that Plex has given them.
    @Test("Of a table with a UNIQUE number of that name beside its key, a column names the number")
    func numbers() throws {
        let schema = """
            CREATE TABLE users(id INTEGER PRIMARY KEY AUTOINCREMENT, user_id INTEGER UNIQUE, name TEXT);
            CREATE TABLE logins(id INTEGER PRIMARY KEY AUTOINCREMENT, user_id INTEGER);
            CREATE TABLE sections(id INTEGER PRIMARY KEY, server TEXT, section_id INTEGER, UNIQUE(server, section_id));
            CREATE TABLE visits(id INTEGER PRIMARY KEY, section_id INTEGER);
            INSERT INTO sections VALUES(1, 'x', 2), (2, 'x', 1), (3, 'x', 3); INSERT INTO visits VALUES(7, 2), (8, 1), (9, 3);
            """
        #expect(try asked(schema) == [])
        // A category may be within another.
        let tree = """
            CREATE TABLE category(id INTEGER PRIMARY KEY, category_id INTEGER, name TEXT, UNIQUE(category_id, name));
            CREATE TABLE items(id INTEGER PRIMARY KEY, category_id INTEGER);
            INSERT INTO category VALUES(1, 0, 'a'), (2, 1, 'b'), (3, 1, 'c'); INSERT INTO items VALUES(7, 2), (8, 1), (9, 3);
            """
        #expect(try asked(tree, in: "b") == ["category.category_id category", "items.category_id category"])
    }
}
