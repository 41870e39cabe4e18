import Foundation
import LogSyncModel
import LogSyncSQLite
import Testing

@testable import LogSyncStore

/// Columns that hold integers of other tables' rows, which no key says.
@Suite("Undeclared references")
struct UndeclaredReferenceTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    /// Each as `table.column parent evidence`.
    private func undeclared(_ sql: String, in name: String = "app") throws -> [String] {
        try folder.examine(sql, in: name).references.filter { !$0.taken }.map {
            "\($0.table).\($0.column) \($0.parent) \($0.evidence.rawValue)"
        }
    }

    private static let books = """
        CREATE TABLE books(id INTEGER PRIMARY KEY, title TEXT); INSERT INTO books VALUES(1, 'Dune'), (2, 'Emma');
        CREATE TABLE app_stories(id INTEGER PRIMARY KEY, title TEXT); INSERT INTO app_stories VALUES(1, 'x'), (3, 'y');
        """

    @Test(
        "A column that is named as a table and holds integers of its rows refers to it",
        arguments: [
            ("book", "books"), ("books", "books"), ("Book_ID", "books"), ("bookId", "books"), ("bookid", "books"),
            ("fk_book", "books"), ("from_book", "books"), ("story", "app_stories"), ("story_id", "app_stories"),
            ("app_story_fk", "app_stories"), ("parent", "t"), ("parent_id", "t"), ("parentid", "t"),
        ])
    func named(column: String, parent: String) throws {
        let schema = Self.books + "CREATE TABLE t(id INTEGER PRIMARY KEY, \(column) INTEGER, UNIQUE(\(column)));"
        #expect(
            try undeclared(schema + "INSERT INTO t VALUES(1, 1), (2, -1), (3, 0), (4, NULL);")
                == ["t.\(column) \(parent) name-and-data"])
    }

    @Test("A column that is declared to hold bytes, and holds no integer, is not asked for")
    func bytes() throws {
        let schema =
            Self.books + "CREATE TABLE t(id INTEGER PRIMARY KEY, book_id BLOB, parent_id BLOB, story_id);"
        #expect(try undeclared(schema) == ["t.story_id app_stories name"])
        #expect(
            try undeclared(schema + "INSERT INTO t VALUES(1, x'01', NULL, NULL);", in: "bytes")
                == ["t.story_id app_stories name"])
        #expect(
            try undeclared(schema + "INSERT INTO t VALUES(1, 1, NULL, NULL), (2, 2, NULL, NULL);", in: "integers")
                == ["t.book_id books name-and-data", "t.story_id app_stories name"])
    }

    @Test(
        "A name of a row before a table's is asked for without values, one of a time or a number is not",
        arguments: [
            ("parentBook", ["t.parentBook books name"]), ("from_books", ["t.from_books books name"]),
            ("last_book", []), ("next", []), ("root", []), ("newBook", []),
        ])
    func kin(column: String, expected: [String]) throws {
        #expect(try undeclared(Self.books + "CREATE TABLE t(k TEXT PRIMARY KEY, \(column) INTEGER);") == expected)
    }

    /// What `init` asks of a column of texts.
    private func asked(_ sql: String, _ change: (inout InitializePlan) -> Void = { _ in }) throws -> [String] {
        try folder.examine(Self.books + sql, in: UUID().uuidString, change).undecided.map {
            "\($0.table).\($0.column) \($0.parent)" + ($0.asText ?? false ? " as text" : "")
        }
    }

    @Test(
        "Integers of rows that are written out as texts are asked for where the name says so",
        arguments: [
            ("book_id TEXT", "('1'), ('2'), (''), (NULL)"), ("bookId VARCHAR(9)", "('2')"),
            ("book_ids TEXT", "('1,2'), ('2')"), ("books TEXT", "('[1,2]'), ('[]'), ('[2, 7]')"),
        ])
    func texts(column: String, values: String) throws {
        let name = column.split(separator: " ")[0]
        let sql = "CREATE TABLE t(\(column), k TEXT PRIMARY KEY); INSERT INTO t(\(name)) VALUES\(values);"
        #expect(try asked(sql) == ["t.\(name) books as text"])
    }

    @Test(
        "What is no integer of a row, or of another table's, is a text",
        arguments: [
            ("book_id TEXT", "('1'), ('x')"), ("book_id TEXT", "('07')"), ("book_id TEXT", "('8'), ('9'), ('1')"),
            ("books TEXT", "('1')"), ("external_id TEXT", "('1')"), ("code TEXT", "('1'), ('2')"),
            ("book_id TEXT", "('')"),
        ])
    func otherTexts(column: String, values: String) throws {
        let name = column.split(separator: " ")[0]
        #expect(
            try asked("CREATE TABLE t(\(column), k TEXT PRIMARY KEY); INSERT INTO t(\(name)) VALUES\(values);") == [])
    }

    @Test(
        "So are those of a foreign key or an option, which nothing translates either",
        arguments: ["VARCHAR(9)", "FLOAT"])
    func declaredTexts(type: String) throws {
        let table =
            "CREATE TABLE t(id INTEGER PRIMARY KEY, b \(type) REFERENCES books(id), c \(type), d INTEGER);"
        let rows = "INSERT INTO t VALUES(1, '1', '2', 1), (2, '2', NULL, 2);"
        for sql in [table, table + rows] {
            #expect(try asked(sql) == ["t.b books as text"])
            #expect(try asked(sql) { $0.notReferences = [(table: "t", column: "b")] } == [])
            #expect(
                try asked(sql) {
                    $0.references = [
                        (table: "t", column: "c", parent: "books"), (table: "t", column: "d", parent: "books"),
                    ]
                } == ["t.b books as text", "t.c books as text"])
            #expect(try asked(sql) { $0.identities["books"] = .natural } == [])
        }
        // Where they are no integers, the key is none of rows with integers.
        #expect(try asked(table + "INSERT INTO t VALUES(1, 'isbn', NULL, NULL);") == [])
    }

    @Test("A text beside a type is asked for by the tables that this names, and what is said of it decides")
    func typedTexts() throws {
        let sql = """
            CREATE TABLE tags(item_type TEXT, item_id TEXT, k TEXT PRIMARY KEY);
            INSERT INTO tags VALUES('Book', '1', 'a'), ('AppStory', '3', 'b'), ('Book', '2', 'c');
            """
        #expect(try asked(sql) == ["tags.item_id app_stories as text", "tags.item_id books as text"])
        #expect(try asked(sql) { $0.notReferences = [("tags", "item_id")] } == [])
        #expect(try asked(sql) { $0.identities = ["books": .natural, "app_stories": .natural] } == [])
        let report = try folder.examine(Self.books + sql, in: "other")
        let error = try #require(report.obstacle)
        #expect(
            error.message.contains(
                "as text or as real numbers, which nothing translates: tags.item_id (app_stories or books)"))
        for option in [
            "--identity app_stories=natural --identity books=natural", "--local tags", "--no-reference tags.item_id",
        ] {
            #expect(error.help?.contains(option) ?? false)
        }
        let empty = try folder.examine(Self.books + "CREATE TABLE t(book_id TEXT, k TEXT PRIMARY KEY);", in: "empty")
        #expect(empty.warnings.contains { $0.contains("t.book_id is a text") })
    }

    @Test(
        "A column is nobody's where its values are not the table's, or its name says something else",
        arguments: [
            ("book INTEGER", "7"), ("book TEXT", "'1'"), ("book", "1.5"), ("quantity INTEGER", "1"),
            ("sort_book INTEGER", "1"),
            ("year INTEGER", "2"), ("external_id INTEGER", "1"), ("ok INTEGER", "1"),
            ("created INTEGER", "1700000000000"),
        ])
    func others(column: String, value: String) throws {
        #expect(
            try undeclared(
                Self.books + "CREATE TABLE t(id INTEGER PRIMARY KEY, \(column)); INSERT INTO t VALUES(1, \(value));")
                == [])
    }

    @Test("The name alone is enough where there are no values, but not where it is far from the table's")
    func nameAlone() throws {
        let found = try undeclared(
            Self.books + "CREATE TABLE t(id INTEGER PRIMARY KEY, book_id INTEGER, next_book INTEGER, story INTEGER);")
        #expect(found == ["t.book_id books name", "t.story app_stories name"])
    }

    /// One of two books that are referred to has gone, and nothing was told of it.
    @Test("It does where some of the rows have gone, and where an empty text stands for none", arguments: ["7", "''"])
    func gone(value: String) throws {
        let found = try undeclared(
            Self.books
                + "CREATE TABLE t(id INTEGER PRIMARY KEY, book_id INTEGER); INSERT INTO t VALUES(1, 1), (2, \(value));")
        #expect(found == ["t.book_id books name-and-data"])
    }

    @Test(
        "The names of tables and columns are read as people and their tools write them",
        arguments: [
            ("person_id", "people"), ("event_id", "EventTable"), ("bucket_id", "bucketmodel"), ("shelf_id", "shelves"),
            ("attribute_id", "attribute_definitions"), ("primary_photo_id", "photos"), ("photo_parent", "photos"),
        ])
    func spelled(column: String, parent: String) throws {
        let isOwn = column == "photo_parent"
        let found = try undeclared(
            """
            CREATE TABLE \(parent)(id INTEGER PRIMARY KEY, name TEXT\(isOwn ? ", \(column) INTEGER" : ""));
            CREATE TABLE t(id INTEGER PRIMARY KEY\(isOwn ? "" : ", \(column) INTEGER"));
            INSERT INTO \(parent)(id) VALUES(1), (2); INSERT INTO t(id) VALUES(1), (2);
            UPDATE \(isOwn ? parent : "t") SET \(column) = 1;
            """)
        #expect(found == ["\(isOwn ? parent : "t").\(column) \(parent) name-and-data"])
    }

    @Test("A name that says that it is a reference and not of what may be of each table that has its integers")
    func anyReference() throws {
        let found = try undeclared(
            Self.books + "CREATE TABLE t(id INTEGER PRIMARY KEY, owner_id INTEGER); INSERT INTO t VALUES(5, 2), (6, 2);"
        )
        #expect(found == ["t.owner_id books name-and-data"])
    }

    @Test("So may one that says that it is a reference and is no table's name, where it holds several integers")
    func unnamed() throws {
        let schema =
            Self.books + """
                CREATE TABLE people(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO people VALUES(1, 'a'), (2, 'b'), (7, 'c');
                CREATE TABLE t(id INTEGER PRIMARY KEY, author_id INTEGER, external_id INTEGER, few_id INTEGER);
                INSERT INTO t VALUES(11, 1, 1, 1), (12, 2, 2, 1), (13, 7, 7, 1);
                """
        #expect(try undeclared(schema) == ["t.author_id people name-and-data"])
        // A recipe that says of what columns are is of one who has looked at them.
        #expect(try folder.examine("SELECT 1") { $0.knowsColumns = true }.references.isEmpty)
    }

    @Test("A column that is called as its own table is no reference, but for one that says that it is one")
    func ownName() throws {
        let found = try undeclared(
            """
            CREATE TABLE seasons(id INTEGER PRIMARY KEY, season INTEGER, next_season INTEGER, season_id INTEGER);
            INSERT INTO seasons VALUES(1, 1, 2, 1), (2, 2, 0, 2);
            """)
        #expect(found == ["seasons.next_season seasons name-and-data", "seasons.season_id seasons name-and-data"])
    }

    @Test("Beside a column that says of which table a row is, it is one of those that this names")
    func typed() throws {
        let found = try undeclared(
            Self.books
                + """
                CREATE TABLE tags(id INTEGER PRIMARY KEY, taggable_type TEXT, taggable_id INTEGER);
                INSERT INTO tags VALUES(8, 'App\\Models\\Book', 1), (9, 'AppStory', 3);
                """)
        #expect(found == ["tags.taggable_id app_stories name-and-data", "tags.taggable_id books name-and-data"])
    }

    @Test("Beside a column that will say of which table a row is, it may be any that has such integers")
    func typedLater() throws {
        let table = "CREATE TABLE tags(id INTEGER PRIMARY KEY, taggable_type VARCHAR(255), taggable_id BIGINT);"
        let both = ["tags.taggable_id app_stories", "tags.taggable_id books"]
        #expect(try undeclared(Self.books + table) == both.map { "\($0) name" })
        let unknown = Self.books + table + "INSERT INTO tags VALUES(8, '17', 1), (9, '18', 3);"
        #expect(try undeclared(unknown, in: "b") == both.map { "\($0) name-and-data" })
        let another = Self.books + table + "INSERT INTO tags VALUES(8, '17', 77), (9, '18', 78);"
        #expect(try undeclared(another, in: "c").isEmpty)
        // A kind of books, and no kind of what.
        let kind = Self.books + "CREATE TABLE loans(id INTEGER PRIMARY KEY, book_type TEXT, book_id INTEGER);"
        #expect(try undeclared(kind, in: "d") == ["loans.book_id books name"])
        let report = try folder.examine(Self.books + table, in: "e")
        #expect(report.undecided.allSatisfy { $0.type == "taggable_type" } && report.undecided.count == 2)
        let help = report.obstacle?.help ?? ""
        #expect(
            help.contains("--reference tags.taggable_id=app_stories or --reference tags.taggable_id=books, and where"))
        #expect(help.contains("tags.taggable_id (by taggable_type)") && help.contains("--local tags"))
    }

    @Test("Beside a content type of Django's, it is a row of the tables that these name")
    func contentTypes() throws {
        let schema = """
            CREATE TABLE django_content_type(id INTEGER PRIMARY KEY, app_label TEXT, model TEXT);
            CREATE TABLE blog_post(id INTEGER PRIMARY KEY); CREATE TABLE blog_photo(id INTEGER PRIMARY KEY);
            CREATE TABLE wiki_page(id INTEGER PRIMARY KEY);
            CREATE TABLE taggeditem(id INTEGER PRIMARY KEY, object_id integer unsigned,
                content_type_id INTEGER REFERENCES django_content_type(id));
            """
        #expect(
            try undeclared(schema) == [
                "taggeditem.object_id blog_photo name", "taggeditem.object_id blog_post name",
                "taggeditem.object_id django_content_type name", "taggeditem.object_id wiki_page name",
            ])
        let rows = """
            INSERT INTO django_content_type VALUES(1, 'blog', 'post'), (2, 'blog', 'photo'), (3, 'wiki', 'page');
            INSERT INTO blog_post VALUES(1); INSERT INTO blog_photo VALUES(1); INSERT INTO wiki_page VALUES(1);
            INSERT INTO taggeditem VALUES(1, 1, 1), (2, 1, 2);
            """
        #expect(
            try undeclared(schema + rows, in: "b") == [
                "taggeditem.object_id blog_photo name-and-data", "taggeditem.object_id blog_post name-and-data",
            ])
    }

    @Test(
        "Beside a type that names a table of another's integers, as a model that inherits, it is a row of that other",
        arguments: ["object_id integer", "object_id varchar(255)"])
    func inheritedTypes(column: String) throws {
        let schema = """
            CREATE TABLE django_content_type(id INTEGER PRIMARY KEY, app_label TEXT, model TEXT);
            CREATE TABLE page(id INTEGER PRIMARY KEY, title TEXT); CREATE TABLE topic(id INTEGER PRIMARY KEY, title TEXT);
            CREATE TABLE home_text(page_ptr_id INTEGER PRIMARY KEY REFERENCES page(id), body TEXT);
            CREATE TABLE home_long(text_ptr_id INTEGER PRIMARY KEY REFERENCES home_text(page_ptr_id), body TEXT);
            CREATE TABLE revision(id INTEGER PRIMARY KEY, \(column),
                content_type_id INTEGER REFERENCES django_content_type(id));
            INSERT INTO django_content_type VALUES(7, 'home', 'text'), (8, 'home', 'long');
            INSERT INTO page VALUES(3, 'x'), (4, 'y'); INSERT INTO home_text VALUES(3, 'a'), (4, 'b');
            INSERT INTO home_long VALUES(4, 'c'); INSERT INTO topic VALUES(1, 'z');
            """
        for (number, rows) in ["(1, '3', 7)", "(1, '4', 8)", "(1, '3', 7), (2, '4', 8)"].enumerated() {
            #expect(
                try undeclared(schema + "INSERT INTO revision VALUES\(rows);", in: "inherited\(number)")
                    == ["revision.object_id page name-and-data"])
        }
    }

    @Test("A table's own integers are another table's where its key is named after that, and not after itself")
    func sharedKeys() throws {
        let found = try undeclared(
            Self.books + """
                CREATE TABLE book_details(book_id INTEGER PRIMARY KEY, pages INTEGER); INSERT INTO book_details VALUES(2, 9);
                CREATE TABLE covers(bookid INTEGER PRIMARY KEY, image BLOB);
                CREATE TABLE loans(loan_id INTEGER PRIMARY KEY); INSERT INTO loans VALUES(1);
                CREATE TABLE loan_items(item_id INTEGER PRIMARY KEY); INSERT INTO loan_items VALUES(1);
                CREATE TABLE others(book_id INTEGER PRIMARY KEY); INSERT INTO others VALUES(100), (101);
                CREATE TABLE visits(id INTEGER PRIMARY KEY, url TEXT); INSERT INTO visits VALUES(1700000000001, 'x');
                CREATE TABLE visit_source(id INTEGER PRIMARY KEY, source INTEGER);
                INSERT INTO visit_source VALUES(1700000000001, 3);
                """)
        #expect(
            found == [
                "book_details.book_id books name-and-data", "covers.bookid books name", "visit_source.id visits data",
            ])
    }

    @Test(
        "A foreign key that no row keeps to says nothing of what a column holds, nor does one to a table that is not there"
    )
    func brokenDeclarations() throws {
        let schema = """
            CREATE TABLE places(id INTEGER PRIMARY KEY, path TEXT UNIQUE);
            CREATE TABLE songs(id INTEGER PRIMARY KEY, place INTEGER REFERENCES places(path));
            CREATE TABLE lists(id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE entries(id INTEGER PRIMARY KEY, list_id INTEGER REFERENCES list(id));
            INSERT INTO places VALUES(1, '/a'), (2, '/b'); INSERT INTO lists VALUES(1, 'one');
            """
        let rows = "INSERT INTO songs VALUES(1, 2), (2, 1); INSERT INTO entries VALUES(1, 1);"
        #expect(
            try undeclared(schema + rows) == [
                "entries.list_id lists name-and-data", "songs.place places name-and-data",
            ])
        // One row that keeps to it is as it was declared.
        let kept = "INSERT INTO places VALUES(3, 7); INSERT INTO songs VALUES(3, 7);"
        #expect(try undeclared(schema + rows + kept, in: "b") == ["entries.list_id lists name-and-data"])
    }

    @Test("Rowids of a table without a key are found by its name, where it has no number of its own")
    func rowidsOfKeylessTables() throws {
        let schema = """
            CREATE TABLE playlists(name TEXT); CREATE TABLE users(id INTEGER, name TEXT);
            CREATE TABLE items(id INTEGER PRIMARY KEY, playlist INTEGER NOT NULL, user_id INTEGER, amount INTEGER);
            INSERT INTO playlists VALUES('one'), ('two'); INSERT INTO users VALUES(1, 'ann');
            """
        #expect(try undeclared(schema).isEmpty)
        #expect(
            try undeclared(schema + "INSERT INTO items VALUES(1, 2, 1, 1), (2, 1, 1, 2);", in: "b")
                == ["items.playlist playlists name-and-data"])
        #expect(try undeclared(schema + "INSERT INTO items VALUES(1, 3, 1, 1);", in: "c").isEmpty)
    }

    @Test("A table is asked for once, however many views and triggers compare it")
    func once() throws {
        let found = try undeclared(
            """
            CREATE TABLE u(id INTEGER PRIMARY KEY); CREATE TABLE t(id INTEGER PRIMARY KEY, x INTEGER);
            CREATE VIEW v AS SELECT * FROM t JOIN u ON u.id = t.x; CREATE VIEW w AS SELECT * FROM t JOIN u ON t.x = u.id;
            """)
        #expect(found == ["t.x u join"])
    }

    @Test("So are integers too large for chance, where they are one table's alone")
    func large() throws {
        let found = try undeclared(
            """
            CREATE TABLE notes(id INTEGER PRIMARY KEY, mod INTEGER);
            CREATE TABLE cards(id INTEGER PRIMARY KEY, nid INTEGER, did INTEGER, made INTEGER);
            CREATE TABLE decks(id INTEGER PRIMARY KEY);
            INSERT INTO notes VALUES(1700000000001, 1700000009), (1700000000002, 1700000009);
            INSERT INTO decks VALUES(1), (1700000000500);
            INSERT INTO cards VALUES(1700000000101, 1700000000001, 1, 1700000000101),
                (1700000000102, 1700000000002, 1700000000500, 1700000000102);
            """)
        #expect(found == ["cards.nid notes data", "cards.did decks data"])
    }

    @Test("So is what a view or a trigger compares with a table's key")
    func joined() throws {
        let found = try undeclared(
            """
            CREATE TABLE languages(id INTEGER PRIMARY KEY, code TEXT);
            CREATE TABLE links(id INTEGER PRIMARY KEY, lang INTEGER, work INTEGER, other INTEGER, rank INTEGER);
            CREATE TABLE books(id INTEGER PRIMARY KEY, title TEXT, twin INTEGER);
            CREATE TABLE shelf(id INTEGER PRIMARY KEY, work INTEGER);
            INSERT INTO languages VALUES(1, 'en'); INSERT INTO books VALUES(1, 'x', NULL);
            INSERT INTO links VALUES(1, 1, 1, 2, 1);
            CREATE VIEW v AS SELECT code FROM links AS l JOIN languages ON languages.id = l.lang AND l.rank = 1;
            CREATE VIEW w AS SELECT a.title FROM books AS a, books AS b WHERE b.id = a."twin";
            CREATE TRIGGER gone AFTER DELETE ON books BEGIN
                DELETE FROM links WHERE work = OLD.id; DELETE FROM shelf WHERE work=old.id;
                UPDATE links SET rank = 0 WHERE links.other = OLD.id;
            END;
            """)
        // `other` is compared as well, and holds what is no book's.
        #expect(
            Set(found) == [
                "links.lang languages join", "links.work books join", "shelf.work books join", "books.twin books join",
            ])
    }

    @Test("So is that into which a trigger writes a table's key, however few integers it holds")
    func written() throws {
        let found = try undeclared(
            """
            CREATE TABLE folder(id INTEGER PRIMARY KEY, name TEXT, within INTEGER REFERENCES folder(id));
            CREATE TABLE closure(ancestor INTEGER NOT NULL, descendant INTEGER NOT NULL, depth INTEGER NOT NULL,
                PRIMARY KEY(ancestor, descendant)) WITHOUT ROWID;
            CREATE TABLE recent(id INTEGER PRIMARY KEY, depth INTEGER, thing INTEGER, at TEXT);
            CREATE TABLE counted(id INTEGER PRIMARY KEY, n INTEGER);
            CREATE TRIGGER made AFTER INSERT ON folder BEGIN
                INSERT INTO closure VALUES(NEW.id, NEW.id, 0);
                INSERT INTO closure SELECT c.ancestor, new.id, depth + 1 FROM closure AS c WHERE c.descendant = NEW.within;
                INSERT OR REPLACE INTO recent(at, "thing", depth) VALUES(datetime('now'), NEW.id, length(NEW.id));
                INSERT INTO counted(n) SELECT count(*) FROM folder;
            END;
            INSERT INTO folder VALUES(1, 'root', NULL), (2, 'sub', 1);
            """)
        #expect(
            Set(found) == [
                "closure.ancestor folder join", "closure.descendant folder join", "recent.thing folder join",
            ])
    }

    @Test("Each is decided by an option, and a content's founder decides for all who join")
    func decided() throws {
        let schema =
            Self.books + """
                CREATE TABLE t(id INTEGER PRIMARY KEY, book INTEGER, story INTEGER, declared INTEGER REFERENCES books(id));
                """
        let all = try folder.examine(schema)
        #expect(all.undecided.map(\.column) == ["book", "story"])
        #expect(all.references.filter(\.taken).map(\.column) == ["declared"])
        let obstacle = try #require(all.obstacle)
        #expect(obstacle.code == .configuration)
        for option in ["--reference t.book=books", "--no-reference t.book", "--no-reference t.story"] {
            #expect(obstacle.help?.contains(option) == true)
        }
        let decided = try folder.examine("SELECT 1") { plan in
            plan.references = [("t", "book", "books")]
            plan.notReferences = [("T", "Story")]
        }
        #expect(decided.undecided.isEmpty && decided.obstacle == nil)
        #expect(decided.references.filter(\.taken).map(\.column) == ["book", "declared"])
        let joining = try folder.examine("SELECT 1") { $0.settings = [("identity", "t", "surrogate")] }
        #expect(joining.undecided.isEmpty && joining.references.count == 3)
    }

    @Test("What need not be decided is not: rows whose integers are the same everywhere, tables that are left alone")
    func needless() throws {
        let schema = Self.books + "CREATE TABLE t(id INTEGER PRIMARY KEY, book INTEGER); INSERT INTO t VALUES(1, 1);"
        #expect(try folder.examine(schema) { $0.identities["books"] = .natural }.undecided.isEmpty)
        #expect(try folder.examine("SELECT 1") { $0.local = ["t"] }.undecided.isEmpty)
        #expect(try folder.examine("SELECT 1") { $0.skip = ["books"] }.undecided.isEmpty)
    }

    @Test("No identity is advised that an integer is part of, unless it is known which rows that names")
    func advice() throws {
        let tables = try folder.examine(
            Self.books + """
                CREATE TABLE comments(id INTEGER PRIMARY KEY, book INTEGER UNIQUE, text TEXT);
                CREATE TABLE tags(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
                CREATE TABLE tagged(id INTEGER PRIMARY KEY, book INTEGER REFERENCES books, tag INTEGER REFERENCES tags,
                    at TEXT, UNIQUE(book, tag));
                """
        ).tables
        #expect(tables.first { $0.table == "comments" }?.suggestions == [])
        #expect(tables.first { $0.table == "tags" }?.suggestions.count == 1)
        let tagged = tables.first { $0.table == "tagged" }?.suggestions ?? []
        #expect(tagged.count == 1 && tagged[0].contains("--identity tagged=book,tag"), "\(tagged)")
        let said = try folder.examine("SELECT 1") { $0.policies = [("tagged", "unique-merge")] }.tables
        #expect(said.first { $0.table == "tagged" }?.suggestions == [])
    }

    /// A store as Core Data lays it out: relationships have an index each, and attributes none.
    private static let coreData = """
        CREATE TABLE Z_PRIMARYKEY(Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
        CREATE TABLE ZDEPARTMENT(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR);
        CREATE TABLE ZPERSON(Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZAGE INTEGER, ZBOSS INTEGER,
            ZUNIT INTEGER, ZDEPARTMENT INTEGER);
        CREATE INDEX ZPERSON_ZBOSS_INDEX ON ZPERSON(ZBOSS); CREATE INDEX ZPERSON_ZUNIT_INDEX ON ZPERSON(ZUNIT);
        CREATE INDEX ZPERSON_ZDEPARTMENT_INDEX ON ZPERSON(ZDEPARTMENT);
        INSERT INTO Z_PRIMARYKEY VALUES(1, 'Department', 0, 2), (2, 'Person', 0, 3);
        INSERT INTO ZDEPARTMENT VALUES(1, 1, 1, 'Dev'), (2, 1, 1, 'Ops');
        """

    @Test("A relationship of Core Data's that no name explains has to be decided, for the entities that it may be with")
    func relationships() throws {
        let department = "ZPERSON.ZDEPARTMENT ZDEPARTMENT name-and-data"
        #expect(
            try undeclared(
                Self.coreData
                    + "INSERT INTO ZPERSON VALUES(1, 2, 1, 1, NULL, 1, 1), (2, 2, 1, 2, 1, 2, 2), (3, 2, 1, 1, 3, 2, 1)"
            )
                == [
                    "ZPERSON.ZBOSS ZPERSON index", "ZPERSON.ZUNIT ZDEPARTMENT index", "ZPERSON.ZUNIT ZPERSON index",
                    department,
                ])
    }

    @Test("Such a relationship that holds nothing yet may be with any entity, but for one that is named after it")
    func emptyRelationships() throws {
        let empty = try undeclared(Self.coreData)
        #expect(empty.filter { $0.hasPrefix("ZPERSON.ZBOSS") }.count == 2)
        #expect(empty.filter { $0.hasPrefix("ZPERSON.ZDEPARTMENT") } == ["ZPERSON.ZDEPARTMENT ZDEPARTMENT name"])
        #expect(!empty.contains { $0.contains("ZAGE") })
    }
}
