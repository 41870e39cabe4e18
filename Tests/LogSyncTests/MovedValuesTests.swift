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
}
