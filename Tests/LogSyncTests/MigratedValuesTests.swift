import Foundation
import GRDB
import LogSync
import Testing

/// What a rebuild (create, copy, drop, rename) does to rows beside what programs wrote to them.
@Suite("Rows that a rebuild copies")
struct MigratedValuesTests {
    let world: World
    let a: Machine

    init() throws {
        world = try World()
        a = try world.machine("a")
    }

    private func peers(_ schema: String) async throws -> Machine {
        try a.execute(schema)
        try await a.initialize()
        return try await world.clone("b")
    }

    private func rows(_ machine: Machine, _ sql: String) throws -> [String] {
        let database = try machine.database()
        defer { try? database.close() }
        return try database.read { try String.fetchAll($0, sql: sql) }
    }

    private func migrate(_ machine: Machine, _ sql: String) throws {
        let database = try machine.database()
        defer { try? database.close() }
        try database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA foreign_keys = OFF; BEGIN; \(sql); COMMIT") }
    }

    private func expectSame(
        _ machines: Machine..., query: String, _ expected: [String]
    ) async throws {
        for machine in machines {
            #expect(try rows(machine, query) == expected)
            let report = try await Replicator.verify(machine.path, configuration: machine.configuration)
            #expect(report.store == true && report.findings.isEmpty, "\(report.findings)")
            let conflicts = try await machine.with { try await $0.conflicts() }
            #expect(conflicts.conflicts.isEmpty && conflicts.parked.isEmpty)
        }
    }

    @Test(
        "are those that they were where an integer key goes and a column gets another type",
        arguments: ["id INTEGER PRIMARY KEY AUTOINCREMENT, ", "id INTEGER PRIMARY KEY, "], ["REAL", "TEXT"])
    func keyGone(key: String, type: String) async throws {
        let b = try await peers(
            """
            CREATE TABLE t(\(key)ref TEXT NOT NULL, at INTEGER NOT NULL, n INTEGER);
            INSERT INTO t(ref, at, n) VALUES('r1', 1700000001, 4), ('r2', 1700000002, 5), ('r3', 1700000003, 3)
            """)
        let rebuild = """
            CREATE TABLE t_new(ref TEXT NOT NULL, at \(type) NOT NULL, n INTEGER);
            INSERT INTO t_new SELECT ref, at, n FROM t; DROP TABLE t; ALTER TABLE t_new RENAME TO t
            """
        try migrate(b, rebuild)
        try a.execute("UPDATE t SET n = 1000 WHERE ref = 'r1'; DELETE FROM t WHERE ref = 'r2'")
        try await b.sync()
        try await settle(a, b)
        try migrate(a, rebuild)
        try await settle(a, b)
        try await expectSame(
            a, b, query: "SELECT ref || ' ' || CAST(at AS INTEGER) || ' ' || n FROM t ORDER BY ref",
            ["r1 1700000001 1000", "r3 1700000003 3"])
    }

    // MARK: New columns

    private static let items = "CREATE TABLE item(k TEXT PRIMARY KEY, note TEXT);"
    private static let item = "SELECT k || ' ' || prio FROM item ORDER BY k"
    private static let prio =
        "ALTER TABLE item ADD COLUMN prio INTEGER NOT NULL DEFAULT 0; UPDATE item SET prio = length(k)"

    @Test(
        "What a program sets a new column to after its migration stays, be it what the column begins with",
        arguments: [0, 7], [true, false])
    func setAfterAMigration(value: Int, looksBetween: Bool) async throws {
        let b = try await peers(Self.items + "INSERT INTO item(k) VALUES('aa'), ('bb'), ('cc')")
        try migrate(a, Self.prio)
        if looksBetween { try await settle(a, b) }
        try a.execute("UPDATE item SET prio = \(value) WHERE k = 'bb'")
        try await settle(a, b)
        try migrate(b, Self.prio)
        try await settle(a, b)
        try await expectSame(a, b, query: Self.item, ["aa 2", "bb \(value)", "cc 2"])
    }

    @Test(
        "So it does in a table's only row, which each one's migration writes",
        arguments: ["look", "no look", "new row"])
    func onlyRow(kind: String) async throws {
        let b = try await peers(Self.items + (kind == "new row" ? "" : "INSERT INTO item(k) VALUES('x')"))
        try migrate(a, Self.prio)
        if kind == "look" { try await settle(a, b) }
        try a.execute(
            kind == "new row" ? "INSERT INTO item(k, prio) VALUES('x', 7)" : "UPDATE item SET prio = 7 WHERE k = 'x'")
        try await settle(a, b)
        try migrate(b, Self.prio)
        try await settle(a, b)
        try await expectSame(a, b, query: Self.item, ["x 7"])
    }

    @Test(
        "An edit of a column that goes in a migration counts in what that makes of it, recorded before or not",
        arguments: [true, false], [true, false])
    func editedBefore(looksBetween: Bool, isRebuilt: Bool) async throws {
        let b = try await peers(
            """
            CREATE TABLE item(k TEXT PRIMARY KEY, first TEXT, last TEXT, note TEXT);
            INSERT INTO item(k, first, last) VALUES('x', 'Ann', 'Lee'), ('y', 'Bob', 'Ray'), ('z', 'Cid', 'Poe')
            """)
        let migration =
            isRebuilt
            ? """
            CREATE TABLE made(k TEXT PRIMARY KEY, "full" TEXT, note TEXT);
            INSERT INTO made SELECT k, first || ' ' || last, note FROM item; DROP TABLE item;
            ALTER TABLE made RENAME TO item
            """
            : """
            ALTER TABLE item ADD COLUMN "full" TEXT; UPDATE item SET "full" = first || ' ' || last;
            ALTER TABLE item DROP COLUMN first; ALTER TABLE item DROP COLUMN last
            """
        try a.execute("UPDATE item SET first = 'ANNA' WHERE k = 'x'")
        if looksBetween { try await a.sync() }
        try migrate(a, migration)
        try await settle(a, b)
        // What is written elsewhere in the row says that the other one's migration has not found it as it was.
        try b.execute("UPDATE item SET note = 'by b' WHERE k = 'x'")
        try await settle(a, b)
        try migrate(b, migration)
        try await settle(a, b)
        for machine in [a, b, try await world.clone("z")] {
            let found = try rows(machine, "SELECT \"full\" || coalesce(' ' || note, '') FROM item ORDER BY k")
            #expect(found == ["ANNA Lee by b", "Bob Ray", "Cid Poe"], "\(machine.name)")
        }
    }

    // MARK: Without a key

    private static let links = """
        CREATE TABLE link(source TEXT, place INTEGER, kind TEXT);
        INSERT INTO link VALUES('n', 1, 't1'), ('n', 2, 't2'), ('n', 3, 't3'), ('n', 4, 't4'), ('n', 5, 't5')
        """
    private static let linksAnew = """
        CREATE TABLE link_new(source TEXT, place INTEGER, kind TEXT, props TEXT);
        INSERT INTO link_new(source, place, kind) SELECT source, place, kind FROM link;
        DROP TABLE link; ALTER TABLE link_new RENAME TO link
        """
    private static let link = "SELECT kind || place FROM link ORDER BY 1"

    @Test(
        "without a key are the same, whatever numbers and columns they get",
        arguments: [
            ("UPDATE link SET place = 44 WHERE kind = 't4'", ["t11", "t33", "t444", "t55"]),
            ("UPDATE link SET place = 55 WHERE kind = 't5'", ["t11", "t33", "t44", "t555"]),
            ("DELETE FROM link WHERE kind = 't5'", ["t11", "t33", "t44"]),
            ("DELETE FROM link WHERE kind = 't3'", ["t11", "t44", "t55"]),
            ("INSERT INTO link VALUES('n', 6, 't6')", ["t11", "t33", "t44", "t55", "t66"]),
            ("SELECT 1", ["t11", "t33", "t44", "t55"]),
        ], [false, true])
    func keyless(written: (sql: String, rows: [String]), both: Bool) async throws {
        let b = try await peers(Self.links)
        try a.execute("DELETE FROM link WHERE kind = 't2'")
        try await settle(a, b)
        try b.execute(written.sql)
        try a.execute(Self.linksAnew)
        if !both { for machine in [a, b, a] { try await machine.sync() } }
        try b.execute(Self.linksAnew)
        try await settle(a, b)
        try await expectSame(a, b, query: Self.link, written.rows)
    }

    @Test("without a key are the same where a rebuild leaves others out")
    func leftOut() async throws {
        let b = try await peers(Self.links)
        try b.execute("UPDATE link SET place = 55 WHERE kind = 't5'")
        try a.execute(Self.linksAnew.replacing("FROM link;", with: "FROM link WHERE kind <> 't3';"))
        for machine in [b, a, b] { try await machine.sync() }
        try await expectSame(a, query: Self.link, ["t11", "t22", "t44", "t555"])
        #expect(try rows(b, Self.link) == ["t11", "t22", "t44", "t555"])
    }

    // MARK: Other types

    @Test(
        "that hold the same as another type are not written by that",
        arguments: [
            ("INTEGER", "REAL"), ("INTEGER", "TEXT"), ("TEXT", "INTEGER"), ("REAL", "INTEGER"), ("REAL", "TEXT"),
        ],
        [false, true])
    func retyped(types: (former: String, new: String), both: Bool) async throws {
        let b = try await peers(
            """
            CREATE TABLE list(id INTEGER PRIMARY KEY, title TEXT NOT NULL, place \(types.former) NOT NULL);
            INSERT INTO list(title, place) VALUES('x', 20), ('y', 30.5), ('z', 40)
            """)
        let anew = """
            CREATE TABLE new_list(id INTEGER PRIMARY KEY, title TEXT NOT NULL, place \(types.new) NOT NULL);
            INSERT INTO new_list SELECT id, title, place FROM list; DROP TABLE list; ALTER TABLE new_list RENAME TO list
            """
        try b.execute("UPDATE list SET place = 270 WHERE title = 'x'")
        try a.execute(anew)
        if !both { for machine in [a, b, a] { try await machine.sync() } }
        try b.execute(anew)
        try await settle(a, b)
        let query = "SELECT title || cast(place AS REAL) FROM list ORDER BY 1"
        try await expectSame(a, b, query: query, ["x270.0", "y30.5", "z40.0"])
    }

    @Test(
        "show what another peer has written in the new type, though the former type held it otherwise",
        arguments: [("REAL", "'1602'", "'5'"), ("INTEGER", "'01602'", "'05'"), ("NUMERIC", "'16e2'", "'5.0'")])
    func writtenInTheNewType(former: String, inserted: String, updated: String) async throws {
        let b = try await peers(
            """
            CREATE TABLE list(title TEXT PRIMARY KEY NOT NULL, place \(former));
            INSERT INTO list VALUES('x', 20), ('y', 30.5), ('z', 40)
            """)
        let anew = """
            CREATE TABLE new_list(title TEXT PRIMARY KEY NOT NULL, place TEXT);
            INSERT INTO new_list SELECT title, place FROM list; DROP TABLE list; ALTER TABLE new_list RENAME TO list
            """
        try a.execute(anew)
        try await a.sync()
        try a.execute(
            "INSERT INTO list VALUES('w', \(inserted)); UPDATE list SET place = \(updated) WHERE title = 'z'")
        for machine in [a, b, a] { try await machine.sync() }
        try b.execute(anew)
        try await settle(a, b)
        let query = "SELECT title || quote(place) FROM list WHERE title IN ('w', 'z') ORDER BY 1"
        try await expectSame(a, b, query: query, ["w\(inserted)", "z\(updated)"])
    }

    @Test(
        "that are cast to what the column's type would not make of them reach clones, and give way to writes",
        arguments: [("TEXT", "BLOB", "BLOB"), ("BLOB", "TEXT", "TEXT"), ("TEXT", "", "INTEGER"), ("", "TEXT", "BLOB")],
        [false, true])
    func cast(types: (former: String, new: String, cast: String), both: Bool) async throws {
        let b = try await peers(
            """
            CREATE TABLE list(id INTEGER PRIMARY KEY, title TEXT, place \(types.former));
            INSERT INTO list(title, place) SELECT column1, CAST(column2 AS \(types.former.isEmpty ? "TEXT" : types.former))
            FROM (VALUES('x', '20'), ('y', '30'), ('z', NULL))
            """)
        let anew = """
            CREATE TABLE new_list(id INTEGER PRIMARY KEY, title TEXT, place \(types.new));
            INSERT INTO new_list SELECT id, title, CAST(place AS \(types.cast)) FROM list;
            DROP TABLE list; ALTER TABLE new_list RENAME TO list
            """
        let written = "CAST('270' AS \(types.former.isEmpty ? "TEXT" : types.former))"
        try b.execute("UPDATE list SET place = \(written) WHERE title = 'x'")
        try a.execute(anew)
        if !both { for machine in [a, b, a] { try await machine.sync() } }
        try b.execute(anew)
        try await settle(a, b)
        let type = types.cast.lowercased()
        let shown = ["x270\(type)", "y30\(type)", "znull"]
        let query = "SELECT title || coalesce(CAST(place AS TEXT), '') || typeof(place) FROM list ORDER BY 1"
        // That another machine has said the former value in other terms meanwhile is no write.
        try await expectSame(a, b, try await world.clone("z"), query: query, shown)
    }

    @Test("that are keys which are cast are named by other rows as before", arguments: [false, true])
    func castKeys(both: Bool) async throws {
        let b = try await peers(
            """
            CREATE TABLE item(uid TEXT PRIMARY KEY, note TEXT);
            CREATE TABLE part(id INTEGER PRIMARY KEY, item TEXT REFERENCES item(uid), note TEXT);
            INSERT INTO item VALUES('x', 'of x'), ('y', 'of y'); INSERT INTO part(item, note) VALUES('x', '1'), ('y', '2')
            """)
        let anew = """
            CREATE TABLE item_new(uid BLOB PRIMARY KEY, note TEXT);
            INSERT INTO item_new SELECT CAST(uid AS BLOB), note FROM item;
            CREATE TABLE part_new(id INTEGER PRIMARY KEY, item BLOB REFERENCES item(uid), note TEXT);
            INSERT INTO part_new SELECT id, CAST(item AS BLOB), note FROM part; DROP TABLE part; DROP TABLE item;
            ALTER TABLE item_new RENAME TO item; ALTER TABLE part_new RENAME TO part
            """
        try a.execute("INSERT INTO item VALUES('a', 'of a'); INSERT INTO part(item, note) VALUES('a', '3')")
        try b.execute("INSERT INTO item VALUES('b', 'of b'); INSERT INTO part(item, note) VALUES('b', '4')")
        try migrate(a, anew)
        if !both { for machine in [a, b, a] { try await machine.sync() } }
        try migrate(b, anew)
        try await settle(a, b)
        let query = """
            SELECT CAST(item AS TEXT) || part.note || item.note || typeof(item) FROM part JOIN item ON uid = item ORDER BY 1
            """
        let shown = ["a3of ablob", "b4of bblob", "x1of xblob", "y2of yblob"]
        try await expectSame(a, b, try await world.clone("z"), query: query, shown)
    }

    // MARK: Fills

    @Test(
        "and that a program writes before anybody looks are not taken back by another peer's migration",
        arguments: ["'USER'", "'r-' || name"], [false, true])
    func filled(value: String, isWrittenWithOthers: Bool) async throws {
        let b = try await peers(
            """
            CREATE TABLE user(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
            INSERT INTO user(name) VALUES('x'), ('y'), ('z')
            """)
        let anew = """
            CREATE TABLE new_user(id INTEGER PRIMARY KEY, name TEXT NOT NULL, role TEXT);
            INSERT INTO new_user SELECT id, name, \(value) FROM user; DROP TABLE user;
            ALTER TABLE new_user RENAME TO user
            """
        try a.execute(anew)
        try a.execute("UPDATE user SET role = 'ADMIN' WHERE name = 'y'\(isWrittenWithOthers ? " OR name = 'x'" : "")")
        for machine in [a, b, a] { try await machine.sync() }
        // Of a row that was written since, the migration that comes later has seen more.
        try b.execute("UPDATE user SET name = 'zz' WHERE name = 'z'")
        try b.execute(anew)
        try await settle(a, b)
        let role = isWrittenWithOthers ? "ADMIN" : value.hasPrefix("'U") ? "USER" : "r-x"
        let roles = ["x\(role)", "yADMIN", value.hasPrefix("'U") ? "zzUSER" : "zzr-zz"]
        try await expectSame(a, b, query: "SELECT name || role FROM user ORDER BY 1", roles)
    }

    @Test("and that a later migration makes otherwise stay, but in rows that were written since")
    func otherwise() async throws {
        let b = try await peers(
            """
            CREATE TABLE user(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
            INSERT INTO user(name) VALUES('x'), ('y'), ('z')
            """)
        // Written by a program, unlike rows that were there when the store was made.
        try a.execute("INSERT INTO user(name) VALUES('w')")
        try await settle(a, b)
        func anew(_ token: String) -> String {
            """
            CREATE TABLE new_user(id INTEGER PRIMARY KEY, name TEXT NOT NULL, token TEXT);
            INSERT INTO new_user SELECT id, name, '\(token) ' || name FROM user; DROP TABLE user;
            ALTER TABLE new_user RENAME TO user
            """
        }
        try a.execute(anew("a"))
        for machine in [a, b, a] { try await machine.sync() }
        try b.execute("UPDATE user SET name = 'zz' WHERE name = 'z'")
        try b.execute(anew("b"))
        try await settle(a, b)
        try await expectSame(
            a, b, query: "SELECT name || token FROM user ORDER BY 1", ["wa w", "xa x", "ya y", "zzb zz"])
    }

    // MARK: Edits of a column that a migration moves elsewhere

    static let moves = [
        """
        CREATE TABLE t_new(id INTEGER PRIMARY KEY, uid TEXT UNIQUE, first TEXT, last TEXT, w TEXT);
        INSERT INTO t_new SELECT id, uid, substr(name, 1, instr(name, ' ') - 1), substr(name, instr(name, ' ') + 1), w FROM t;
        DROP TABLE t; ALTER TABLE t_new RENAME TO t
        """,
        """
        ALTER TABLE t ADD COLUMN first TEXT; ALTER TABLE t ADD COLUMN last TEXT;
        UPDATE t SET (first, last) = (SELECT substr(name, 1, instr(name, ' ') - 1), substr(name, instr(name, ' ') + 1));
        ALTER TABLE t DROP COLUMN name
        """,
    ]

    @Test(
        "What is edited just before a migration moves it elsewhere counts, though another machine has migrated before",
        arguments: moves,
        [
            "UPDATE t SET name = 'Bob Changed' WHERE uid = '2'",
            "UPDATE t SET name = substr(name, 1, 4) || 'Changed' WHERE uid IN ('2', '3')",
            "UPDATE t SET name = 'Bob Changed', w = 'too' WHERE uid = '2'",
        ])
    func moved(move: String, edit: String) async throws {
        let b = try await peers(
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, uid TEXT UNIQUE, name TEXT, w TEXT);
            INSERT INTO t(uid, name, w) VALUES('1', 'Ann Ax', '1'), ('2', 'Bob Bx', '2'), ('3', 'Cyr Cx', '3'), ('4', 'Dia Dx', '4')
            """)
        try await settle(a, b)
        try migrate(b, move)
        try await settle(b, a)
        try a.execute(edit)
        let (before, query) = (
            "SELECT uid || ' ' || name || ' ' || w FROM t ORDER BY 1",
            "SELECT uid || ' ' || first || ' ' || last || ' ' || w FROM t ORDER BY 1"
        )
        let expected = try rows(a, before)
        try migrate(a, move)
        try await settle(a, b)
        for machine in [a, b, try await world.clone("c")] { #expect(try rows(machine, query) == expected) }
        #expect(try await a.status().digest == b.status().digest)
        let report = try await Replicator.verify(a.path, configuration: a.configuration)
        #expect(report.findings.filter { $0.severity != .note }.isEmpty, "\(report.findings)")
    }
}
