import LogSyncModel
import Testing

@testable import LogSyncStore

/// A machine that was off for a while runs the migrations of several releases at once, where others have run them one by one.
@Suite("A machine that skips a release")
struct SkippedReleaseTests {
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private static let people = """
        CREATE TABLE person(id INTEGER PRIMARY KEY, uid TEXT NOT NULL, name TEXT NOT NULL);
        CREATE TABLE doc(
            id INTEGER PRIMARY KEY, uid TEXT NOT NULL, person_id INTEGER REFERENCES person(id) ON DELETE CASCADE,
            title TEXT NOT NULL);
        INSERT INTO person(uid, name) VALUES('p-ann', 'Ann'), ('p-bob', 'Bob'), ('p-cy', 'Cy');
        INSERT INTO doc(uid, person_id, title) VALUES('d-1', 1, 'one'), ('d-2', 2, 'two'), ('d-3', 3, 'three');
        """

    // MARK: A table of links

    private static let joinTable = """
        BEGIN; CREATE TABLE doc_person(
            d INTEGER NOT NULL REFERENCES doc(id) ON DELETE CASCADE,
            p INTEGER NOT NULL REFERENCES person(id) ON DELETE CASCADE, PRIMARY KEY(d, p));
        INSERT INTO doc_person(d, p) SELECT id, person_id FROM doc WHERE person_id IS NOT NULL;
        CREATE TABLE new_doc(id INTEGER PRIMARY KEY, uid TEXT NOT NULL, title TEXT NOT NULL);
        INSERT INTO new_doc SELECT id, uid, title FROM doc; DROP TABLE doc; ALTER TABLE new_doc RENAME TO doc; COMMIT;
        """

    private static let textKey = """
        BEGIN; CREATE TABLE new_doc_person(
            d INTEGER NOT NULL REFERENCES doc(id) ON DELETE CASCADE,
            p TEXT NOT NULL REFERENCES person(uid) ON DELETE CASCADE, PRIMARY KEY(d, p));
        INSERT INTO new_doc_person SELECT d, (SELECT uid FROM person WHERE id = p) FROM doc_person;
        DROP TABLE doc_person; ALTER TABLE new_doc_person RENAME TO doc_person;
        CREATE TABLE new_person(uid TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL);
        INSERT INTO new_person SELECT uid, name FROM person; DROP TABLE person; ALTER TABLE new_person RENAME TO person;
        COMMIT;
        """

    @Test("Links that came before their table name rows by a key that these have no more")
    func linksBeforeTheirTable() throws {
        let a = try TestPeer(folder, "a", sql: Self.people)
        let b = try TestPeer(folder, "b", cloning: a)
        try b.write(Self.joinTable)
        try a.pull(from: b)
        try b.write("DELETE FROM doc_person WHERE p = 3")
        try a.pull(from: b)
        try a.write(Self.joinTable + Self.textKey)
        try a.record()
        try a.record()
        try a.write("UPDATE doc SET title = 'by a' WHERE uid = 'd-1'")
        try a.write("INSERT INTO doc_person SELECT id, 'p-bob' FROM doc WHERE uid = 'd-1'")
        try a.record()
        try b.write("UPDATE person SET name = 'by b' WHERE uid = 'p-bob'")
        try b.pull(from: a)
        try b.write("DELETE FROM doc_person WHERE d = 2")
        try a.pull(from: b)
        try b.write(Self.textKey)
        try converge(a, b)
        for peer in [a, b] {
            let links = try peer.strings(
                """
                SELECT doc.uid || ' ' || title || ' ' || name FROM doc_person
                JOIN doc ON doc.id = d JOIN person ON person.uid = p ORDER BY doc.uid, person.uid
                """)
            #expect(links == ["d-1 by a Ann", "d-1 by a by b"])
            #expect(try peer.store.parkedRows(table: nil).isEmpty)
            #expect(try peer.store.audit().problems == [])
        }
    }

    @Test("What links say by another key is shown before the other machine has that key")
    func linksOfALaterKey() throws {
        let a = try TestPeer(folder, "a", sql: Self.people)
        let b = try TestPeer(folder, "b", cloning: a)
        try b.write(Self.joinTable)
        try a.pull(from: b)
        try a.write(Self.joinTable + Self.textKey)
        try b.pull(from: a)
        #expect(try b.strings("SELECT d || ' ' || p FROM doc_person ORDER BY d") == ["1 1", "2 2", "3 3"])
        #expect(try b.store.parkedRows(table: nil).isEmpty)
        try b.write("DELETE FROM doc_person WHERE d = 2")
        try a.pull(from: b)
        #expect(try a.strings("SELECT p FROM doc_person ORDER BY d") == ["p-ann", "p-cy"])
    }

    @Test("A table that comes with what is captured is made ready")
    func unreadyBeforeItComes() throws {
        let a = try TestPeer(folder, "a", sql: "CREATE TABLE note(title)")
        try a.write("CREATE TABLE t(code TEXT PRIMARY KEY NOT NULL); INSERT INTO t VALUES('one')")
        try a.store.prepare(UnreadyTable(table: "t", need: .identities))
        #expect(try a.store.database.read { $0.catalog["t"]?.keepsIdentities } == true)
        #expect(throws: RefusedTransaction.self) {
            try a.store.prepare(UnreadyTable(table: "other", need: .identities))
        }
    }

    @Test(
        "Rows that came before their table have keys of another type",
        arguments: [("TEXT", "INT"), ("INT", "TEXT"), ("TEXT", "REAL"), ("REAL", "TEXT")])
    func rowsBeforeTheirTable(types: (first: String, then: String)) throws {
        let a = try TestPeer(
            folder, "a", sql: "CREATE TABLE note(code, title); INSERT INTO note VALUES(1, 'one'), (2, 'two')")
        let b = try TestPeer(folder, "b", cloning: a)
        let first =
            "CREATE TABLE t(code \(types.first) PRIMARY KEY NOT NULL, title) WITHOUT ROWID;"
            + "INSERT INTO t SELECT CAST(code AS \(types.first)), title FROM note; DROP TABLE note;"
        let then =
            "CREATE TABLE new_t(code \(types.then) PRIMARY KEY NOT NULL, title) WITHOUT ROWID;"
            + "INSERT INTO new_t SELECT CAST(code AS \(types.then)), title FROM t; DROP TABLE t; ALTER TABLE new_t RENAME TO t;"
        try b.write(first)
        try a.pull(from: b)
        try a.write(first + then)
        try a.record()
        try b.write("UPDATE t SET title = 'by b' WHERE title = 'two'")
        try a.pull(from: b)
        try a.write("UPDATE t SET title = 'by a' WHERE title = 'one'")
        try b.pull(from: a)
        try b.write(then)
        try converge(a, b)
        for peer in [a, b] {
            let rows = try peer.strings("SELECT CAST(code AS INT) || ' ' || title FROM t ORDER BY 1")
            #expect(rows == ["1 by a", "2 by b"])
            #expect(try peer.store.parkedRows(table: nil).isEmpty)
            #expect(try peer.store.audit().problems == [])
        }
    }

    // MARK: A table that is made anew and renamed

    private static let uidKey = """
        BEGIN; CREATE TABLE new_doc(
            id INTEGER PRIMARY KEY, uid TEXT NOT NULL, person_id TEXT REFERENCES person(uid) ON DELETE CASCADE,
            title TEXT NOT NULL);
        INSERT INTO new_doc SELECT id, uid, (SELECT uid FROM person WHERE person.id = person_id), title FROM doc;
        DROP TABLE doc; ALTER TABLE new_doc RENAME TO doc;
        CREATE TABLE new_person(uid TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL);
        INSERT INTO new_person SELECT uid, name FROM person; DROP TABLE person; ALTER TABLE new_person RENAME TO person;
        COMMIT;
        """

    private static let otherColumns = """
        BEGIN; CREATE TABLE new_person(id INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE, name TEXT NOT NULL, note TEXT);
        INSERT INTO new_person(id, uid, name) SELECT id, uid, name FROM person; DROP TABLE person;
        ALTER TABLE new_person RENAME TO person; COMMIT;
        """

    private static let rename = "ALTER TABLE person RENAME TO human;"

    /// With nobody who has migrated in steps, and with one who has.
    @Test(
        "A table that was made anew and renamed between two looks is the one that it was",
        arguments: [uidKey, otherColumns], [false, true])
    func renamedAfterRebuild(rebuild: String, isKnown: Bool) throws {
        let a = try TestPeer(folder, "a", sql: Self.people)
        let (c, d) = (try TestPeer(folder, "c", cloning: a), try TestPeer(folder, "d", cloning: a))
        if isKnown {
            try d.write(rebuild)
            try d.record()
            try d.write(Self.rename)
            try c.pull(from: d)
        }
        try c.write(rebuild + Self.rename)
        try converge(a, c, d)
        #expect(try a.strings("SELECT name FROM person ORDER BY 1") == ["Ann", "Bob", "Cy"])
        #expect(
            try a.strings("SELECT name || ' ' || title FROM doc JOIN person ON person.id = person_id ORDER BY 1").count
                == 3)
        #expect(try a.store.parkedRows(table: nil).isEmpty)
        try c.write("UPDATE human SET name = 'by c' WHERE uid = 'p-ann'")
        try a.write("DELETE FROM person WHERE uid = 'p-cy'")
        try converge(a, c, d)
        for peer in isKnown ? [a] : [a, d] {
            try peer.write(rebuild)
            try peer.record()
            try peer.write(Self.rename)
        }
        try converge(a, c, d)
        for peer in [a, c, d] {
            #expect(try peer.strings("SELECT name FROM human ORDER BY 1") == ["Bob", "by c"])
            #expect(try peer.store.parkedRows(table: nil).isEmpty)
            #expect(try peer.store.audit().problems == [])
        }
    }

    @Test(
        "Rows that a program has deleted before its table was made anew and renamed are not missed there",
        arguments: ["id INTEGER PRIMARY KEY", "id TEXT PRIMARY KEY NOT NULL"], [true, false])
    func renamedAfterDeletes(key: String, isRenamedFirst: Bool) throws {
        let rows = (1...9).map { "(\($0), 'v\($0)')" }.joined(separator: ",")
        let a = try TestPeer(folder, "a", sql: "CREATE TABLE t(\(key), v TEXT); INSERT INTO t VALUES \(rows);")
        let b = try TestPeer(folder, "b", cloning: a)
        let name = isRenamedFirst ? "u" : "t"
        let rename = "ALTER TABLE t RENAME TO u;"
        let rebuild = """
            CREATE TABLE n(v TEXT, \(key)); INSERT INTO n(id, v) SELECT id, v FROM \(name); DROP TABLE \(name);
            ALTER TABLE n RENAME TO \(name);
            """
        let migration = isRenamedFirst ? rename + rebuild : rebuild + rename
        try a.write("DELETE FROM t WHERE v < 'v7';" + migration)
        #expect(try a.recorded() == "t -6")
        try b.write("UPDATE t SET v = 'by b' WHERE v = 'v8'")
        try b.pull(from: a)
        try b.write(migration)
        try agree(a, b)
        #expect(try a.strings("SELECT v FROM u ORDER BY v") == ["by b", "v7", "v9"])
    }

    @Test("What has been found already may be said once more")
    func toldLate() throws {
        let a = try TestPeer(folder, "a", sql: Self.people)
        try a.write(Self.otherColumns + Self.rename)
        _ = try a.store.migrate("", renamings: [Renaming(table: "person", column: nil, to: "human")])
        #expect(try a.strings("SELECT log_name FROM logsync_table WHERE name = 'human'") == ["person"])
        #expect(throws: LogSyncError.self) {
            try a.store.migrate("", renamings: [Renaming(table: "folk", column: nil, to: "human")])
        }
    }

    @Test("A table into which two others went is none of them, also where one of these is empty")
    func joinedTables() throws {
        let a = try TestPeer(
            folder, "a",
            sql: "CREATE TABLE cat(uid TEXT PRIMARY KEY NOT NULL, name); INSERT INTO cat VALUES('c-1', 'Tom');"
                + "CREATE TABLE dog(uid TEXT PRIMARY KEY NOT NULL, name)")
        let b = try TestPeer(folder, "b", cloning: a)
        let migration = """
            BEGIN; CREATE TABLE pet(uid TEXT PRIMARY KEY NOT NULL, name, kind); INSERT INTO pet SELECT *, 'cat' FROM cat;
            INSERT INTO pet SELECT *, 'dog' FROM dog; DROP TABLE cat; DROP TABLE dog; COMMIT
            """
        try a.write(migration)
        try a.record()
        try b.write("INSERT INTO dog VALUES('d-1', 'Rex')")
        try b.record()
        try b.write(migration)
        try converge(a, b)
        for peer in [a, b] {
            #expect(try peer.strings("SELECT name FROM pet ORDER BY 1") == ["Rex", "Tom"])
            #expect(try peer.strings("SELECT log_name FROM logsync_table WHERE name = 'pet'") == ["pet"])
        }
    }
}
