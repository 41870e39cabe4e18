import Foundation
import GRDB
import LogSyncModel
import LogSyncStore
import LogSync
import Testing

@Suite("Packaged rows come once, wherever they are seeded, and never beat an edit")
struct SeedTests {
    static let schema = """
        CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, body TEXT, stars INTEGER);
        CREATE TABLE genre(id INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE song(id INTEGER PRIMARY KEY, title TEXT, genre INTEGER REFERENCES genre(id));
        CREATE TABLE playlist(song INTEGER REFERENCES song(id), place INTEGER, PRIMARY KEY(song, place)) WITHOUT ROWID;
        """
    static let rows = """
        INSERT INTO note(id, body) VALUES('n1', 'packaged'), ('n2', 'packaged');
        INSERT INTO genre VALUES(1, 'jazz'), (2, 'folk');
        INSERT INTO song VALUES(1, 'So What', 1), (2, 'Suzanne', 2), (3, 'Nothing', NULL);
        INSERT INTO playlist VALUES(1, 1), (2, 2);
        """

    let world: World
    let package: String

    init() throws {
        world = try World()
        package = world.root + "/package.db"
        let database = try DatabaseQueue(path: package)
        try database.write { try $0.execute(sql: Self.schema + Self.rows) }
        try database.close()
    }

    private func founder(_ name: String, in world: World? = nil, rows: String = "") async throws -> Machine {
        let machine = try (world ?? self.world).machine(name)
        try machine.execute(Self.schema + rows)
        try await machine.initialize()
        return machine
    }

    @discardableResult
    private func seed(_ machine: Machine, from file: String? = nil) async throws -> SeedReport {
        try await machine.with { try await $0.seed(from: file ?? package) }
    }

    private func dump(_ machine: Machine) throws -> [String] {
        let database = try machine.database()
        defer { try? database.close() }
        return try database.read { db in
            try String.fetchAll(db, sql: "SELECT id || ' ' || coalesce(body, '') FROM note ORDER BY 1")
                + String.fetchAll(
                    db,
                    sql: """
                        SELECT title || ' ' || coalesce(name, '') FROM song LEFT JOIN genre ON genre.id = genre ORDER BY 1
                        """)
                + String.fetchAll(
                    db, sql: "SELECT title || ' ' || place FROM playlist JOIN song ON song.id = song ORDER BY place")
        }
    }

    private static let all = [
        "n1 packaged", "n2 packaged", "Nothing ", "So What jazz", "Suzanne folk", "So What 1", "Suzanne 2",
    ]

    private func expectSame(_ machines: Machine...) async throws {
        for machine in machines.dropFirst() {
            #expect(try dump(machine) == dump(machines[0]))
            let (status, first) = (try await machine.status(), try await machines[0].status())
            #expect(status.vector == first.vector && status.digest == first.digest)
        }
    }

    /// The same rows, without foreign keys that say what their integers mean.
    ///
    /// - Parameter all: whether none does, or only that of songs' genres not.
    private func plainPackage(all: Bool, _ sql: String = "") throws -> String {
        let file = world.root + "/plain.db"
        let database = try DatabaseQueue(path: file)
        try database.write {
            let keys = all ? #/ REFERENCES \w+\(id\)/# : #/ REFERENCES genre\(id\)/#
            try $0.execute(sql: Self.schema.replacing(keys, with: "") + Self.rows + sql)
        }
        try database.close()
        return file
    }

    @Test("The integers of a file without foreign keys mean its own rows, as the store's schema says")
    func undeclared() async throws {
        let a = try await founder("a")
        let b = try await world.clone("b")
        try b.execute("INSERT INTO genre VALUES(1, 'rock'), (2, 'pop'); INSERT INTO song VALUES(1, 'Own', 2)")
        try await b.sync()
        try await seed(b, from: plainPackage(all: true))
        try await settle(a, b)
        try await expectSame(a, b)
        #expect(try dump(b).filter { !$0.hasPrefix("Own") } == Self.all)
        #expect(try dump(b).contains("Own pop"))
    }

    @Test(
        "A file that a version seeded which knew less of what its rows refer to is known again",
        arguments: [(false, false), (false, true), (true, true)])
    func formerSeed(hashesParents: Bool, isPlain: Bool) async throws {
        let cover = "CREATE TABLE cover(id INTEGER PRIMARY KEY, genre INTEGER REFERENCES genre(id), file TEXT);"
        let a = try await founder("a", rows: cover)
        let file = isPlain ? try plainPackage(all: false, cover + "INSERT INTO cover VALUES(1, 2, 'c')") : package
        let store = try Store.open(a.path, configuration: StoreConfiguration())
        let copy = world.root + "/copy.db"
        try FileManager.default.copyItem(atPath: file, toPath: copy)
        let rows = try PackagedRows(
            copy, settings: try store.contentSettings(), hashesParents: hashesParents,
            configuration: StoreConfiguration())
        let former = try rows.peer()
        let name = "seed-\(former.description.prefix(8))"
        #expect(try store.seed(rows, as: former, name: name) != nil)
        try rows.close()
        try store.close()
        let again = try await seed(a, from: file)
        #expect(again.alreadySeeded && again.peer.id == former && again.rows.isEmpty)
        #expect(try dump(a) == Self.all)
    }

    @Test(
        "Where there is nothing to seed, nothing is published and nobody is listed",
        arguments: [
            "", "CREATE TABLE other(x)", "CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, body TEXT, stars INTEGER)",
        ])
    func nothing(schema: String) async throws {
        let a = try await founder("a")
        let file = world.root + "/nothing.db"
        #expect(FileManager.default.createFile(atPath: file, contents: nil))
        if !schema.isEmpty {
            let database = try DatabaseQueue(path: file)
            try await database.write { try $0.execute(sql: schema) }
            try database.close()
        }
        let before = try await a.status()
        let report = try await seed(a, from: file)
        #expect(!report.alreadySeeded && report.rows.isEmpty)
        try await a.sync()
        let after = try await a.status()
        #expect(after.vector == before.vector && after.peers.map(\.id) == before.peers.map(\.id))
    }

    @Test("Seeded on two peers the rows come once, whoever syncs first")
    func once() async throws {
        let a = try await founder("a")
        let b = try await world.clone("b")
        let first = try await seed(a)
        let second = try await seed(b)
        #expect(!first.alreadySeeded && !second.alreadySeeded && first.peer == second.peer)
        #expect(first.rows == ["note": 2, "genre": 2, "song": 3, "playlist": 2])
        try await settle(a, b)
        #expect(try dump(a) == Self.all)
        try await expectSame(a, b)
        #expect(try world.logs(first.peer.id).count == 1)
        #expect(try await seed(a).alreadySeeded)
        #expect(try await a.status().conflicts == 0)
        let c = try await world.clone("c")
        #expect(try dump(c) == Self.all)
        #expect(try await seed(c).alreadySeeded)
        #expect(try await a.status().peers.first { $0.id == first.peer.id }?.retired == true)
    }

    @Test("The transaction has the same bytes wherever it is made, also where it has many frames")
    func sameBytes() async throws {
        let database = try DatabaseQueue(path: package)
        try await database.write { db in
            for number in 10..<30_000 {
                try db.execute(
                    sql: "INSERT INTO song(id, title, genre) VALUES(?, ?, ?)",
                    arguments: [number, String(repeating: "t\(number)", count: 8), number % 2 + 1])
            }
        }
        try database.close()
        let elsewhere = try World()
        let a = try await founder("a")
        // Another store, another name, other settings: the same seed.
        let b = try await founder(
            "b-with-a-much-longer-name", in: elsewhere, rows: "INSERT INTO genre VALUES(9, 'own')")
        for index in 0..<50 { try b.insert("\(index)") }
        try await seed(a)
        try await b.sync()
        let peer = try await seed(b).peer.id
        try await a.sync()
        try await b.sync()
        let name = try #require(try world.logs(peer).first)
        #expect(try elsewhere.logs(peer) == [name])
        #expect(
            try Data(contentsOf: URL(fileURLWithPath: "\(world.logsPath(peer))/\(name)"))
                == Data(contentsOf: URL(fileURLWithPath: "\(elsewhere.logsPath(peer))/\(name)")))
    }

    @Test("An edit made before or after beats the seed; a row deleted after it stays deleted")
    func edits() async throws {
        let a = try await founder("a")
        let b = try await world.clone("b")
        // Not before `init`: what that finds is as old as a seed.
        try a.execute("INSERT INTO note(id, body) VALUES('n1', 'mine')")
        try b.execute("INSERT INTO note(id, body) VALUES('n2', 'theirs')")
        try await b.sync()
        try await seed(a)
        try a.execute("DELETE FROM song WHERE title = 'Nothing'; UPDATE genre SET name = 'blues' WHERE name = 'jazz'")
        try await settle(a, b)
        try await seed(b)
        try await settle(a, b)
        try await expectSame(a, b)
        #expect(
            try dump(a) == [
                "n1 mine", "n2 theirs", "So What blues", "Suzanne folk", "So What 1", "Suzanne 2",
            ])
    }

    @Test("Two founders who never met, each seeded, have the rows once when their folders become one")
    func founders() async throws {
        let elsewhere = try World()
        let a = try await founder("a", rows: "INSERT INTO note(id, body) VALUES('a', 'by a')")
        let b = try await founder("b", in: elsewhere, rows: "INSERT INTO note(id, body) VALUES('b', 'by b')")
        for machine in [a, b] {
            try await seed(machine)
            try await machine.sync()
        }
        // As a sync engine does with two folders of one name.
        for peer in try FileManager.default.contentsOfDirectory(atPath: elsewhere.contentPath + "/peers") {
            let target = "\(world.contentPath)/peers/\(peer)"
            guard !FileManager.default.fileExists(atPath: target) else { continue }
            try FileManager.default.copyItem(atPath: "\(elsewhere.contentPath)/peers/\(peer)", toPath: target)
        }
        let here = world.container
        _ = try await b.with { try await $0.attach(to: here) }
        try await settle(a, b)
        try await expectSame(a, b)
        #expect(try dump(a) == ["a by a", "b by b"] + Self.all)
        let status = try await a.status()
        #expect(status.conflicts == 0 && status.parked == 0)
    }

    @Test("A store that joins with the packaged rows already in it has them once too")
    func joins() async throws {
        let a = try await founder("a")
        try await seed(a)
        try await a.sync()
        let b = try await founder("b", rows: Self.rows + "INSERT INTO note(id) VALUES('own')")
        try await settle(a, b)
        try await expectSame(a, b)
        #expect(try dump(b) == Array(Self.all[0..<2]) + ["own "] + Self.all[2...])
        #expect(try a.count("SELECT count(*) FROM genre") == 2)
    }

    @Test("Rows on both sides of an init are merged by identity: the same key is one row, the later word stands")
    func initWithRows() async throws {
        let a = try await founder("a", rows: "INSERT INTO note(id, body) VALUES('same', 'a'), ('a', 'a')")
        try a.execute("UPDATE note SET body = 'edited' WHERE id = 'same'")
        try await a.sync()
        let b = try await founder("b", rows: "INSERT INTO note(id, body) VALUES('same', 'b'), ('b', 'b')")
        try await settle(a, b)
        try await expectSame(a, b)
        #expect(try a.notes() == ["a=a", "b=b", "same=edited"])
    }

    @Test("A seed is put back into a wiped folder by whoever has it")
    func mended() async throws {
        let a = try await founder("a")
        let peer = try await seed(a).peer.id
        try await a.sync()
        let before = try world.logs(peer)
        try FileManager.default.removeItem(atPath: "\(world.contentPath)/peers/\(peer)")
        try await a.sync()
        #expect(try world.logs(peer) == before && before.count == 1)
        let b = try await world.clone("b")
        #expect(try dump(b) == Self.all)
    }

    @Test("What cannot be seeded is refused by name, and nothing is changed")
    func refused() async throws {
        let a = try await founder("a")
        let digest = try await a.status().digest
        try Data("no database at all, only a little text that is long enough".utf8)
            .write(to: URL(fileURLWithPath: world.root + "/text"))
        let loose = try world.machine("loose")
        try loose.execute("CREATE TABLE loose(rowid, oid, _rowid_); INSERT INTO loose VALUES(1, 2, 3)")
        for (file, code) in [
            (world.root + "/absent", LogSyncError.Code.noStore), (world.root + "/text", .invalidStore),
            (a.path, .configuration), (loose.path, .unsupportedTable),
        ] {
            let error = await #expect(throws: LogSyncError.self) { try await seed(a, from: file) }
            #expect(error?.code == code, "\(String(describing: error))")
            #expect(error?.message.contains("logsync-seed") == false, "\(String(describing: error))")
        }
        #expect(try await a.status().digest == digest)
        #expect(try a.count("SELECT count(*) FROM note") == 0)
    }
}
