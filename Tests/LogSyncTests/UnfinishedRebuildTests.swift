import Foundation
import GRDB
import LogSync
import LogSyncModel
import Testing

/// Tables that are made anew by programs that die in the middle, or that know no transactions, while logsync looks.
@Suite("A table that is being made anew")
struct UnfinishedRebuildTests {
    private static let query = "SELECT uid||' '||note FROM t ORDER BY 1"
    private static let declarations = [
        "(id INTEGER PRIMARY KEY, uid TEXT, note TEXT", "(uid TEXT PRIMARY KEY NOT NULL, note TEXT",
        "(uid TEXT NOT NULL, note TEXT, PRIMARY KEY(uid)) WITHOUT ROWID",
    ]

    private static func table(_ name: String, _ declaration: String, _ column: String = "") -> String {
        let ends = declaration.hasSuffix("WITHOUT ROWID")
        return ends
            ? "CREATE TABLE \(name)"
                + declaration.replacing("note TEXT,", with: "note TEXT,\(column.isEmpty ? "" : column + ",")")
            : "CREATE TABLE \(name)\(declaration)\(column.isEmpty ? "" : ", " + column))"
    }

    private static func rebuild(_ copy: String, _ declaration: String) -> [String] {
        [
            table(copy, declaration, "more INT"), "INSERT INTO \(copy)(uid, note) SELECT uid, note FROM t",
            "DROP TABLE t", "ALTER TABLE \(copy) RENAME TO t",
        ]
    }

    private func pair(_ world: World, _ schema: String) async throws -> (Machine, Machine) {
        let a = try world.machine("a")
        try a.execute(schema + "; INSERT INTO t(uid, note) VALUES('1','one'),('2','two'),('3','three'),('4','four')")
        try await a.initialize()
        return (a, try await world.clone("b"))
    }

    /// What a program does that ends after these statements, in one transaction or in one each.
    private func run(_ statements: some Sequence<String>, _ machine: Machine, isTransaction: Bool) throws {
        let database = try machine.database()
        try database.writeWithoutTransaction { db in
            if isTransaction { try db.execute(sql: "BEGIN IMMEDIATE") }
            for statement in statements { try db.execute(sql: statement) }
            if isTransaction { try db.execute(sql: "ROLLBACK") }
        }
        try database.close()
    }

    /// A look while the table is gone finds the store locked.
    private func look(_ machine: Machine, isGone: Bool) async throws {
        if isGone {
            let error = await #expect(throws: LogSyncError.self) { try await machine.sync() }
            #expect(error?.code == .locked && error?.message.contains("the table t anew") ?? false)
        } else {
            #expect(try await machine.sync().held.isEmpty)
        }
    }

    private func expectAgreement(_ world: World, _ a: Machine, _ b: Machine, _ expected: [String]) async throws {
        try await settle(a, b)
        for machine in [a, b] {
            #expect(try rows(machine) == expected, "\(machine.name)")
            let report = try await Replicator.verify(machine.path, configuration: machine.configuration)
            #expect(report.findings.filter { $0.severity != .note }.isEmpty, "\(report.findings)")
        }
        #expect(try await a.status().digest == b.status().digest)
        #expect(try rows(try await world.clone("c")) == expected)
    }

    private func rows(_ machine: Machine) throws -> [String] {
        let database = try machine.database()
        defer { try? database.close() }
        return try database.read { try String.fetchAll($0, sql: Self.query) }
    }

    @Test("is the same one, wherever the program dies or logsync looks", arguments: declarations, [false, true])
    func death(declaration: String, isTransaction: Bool) async throws {
        for (index, copy) in ["new_t", "_alembic_tmp_t", "t__new", "ef_temp_t", "t_dg_tmp", "t_backup"].enumerated() {
            let statements = Self.rebuild(copy, declaration)
            let world = try World()
            let (a, b) = try await pair(world, Self.table("t", declaration))
            try b.execute("UPDATE t SET note = 'b' WHERE uid = '3'")
            let place = index % 3 + 1
            try run(statements.prefix(place), a, isTransaction: isTransaction)
            try await look(a, isGone: place == 3 && !isTransaction)
            try b.execute("INSERT INTO t(uid, note) VALUES('5', 'b')")
            #expect(try await b.sync().held.isEmpty)
            if place < 3 || isTransaction { try a.execute("DELETE FROM t WHERE uid = '4'") }
            try run(isTransaction ? statements[...] : statements.dropFirst(place), a, isTransaction: false)
            try await look(a, isGone: false)
            try a.execute("UPDATE t SET note = 'a' WHERE uid = '1'")
            try await settle(a, b)
            try run(statements, b, isTransaction: false)
            try await settle(a, b)
            try b.execute("UPDATE t SET note = 'late' WHERE uid = '2'")
            // Where the copy was made already, the row is in it.
            let isDeleted = isTransaction || place == 1
            let expected = ["1 a", "2 late", "3 b"] + (isDeleted ? [] : ["4 four"]) + ["5 b"]
            try await expectAgreement(world, a, b, expected)
        }
    }

    @Test("takes in what others have written only when its copy has taken its place", arguments: declarations)
    func othersWrite(declaration: String) async throws {
        let world = try World()
        let (a, b) = try await pair(world, Self.table("t", declaration))
        let statements = Self.rebuild("new_t", declaration)
        try b.execute("UPDATE t SET note = 'by b' WHERE uid = '3'; INSERT INTO t(uid, note) VALUES('5', 'b')")
        try await b.sync()
        // An empty copy has nothing yet that could undo anything.
        try run(statements.prefix(1), a, isTransaction: false)
        #expect(try await a.sync().imported == 2)
        try b.execute("UPDATE t SET note = 'b again' WHERE uid = '3'; DELETE FROM t WHERE uid = '4'")
        try await b.sync()
        try a.execute("UPDATE t SET note = 'a' WHERE uid = '1'")
        try run(statements.dropFirst().prefix(1), a, isTransaction: false)
        let error = await #expect(throws: LogSyncError.self) { try await a.sync() }
        #expect(error?.code == .locked && error?.message.contains("new_t has its rows already") ?? false)
        #expect(try rows(a) == ["1 a", "2 two", "3 by b", "4 four", "5 b"])
        try run(statements.dropFirst(2), a, isTransaction: false)
        try await settle(a, b)
        try run(statements, b, isTransaction: false)
        try await expectAgreement(world, a, b, ["1 a", "2 two", "3 b again", "5 b"])
    }

    @Test("is the same one though its copy has counted as a table meanwhile")
    func patienceIsOver() async throws {
        let world = try World()
        let (a, b) = try await pair(world, Self.table("t", Self.declarations[0]))
        let statements = Self.rebuild("new_t", Self.declarations[0])
        try run(statements.prefix(2), a, isTransaction: false)
        try await a.sync()
        #expect(try await a.status().digest == b.status().digest)
        var later = a
        later.configuration.clock = FixedClock(SystemClock().now() + 120_000)
        #expect(try await later.sync().recorded == 1)
        try run(statements.dropFirst(2), a, isTransaction: false)
        try await settle(later, b)
        try run(statements, b, isTransaction: false)
        try b.execute("UPDATE t SET note = 'late' WHERE uid = '2'")
        try await settle(later, b)
        #expect(try rows(a) == ["1 one", "2 late", "3 three", "4 four"])
        #expect(try rows(b) == rows(a))
    }

    @Test("is another one where its name was given to a table that was there")
    func otherTable() async throws {
        let world = try World()
        let (a, b) = try await pair(
            world, Self.table("t", Self.declarations[0]) + ";" + Self.table("staging", Self.declarations[0]))
        try a.execute("INSERT INTO staging(uid, note) VALUES('2','zwei'),('9','nine')")
        try await settle(a, b)
        let migration = "DROP TABLE t; ALTER TABLE staging RENAME TO t"
        try a.execute(migration)
        try await settle(a, b)
        try b.execute("UPDATE staging SET note = 'neun' WHERE uid = '9'")
        try await settle(a, b)
        try b.execute(migration)
        try await expectAgreement(world, a, b, ["2 zwei", "9 neun"])
    }
}
