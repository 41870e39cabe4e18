import Foundation
import GRDB
import LogSync
import LogSyncModel
import LogSyncStore
import Logging
import Testing

/// A backup that was made before a program's last writes were recorded: the database that it is restored to holds them as
/// pending, and so does what its former self recorded.
@Suite("What a backup had captured")
struct RestoredCapturesTests {
    let world: World
    let a: Machine
    let b: Machine
    let backup: String

    init() async throws {
        world = try World()
        a = try world.machine("a")
        try a.execute(
            """
            CREATE TABLE folder(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
            CREATE TABLE file(id INTEGER PRIMARY KEY, folder INTEGER NOT NULL REFERENCES folder(id), name TEXT);
            CREATE TABLE word(k TEXT PRIMARY KEY, n INTEGER NOT NULL, remark TEXT);
            CREATE TABLE line(text TEXT, n INTEGER);
            CREATE TABLE pair(a TEXT, b INTEGER, v TEXT, PRIMARY KEY(a, b)) WITHOUT ROWID;
            CREATE TABLE year(y INTEGER PRIMARY KEY, v TEXT);
            INSERT INTO folder VALUES(1, 'first'); INSERT INTO word VALUES('hits', 1, ''), ('w', 0, 'x');
            """)
        var options = InitializeOptions()
        options.policies = [("word.n", "sum")]
        options.identities = ["year": .columns(["y"])]
        try await a.initialize(options)
        b = try await world.clone("b")
        backup = world.root + "/backup.db"
    }

    private func makeBackup() throws {
        let database = try a.database()
        try database.writeWithoutTransaction { try $0.execute(sql: "VACUUM INTO ?", arguments: [backup]) }
        try database.close()
    }

    /// - Parameter state: the state directory as it was, where the whole disk is restored.
    private func restore(_ state: String? = nil) throws {
        if let state {
            try FileManager.default.removeItem(atPath: a.configuration.stateDirectory)
            try FileManager.default.copyItem(atPath: state, toPath: a.configuration.stateDirectory)
        }
        for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: a.path + suffix) }
        try FileManager.default.copyItem(atPath: backup, toPath: a.path)
    }

    private static let everything = """
        SELECT group_concat(line, ' ') FROM (
          SELECT 'd' || id || name AS line FROM folder
          UNION ALL SELECT 'f' || file.id || file.name || folder.name FROM file JOIN folder ON folder.id = file.folder
          UNION ALL SELECT k || n || coalesce(remark, '-') FROM word
          UNION ALL SELECT 'l' || text || n FROM line
          UNION ALL SELECT a || b || v FROM pair
          UNION ALL SELECT y || v FROM year ORDER BY 1)
        """

    private func rows(_ machine: Machine) throws -> String {
        let database = try machine.database()
        defer { try? database.close() }
        return try database.read { try String.fetchOne($0, sql: Self.everything) ?? "" }
    }

    private func expectSame() async throws {
        try await settle(a, b)
        #expect(try rows(a) == rows(b))
        for machine in [a, b] {
            let report = try await Replicator.verify(machine.path, configuration: machine.configuration)
            #expect(report.store == true && report.findings.isEmpty, "\(report)")
        }
    }

    private static let writes = """
        INSERT INTO folder VALUES(2, 'second'); INSERT INTO file VALUES(1, 2, 'a'), (2, 1, 'b');
        UPDATE word SET n = n + 5 WHERE k = 'hits'; INSERT INTO word VALUES('new', 7, 'r');
        UPDATE word SET remark = 'y' WHERE k = 'w';
        INSERT INTO line VALUES('same', 1), ('same', 1), ('other', 2);
        INSERT INTO pair VALUES('p', 1, 'v'); INSERT INTO year VALUES(1999, 'v');
        """

    @Test("Is not counted twice, and comes once", arguments: [false, true])
    func once(wholeDisk: Bool) async throws {
        try a.execute(Self.writes)
        try makeBackup()
        let state = world.root + "/state"
        try FileManager.default.copyItem(atPath: a.configuration.stateDirectory, toPath: state)
        try await settle(a, b)
        let before = try rows(a)
        try restore(wholeDisk ? state : nil)
        try await a.sync()
        #expect(try rows(a) == before)
        try await expectSame()
        #expect(try rows(b) == before)
        let conflicts = try await a.with { try await $0.conflicts() }
        #expect(conflicts.conflicts.isEmpty)
        #expect(try await a.status().succeeds.count == 1)
    }

    @Test("Does not come back where it was deleted since", arguments: [true, false])
    func deleted(there: Bool) async throws {
        try a.execute(Self.writes)
        try makeBackup()
        try await settle(a, b)
        try (there ? b : a).execute(
            """
            DELETE FROM file; DELETE FROM folder WHERE id = 2; DELETE FROM word WHERE k = 'new'; DELETE FROM line;
            DELETE FROM pair; DELETE FROM year
            """)
        try await settle(a, b)
        #expect(try rows(a) == "d1first hits6 w0y")
        try restore()
        try await a.sync()
        #expect(try rows(a) == "d1first hits6 w0y")
        try await expectSame()
        #expect(try rows(b) == "d1first hits6 w0y")
    }

    @Test("Is taken as it was when it was recorded, where the program wrote on")
    func writtenOn() async throws {
        try a.execute(Self.writes)
        try makeBackup()
        try a.execute(
            """
            UPDATE folder SET name = 'renamed' WHERE id = 2; UPDATE word SET n = n + 10, remark = 'z';
            INSERT INTO file VALUES(3, 2, 'c'); DELETE FROM file WHERE id = 1; UPDATE pair SET v = 'later'
            """)
        try await settle(a, b)
        let before = try rows(a)
        try restore()
        try await a.sync()
        // What was deleted before anybody recorded it left no trace but in the backup, and of the amounts that a counter had been
        // given by then nothing says which of them the backup has.
        #expect(
            try rows(a)
                == before.replacingOccurrences(of: " f2b", with: " f1arenamed f2b")
                .replacingOccurrences(of: "hits16", with: "hits21"))
        try await expectSame()
    }

    @Test("A new row that was changed before it was recorded, and deleted since, does not come back")
    func changedAndDeleted() async throws {
        try a.execute("INSERT INTO folder VALUES(2, 'second')")
        try makeBackup()
        try await Task.sleep(for: .milliseconds(5))
        try a.execute("UPDATE folder SET name = 'renamed' WHERE id = 2")
        try await settle(a, b)
        try b.execute("DELETE FROM folder WHERE id = 2")
        try await settle(a, b)
        try restore()
        try await a.sync()
        try await expectSame()
        #expect(try a.count("SELECT count(*) FROM folder WHERE id = 2") == 0)
    }

    @Test("What a program writes after the restore and before it is noticed is kept")
    func writtenAfter() async throws {
        try a.execute(Self.writes)
        try makeBackup()
        try await settle(a, b)
        try restore()
        try await Task.sleep(for: .milliseconds(5))
        try a.execute(
            """
            INSERT INTO file VALUES(9, 2, 'late'); UPDATE word SET n = n + 100 WHERE k = 'hits';
            UPDATE folder SET name = 'late' WHERE id = 2
            """)
        try await a.sync()
        try await expectSame()
        let rows = try rows(a)
        #expect(rows.contains("f9latelate"), "\(rows)")
        #expect(rows.contains("f1alate"), "\(rows)")
        #expect(rows.contains("hits106"), "\(rows)")
        #expect(!rows.contains("second"), "\(rows)")
    }

    @Test(
        "What a program writes after the restore into a column that was not captured is kept, whether its former self did so, too",
        arguments: [
            "UPDATE file SET folder = 3; UPDATE word SET n = n + 100 WHERE k = 'w'",
            "DELETE FROM file; INSERT INTO file VALUES(1, 3, 'u'); UPDATE word SET n = n + 100 WHERE k = 'w'",
        ], [false, true])
    func writtenAfterElsewhere(write: String, didFormer: Bool) async throws {
        try a.execute("INSERT INTO folder VALUES(2, 'second'), (3, 'third'); INSERT INTO file VALUES(1, 1, 'a')")
        try await settle(a, b)
        try a.execute("UPDATE file SET name = 'u'; UPDATE word SET remark = 'u' WHERE k = 'w'")
        try makeBackup()
        try await settle(a, b)
        if didFormer {
            try a.execute("UPDATE file SET folder = 2; UPDATE word SET n = n + 10 WHERE k = 'w'")
            try await settle(a, b)
        }
        try restore()
        try await Task.sleep(for: .milliseconds(5))
        try a.execute(write)
        try await a.sync()
        try await expectSame()
        #expect(try rows(b) == "d1first d2second d3third f1uthird hits1 w\(didFormer ? 110 : 100)u")
    }

    @Test("Where the program's schema has changed since the restore, all of it counts as new, and nothing is lost")
    func migrated() async throws {
        try a.execute("INSERT INTO word VALUES('new', 7, 'r'); INSERT INTO folder VALUES(2, 'second')")
        try makeBackup()
        try await settle(a, b)
        try restore()
        try a.execute("ALTER TABLE word ADD COLUMN extra TEXT; UPDATE word SET extra = 'e' WHERE k = 'new'")
        let log = CapturedLog.Lines()
        var restored = a
        restored.configuration.logger = Logger(label: "a") { _ in CapturedLog(log) }
        try await restored.sync()
        #expect(log.all.contains { $0.contains("counts as new") }, "\(log.all)")
        try await expectSame()
        // The folder has two numbers now: which of them the program meant nobody can tell.
        #expect(try rows(a).contains("second"))
        #expect(try a.count("SELECT count(*) FROM word WHERE k = 'new' AND extra = 'e'") == 1)
    }

    @Test("A copy of a database that lives on has what was captured in both once, and keeps what is its own")
    func copy() async throws {
        try a.execute("INSERT INTO word VALUES('one', 1, ''); INSERT INTO folder VALUES(2, 'both')")
        let directory = world.root + "/copy"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        try makeBackup()
        try FileManager.default.moveItem(atPath: backup, toPath: directory + "/notes.db")
        try await settle(a, b)
        try a.execute("DELETE FROM word WHERE k = 'one'; INSERT INTO folder VALUES(3, 'of a')")
        try await settle(a, b)
        try a.execute("INSERT INTO folder VALUES(3, 'of the copy')", at: directory + "/notes.db")
        try await a.sync(directory + "/notes.db")
        try await expectSame()
        let names = "SELECT count(*) FROM folder WHERE name IN ('first', 'both', 'of a', 'of the copy')"
        #expect(try a.count(names) == 4 && a.count("SELECT count(*) FROM folder") == 4)
        #expect(try a.count("SELECT count(*) FROM word WHERE k = 'one'") == 0)
    }
}
