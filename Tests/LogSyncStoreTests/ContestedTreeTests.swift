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
}
