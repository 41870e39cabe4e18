import Foundation
import Testing

@Suite(.turn) struct TransactionTests {
    private static let schema = "CREATE TABLE item (id INTEGER PRIMARY KEY, batch TEXT, n INTEGER);"

    @Test
    func `five thousand rows written in one transaction while nothing ran arrive as one, and no reader sees a part`()
        async throws
    {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(sql: Self.schema)
            let before = try await two.transactions().count
            try await one.python(
                """
                db.execute("BEGIN")
                db.executemany("INSERT INTO item (batch, n) VALUES ('big', ?)", [(n,) for n in range(5000)])
                db.execute("COMMIT")
                """)
            try await one.sync()

            // Reads all the while, as an app would.
            let reader = try sandbox.start(
                Program.python,
                [
                    "-c",
                    """
                    import sqlite3, sys, time
                    db = sqlite3.connect(sys.argv[1], timeout=20)
                    seen, end = set(), time.time() + 60
                    print("reading", flush=True)
                    while 5000 not in seen and time.time() < end:
                        seen.add(db.execute("SELECT count(*) FROM item").fetchone()[0])
                    print(sorted(seen))
                    """, two.path,
                ])
            try await eventually("the reader reads") { reader.output.contains("reading") }
            try await two.sync()
            let seen = await reader.finish(within: 70)
            #expect(seen.output.contains("[0, 5000]") || seen.output.contains("[5000]"), "\(seen.output)\(seen.errors)")

            let transactions = try await two.transactions()
            #expect(transactions.count == before + 1)
            #expect(transactions.first?["changes"]["item"]["inserted"].int == 5000, "\(transactions.first ?? .null)")
            try await sandbox.expect(.equal, [one, two])
        }
    }

    @Test func `what was rolled back, or was never committed because its writer died, never arrives`() async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(sql: Self.schema)
            let vector = try await one.status()["vector"]
            try await one.write("BEGIN; INSERT INTO item (batch) VALUES ('rolled back'); ROLLBACK;")
            _ = try await sandbox.run(
                Program.python,
                [
                    "-c",
                    """
                    import sqlite3, sys, os, signal
                    db = sqlite3.connect(sys.argv[1], isolation_level=None)
                    db.execute("PRAGMA cache_size = 5")
                    db.execute("BEGIN")
                    for n in range(20000): db.execute("INSERT INTO item (batch, n) VALUES ('died', ?)", (n,))
                    os.kill(os.getpid(), signal.SIGKILL)
                    """, one.path,
                ])
            let result = try await one.sync()
            #expect(result["recorded"].int ?? result["recorded"].array.count == 0, "\(result)")
            #expect(try await one.status()["vector"] == vector)

            try await one.write(
                "BEGIN; INSERT INTO item (batch) VALUES ('kept'); SAVEPOINT s; INSERT INTO item (batch) VALUES ('undone'); ROLLBACK TO s; COMMIT;"
            )
            try await exchange(one, two)
            #expect(try await two.rows("SELECT batch FROM item;") == ["kept"])
            try await sandbox.expect(.equal, [one, two])
        }
    }

    @Test func `a row made and deleted between two recordings leaves nothing behind`() async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(sql: Self.schema + "CREATE TABLE word (word TEXT PRIMARY KEY);")
            let vector = try await one.status()["vector"]
            try await one.write("INSERT INTO word VALUES ('brief'); INSERT INTO item VALUES (1, 'brief', 1);")
            try await one.write("DELETE FROM word; DELETE FROM item;")
            try await exchange(one, two)
            #expect(try await one.status()["vector"] == vector, "nothing changed, so nothing is recorded")
            #expect(try await two.count("word") == 0)
        }
    }

    @Test func `changes of two tables that were committed together become visible together`() async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(
                sql: "CREATE TABLE a (k TEXT PRIMARY KEY); CREATE TABLE b (k TEXT PRIMARY KEY);")
            let rounds = Scale.choose(8, long: 60)
            let reader = try sandbox.start(
                Program.python,
                [
                    "-c",
                    """
                    import sqlite3, sys, time
                    db = sqlite3.connect(sys.argv[1], timeout=20)
                    torn, end = 0, time.time() + 120
                    while time.time() < end:
                        one, two = db.execute("SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM b)").fetchone()
                        torn += one != two
                        if one == int(sys.argv[2]): break
                    print("torn", torn, one)
                    """, two.path, "\(rounds * 100)",
                ])
            for round in 1...rounds {
                try await one.python(
                    """
                    db.execute("BEGIN")
                    for n in range(100):
                        db.execute("INSERT INTO a VALUES (?)", (f"{sys.argv[2]}-{n}",))
                        db.execute("INSERT INTO b VALUES (?)", (f"{sys.argv[2]}-{n}",))
                    db.execute("COMMIT")
                    """, "\(round)")
                try await one.sync()
                try await two.sync()
            }
            let seen = await reader.finish(within: 130)
            #expect(seen.output.contains("torn 0 \(rounds * 100)"), "\(seen.output)\(seen.errors)")
        }
    }

    @Test func `log tells author, time, counts and table, and takes a limit, a token and a table`() async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(
                sql: "CREATE TABLE a (k TEXT PRIMARY KEY, v); CREATE TABLE b (k TEXT PRIMARY KEY);")
            try await one.write("INSERT INTO a VALUES ('x', 1), ('y', 2);")
            try await one.sync()
            try await two.sync()
            try await two.write(
                "UPDATE a SET v = 3 WHERE k = 'x'; DELETE FROM a WHERE k = 'y'; INSERT INTO b VALUES ('z');")
            try await exchange(two, one)
            let all = try await one.transactions()
            guard all.count >= 2 else { throw Failure("\(all)") }
            #expect(all[0]["changes"]["a"]["updated"].int == 1)
            #expect(all[0]["changes"]["a"]["deleted"].int == 1)
            #expect(all[0]["changes"]["b"]["inserted"].int == 1)
            #expect(all[1]["changes"]["a"]["inserted"].int == 2)
            let time = all[0]["time"].string ?? ""
            #expect(time.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil, "\(time)")

            let limited = try await one.logsync(["log", one.path, "--json", "--limit", "1"]).json["transactions"].array
            #expect(limited == [all[0]])
            let onlyB = try await one.logsync(["log", one.path, "--json", "--table", "b"]).json["transactions"].array
            #expect(onlyB == [all[0]])
            if let token = all[1]["token"].int.map({ "\($0)" }) ?? all[1]["token"].string {
                let later = try await one.logsync(["log", one.path, "--json", "--after", token]).json["transactions"]
                    .array
                #expect(later == [all[0]])
            }
        }
    }
}
