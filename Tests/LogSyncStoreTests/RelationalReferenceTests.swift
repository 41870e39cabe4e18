import LogSyncModel
import LogSyncSQLite
import Testing

@testable import LogSyncStore

/// Columns whose names say how rows stand to each other, and not of which table they are.
@Suite("Undeclared references by what columns are")
struct RelationalReferenceTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    /// Each as `table.column parent`, in the order in which they are offered.
    private func asked(_ sql: String, in name: String = "app") throws -> [String] {
        try folder.examine(sql, in: name).undecided.map {
            "\($0.table).\($0.column) \($0.parent)"
        }
    }

    private static let tables = """
        CREATE TABLE folders(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO folders VALUES(1, 'a'), (2, 'b'), (3, 'c');
        CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO users VALUES(1, 'ann');
        """

    @Test(
        "Who did something is one of the people, though there is only one",
        arguments: ["created_by", "updatedBy", "author", "assigned_to", "assignee_id", "owner", "reporter"])
    func people(column: String) throws {
        let schema = Self.tables + "CREATE TABLE docs(id INTEGER PRIMARY KEY, \(column) INTEGER);"
        #expect(try asked(schema) == ["docs.\(column) users"])
        #expect(try asked(schema + "INSERT INTO docs VALUES(1, 1), (2, 1);", in: "b") == ["docs.\(column) users"])
        #expect(try asked(schema + "INSERT INTO docs VALUES(1, 9), (2, 10), (3, 11);", in: "c") == [])
    }

    @Test(
        "How rows stand to each other is asked for where they are there",
        arguments: ["next", "sibling", "root", "prev"])
    func relatives(column: String) throws {
        let schema = Self.tables + "CREATE TABLE docs(id INTEGER PRIMARY KEY, \(column) INTEGER);"
        #expect(try asked(schema) == [])
        #expect(
            try asked(schema + "INSERT INTO docs VALUES(5, 6), (6, 7), (7, 5);", in: "b") == ["docs.\(column) docs"])
        #expect(try asked(schema + "INSERT INTO docs VALUES(5, 6), (6, 70), (7, 5);", in: "c") == [])
    }

    @Test(
        "Two columns that are the ends of a link refer to the rows that it joins",
        arguments: [("a", "b"), ("src", "dst"), ("from", "to"), ("ancestor", "descendant"), ("source", "target")])
    func ends(a: String, b: String) throws {
        let schema = Self.tables + "CREATE TABLE links(\"\(a)\" INTEGER, \"\(b)\" INTEGER, depth INTEGER);"
        #expect(
            try asked(schema + "INSERT INTO links VALUES(1, 2, 1), (2, 3, 1), (3, 1, 2);")
                == ["links.\(a) folders", "links.\(b) folders"])
        // An ancestor is one by itself.
        let one = try asked(schema + "INSERT INTO links VALUES(1, 2, 1), (2, 30, 1), (3, 1, 2);", in: "b")
        #expect(one == (a == "ancestor" ? ["links.ancestor folders"] : []))
    }

    @Test("They may be those of a table without a key, and the likeliest is the one after which the link is named")
    func rowids() throws {
        let schema =
            Self.tables + """
                CREATE TABLE pages(title TEXT); INSERT INTO pages VALUES('a'), ('b'), ('c');
                CREATE TABLE page_links(src INTEGER, dst INTEGER); INSERT INTO page_links VALUES(1, 2), (2, 3), (3, 1);
                """
        #expect(
            try asked(schema) == [
                "page_links.src pages", "page_links.src folders", "page_links.dst pages", "page_links.dst folders",
            ])
    }

    @Test("Where there is more than a link, letters are no ends of one")
    func letters() throws {
        let wide = """
            CREATE TABLE spans(id INTEGER PRIMARY KEY, a INTEGER, b INTEGER, c REAL, d REAL, e REAL, f REAL);
            INSERT INTO spans VALUES(1, 1, 2, 0, 0, 0, 0), (2, 2, 3, 0, 0, 0, 0), (3, 3, 1, 0, 0, 0, 0);
            """
        #expect(try asked(Self.tables + wide) == [])
    }

    @Test(
        "A column that is called as a table's key refers to it, where no other key is called so",
        arguments: [
            ("dept(deptno INTEGER PRIMARY KEY, n TEXT)", "deptno", "dept"),
            ("filecache(fileid INTEGER PRIMARY KEY, n TEXT)", "fileid", "filecache"),
            ("roads(fid INTEGER PRIMARY KEY, n TEXT)", "road_fid", "roads"),
            ("members(no INTEGER PRIMARY KEY, n TEXT)", "member_no", "members"),
        ])
    func keys(declaration: String, column: String, parent: String) throws {
        let schema = "CREATE TABLE \(declaration); CREATE TABLE t(id INTEGER PRIMARY KEY, \(column) INTEGER);"
        #expect(try asked(schema) == ["t.\(column) \(parent)"])
        let rows = "INSERT INTO \(parent) VALUES(1, 'a'), (2, 'b'); INSERT INTO t VALUES(1, 2);"
        #expect(try asked(schema + rows, in: "b") == ["t.\(column) \(parent)"])
        #expect(try asked(schema + "INSERT INTO t VALUES(1, 2);", in: "c") == [])
    }

    @Test(
        "Words before a table's name leave it one",
        arguments: ["inFolder", "parentFolder", "master_folder", "in_folder"])
    func relations(column: String) throws {
        let schema = Self.tables + "CREATE TABLE docs(id INTEGER PRIMARY KEY, \(column) INTEGER);"
        #expect(try asked(schema + "INSERT INTO docs VALUES(1, 2), (2, 3);") == ["docs.\(column) folders"])
    }

    @Test("What is a row's own is no reference to a table that is named after it")
    func properties() throws {
        let schema = """
            CREATE TABLE dashboard_version(id INTEGER PRIMARY KEY, n TEXT);
            CREATE TABLE issue_statuses(id INTEGER PRIMARY KEY, n TEXT);
            CREATE TABLE users(id INTEGER PRIMARY KEY, version INTEGER, status INTEGER);
            CREATE TABLE issues(id INTEGER PRIMARY KEY, status INTEGER);
            INSERT INTO dashboard_version VALUES(1, 'a'), (2, 'b'); INSERT INTO issue_statuses VALUES(1, 'a'), (2, 'b');
            INSERT INTO users VALUES(1, 1, 2), (2, 2, 1); INSERT INTO issues VALUES(1, 1), (2, 2);
            """
        #expect(try asked(schema) == ["issues.status issue_statuses"])
    }

    @Test("Where several tables' rows fit, all are offered, and first the one of which a row is a part")
    func several() throws {
        let items = """
            CREATE TABLE folder_items(id INTEGER PRIMARY KEY, parent INTEGER);
            CREATE TABLE files(id INTEGER PRIMARY KEY, parent INTEGER);
            CREATE TABLE trees(id INTEGER PRIMARY KEY, parent INTEGER);
            """
        #expect(
            try asked(
                Self.tables + items + """
                    INSERT INTO folder_items VALUES(1, 1), (2, 1), (3, 2), (4, 3);
                    INSERT INTO files VALUES(1, 1), (2, 1), (3, 2), (4, 3);
                    INSERT INTO trees VALUES(1, 0), (2, 1), (3, 2), (4, 3);
                    """) == [
                    "files.parent files", "files.parent folder_items", "files.parent folders", "files.parent trees",
                    "folder_items.parent folders", "folder_items.parent folder_items", "trees.parent trees",
                ])
        let profiles = """
            CREATE TABLE delay_profiles(id INTEGER PRIMARY KEY, n TEXT); CREATE TABLE lists(id INTEGER PRIMARY KEY, profile_id INTEGER);
            CREATE TABLE quality_profiles(id INTEGER PRIMARY KEY, n TEXT);
            INSERT INTO delay_profiles VALUES(1, 'a'), (2, 'b'); INSERT INTO quality_profiles VALUES(1, 'a'), (2, 'b');
            INSERT INTO lists VALUES(1, 1), (2, 2);
            """
        #expect(
            try asked(profiles, in: "b") == ["lists.profile_id delay_profiles", "lists.profile_id quality_profiles"])
        let related = """
            CREATE TABLE media_items(id INTEGER PRIMARY KEY); CREATE TABLE metadata_items(id INTEGER PRIMARY KEY);
            CREATE TABLE relations(id INTEGER PRIMARY KEY, related_metadata_item_id INTEGER);
            """
        #expect(try asked(related, in: "c") == ["relations.related_metadata_item_id metadata_items"])
    }

    @Test("A foreign key to a table that a rebuild has left behind is to the one that it was made of")
    func rebuilt() throws {
        let schema = """
            CREATE TABLE library(id INTEGER PRIMARY KEY, title TEXT);
            CREATE TABLE list_tracks(id INTEGER PRIMARY KEY, track_id INTEGER REFERENCES library_old(id));
            INSERT INTO library VALUES(1, 'x'), (2, 'y'); INSERT INTO list_tracks VALUES(1, 1), (2, 2);
            """
        #expect(try asked(schema) == ["list_tracks.track_id library"])
    }

    @Test("Integers so far apart that it is no chance are a table's, whatever the column is called")
    func apart() throws {
        // One counter numbers the rows of all tables.
        let rows = (1...40).map { number in
            """
            INSERT INTO pictures VALUES(\(number * 3), 'p'); INSERT INTO words VALUES(\(number * 3 + 1), 'w');
            INSERT INTO uses VALUES(\(number * 3 + 2), \(number * 3), \(124 - number * 3), \(number));
            """
        }.joined()
        let schema = """
            CREATE TABLE pictures(id INTEGER PRIMARY KEY, n TEXT); CREATE TABLE words(id INTEGER PRIMARY KEY, n TEXT);
            CREATE TABLE uses(id INTEGER PRIMARY KEY, shot INTEGER, tag, amount INTEGER);
            """
        #expect(try asked(schema + rows) == ["uses.shot pictures", "uses.tag words"])
        // It numbered those of one table at a time.
        let blocks = (1...10).map { number in
            """
            INSERT INTO pictures VALUES(\(number), 'p'); INSERT INTO words VALUES(\(500 + number), 'w');
            INSERT INTO uses VALUES(\(1000 + number), \(number), \(511 - number), \(number));
            """
        }.joined()
        #expect(try asked(schema + blocks, in: "b") == ["uses.tag words"])
    }

    @Test("A row of a table that a column beside it names is one of that table's")
    func tableNames() throws {
        let schema =
            Self.tables + """
                CREATE TABLE audit(id INTEGER PRIMARY KEY, table_name TEXT, row_id INTEGER);
                INSERT INTO audit VALUES(10, 'folders', 3), (11, 'users', 1);
                """
        #expect(try asked(schema) == ["audit.row_id folders", "audit.row_id users"])
    }
}
