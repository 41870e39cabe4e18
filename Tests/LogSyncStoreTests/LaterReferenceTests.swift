import LogSyncModel
import LogSyncSQLite
import Testing

@testable import LogSyncStore

/// Columns that a program's migration adds, which hold integers of other rows though no key says so.
@Suite("References that come with a migration")
struct LaterReferenceTests {
    private static let schema =
        "CREATE TABLE books(id INTEGER PRIMARY KEY, title TEXT); INSERT INTO books VALUES(1, 'x');"
    private static let migration = """
        CREATE TABLE notes(id INTEGER PRIMARY KEY, book_id INTEGER, text TEXT, pages INTEGER);
        ALTER TABLE books ADD COLUMN sequel_id INTEGER;
        """
    private static let shown =
        "SELECT title, text FROM notes LEFT JOIN books ON books.id = book_id ORDER BY text, title"

    private func pair() throws -> (a: TestPeer, b: TestPeer) {
        let folder = try TestFolder()
        let a = try TestPeer(folder, "a", sql: Self.schema)
        let b = try TestPeer(folder, "b", cloning: a)
        for (peer, name) in [(a, "of a"), (b, "of b")] {
            try peer.write(
                "\(Self.migration) INSERT INTO books(title) VALUES('\(name)'); INSERT INTO notes VALUES(1, 2, '\(name)', 2)"
            )
            _ = try peer.record()
        }
        return (a, b)
    }

    private func undecided(_ peer: TestPeer) throws -> [String] {
        try peer.store.undecidedReferences().map { "\($0.table).\($0.column) \($0.parent)" }
    }

    @Test("One is named until it is decided, on every peer, and then each peer's integers are translated")
    func decided() throws {
        let (a, b) = try pair()
        try converge(a, b)
        // Until then each has the rows that its own programs wrote.
        for peer in [a, b] {
            #expect(try undecided(peer) == ["notes.book_id books"])
            #expect(try peer.strings(Self.shown) == ["of \(peer.name)|of \(peer.name)"])
        }
        var decisions = ReferenceDecisions()
        decisions.references = [("Notes", "book_id", "books")]
        _ = try a.store.migrate("", renamings: [], references: decisions)
        try converge(a, b)
        for peer in [a, b] {
            #expect(try undecided(peer) == [])
            #expect(try peer.strings(Self.shown) == ["of a|of a", "of b|of b"])
            try peer.write("INSERT INTO books(title) VALUES('later'); INSERT INTO notes(book_id, text) VALUES(2, 'z')")
        }
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings(Self.shown) == ["of a|of a", "of b|of b", "of a|z", "of b|z"])
        }
    }

    @Test("A column of numbers of which none is a row's is refused", arguments: [true, false])
    func mistyped(isLater: Bool) throws {
        let column = "amount INTEGER"
        let a = try TestPeer(
            try TestFolder(), "a",
            sql: "CREATE TABLE t(id INTEGER PRIMARY KEY, tag TEXT\(isLater ? "" : ", \(column)"));"
        ) { if !isLater { $0.notReferences = [("t", "amount")] } }
        if isLater { try a.write("ALTER TABLE t ADD COLUMN \(column)") }
        try a.write("INSERT INTO t VALUES(1, 'rent', 900), (2, 'food', 250)")
        try a.record()
        let digest = try a.digest()
        var decisions = ReferenceDecisions()
        decisions.references = [("t", "amount", "t")]
        let error = #expect(throws: LogSyncError.self) { try a.store.migrate("", renamings: [], references: decisions) }
        #expect(error?.code == .usage && error?.message.contains("2 numbers") == true)
        #expect(try a.digest() == digest)
        // One that is leaves it to who says so.
        try a.write("UPDATE t SET amount = 2 WHERE id = 1")
        _ = try a.store.migrate("", renamings: [], references: decisions)
        #expect(try a.strings("SELECT target FROM logsync_setting WHERE kind = 'reference'") == ["t.amount"])
    }

    @Test("What a column refers to is known in a table that takes the name of one that is archived, but of new columns")
    func archived() throws {
        let folder = try TestFolder()
        let table = "CREATE TABLE t(id INTEGER PRIMARY KEY, book_id INTEGER, v TEXT"
        let peer = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE book(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO book(name) VALUES('1'), ('2'), ('3');
                CREATE TABLE shelf(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO shelf(name) VALUES('1'), ('2'), ('3');
                \(table)); INSERT INTO t(book_id) VALUES(1), (2), (3);
                """
        ) { $0.notReferences = [("t", "book_id")] }
        try peer.write("ALTER TABLE t RENAME TO t_old; \(table), shelf_id INTEGER)")
        try peer.record()
        try peer.write("INSERT INTO t(book_id, v, shelf_id) VALUES(1, 'a', 1), (2, 'b', 2), (3, 'c', 3)")
        try peer.record()
        #expect(try undecided(peer) == ["t.shelf_id shelf"])
    }

    @Test("A key declared where rows are numbered anew is of the rows whose numbers were written, as their peers say")
    func declaredWhileNumbered() throws {
        let folder = try TestFolder()
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE book(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
                CREATE TABLE t(id INTEGER PRIMARY KEY, k TEXT UNIQUE, owner INTEGER);
                """
        ) { $0.notReferences = [("t", "owner")] }
        let (b, c) = (try TestPeer(folder, "b", cloning: a), try TestPeer(folder, "c", cloning: a))
        for peer in [a, b, c] {
            try peer.write("INSERT INTO book VALUES(1, 'of \(peer.name)'); INSERT INTO t VALUES(1, '\(peer.name)', 1)")
            try peer.record()
        }
        try converge(a, b, c)
        for peer in [a, c] {
            try peer.write(
                """
                CREATE TABLE n(id INTEGER PRIMARY KEY, k TEXT UNIQUE, owner INTEGER REFERENCES book(id));
                INSERT INTO n SELECT id * 10, k, owner FROM t; DROP TABLE t; ALTER TABLE n RENAME TO t;
                """)
        }
        try converge(a, c)
        // The third has not said it, and its number names no row.
        for peer in [a, c] {
            let query = "SELECT k, name FROM t JOIN book ON book.id = owner WHERE k <> 'b' ORDER BY k"
            #expect(try peer.strings(query) == ["a|of a", "c|of c"])
            #expect(try peer.strings("SELECT owner FROM t WHERE k = 'b'") == ["1"])
        }
    }

    @Test("Until it is decided nothing of it is shown to others, and what was written meanwhile is what counts then")
    func held() throws {
        let folder = try TestFolder()
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE lens(id INTEGER PRIMARY KEY, name TEXT);
                CREATE TABLE image(id INTEGER PRIMARY KEY, name TEXT, first TEXT);
                """)
        let b = try TestPeer(folder, "b", cloning: a)
        for (peer, name) in [(a, "a"), (b, "b")] {
            try peer.write("INSERT INTO lens VALUES(1, '\(name)1'), (2, '\(name)2')")
            try peer.write("INSERT INTO image VALUES(1, '\(name)', '\(name)1')")
        }
        try converge(a, b)
        for peer in [a, b] {
            try peer.write(
                """
                ALTER TABLE image ADD COLUMN stars INTEGER; ALTER TABLE image ADD COLUMN lens_id INTEGER;
                ALTER TABLE image ADD COLUMN note TEXT;
                UPDATE image SET lens_id = (SELECT id FROM lens WHERE lens.name = first), stars = 5, note = 'n ' || name
                """)
        }
        try converge(a, b)
        let query = "SELECT image.name, lens.name FROM image LEFT JOIN lens ON lens.id = lens_id ORDER BY 1"
        for peer in [a, b] {
            #expect(try peer.strings(query) == ["a|a1", "b|b1"])
            #expect(try peer.store.summary().heldReferences.map(\.column) == ["lens_id"])
            #expect(try peer.store.heldReferences() == ["image.lens_id"])
        }
        try a.write("INSERT INTO image SELECT 9, 'new', 'a2', 3, id, 'x' FROM lens WHERE name = 'a2'")
        try b.write("UPDATE image SET lens_id = (SELECT id FROM lens WHERE name = 'b2') WHERE name = 'a'")
        try converge(a, b)
        #expect(try b.strings(query) == ["a|b2", "b|b1", "new|NULL"])
        #expect(try b.strings("SELECT stars, note FROM image ORDER BY name") == ["5|n a", "5|n b", "3|x"])
        let c = try TestPeer(folder, "c", cloning: a)
        try converge(a, b, c)
        #expect(try c.strings(query) == ["a|NULL", "b|NULL", "new|NULL"])
        #expect(try c.store.heldReferences() == ["image.lens_id"])
        try c.write("UPDATE image SET lens_id = (SELECT id FROM lens WHERE name = 'a2'), stars = 1 WHERE name = 'b'")
        var decisions = ReferenceDecisions()
        decisions.references = [("image", "lens_id", "lens")]
        _ = try a.store.migrate("", renamings: [], references: decisions)
        try converge(a, b, c)
        for peer in [a, b, c] {
            #expect(try peer.strings(query) == ["a|b2", "b|a2", "new|a2"])
            #expect(try peer.strings("SELECT stars, note FROM image ORDER BY name") == ["5|n a", "1|n b", "3|x"])
            #expect(try peer.store.summary().heldReferences.isEmpty)
        }
    }

    /// When the rows that a held column names are given other integers, and when those that hold it.
    enum Numbered: CaseIterable { case parentAtOnce, rowsAtOnce, parentBefore, parentWithDecision, parentWithKey }

    @Test(
        "What nobody has written there since is filled, though a rebuild has numbered rows anew",
        arguments: Numbered.allCases)
    func heldWhileNumbered(numbered: Numbered) throws {
        let folder = try TestFolder()
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE lens(id INTEGER PRIMARY KEY, name TEXT);
                CREATE TABLE image(id INTEGER PRIMARY KEY, name TEXT, first TEXT);
                INSERT INTO lens VALUES(1, 'l1'), (2, 'l2'), (3, 'l3');
                INSERT INTO image VALUES(1, 'i1', 'l1'), (2, 'i2', 'l2'), (3, 'i3', 'l3');
                """)
        let b = try TestPeer(folder, "b", cloning: a)
        try converge(a, b)
        let lenses = """
            CREATE TABLE lens_new(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO lens_new SELECT id * 10, name FROM lens;
            DROP TABLE lens; ALTER TABLE lens_new RENAME TO lens;
            """
        let add = "ALTER TABLE image ADD COLUMN lens_id INTEGER;"
        let fill = "UPDATE image SET lens_id = (SELECT id FROM lens WHERE lens.name = first);"
        let images = """
            CREATE TABLE image_new(id INTEGER PRIMARY KEY, name TEXT, first TEXT, lens_id INTEGER);
            INSERT INTO image_new SELECT image.id * 10, image.name, first, lens.id FROM image JOIN lens ON lens.name = first;
            DROP TABLE image; ALTER TABLE image_new RENAME TO image;
            """
        let first =
            switch numbered {
            case .parentAtOnce: lenses + add + fill
            case .rowsAtOnce: images
            case .parentBefore, .parentWithDecision, .parentWithKey: add + fill
            }
        for peer in [a, b] { try peer.write("BEGIN; \(first) COMMIT") }
        // What the other peer writes counts, if nobody has written anything here.
        try b.record()
        try b.write("UPDATE image SET lens_id = (SELECT id FROM lens WHERE name = 'l3') WHERE name = 'i1'")
        try converge(a, b)
        if numbered == .parentBefore {
            for peer in [a, b] { try peer.write("BEGIN; \(lenses) UPDATE image SET lens_id = lens_id * 10; COMMIT") }
            try converge(a, b)
        }
        var decisions = ReferenceDecisions()
        decisions.references = [("image", "lens_id", "lens")]
        _ = try b.store.migrate("", renamings: [], references: decisions)
        _ = try b.record()
        if numbered == .parentWithDecision {
            try a.write("BEGIN; \(lenses) UPDATE image SET lens_id = lens_id * 10; COMMIT")
        } else if numbered == .parentWithKey {
            try a.write(
                """
                BEGIN; \(lenses)
                CREATE TABLE image_new(id INTEGER PRIMARY KEY, name TEXT, first TEXT, lens_id INTEGER REFERENCES lens(id));
                INSERT INTO image_new SELECT id, name, first, lens_id * 10 FROM image;
                DROP TABLE image; ALTER TABLE image_new RENAME TO image; COMMIT
                """)
        }
        try converge(a, b)
        let query = "SELECT image.name, lens.name FROM image LEFT JOIN lens ON lens.id = lens_id ORDER BY 1"
        for peer in [a, b] {
            #expect(try peer.strings(query) == ["i1|l3", "i2|l2", "i3|l3"], "\(peer.name)")
            #expect(try peer.store.audit().problems == [])
        }
    }

    @Test("A column that no other peer can leave out holds its rows back until it is decided")
    func rebuilt() throws {
        let folder = try TestFolder()
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE memo(id INTEGER PRIMARY KEY AUTOINCREMENT, uid TEXT NOT NULL UNIQUE);
                CREATE TABLE reaction(id INTEGER PRIMARY KEY AUTOINCREMENT, content TEXT NOT NULL, type TEXT NOT NULL,
                    UNIQUE(content, type));
                INSERT INTO memo(uid) VALUES('x'), ('y'); INSERT INTO reaction(content, type) VALUES('memos/y', '+');
                """)
        let b = try TestPeer(folder, "b", cloning: a)
        func add(_ peer: TestPeer, _ uid: String) throws {
            try peer.write("INSERT INTO memo(uid) VALUES('\(uid)')")
            try peer.write("INSERT INTO reaction(content, type) VALUES('memos/\(uid)', '+')")
        }
        for uid in ["a1", "a2", "a3"] { try add(a, uid) }
        for uid in ["b1", "b2", "b3"] { try add(b, uid) }
        try converge(a, b)
        for peer in [a, b] {
            try peer.write(
                """
                CREATE TABLE reaction_new(id INTEGER PRIMARY KEY AUTOINCREMENT, memo_id INTEGER NOT NULL, type TEXT NOT NULL,
                    UNIQUE(memo_id, type));
                INSERT INTO reaction_new SELECT reaction.id, memo.id, type FROM reaction JOIN memo ON content = 'memos/' || uid;
                DROP TABLE reaction; ALTER TABLE reaction_new RENAME TO reaction;
                """)
        }
        try converge(a, b)
        let query = "SELECT uid FROM reaction JOIN memo ON memo.id = memo_id ORDER BY 1"
        for peer in [a, b] { #expect(try peer.strings(query) == ["a1", "a2", "a3", "b1", "b2", "b3", "y"]) }
        try a.write("INSERT INTO reaction(memo_id, type) SELECT id, '-' FROM memo WHERE uid = 'x'")
        try converge(a, b)
        #expect(try b.strings(query).count == 7)
        var decisions = ReferenceDecisions()
        decisions.references = [("reaction", "memo_id", "memo")]
        _ = try b.store.migrate("", renamings: [], references: decisions)
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings(query) == ["a1", "a2", "a3", "b1", "b2", "b3", "x", "y"])
            #expect(try peer.store.summary().parked == 0)
        }
    }

    @Test(
        "What a migration has put there is said anew, too, by the peer whose migration it was",
        arguments: [false, true])
    func filled(isConcurrent: Bool) throws {
        let folder = try TestFolder()
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE lens(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO lens VALUES(1, '50mm');
                CREATE TABLE image(id INTEGER PRIMARY KEY, lens_name TEXT); INSERT INTO image(lens_name) VALUES('50mm');
                """)
        let b = try TestPeer(folder, "b", cloning: a)
        for (peer, name) in [(a, "of a"), (b, "of b")] {
            try peer.write("INSERT INTO lens VALUES(2, '\(name)'); INSERT INTO image(lens_name) VALUES('\(name)')")
        }
        try converge(a, b)
        let migration = """
            ALTER TABLE image ADD COLUMN lens_id INTEGER;
            UPDATE image SET lens_id = (SELECT id FROM lens WHERE name = lens_name)
            """
        try a.write(migration)
        if isConcurrent { try b.write(migration) }
        try converge(a, b)
        if !isConcurrent { try b.write(migration) }
        try converge(a, b)
        var decisions = ReferenceDecisions()
        decisions.references = [("image", "lens_id", "lens")]
        _ = try a.store.migrate("", renamings: [], references: decisions)
        try converge(a, b)
        for peer in [a, b] {
            let query = "SELECT lens_name, name FROM image LEFT JOIN lens ON lens.id = lens_id ORDER BY 1"
            let shown = try peer.strings(query)
            #expect(shown == ["50mm|50mm", "of a|of a", "of b|of b"])
        }
    }

    @Test("An integer key of a table that came seems to mean something, until it is said that it does not")
    func keys() throws {
        let (a, b) = try pair()
        for (peer, year) in [(a, 2024), (b, 2025)] {
            try peer.write(
                """
                CREATE TABLE budgets(year INTEGER PRIMARY KEY, sum INTEGER); CREATE TABLE spans(span INTEGER PRIMARY KEY, v);
                CREATE TABLE notes_2(id INTEGER PRIMARY KEY, v TEXT); INSERT INTO budgets VALUES(\(year), 1);
                INSERT INTO notes_2(v) VALUES('x')
                """)
            _ = try peer.record()
        }
        try converge(a, b)
        func undecided(_ peer: TestPeer) throws -> [String] {
            try peer.store.undecidedKeys().map { "\($0.table).\($0.column) \($0.reason)" }
        }
        for peer in [a, b] { #expect(try undecided(peer) == ["budgets.year is called year"]) }
        // What the first rows hold says it, too.
        try a.write("INSERT INTO spans VALUES(20240131, 1), (20240229, 2), (20240301, 3)")
        try converge(a, b)
        #expect(try undecided(b).last == "spans.span holds days, as 20240131")
        var decisions = ReferenceDecisions()
        decisions.surrogates = ["Budgets", "spans"]
        _ = try a.store.migrate("", renamings: [], references: decisions)
        try converge(a, b)
        for peer in [a, b] { #expect(try undecided(peer) == []) }
        decisions.surrogates = ["logsync_setting"]
        #expect(throws: LogSyncError.self) { try a.store.migrate("", renamings: [], references: decisions) }
    }

    @Test(
        "An integer key that was a column, and the same everywhere, is named until it is said that it is not",
        arguments: ["name TEXT PRIMARY KEY NOT NULL", "id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE"])
    func columnsThatBecomeKeys(key: String) throws {
        let folder = try TestFolder()
        let a = try TestPeer(
            folder, "a",
            sql:
                "CREATE TABLE t(\(key), num INTEGER NOT NULL UNIQUE); INSERT INTO t(name, num) VALUES('a', 10), ('b', 20)"
        )
        func rebuild(_ tail: String) throws {
            try a.write(
                """
                CREATE TABLE n(num INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)\(tail);
                INSERT INTO n(num, name) SELECT num, name FROM t; DROP TABLE t; ALTER TABLE n RENAME TO t;
                """)
            _ = try a.record()
        }
        try rebuild("")
        #expect(try a.store.undecidedKeys().map(\.column) == ["num"])
        #expect(try a.store.undecidedKeys()[0].reason.hasPrefix("was a column that is the same everywhere"))
        // A key that is no rowid is the same everywhere.
        try rebuild(" WITHOUT ROWID")
        #expect(try a.store.undecidedKeys() == [])
        try rebuild("")
        #expect(try a.store.undecidedKeys().map(\.column) == ["num"])
        var decisions = ReferenceDecisions()
        decisions.surrogates = ["t"]
        _ = try a.store.migrate("", renamings: [], references: decisions)
        #expect(try a.store.undecidedKeys() == [])
    }

    @Test("A column that held nothing at init, and whose name is no reason to ask, is asked for by what comes to it")
    func unanswered() throws {
        let folder = try TestFolder()
        let schema = """
            CREATE TABLE books(id INTEGER PRIMARY KEY, title TEXT);
            CREATE TABLE nodes(
                id INTEGER PRIMARY KEY, next INTEGER, sequel_id INTEGER, other_id INTEGER, n INTEGER, shelf INTEGER);
            CREATE TABLE shelves(place TEXT);
            """
        let peer = try TestPeer(folder, "a", sql: schema) { $0.notReferences = [("nodes", "other_id")] }
        #expect(try undecided(peer) == [])
        for number in 1...4 {
            try peer.write(
                """
                INSERT INTO books(title) VALUES('x'); INSERT INTO shelves VALUES('\(number)');
                INSERT INTO nodes VALUES(\(number + 4), \(number + 4), \(number), \(number), \(number), \(number))
                """)
            _ = try peer.record()
        }
        #expect(try undecided(peer) == ["nodes.next nodes", "nodes.sequel_id books", "nodes.shelf shelves"])
    }

    @Test("What was said before of a table without integers does not stand in its way; what cannot be is refused")
    func prepared() throws {
        let folder = try TestFolder()
        let a = try TestPeer(folder, "a", sql: Self.schema + "CREATE TABLE tag(name TEXT PRIMARY KEY, color, shade);")
        try a.write("INSERT INTO logsync_setting(kind, target, value) VALUES('reference', 'tag.color', 'tag')")
        _ = try a.record()
        func refers() throws -> [String] {
            try Catalog.load(on: a.app).tables.flatMap { table in
                table.columns.compactMap { column in column.reference.map { "\(table.name).\(column.name) \($0)" } }
            }
        }
        #expect(try !refers().contains("tag.color books"))
        try a.store.prepare(UnreadyTable(table: "tag", need: .reference(column: "color", parent: "books")))
        #expect(try refers().contains("tag.color books"))
        for (table, column, parent) in [
            ("tag", "shade", "tag"), ("tag", "shade", "gone"), ("tag", "gone", "books"), ("gone", "shade", "books"),
        ] {
            let unready = UnreadyTable(table: table, need: .reference(column: column, parent: parent))
            let refused = #expect(throws: RefusedTransaction.self) { try a.store.prepare(unready) }
            #expect(refused?.detail == "\(table).\(column) cannot refer to \(parent) here")
            // Else a table of that name that comes later would find it.
            #expect(try a.strings("SELECT key FROM logsync_store WHERE key LIKE 'reference %'").count == 1)
        }
    }

    @Test("So it is with one that is said to refer to nothing, which stays as it is")
    func declined() throws {
        let (a, b) = try pair()
        var decisions = ReferenceDecisions()
        decisions.notReferences = [("notes", "book_id")]
        _ = try a.store.migrate("", renamings: [], references: decisions)
        try converge(a, b)
        for peer in [a, b] {
            #expect(try undecided(peer) == [])
            #expect(try peer.strings("SELECT DISTINCT book_id FROM notes") == ["2"])
        }
    }

    @Test("It may be said with the migration that adds it; what is not there is refused, and nothing is changed")
    func withMigration() throws {
        let a = try TestPeer(TestFolder(), "a", sql: Self.schema)
        var decisions = ReferenceDecisions()
        decisions.references = [("notes", "book_id", "shelves")]
        #expect(throws: LogSyncError.self) {
            try a.store.migrate(Self.migration, renamings: [], references: decisions)
        }
        #expect(try a.strings("SELECT count(*) FROM sqlite_master WHERE name = 'notes'") == ["0"])
        decisions.references = [("notes", "book_id", "books")]
        _ = try a.store.migrate(Self.migration, renamings: [], references: decisions)
        try a.write("INSERT INTO notes(book_id) VALUES(1)")
        _ = try a.record()
        #expect(try undecided(a) == [])
    }
}
