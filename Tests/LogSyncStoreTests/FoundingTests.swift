import Foundation
import LogSyncModel
import LogSyncSQLite
import Synchronization
import Testing

@testable import LogSyncStore

/// A program that goes on writing, one transaction after the other, until it is told to stop.
private final class BusyProgram: Sendable {
    private struct State {
        var isStopped = false
        var written = 0
        var failure: String?
    }

    private let state = Mutex(State())
    private let group = DispatchGroup()

    /// - Parameter write: one transaction, given its number.
    init(_ path: String, _ write: @escaping @Sendable (Connection, Int) throws -> Void) {
        DispatchQueue(label: "program").async(group: group) { [self] in
            do {
                let app = try TestPeer.open(path)
                defer { TestPeer.close(app) }
                while state.withLock({ !$0.isStopped }) {
                    try write(app, state.withLock { $0.written })
                    state.withLock { $0.written += 1 }
                    // A program that never rests leaves the lock to nobody.
                    usleep(2000)
                }
            } catch {
                state.withLock { $0.failure = "\(error)" }
            }
        }
    }

    /// Waits until it has written some transactions more.
    func await(_ count: Int) {
        let target = state.withLock { $0.written } + count
        while state.withLock({ $0.written < target && $0.failure == nil }) { usleep(1000) }
    }

    /// Stops it when its present transaction is done.
    ///
    /// - Returns: how many there were.
    func stop() throws -> Int {
        state.withLock { $0.isStopped = true }
        group.wait()
        #expect(state.withLock { $0.failure } == nil)
        return state.withLock { $0.written }
    }
}

@Suite("A database becomes a store while programs write it")
struct FoundingTests {
    let folder: TestFolder
    let path: String

    init() throws {
        folder = try TestFolder()
        path = folder.path + "/a.db"
        let app = try TestPeer.open(path)
        defer { TestPeer.close(app) }
        try app.execute(
            """
            PRAGMA journal_mode = WAL;
            CREATE TABLE owner(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
            CREATE TABLE account(
                id INTEGER PRIMARY KEY, owner INTEGER NOT NULL REFERENCES owner(id), amount INTEGER NOT NULL);
            CREATE TABLE setting(key TEXT PRIMARY KEY, value);
            WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
                INSERT INTO owner(id, name) SELECT i, 'owner ' || i FROM n;
            INSERT INTO account(id, owner, amount) SELECT id, 3001 - id, 100 FROM owner;
            INSERT INTO setting(key, value) SELECT name, id FROM owner;
            """)
    }

    /// With portions after which the lock stays free for a while.
    private func configuration() -> StoreConfiguration {
        var configuration = TestPeer.configuration(1)
        configuration.lockBudget = 0.011
        return configuration
    }

    private func plan() -> InitializePlan {
        InitializePlan(content: "test", container: "/nowhere", peerName: "a")
    }

    private func initialize() throws -> TestPeer {
        let store = try Store.initialize(path, plan: plan(), configuration: configuration()).store
        return try TestPeer(folder, "a", opening: store)
    }

    /// Moves money, and rows, so that no two states of the database have the same rows.
    private static func transfer(_ app: Connection, _ number: Int) throws {
        let (from, to) = (number * 7 % 3000 + 1, number * 11 % 3000 + 1)
        let new = 100_000 + number
        try app.execute(
            """
            BEGIN IMMEDIATE;
            UPDATE account SET amount = amount - 3 WHERE id = \(from);
            UPDATE account SET amount = amount + 3 WHERE id = CASE WHEN EXISTS (SELECT 1 FROM account WHERE id = \(from))
                THEN \(to) END;
            UPDATE account SET amount = amount - 3 WHERE id = \(from) AND NOT EXISTS (SELECT 1 FROM account WHERE id = \(to));
            INSERT INTO owner(id, name) VALUES(\(new), 'late \(number)');
            UPDATE account SET id = \(new), owner = \(new) WHERE id = \(from) AND \(number) % 3 = 0;
            INSERT OR REPLACE INTO account(id, owner, amount)
                SELECT id, \(new), amount FROM account WHERE id = \(to);
            DELETE FROM setting WHERE key = 'owner \(from)';
            INSERT OR REPLACE INTO setting(key, value) VALUES('owner \(to)', \(number));
            COMMIT
            """)
    }

    private let balance = "SELECT sum(amount) FROM account"

    @Test("Its first transaction is what it held at one moment, and the rest is what was written since")
    func oneMoment() throws {
        let program = BusyProgram(path) { app, number in
            try app.execute(
                """
                BEGIN IMMEDIATE;
                UPDATE account SET amount = amount - 3 WHERE id = \(number * 7 % 3000 + 1);
                UPDATE account SET amount = amount + 3 WHERE id = \(number * 11 % 3000 + 1);
                UPDATE account SET amount = amount + 1 WHERE id = 5;
                UPDATE setting SET value = value + 1 WHERE key = 'owner 1';
                COMMIT
                """)
        }
        let a = try initialize()
        #expect(try program.stop() > 0)
        let b = try TestPeer(folder, "b", emptyLike: a)
        try b.pull(from: a, record: false)
        // Half a transfer would show, and so would tables of different moments.
        #expect(
            try b.strings("SELECT sum(amount) - (SELECT value FROM setting WHERE key = 'owner 1') FROM account")
                == ["299999"])
        #expect(try b.strings("SELECT count(*), count(DISTINCT owner) FROM account") == ["3000|3000"])
        #expect(try a.record() != nil)
        try b.pull(from: a)
        let rows = "SELECT * FROM account ORDER BY owner"
        #expect(try a.strings(rows) == b.strings(rows))
        try converge(a, b)
    }

    @Test("Rows that are moved, replaced, deleted and inserted meanwhile are the same everywhere")
    func churn() throws {
        let program = BusyProgram(path, Self.transfer)
        let a = try initialize()
        #expect(try program.stop() > 0)
        // Something was written when triggers were there already.
        #expect(try a.record() != nil)
        let b = try TestPeer(folder, "b", cloning: a)
        for rows in [
            "SELECT name FROM owner ORDER BY name", "SELECT key, value FROM setting ORDER BY key",
            "SELECT owner.name, amount FROM account JOIN owner ON owner.id = account.owner ORDER BY 1, 2",
        ] {
            #expect(try a.strings(rows) == b.strings(rows))
        }
        // What was captured is all that there was.
        let rescan = try a.store.rescan(a.store.prepareRescan(), naming: [:])
        #expect(rescan.found == nil && rescan.unidentified.isEmpty)
        try converge(a, b)
    }

    @Test("So many settings that a portion ends among them hold on to no state that is gone")
    func settings() throws {
        let tables = (0..<400).map { "left_\($0)" }
        let app = try TestPeer.open(path)
        try app.execute(tables.map { "CREATE TABLE \($0)(x PRIMARY KEY);" }.joined())
        TestPeer.close(app)
        let program = BusyProgram(path) { app, number in
            try app.execute("INSERT INTO owner(id, name) VALUES(\(100_000 + number), 'late \(number)')")
        }
        program.await(3)
        var plan = plan()
        plan.skip = tables
        try Store.initialize(path, plan: plan, configuration: configuration()).store.close()
        #expect(try program.stop() > 3)
    }

    @Test("Leaving gives the lock up as well, and takes out everything and no row")
    func leave() throws {
        let a = try initialize()
        let program = BusyProgram(path) { app, number in
            try app.execute("INSERT INTO owner(id, name) VALUES(\(100_000 + number), 'late \(number)')")
        }
        program.await(3)
        try a.store.leave()
        let written = try program.stop()
        #expect(written >= 3)
        #expect(try a.strings("SELECT count(*) FROM owner") == ["\(3000 + written)"])
        #expect(try a.strings("SELECT name FROM sqlite_master WHERE name LIKE 'logsync%'") == [])
    }

    // MARK: Interrupted

    /// As a process leaves it that is killed between two portions.
    private func interrupt() throws {
        let a = try initialize()
        try a.store.close()
        try a.write(
            """
            UPDATE logsync_store SET value = \(Int64.max) WHERE key = 'format';
            DELETE FROM logsync_clock_3 WHERE row > 20
            """)
    }

    @Test("One that was interrupted is no store, and begins anew")
    func again() throws {
        try interrupt()
        let error = #expect(throws: LogSyncError.self) { try Store.open(path, configuration: configuration()) }
        #expect(error?.code == .notReplicated && error?.help?.contains("logsync init") == true)
        #expect(try Store.isUnfinished(path, configuration: configuration()))
        let app = try TestPeer.open(path)
        try app.execute("UPDATE account SET amount = 7 WHERE id = 30")
        TestPeer.close(app)
        // Who looks leaves it as it is.
        let found = try Store.examine(path, plan: plan(), configuration: configuration())
        #expect(found.leftovers.isEmpty && found.tables.count == 3)
        #expect(try Store.isUnfinished(path, configuration: configuration()))

        let a = try initialize()
        let b = try TestPeer(folder, "b", cloning: a)
        #expect(try b.strings(balance) == ["299907"])
        #expect(try a.vector().sequences.map(\.value) == [1])
        #expect(try a.record() == nil)
        try converge(a, b)
    }

    @Test("Or is made an ordinary database again")
    func removed() throws {
        try interrupt()
        #expect(try !Store.removeLeftovers(path, configuration: configuration()).isEmpty)
        let app = try TestPeer.open(path)
        defer { TestPeer.close(app) }
        #expect(try app.rows("SELECT name FROM sqlite_master WHERE name LIKE 'logsync%'").isEmpty)
        #expect(try app.integer("SELECT count(*) FROM account") == 3000)
        #expect(try !Store.isUnfinished(path, configuration: configuration()))
    }

    @Test("With a rollback journal it is all one transaction")
    func rollbackJournal() throws {
        let app = try TestPeer.open(path)
        try app.execute("PRAGMA journal_mode = DELETE")
        TestPeer.close(app)
        var plan = plan()
        plan.keepJournal = true
        let store = try Store.initialize(path, plan: plan, configuration: configuration()).store
        let a = try TestPeer(folder, "a", opening: store)
        let b = try TestPeer(folder, "b", cloning: a)
        #expect(try b.strings(balance) == ["300000"])
        #expect(try a.strings("PRAGMA journal_mode") == ["delete"])
    }
}
