import Foundation
import GRDB
import LogSync
import Testing

/// Migrations that put what one table held into another, beside edits of the former.
@Suite("Values that a migration moves to another table")
struct MovedValuesTests {
    enum Kind: CaseIterable {
        /// A table with one row for each of the other's is merged into that.
        case merged
        /// A table of names is written out where it was referred to.
        case writtenOut
        /// A column goes to the other table, and its own table stays.
        case moved
        /// A column goes to a table that is made for it.
        case split

        var schema: String {
            switch self {
            case .merged, .moved:
                """
                CREATE TABLE item(id INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE);
                CREATE TABLE body(item_id INTEGER PRIMARY KEY REFERENCES item(id) ON DELETE CASCADE, note TEXT, size INTEGER);
                INSERT INTO item VALUES(1, 'x'), (2, 'y'), (3, 'z'), (4, 'w');
                INSERT INTO body VALUES(1, 'n1', 1), (2, 'n2', 1), (3, 'n3', 1), (4, 'n4', 1)
                """
            case .split:
                """
                CREATE TABLE item(id INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE, note TEXT);
                INSERT INTO item VALUES(1, 'x', 'n1'), (2, 'y', 'n2'), (3, 'z', 'n3'), (4, 'w', 'n4')
                """
            case .writtenOut:
                """
                CREATE TABLE body(id INTEGER PRIMARY KEY, note TEXT);
                CREATE TABLE item(id INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE, body_id INTEGER REFERENCES body(id));
                INSERT INTO body VALUES(1, 'n1'), (2, 'n2'), (3, 'n3'), (4, 'n4');
                INSERT INTO item VALUES(1, 'x', 1), (2, 'y', 2), (3, 'z', 3), (4, 'w', 4)
                """
            }
        }

        var edit: String {
            switch self {
            case .merged, .moved: "UPDATE body SET note = 'by b' WHERE item_id = 1"
            case .writtenOut: "UPDATE body SET note = 'by b' WHERE id = 1"
            case .split: "UPDATE item SET note = 'by b' WHERE id = 1"
            }
        }

        /// The table that has the notes afterwards.
        var target: String { self == .split ? "body" : "item" }

        var migration: String {
            switch self {
            case .merged:
                """
                ALTER TABLE item ADD COLUMN note TEXT;
                UPDATE item SET note = (SELECT note FROM body WHERE item_id = item.id);
                DROP TABLE body
                """
            case .writtenOut:
                """
                ALTER TABLE item ADD COLUMN note TEXT;
                UPDATE item SET note = (SELECT note FROM body WHERE id = item.body_id);
                ALTER TABLE item DROP COLUMN body_id;
                DROP TABLE body
                """
            case .moved:
                """
                ALTER TABLE item ADD COLUMN note TEXT;
                UPDATE item SET note = (SELECT note FROM body WHERE item_id = item.id);
                ALTER TABLE body DROP COLUMN note
                """
            case .split:
                """
                CREATE TABLE body(uid TEXT PRIMARY KEY NOT NULL, note TEXT);
                INSERT INTO body SELECT uid, note FROM item;
                ALTER TABLE item DROP COLUMN note
                """
            }
        }
    }

    /// When `b` edits what both migrate.
    enum Edit: CaseIterable {
        /// Both know of it before.
        case knownToBoth
        /// The other migrates without having seen it, and is heard of before this one migrates.
        case unseen
        /// After the other's migration.
        case afterwards
        /// So, and nobody looks between the edit and the migration.
        case unrecorded
        /// Both migrate at once, and nobody looks between the edit and the migration.
        case atOnce
    }

    let world: World
    let a: Machine

    init() throws {
        world = try World()
        a = try world.machine("a")
    }

    private func rows(_ machine: Machine, _ kind: Kind = .merged) throws -> [String] {
        try machine.strings("SELECT uid || ' ' || note FROM \(kind.target) ORDER BY uid")
    }

    private func migrate(_ machine: Machine, _ kind: Kind) throws {
        let database = try machine.database()
        defer { try? database.close() }
        try database.writeWithoutTransaction {
            try $0.execute(sql: "PRAGMA foreign_keys = OFF; BEGIN; \(kind.migration); COMMIT")
        }
    }

    private func peers(_ kind: Kind) async throws -> Machine {
        try a.execute(kind.schema)
        try await a.initialize()
        return try await world.clone("b")
    }

    @Test(
        "An edit of what is moved counts on all peers, whenever they migrate", arguments: Kind.allCases, Edit.allCases)
    func edited(kind: Kind, edit: Edit) async throws {
        let b = try await peers(kind)
        try await settle(a, b)
        switch edit {
        case .knownToBoth:
            try b.execute(kind.edit)
            try await settle(a, b)
            try migrate(a, kind)
        case .unseen:
            try b.execute(kind.edit)
            try await b.sync()
            try migrate(a, kind)
            try await settle(a, b)
        case .afterwards:
            try migrate(a, kind)
            try await settle(a, b)
            try b.execute(kind.edit)
            try await settle(a, b)
        case .unrecorded:
            try migrate(a, kind)
            try await settle(a, b)
            try b.execute(kind.edit)
        case .atOnce:
            try b.execute(kind.edit)
            try migrate(a, kind)
        }
        try migrate(b, kind)
        try await settle(a, b)
        for machine in [a, b] {
            #expect(try rows(machine, kind) == ["w n4", "x by b", "y n2", "z n3"])
            // What a migration has put there contests nothing.
            let listed = try await machine.with { try await $0.conflicts() }
            #expect(listed.conflicts.isEmpty, "\(listed.conflicts)")
        }
        #expect(try await a.status().digest == b.status().digest)
        let verified = try await Replicator.verify(b.path, configuration: b.configuration)
        #expect(verified.findings.isEmpty, "\(verified.findings)")
    }

    @Test("What was edited at the new place later than at the former one stays", arguments: Kind.allCases)
    func editedLater(kind: Kind) async throws {
        let b = try await peers(kind)
        try b.execute(kind.edit)
        try migrate(a, kind)
        try await a.sync()
        try a.execute(
            "UPDATE \(kind.target) SET note = 'by a' WHERE uid = 'x'; UPDATE \(kind.target) SET note = 'n2' WHERE uid = 'w'"
        )
        try await settle(a, b)
        try migrate(b, kind)
        try await settle(a, b)
        for machine in [a, b] { #expect(try rows(machine, kind) == ["w n2", "x by a", "y n2", "z n3"]) }
    }

    @Test(
        "What programs write at the new place counts, though nobody looks between the migration and the write",
        arguments: Kind.allCases, [false, true])
    func editedUnseen(kind: Kind, isSecond: Bool) async throws {
        let b = try await peers(kind)
        try await settle(a, b)
        try migrate(a, kind)
        if isSecond { try await a.sync() }
        try migrate(b, kind)
        try a.execute("UPDATE \(kind.target) SET note = 'by a' WHERE uid = 'y'")
        try b.execute("UPDATE \(kind.target) SET note = 'by b' WHERE uid = 'x'")
        try await settle(b, a)
        for machine in [a, b] { #expect(try rows(machine, kind) == ["w n4", "x by b", "y by a", "z n3"]) }
        #expect(try await a.status().digest == b.status().digest)
    }

    @Test("Rows that a program inserts before anybody looks leave it told where the others' values were")
    func insertedUnseen() async throws {
        let b = try await peers(.split)
        try await settle(a, b)
        for machine in [a, b] {
            try machine.execute(
                "UPDATE item SET note = 'by \(machine.name)' WHERE uid = '\(machine.name == "a" ? "y" : "x")'")
            try migrate(machine, .split)
            for number in 0..<6 {
                try machine.execute(
                    "INSERT INTO body VALUES('\(machine.name)\(number)', 'new \(machine.name)\(number)')")
            }
        }
        try await settle(a, b)
        for machine in [a, b] { #expect(try rows(machine, .split).suffix(4) == ["w n4", "x by b", "y by a", "z n3"]) }
    }

    @Test("Values that others hold, too, are no edits of what they were copied from")
    func common() async throws {
        try a.execute(Kind.merged.schema + "; UPDATE body SET note = 'open' WHERE item_id = 2")
        try await a.initialize()
        let b = try await world.clone("b")
        try await settle(a, b)
        try migrate(a, .merged)
        try a.execute("UPDATE item SET note = 'closed' WHERE uid = 'y'")
        try await settle(a, b)
        try b.execute("UPDATE body SET note = 'open' WHERE item_id = 4")
        try await b.sync()
        try migrate(b, .merged)
        try await settle(a, b)
        for machine in [a, b] { #expect(try rows(machine).contains("y closed")) }
        #expect(try rows(a) == rows(b))
    }

    /// Of three values that a machine finds at the new place one alone was recorded at the former one.
    @Test(
        "An edit of a column that gets a table of its own counts where that has few rows",
        arguments: ["INTEGER PRIMARY KEY REFERENCES item(id)", "TEXT PRIMARY KEY REFERENCES item(uid)"])
    func editedFew(key: String) async throws {
        try a.execute(
            """
            CREATE TABLE item(id INTEGER PRIMARY KEY, uid TEXT NOT NULL UNIQUE, note TEXT);
            INSERT INTO item(uid, note) VALUES('x', 'n1'), ('y', 'n2')
            """)
        try await a.initialize()
        let (b, c) = (try await world.clone("b"), try await world.clone("c"))
        try b.execute("UPDATE item SET note = 'old' WHERE uid = 'x'")
        try await settle(a, b, c)
        let name = key.hasPrefix("TEXT") ? "uid" : "id"
        let migration = """
            CREATE TABLE body(item \(key), note TEXT); INSERT INTO body SELECT \(name), note FROM item;
            ALTER TABLE item DROP COLUMN note
            """
        try a.execute(migration)
        try await a.sync()
        try b.execute(
            "UPDATE item SET note = 'by b' WHERE uid = 'x'; INSERT INTO item(uid, note) VALUES('z', 'n3')")
        try b.execute(migration)
        try await settle(b, c)
        try c.execute(migration)
        try await settle(c, a, b)
        for machine in [a, b, c] {
            let shown = try machine.strings(
                "SELECT uid || ' ' || body.note FROM item JOIN body ON item = item.\(name) ORDER BY uid")
            #expect(shown == ["x by b", "y n2", "z n3"], "\(machine.name)")
        }
    }

    /// What a migration makes of a title says nothing of a column that goes with it, though the title was edited.
    @Test(
        "What others have written to a new column stays where a row was edited that a column goes from",
        arguments: [["1", "2", "3", "4"], ["0", "0", "0", "0"], ["1", "NULL", "NULL", "2"]], [false, true])
    func editedBeside(gone: [String], areMore: Bool) async throws {
        try a.execute(
            "CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, title TEXT, gone INTEGER);"
                + gone.enumerated().map { "INSERT INTO t VALUES('k\($0)', 't\($0)', \($1));" }.joined())
        try await a.initialize()
        let b = try await world.clone("b")
        let migration = """
            ALTER TABLE t ADD COLUMN x TEXT NOT NULL DEFAULT ''; UPDATE t SET x = upper(title);
            \(areMore ? "ALTER TABLE t ADD COLUMN y TEXT NOT NULL DEFAULT 'y';" : "") ALTER TABLE t DROP COLUMN gone
            """
        try a.execute(migration)
        try await a.sync()
        try a.execute("UPDATE t SET x = 'by a' WHERE k = 'k0'")
        try await settle(a, b)
        try b.execute("UPDATE t SET title = 'by b' WHERE k = 'k0'")
        try b.execute(migration)
        try await settle(b, a)
        for machine in [a, b] {
            #expect(
                try machine.strings("SELECT title || ' ' || x FROM t ORDER BY k") == [
                    "by b by a", "t1 T1", "t2 T2", "t3 T3",
                ], "\(machine.name)")
        }
    }

    @Test("What other rows show to be made of an edit counts, though others have written to the new column before")
    func editedAfterOthers() async throws {
        try a.execute(
            """
            CREATE TABLE t(k TEXT PRIMARY KEY NOT NULL, title TEXT, st TEXT);
            INSERT INTO t VALUES('k0', 't0', 'open'), ('k1', 't1', 'open'), ('k2', 't2', 'open'), ('k3', 't3', 'shut')
            """)
        try await a.initialize()
        let b = try await world.clone("b")
        let migration = """
            ALTER TABLE t ADD COLUMN x INTEGER; UPDATE t SET x = CASE st WHEN 'open' THEN 700 ELSE 800 END;
            ALTER TABLE t DROP COLUMN st
            """
        try a.execute(migration)
        try await a.sync()
        try a.execute("UPDATE t SET x = 900 WHERE k = 'k0'")
        try await settle(a, b)
        try b.execute("UPDATE t SET title = 'by b', st = 'shut' WHERE k = 'k0'")
        try b.execute(migration)
        try await settle(b, a)
        for machine in [a, b] {
            #expect(
                try machine.strings("SELECT title || ' ' || x FROM t ORDER BY k") == [
                    "by b 800", "t1 700", "t2 700", "t3 800",
                ], "\(machine.name)")
        }
    }
}
