import Foundation
import GRDB
import LogSyncModel
import LogSync
import Testing

@Suite("What was changed behind the triggers' back is found and recorded")
struct RescanTests {
    let world: World
    let a: Machine
    let b: Machine

    init() async throws {
        world = try World()
        a = try world.machine("a")
        try a.execute(
            """
            CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, body TEXT, stars INTEGER);
            CREATE TABLE task(id INTEGER PRIMARY KEY, title TEXT);
            CREATE TABLE tag(note TEXT, name TEXT, PRIMARY KEY(note, name)) WITHOUT ROWID;
            INSERT INTO note(id, body) VALUES('n1', 'a'), ('n2', 'b'), ('n3', 'c');
            INSERT INTO task VALUES(1, 'x'), (2, 'y'), (3, 'z');
            INSERT INTO tag VALUES('n1', 'red'), ('n2', 'blue');
            """)
        _ = try await a.initialize()
        b = try await world.clone("b")
        try await settle(a, b)
    }

    /// Changes rows as a program that turned the triggers off.
    private func behindTheBack(_ sql: String) throws {
        let database = try a.database()
        let triggers = try database.read {
            try Row.fetchAll($0, sql: "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
        }
        try database.writeWithoutTransaction { db in
            let version = try Int.fetchOne(db, sql: "PRAGMA schema_version") ?? 0
            try db.inTransaction {
                for trigger in triggers { try db.execute(sql: "DROP TRIGGER \(trigger["name"] as String)") }
                try db.execute(sql: sql)
                for trigger in triggers { try db.execute(sql: trigger["sql"]) }
                return .commit
            }
            // So that only a comparison can tell.
            try db.execute(sql: "PRAGMA schema_version = \(version)")
        }
        try database.close()
    }

    private func dump(_ machine: Machine) throws -> [String] {
        let database = try machine.database()
        defer { try? database.close() }
        return try database.read { db in
            try String.fetchAll(db, sql: "SELECT id || body FROM note ORDER BY 1")
                + String.fetchAll(db, sql: "SELECT id || title FROM task ORDER BY 1")
                + String.fetchAll(db, sql: "SELECT note || name FROM tag ORDER BY 1")
        }
    }

    private static let changes = """
        UPDATE note SET body = 'B' WHERE id = 'n2'; DELETE FROM note WHERE id = 'n3'; INSERT INTO note VALUES('n4', 'd', 1);
        UPDATE task SET title = 'Y' WHERE id = 2; DELETE FROM task WHERE id = 3; INSERT INTO task VALUES(4, 'w');
        DELETE FROM tag WHERE note = 'n2'; INSERT INTO tag VALUES('n4', 'green');
        """

    @Test("Inserts, updates and deletes of every kind of table are found, once, and reach the others")
    func everyKind() async throws {
        try behindTheBack(Self.changes)
        let nothing = try await a.sync()
        #expect(nothing.recorded == 0, "the triggers said nothing")
        let report = try await a.with { try await $0.rescan() }
        #expect(report.pending.isEmpty && report.nameless.isEmpty)
        #expect(report.found["note"] == ChangeCounts(inserted: 1, updated: 1, deleted: 1))
        #expect(report.found["task"] == ChangeCounts(inserted: 1, updated: 1, deleted: 1))
        #expect(report.found["tag"] == ChangeCounts(inserted: 1, deleted: 1))
        #expect(report.outcome == .complete)
        try await settle(a, b)
        #expect(try dump(b) == ["n1a", "n2B", "n4d", "1x", "2Y", "4w", "n1red", "n4green"])
        #expect(try dump(a) == dump(b))
        #expect(try await a.status().digest == b.status().digest)
        let again = try await a.with { try await $0.rescan() }
        #expect(again.found.isEmpty && again.nameless.isEmpty)
        #expect(try await a.sync().recorded == 0)
    }

    @Test("Dropped triggers are put back, and what was captured before goes apart")
    func droppedTriggers() async throws {
        try a.execute("UPDATE note SET body = 'captured' WHERE id = 'n1'")
        let database = try a.database()
        try await database.write { db in
            for name in try String.fetchAll(db, sql: "SELECT name FROM sqlite_master WHERE type = 'trigger'") {
                try db.execute(sql: "DROP TRIGGER \(name)")
            }
            try db.execute(sql: "DELETE FROM task WHERE id = 1")
        }
        try database.close()
        let report = try await a.with { try await $0.rescan() }
        #expect(Set(report.capturedAgain).isSuperset(of: ["note", "task", "tag"]))
        #expect(report.found["task"]?.deleted == 1 && report.found["note"]?.updated == 1)
        try a.execute("DELETE FROM task WHERE id = 2")
        try await settle(a, b)
        #expect(try dump(b) == ["n1captured", "n2b", "n3c", "3z", "n1red", "n2blue"])
    }

    @Test("Rows of a text-keyed table that nothing names are counted, and named when the container is back")
    func nameless() async throws {
        // b has the rows from a's logs only: its own outbox names none of them.
        let database = try b.database()
        try await database.writeWithoutTransaction { db in
            let version = try Int.fetchOne(db, sql: "PRAGMA schema_version") ?? 0
            try db.execute(sql: "PRAGMA writable_schema = 1")
            let triggers = try Row.fetchAll(db, sql: "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
            for trigger in triggers { try db.execute(sql: "DROP TRIGGER \(trigger["name"] as String)") }
            try db.execute(sql: "DELETE FROM note WHERE id IN ('n1', 'n2')")
            // As clock records were before they kept natural keys.
            let table = try Int.fetchOne(db, sql: "SELECT id FROM logsync_table WHERE name = 'note'") ?? 0
            try db.execute(sql: "UPDATE logsync_clock_\(table) SET uniques = NULL")
            for trigger in triggers { try db.execute(sql: trigger["sql"]) }
            try db.execute(sql: "PRAGMA schema_version = \(version)")
        }
        try database.close()
        try FileManager.default.moveItem(atPath: world.container, toPath: world.container + "-away")
        let alone = try await b.with { try await $0.rescan() }
        #expect(alone.nameless.map(\.table) == ["note"] && alone.nameless.map(\.rows) == [2])
        #expect(!alone.containerAvailable && alone.outcome == .held && alone.found["note"] == nil)
        try FileManager.default.moveItem(atPath: world.container + "-away", toPath: world.container)
        let found = try await b.with { try await $0.rescan() }
        #expect(found.nameless.isEmpty && found.found["note"] == ChangeCounts(deleted: 2))
        try await settle(a, b)
        #expect(try a.ids() == ["n3"])
        #expect(try await a.status().digest == b.status().digest)
    }

    @Test("What another peer writes to a row that was deleted so is merged as with a deletion that was seen")
    func writtenElsewhere() async throws {
        try behindTheBack("DELETE FROM note WHERE id = 'n1'; DELETE FROM task WHERE id = 1; DELETE FROM tag")
        try b.execute(
            """
            UPDATE note SET stars = 5 WHERE id = 'n1'; UPDATE task SET title = 'edited' WHERE id = 1;
            DELETE FROM note WHERE id = 'n2'; DELETE FROM task WHERE id = 2;
            """)
        try await settle(a, b)
        #expect(try await a.status().digest == b.status().digest)
        #expect(try dump(a).filter { !$0.hasSuffix("red") && !$0.hasSuffix("blue") } == ["n3c", "3z"])
        _ = try await a.with { try await $0.rescan() }
        try await settle(a, b)
        #expect(try dump(a) == ["n3c", "3z"])
        #expect(try dump(b) == dump(a))
        #expect(try await a.status().digest == b.status().digest)
        #expect(try await a.status().conflicts == 2, "the edits that lost are listed")
        let verified = try await Replicator.verify(a.path, configuration: a.configuration)
        #expect(verified.store == true && verified.findings.isEmpty, "\(verified.findings)")
    }

    @Test("Rows whose logs were collected are named from snapshots")
    func snapshots() async throws {
        _ = try await a.with { try await $0.snapshot() }
        let peer = try await a.peer()
        for name in try world.logs(peer) {
            try FileManager.default.removeItem(atPath: "\(world.logsPath(peer))/\(name)")
        }
        try behindTheBack("DELETE FROM note WHERE id = 'n2'")
        let report = try await a.with { try await $0.rescan() }
        #expect(report.nameless.isEmpty && report.found["note"] == ChangeCounts(deleted: 1))
        try await settle(a, b)
        #expect(try b.ids() == ["n1", "n3"])
    }

    @Test("A row that took the place of a deleted one hides neither")
    func takenRowid() async throws {
        try behindTheBack(
            """
            DELETE FROM note WHERE id = 'n3';
            INSERT INTO note(rowid, id, body) VALUES(3, 'n9', 'new at its place');
            """)
        let report = try await a.with { try await $0.rescan() }
        #expect(report.found["note"] == ChangeCounts(inserted: 1, deleted: 1) && report.nameless.isEmpty)
        try await settle(a, b)
        #expect(try b.ids() == ["n1", "n2", "n9"])
    }

    @Test("A database that was dumped and read in again, rows renumbered, goes on as the same peer")
    func dumped() async throws {
        let peer = try await a.peer()
        // A gap in the rowids, so that reading in numbers the rows anew.
        try a.execute("DELETE FROM note WHERE id = 'n1'")
        try await settle(a, b)
        try a.checkpoint()
        let script = """
            sqlite3 "$1" .dump | sed "s/'n3','c'/'n3','C'/" | sqlite3 "$1.new" && mv "$1.new" "$1" && rm -f "$1"-*
            """
        let shell = Process()
        shell.executableURL = URL(fileURLWithPath: "/bin/sh")
        shell.arguments = ["-c", script, "sh", a.path]
        try shell.run()
        shell.waitUntilExit()
        #expect(shell.terminationStatus == 0)
        #expect(try a.count("SELECT max(rowid) FROM note") == 2)
        let report = try await a.with { try await $0.rescan() }
        #expect(report.found == ["note": ChangeCounts(updated: 1)] && report.nameless.isEmpty)
        try a.execute("UPDATE task SET title = 'after' WHERE id = 1")
        try await settle(a, b)
        #expect(try await a.peer() == peer)
        #expect(try dump(b) == ["n2b", "n3C", "1after", "2y", "3z", "n1red", "n2blue"])
        #expect(try dump(a) == dump(b))
    }
}
