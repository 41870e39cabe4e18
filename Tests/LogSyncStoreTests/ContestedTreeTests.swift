import GRDBSQLite
import LogSyncModel
import LogSyncSQLite
import Testing

@testable import LogSyncStore

/// The instructions of SQLite's virtual machine are the same on every machine.
@Suite("What refers to contested rows and contests nothing is not decided with them")
struct ContestedTreeTests {
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private func instructions(of store: Store, _ body: () throws -> Void) throws -> Int {
        final class Counter { var count = 0 }
        let (handle, counter) = (try store.database.withConnection(\.handle), Counter())
        sqlite3_progress_handler(
            handle, 1,
            {
                if let object = $0 { Unmanaged<Counter>.fromOpaque(object).takeUnretainedValue().count += 1 }
                return 0
            }, Unmanaged.passUnretained(counter).toOpaque())
        defer { sqlite3_progress_handler(handle, 0, nil, nil) }
        try body()
        return counter.count
    }

    enum Shape: String, CaseIterable {
        case tree = "nullif(i / 2, 0)"
        case chain = "nullif(i - 1, 0)"
        case fan = "CASE i WHEN 1 THEN NULL ELSE 1 END"
    }

    @Test(
        "A root that both peers have inserted costs one row's decision", arguments: Shape.allCases,
        ["", " NOT NULL", " ON DELETE SET NULL", " ON DELETE CASCADE"])
    func root(shape: Shape, rule: String) throws {
        let up = rule == " NOT NULL" ? "coalesce(\(shape.rawValue), 1)" : shape.rawValue
        func measured(_ name: String, _ key: String) throws -> Int {
            // A root cannot refer to nothing there: it is in a table of its own.
            let parent = rule == " NOT NULL" ? "p" : "t"
            let a = try TestPeer(
                folder, "\(name) a",
                sql: """
                    CREATE TABLE p(id INTEGER PRIMARY KEY, k TEXT UNIQUE);
                    CREATE TABLE t(id INTEGER PRIMARY KEY, k TEXT UNIQUE, up INTEGER REFERENCES \(parent)\(rule));
                    """)
            let b = try TestPeer(folder, "\(name) b", cloning: a)
            try a.write(
                """
                BEGIN; INSERT INTO p VALUES(1, 'k1');
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
                INSERT INTO t SELECT i, 'k' || i, \(rule == " NOT NULL" ? "1" : up) FROM n; COMMIT
                """)
            try a.record()
            try b.awaitAnotherMillisecond()
            try b.write("INSERT INTO \(parent)(k) VALUES('\(key)')")
            try b.record()
            let count = try instructions(of: b.store) { try b.pull(from: a) }
            try agree(a, b)
            #expect(try b.strings("SELECT count(*) FROM t WHERE k <> 'other'") == ["400"])
            return count
        }
        let (few, many) = (try measured("other", "other"), try measured("contested", "k1"))
        #expect(many < few * 3, "\(many) instructions, and \(few) where nothing is contested")
    }

    @Test(
        "So does a root that refers to itself, or two that refer to each other",
        arguments: ["CASE i WHEN 1 THEN 1 ELSE i / 2 END", "CASE i WHEN 1 THEN 2 ELSE (i + 1) / 2 END"])
    func circle(up: String) throws {
        func measured(_ name: String, _ up: String) throws -> Int {
            let a = try TestPeer(
                folder, "\(name) a", sql: "CREATE TABLE t(id INTEGER PRIMARY KEY, k TEXT, up INTEGER REFERENCES t)")
            let b = try TestPeer(folder, "\(name) b", cloning: a)
            try a.write(
                """
                BEGIN; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
                INSERT INTO t SELECT i, 'k' || i, \(up) FROM n; COMMIT
                """)
            try a.record()
            let count = try instructions(of: b.store) { try b.pull(from: a) }
            try agree(a, b)
            #expect(try a.strings("SELECT up FROM t ORDER BY id") == b.strings("SELECT up FROM t ORDER BY id"))
            return count
        }
        let (few, many) = (try measured("root", Shape.tree.rawValue), try measured("circle", up))
        #expect(many < few * 4, "\(many) instructions, and \(few) for one root")
    }

    @Test("Where many rows of a tree are contested, each is decided once")
    func manyContested() throws {
        func measured(_ name: String, _ contested: Int) throws -> Int {
            let a = try TestPeer(
                folder, "\(name) a",
                sql: "CREATE TABLE t(id INTEGER PRIMARY KEY, k TEXT UNIQUE, up INTEGER REFERENCES t)")
            let b = try TestPeer(folder, "\(name) b", cloning: a)
            for (peer, count) in [(a, 1200), (b, 60)] {
                try peer.write(
                    """
                    BEGIN; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
                    INSERT INTO t SELECT i, iif(i <= \(contested), 'k', '\(peer.name)') || i, nullif(i / 2, 0) FROM n; COMMIT
                    """)
                try peer.record()
                try b.awaitAnotherMillisecond()
            }
            let count = try instructions(of: b.store) { try b.pull(from: a) }
            try agree(a, b)
            #expect(try b.strings("SELECT count(*) FROM t") == ["\(1260 - contested)"])
            return count
        }
        let (few, many) = (try measured("other", 0), try measured("contested", 60))
        #expect(many < few * 3, "\(many) instructions, and \(few) where nothing is contested")
    }

    @Test("Rows that are beside a table, or that others wait for, go the general way among many that do not")
    func rowsBeside() throws {
        let folder = try TestFolder(comparingWays: true)
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE name(k TEXT PRIMARY KEY, u TEXT UNIQUE, v);
                CREATE TABLE p(id INTEGER PRIMARY KEY, u TEXT UNIQUE);
                CREATE TABLE t(id INTEGER PRIMARY KEY, p INTEGER REFERENCES p, v);
                """)
        let peers = [a, try TestPeer(folder, "b", cloning: a), try TestPeer(folder, "c", cloning: a)]
        let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60) "
        for (place, peer) in peers.enumerated() {
            // Each has a row that another's keeps out, and the next inserts that one's key, too.
            try peer.write(
                """
                INSERT INTO name VALUES('of \(peer.name)', 'one', 1), ('of all', '\(peer.name)', 2);
                INSERT INTO p VALUES(\(place + 1), 'work'); INSERT INTO t VALUES(\(place + 1), \(place + 1), '\(peer.name)')
                """)
            try peer.record()
            try peer.awaitAnotherMillisecond()
        }
        for peer in [peers[1], peers[2]] { try peer.pull(from: a) }
        for (place, peer) in peers.enumerated() {
            let other = peers[(place + 1) % 3].name
            try peer.write(
                """
                \(numbers) INSERT INTO name SELECT iif(i = 30, 'of \(other)', 'n\(place) ' || i), 'u\(place) ' || i, i FROM n
                    WHERE true ON CONFLICT DO NOTHING;
                \(numbers) INSERT INTO p SELECT i + 10, '\(place) ' || i FROM n;
                \(numbers) INSERT INTO t SELECT i + 10, i + 10, 'new' FROM n
                """)
            try peer.record()
        }
        for peer in peers { for other in peers where other !== peer { try peer.pull(from: other) } }
        for peer in peers { for other in peers where other !== peer { try peer.pull(from: other) } }
        try agree(peers[0], peers[1], peers[2])
        for query in [
            "SELECT * FROM name ORDER BY k", "SELECT t.v, p.u FROM t LEFT JOIN p ON t.p = p.id ORDER BY 1, 2",
        ] {
            let shown = try peers.map { try $0.strings(query) }
            #expect(shown[1] == shown[0] && shown[2] == shown[0], "\(query)")
        }
    }

    @Test("A row that comes back where others hold a promised integer for it stands under one that they know")
    func promised() throws {
        let folder = try TestFolder(comparingWays: true)
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE p(id INTEGER PRIMARY KEY, v); CREATE TABLE t(id INTEGER PRIMARY KEY, p INTEGER);
                INSERT INTO p VALUES(1, 'one'), (2, 'two'); INSERT INTO t VALUES(1, 1), (2, 2)
                """
        ) {
            $0.references = [("t", "p", "p")]
            $0.policies = [("p", "delete-loses")]
        }
        let (b, c) = (try TestPeer(folder, "b", cloning: a), try TestPeer(folder, "c", cloning: a))
        try b.write("UPDATE p SET v = 'edited' WHERE id = 1")
        try b.record()
        try b.awaitAnotherMillisecond()
        try a.write("DELETE FROM p WHERE id = 1")
        try a.record()
        try c.pull(from: a)
        #expect(try c.strings("SELECT count(*) FROM t WHERE p NOT IN (SELECT id FROM p)") == ["1"])
        try b.pull(from: a)
        try c.pull(from: b)
        try a.pull(from: b)
        try agree(a, b, c)
        for peer in [a, b, c] {
            #expect(
                try peer.strings("SELECT v FROM t JOIN p ON p = p.id ORDER BY t.id") == ["edited", "two"],
                "\(peer.name)")
        }
    }
}
