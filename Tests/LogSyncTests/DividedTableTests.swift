import LogSync
import Testing

@Suite("A table that a migration divides in two")
struct DividedTableTests {
    private static let migration = """
        CREATE TABLE note(uid TEXT PRIMARY KEY, txt TEXT, n INT); CREATE TABLE task(uid TEXT PRIMARY KEY, txt TEXT, n INT);
        INSERT INTO note SELECT uid, txt, n FROM item WHERE kind = 'note';
        INSERT INTO task SELECT uid, txt, n FROM item WHERE kind = 'task'; DROP TABLE item
        """

    @Test("is none of them, however its rows are divided", arguments: [1, 2, 4, 6, 7])
    func divided(notes: Int) async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute("CREATE TABLE item(uid TEXT PRIMARY KEY, kind TEXT, txt TEXT, n INT)")
        for row in 1...8 {
            try a.execute(
                "INSERT INTO item VALUES('\(row)', '\(row <= notes ? "note" : "task")', 'text \(row)', \(row))")
        }
        try await a.initialize()
        let b = try await world.clone("b")
        try a.execute(Self.migration)
        try await settle(a, b)
        // What one machine has divided the other still has whole.
        #expect(try b.count("SELECT count(*) FROM item") == 8)
        try b.execute(
            "UPDATE item SET txt = 'by b' WHERE uid IN ('1', '8'); INSERT INTO item VALUES('9', 'task', 'new', 9)")
        try await settle(a, b)
        try b.execute(Self.migration)
        try await settle(a, b)
        for machine in [a, b, try await world.clone("c")] {
            #expect(try machine.count("SELECT count(*) FROM note") == notes, "\(machine.name)")
            #expect(try machine.strings("SELECT txt FROM note WHERE uid = '1'") == ["by b"], "\(machine.name)")
            #expect(
                try machine.strings("SELECT txt FROM task WHERE uid IN ('8', '9') ORDER BY uid") == ["by b", "new"],
                "\(machine.name)")
        }
        #expect(try await a.status().conflicts == 0)
        #expect(try await a.status().digest == b.status().digest)
    }

    @Test("is one that was renamed where the other holds none of its rows")
    func renamed() async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute(
            """
            CREATE TABLE item(uid TEXT PRIMARY KEY, txt TEXT, n INT);
            INSERT INTO item VALUES('1', 'one', 1), ('2', 'two', 2), ('3', 'three', 3)
            """)
        try await a.initialize()
        let b = try await world.clone("b")
        let migration = """
            CREATE TABLE note(uid TEXT PRIMARY KEY, txt TEXT, n INT); CREATE TABLE task(uid TEXT PRIMARY KEY, txt TEXT, n INT);
            INSERT INTO note SELECT * FROM item WHERE uid <> '3'; INSERT INTO task VALUES('9', 'other', 9); DROP TABLE item
            """
        try a.execute(migration)
        try await settle(a, b)
        #expect(try b.strings("SELECT uid FROM item ORDER BY uid") == ["1", "2"])
        try b.execute("UPDATE item SET txt = 'by b' WHERE uid = '1'")
        try await settle(a, b)
        try b.execute(migration)
        try await settle(a, b)
        for machine in [a, b] {
            #expect(try machine.strings("SELECT txt FROM note ORDER BY uid") == ["by b", "two"], "\(machine.name)")
        }
    }
}
