import Foundation
import GRDB
import LogSync
import LogSyncTesting
import Logging
import Testing

/// A program's recording keeps what it knows of the store, and its statements, from one transaction to the next.
@Suite("What a program's recording keeps in memory") struct ProgramSessionTests {
    private let peers: TestPeers
    private var a: TestPeers.Peer { peers["a"] }
    private var b: TestPeers.Peer { peers["b"] }

    init() async throws {
        peers = try await TestPeers("a", "b") { pool in
            try pool.write { db in
                try db.execute(
                    sql: """
                        CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, body TEXT, UNIQUE(body));
                        CREATE TABLE item(
                            id INTEGER PRIMARY KEY, note TEXT REFERENCES note ON DELETE CASCADE ON UPDATE CASCADE,
                            stars INTEGER);
                        """)
            }
        }
        try await peers.settle()
    }

    /// As another process has it.
    private func elsewhere(_ peer: TestPeers.Peer) throws -> Replicator {
        let folder = (peer.container as NSString).deletingLastPathComponent
        var configuration = SyncConfiguration(stateDirectory: folder + "/state")
        configuration.machineID = "test-\(peer.name)"
        configuration.clock = peers.clock
        configuration.logger = Logger(label: peer.name) { _ in SwiftLogNoOpLogHandler() }
        return try Replicator(store: peer.replicator.path, configuration: configuration)
    }

    /// Writes and records in a transaction of the program's.
    private func write(_ sql: String, to peer: TestPeers.Peer, author: String = "ann") async throws {
        let replicator = peer.replicator
        try await peer.pool.write { db in
            try db.execute(sql: sql)
            try replicator.record(db, author: author)
        }
    }

    private func expectAgreement() async throws {
        try await peers.settle()
        try await peers.expectSame()
        for peer in [a, b] {
            let report = try await Replicator.verify(peer.replicator.path, configuration: SyncConfiguration())
            #expect(report.findings.isEmpty)
        }
    }

    @Test("It makes of each write what a later recording makes of it")
    func sameTransactions() async throws {
        let writes = [
            "INSERT INTO note VALUES('one', 'eins'), ('two', 'zwei'); INSERT INTO item VALUES(1, 'one', 1), (2, 'two', 2)",
            "UPDATE item SET stars = stars + 1; UPDATE note SET body = 'drei' WHERE id = 'two'",
            "UPDATE note SET id = 'three' WHERE id = 'two'",
            "INSERT OR REPLACE INTO note VALUES('four', 'eins')",
            "DELETE FROM item WHERE id = 2; INSERT INTO item VALUES(2, NULL, 7)",
            "UPDATE item SET id = 9 WHERE id = 2",
            "DELETE FROM note",
        ]
        peers.hold(from: "a", to: "b")
        peers.hold(from: "b", to: "a")
        for sql in writes {
            try await write(sql, to: a)
            try await b.pool.write { try $0.execute(sql: sql) }
            _ = try await b.replicator.sync()
        }
        func changes(_ peer: TestPeers.Peer) async throws -> [[String]] {
            try await peer.replicator.history(HistoryFilter(tables: ["note", "item"])).map { transaction in
                transaction.changes.map { "\($0.kind) \($0.table) \($0.key) \($0.columns.sorted())" }.sorted()
            }
        }
        let made = try await changes(a)
        // Also that a row has another integer, of which no other peer hears.
        #expect(made.count == writes.count)
        #expect(try await changes(b) == made)
        peers.deliver()
        try await expectAgreement()
    }

    @Test("Another process imports, records and sets policies between two writes")
    func othersBetween() async throws {
        let daemon = try elsewhere(a)
        for round in 0..<4 {
            try await write("INSERT INTO note VALUES('a\(round)', 'of a \(round)')", to: a)
            try await write("INSERT INTO note VALUES('b\(round)', 'of b \(round)')", to: b, author: "bob")
            // Captured, and recorded by nobody yet.
            try await a.pool.write { try $0.execute(sql: "INSERT INTO item VALUES(NULL, 'a\(round)', \(round))") }
            _ = try await peers.settle("b")
            _ = try await daemon.sync()
            if round == 1 { try await daemon.setPolicy("max", for: "item.stars") }
            if round == 2 {
                try await a.replicator.write(in: a.pool, author: "ann") {
                    try $0.execute(sql: "UPDATE note SET body = body || '!'")
                }
            }
            try await peers.settle()
        }
        try await expectAgreement()
        let authors = try await b.replicator.history(HistoryFilter(tables: ["note"])).map { $0.author ?? "-" }
        #expect(authors.filter { $0 == "ann" }.count == 5)
        #expect(authors.filter { $0 == "bob" }.count == 4)
        #expect(!authors.contains("-"))
        await daemon.close()
    }

    @Test("The program migrates its schema between two writes, and within one")
    func migrations() async throws {
        try await write("INSERT INTO note VALUES('one', 'eins')", to: a)
        for peer in [a, b] {
            try await peer.pool.write { db in
                try db.execute(sql: "ALTER TABLE note ADD COLUMN size INTEGER; CREATE TABLE tag(name TEXT PRIMARY KEY)")
            }
        }
        try await write("INSERT INTO note VALUES('two', 'zwei', 4); INSERT INTO tag VALUES('red')", to: a)
        try await write("ALTER TABLE note ADD COLUMN color TEXT; UPDATE note SET color = 'blue'", to: a)
        try await write("ALTER TABLE note DROP COLUMN size; INSERT INTO note VALUES('three', 'drei', 'green')", to: a)
        try await b.pool.write { db in
            try db.execute(sql: "ALTER TABLE note ADD COLUMN color TEXT; ALTER TABLE note DROP COLUMN size")
        }
        try await expectAgreement()
        let rows = try await b.pool.read { db in
            try String.fetchAll(db, sql: "SELECT id || ' ' || coalesce(color, '-') FROM note ORDER BY id")
        }
        #expect(rows == ["one blue", "three green", "two blue"])
        #expect(try await b.pool.read { try String.fetchAll($0, sql: "SELECT name FROM tag") } == ["red"])
    }

    @Test("A database that is restored while it is open records nothing until it is known which peer it is")
    func restored() async throws {
        try await write("INSERT INTO note VALUES('one', 'eins')", to: a)
        try await peers.settle()
        let backup = try DatabaseQueue(path: a.replicator.path + ".backup")
        try a.pool.backup(to: backup)
        for number in 2..<5 {
            try await write("INSERT INTO note VALUES('n\(number)', 'of \(number)')", to: a)
            // By another process: nothing of it is in this one's memory.
            let daemon = try elsewhere(a)
            _ = try await daemon.sync()
            await daemon.close()
        }
        try backup.backup(to: a.pool)
        let refused = await #expect(throws: LogSyncError.self) {
            try await write("INSERT INTO note VALUES('late', 'spaet')", to: a)
        }
        #expect(refused?.code == .locked)
        #expect(try await a.pool.read { try String.fetchAll($0, sql: "SELECT id FROM note") } == ["one"])
        // Finds that out, and records.
        try await a.replicator.write(in: a.pool, author: "ann") {
            try $0.execute(sql: "INSERT INTO note VALUES('late', 'spaet')")
        }
        try await write("INSERT INTO note VALUES('later', 'spaeter')", to: a)
        try await expectAgreement()
        let ids = try await b.pool.read { try String.fetchAll($0, sql: "SELECT id FROM note ORDER BY id") }
        #expect(ids == ["late", "later", "n2", "n3", "n4", "one"])
        try backup.close()
    }

    @Test("Where another process has left, nothing is recorded, and the program's connection closes")
    func left() async throws {
        try await write("INSERT INTO note VALUES('one', 'eins')", to: a)
        await a.replicator.close()
        _ = try await a.replicator.sync()
        try await write("INSERT INTO note VALUES('two', 'zwei')", to: a)
        await a.replicator.close()
        let other = try elsewhere(a)
        _ = try await other.sync()
        let settled = try elsewhere(a)
        _ = try await settled.sync()
        try await a.pool.write { db in try settled.record(db, author: "ann") }
        await settled.close()
        try await other.leave()
        let late = try await a.pool.write { db -> String in
            try db.execute(sql: "INSERT INTO note VALUES('late', 'spaet')")
            do {
                try settled.record(db, author: "ann")
                return "recorded"
            } catch let error as LogSyncError {
                return error.code.rawValue
            }
        }
        #expect(late == "locked")
        #expect(try await a.pool.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM note") } == 3)
        // SQLite closes no connection that has statements.
        try a.pool.close()
    }

    @Test("What a replicator publishes leaves it as it is")
    func publishing() async throws {
        let generation = "SELECT value FROM logsync_store WHERE key = 'generation'"
        for number in 0..<3 {
            try await write("INSERT INTO note VALUES('n\(number)', 'of \(number)')", to: a)
            let recorded = try await a.pool.read { try Int64.fetchOne($0, sql: generation) }
            #expect(try await a.replicator.sync().published == 1)
            // The first makes what a store has for good.
            if number > 0 { #expect(try await a.pool.read { try Int64.fetchOne($0, sql: generation) } == recorded) }
        }
    }

    @Test("A row that is recorded is a commit of few pages, whatever the store has recorded before")
    func pages() async throws {
        let replicator = a.replicator
        let pool = try DatabasePool(path: replicator.path)
        func commits(_ count: Int, _ write: @Sendable (Int) async throws -> Void) async throws -> Double {
            try await pool.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
            for number in 0..<count { try await write(number) }
            let log = try FileManager.default.attributesOfItem(atPath: replicator.path + "-wal")
            return Double((try #require(log[.size] as? Int) - 32) / (4096 + 24)) / Double(count)
        }
        for _ in 0..<2 {
            let recorded = try await commits(100) { number in
                try await pool.write { db in
                    try db.execute(sql: "INSERT INTO item(stars) VALUES(\(number))")
                    try replicator.record(db, author: "ann")
                }
            }
            // The row, what was captured, its clock record and that one's index; outbox, history and its index; who is where,
            // and the facts. A page that is full is two or more.
            #expect(recorded < 10.5)
        }
        try pool.close()
    }

    @Test("A write waits for who else writes, also on a connection that does not")
    func busy() async throws {
        var configuration = GRDB.Configuration()
        configuration.busyMode = .immediateError
        let queue = try DatabaseQueue(path: a.replicator.path, configuration: configuration)
        let replicator = a.replicator
        let (began, begin) = AsyncStream.makeStream(of: Void.self)
        let gate = DispatchSemaphore(value: 0)
        let other = Task.detached { [pool = a.pool] in
            try pool.writeWithoutTransaction { db in
                try db.inTransaction(.immediate) {
                    begin.yield()
                    gate.wait()
                    return .commit
                }
            }
        }
        for await _ in began { break }
        let write = Task {
            try await replicator.write(in: queue, author: "ann") {
                try $0.execute(sql: "INSERT INTO note VALUES('one', 'eins')")
            }
        }
        try await Task.sleep(for: .milliseconds(50))
        gate.signal()
        try await other.value
        try await write.value
        #expect(try await replicator.history(HistoryFilter(tables: ["note"])).map(\.author) == ["ann"])
        try queue.close()
    }
}
