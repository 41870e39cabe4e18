import Foundation
import GRDB
import LogSync
import LogSyncModel
import LogSyncTesting
import Logging
import Synchronization
import Testing

@Suite("Embedding in a program") struct EmbeddingTests {
    private let world: World
    private let a: Machine
    private let b: Machine

    init() async throws {
        world = try World()
        a = try await world.founder("a", rows: ["one"])
        b = try await world.clone("b")
    }

    // MARK: Writing

    @Test("A write in a connection to another store is refused, and changes neither")
    func otherStore() async throws {
        let other = try b.database()
        let replicator = try a.replicator()
        let error = await #expect(throws: LogSyncError.self) {
            try await replicator.write(in: other) { try $0.execute(sql: "DELETE FROM note") }
        }
        #expect(error?.code == .usage)
        #expect(error?.message.contains(a.path) == true && error?.message.contains(b.path) == true)
        let memory = try DatabaseQueue()
        await #expect(throws: LogSyncError.self) { try await replicator.write(in: memory) { _ in } }
        #expect(try a.ids() == ["one"] && b.ids() == ["one"])
        try other.close()
        await replicator.close()
    }

    @Test("A write by another path to the store is one to the store")
    func linked() async throws {
        let link = world.root + "/link"
        try FileManager.default.createSymbolicLink(
            atPath: link, withDestinationPath: (a.path as NSString).deletingLastPathComponent)
        let queue = try a.database(link + "/notes.db")
        let replicator = try a.replicator()
        try await replicator.write(in: queue, author: "ann") { db in
            try db.execute(sql: "INSERT INTO note(id) VALUES('two')")
        }
        #expect(try await replicator.log(author: "ann").count == 1)
        try queue.close()
        await replicator.close()
    }

    @Test("A write is cancelled with its task, undone, and leaves the connection as it was")
    func cancelled() async throws {
        let queue = try a.database()
        try await queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = NORMAL") }
        let replicator = try a.replicator()
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            try await replicator.write(in: queue) { db in
                try db.execute(sql: "INSERT INTO note(id) VALUES('cancelled')")
                begin.yield()
                // Ends by being interrupted, or not before the test's limit.
                try db.execute(
                    sql: """
                        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100000000000)
                        SELECT count(*) FROM n
                        """)
            }
        }
        for await _ in begun { break }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try a.ids() == ["one"])
        let synchronous = try await queue.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA synchronous") }
        #expect(synchronous == 1)
        // One that is cancelled before it begins does nothing.
        let late = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await replicator.write(in: queue) { try $0.execute(sql: "INSERT INTO note(id) VALUES('late')") }
        }
        await #expect(throws: CancellationError.self) { try await late.value }
        try await replicator.write(in: queue) { try $0.execute(sql: "INSERT INTO note(id) VALUES('two')") }
        #expect(try a.ids() == ["one", "two"])
        try queue.close()
        await replicator.close()
    }

    @Test(
        "Writes that fail throw what the program's own SQL threw, and those around them go on, imports between them too"
    )
    func failing() async throws {
        let queue = try a.database()
        let replicator = try a.replicator()
        for round in 0..<3 {
            try await replicator.write(in: queue, author: "ann") { db in
                try db.execute(sql: "INSERT INTO note(id, body) VALUES(?, 'a')", arguments: ["a\(round)"])
            }
            let error = await #expect(throws: DatabaseError.self) {
                try await replicator.write(in: queue) { db in
                    try db.execute(sql: "UPDATE note SET body = 'undone'; INSERT INTO note(id) VALUES('one')")
                }
            }
            #expect(error?.extendedResultCode == .SQLITE_CONSTRAINT_PRIMARYKEY)
            try b.insert("b\(round)")
            try await b.sync()
            _ = try await replicator.sync()
            try await b.sync()
        }
        #expect(try a.ids() == ["a0", "a1", "a2", "b0", "b1", "b2", "one"] && a.notes() == b.notes())
        #expect(try await replicator.log(author: "ann").count == 3)
        #expect(try await replicator.status().digest == b.status().digest)
        #expect(try a.count("SELECT count(*) FROM note WHERE body = 'undone'") == 0)
        try queue.close()
        await replicator.close()
    }

    // MARK: Starting again

    @Test("Init with other options than the store was made with says which it ignores")
    func otherOptions() async throws {
        let a = try World().machine("a")
        try a.makeDatabase()
        var options = InitializeOptions()
        options.policies = [("note.stars", "max"), ("note", "unique-merge")]
        #expect(try await a.initialize(options).warnings == [])
        #expect(try await a.initialize(options).warnings == [])
        options.policies = [("note.stars", "min"), ("note.body", "first-writer"), ("note", "unique-park")]
        options.identities = ["note": .surrogate]
        options.skip = ["note"]
        let warnings = try await a.initialize(options).warnings
        #expect(warnings.count == 5)
        for word in ["natural", "max", "note.body", "unique-merge", "replicated"] {
            #expect(warnings.contains { $0.contains(word) }, "\(word): \(warnings)")
        }
        #expect(try await a.with { try await $0.policies() }.map(\.policy).sorted() == ["max", "unique-merge"])
    }

    @Test("Unless a program asks for more, notices are the least that is logged")
    func logging() {
        #expect(SyncConfiguration(stateDirectory: world.root + "/state").logger.logLevel == .notice)
    }

    // MARK: History

    @Test("A transaction whose log is gone has expired; one that never was is none")
    func expired() async throws {
        try a.insert("two")
        try await a.sync()
        try await b.sync()
        let peer = try await a.peer()
        let replicator = try b.replicator()
        try await replicator.show(Dot(peer, 1)) { _ in }
        try FileManager.default.removeItem(atPath: world.logsPath(peer))
        let error = await #expect(throws: LogSyncError.self) { try await replicator.show(Dot(peer, 1)) { _ in } }
        #expect(error?.code == .historyExpired)
        let unknown = await #expect(throws: LogSyncError.self) { try await replicator.show(Dot(peer, 99)) { _ in } }
        #expect(unknown?.code == .usage)
        await replicator.close()
    }

    // MARK: Policies in code

    private static let joined = MergePolicy(name: "joined") { versions in
        func text(_ value: Value) -> String {
            if case .text(let bytes) = value { String(decoding: bytes, as: UTF8.self) } else { "" }
        }
        return .text(versions.map { text($0.value) }.sorted().joined(separator: "+"))
    }

    @Test("What a process without the policy has merged is decided again by one that has it")
    func policyInCode() async throws {
        var (a, b) = (a, b)
        let plain = a
        a.configuration.policies["joined"] = Self.joined
        b.configuration.policies["joined"] = Self.joined
        _ = try await a.with { try await $0.setPolicy("joined", for: "note.body") }
        try await settle(a, b)
        for round in 0..<2 {
            try a.execute("UPDATE note SET body = 'A\(round)'")
            // Later by the clock, whose times are milliseconds.
            try await Task.sleep(for: .milliseconds(2))
            try b.execute("UPDATE note SET body = 'B\(round)'")
            try await b.sync()
            // As the command line does, beside the program.
            try await plain.sync()
            #expect(try plain.notes() == ["one=B\(round)"])
            #expect(try await plain.status().missingPolicies.map(\.policy) == ["joined"])
            #expect(try await a.status().missingPolicies.isEmpty)
            try await settle(a, b)
            #expect(try a.notes() == ["one=A\(round)+B\(round)"] && a.notes() == b.notes())
        }
        // Decided once: then nothing is to be done.
        #expect(try await a.sync().recorded == 0)
        #expect(try a.notes() == ["one=A1+B1"])
    }

    // MARK: What changed

    /// What a replicator tells from now on, in order.
    private final class Told: Sendable {
        final class Sink: Sendable { let changes = Mutex<[StoreChange]>([]) }

        private let sink = Sink()
        private let task: Task<Void, Never>

        var changes: [StoreChange] { sink.changes.withLock { $0 } }

        init(_ replicator: Replicator) {
            let changes = replicator.changes
            task = Task { [sink] in for await change in changes { sink.changes.withLock { $0.append(change) } } }
        }

        deinit { task.cancel() }
    }

    private static let one = [Value.text(Array("one".utf8)[...])]

    @Test("An import is told with its rows")
    func toldImport() async throws {
        let replicator = try b.replicator()
        _ = try await replicator.sync()
        let told = Told(replicator)
        try a.execute("UPDATE note SET body = 'x'")
        try await a.sync()
        _ = try await replicator.sync()
        try await eventually("it is told") { told.changes.count == 1 }
        let change = try #require(told.changes.first)
        #expect(change.cause == .imported && !change.isElsewhere && change.transactions.count == 1)
        #expect(change.tables["note"]?.updated == [Self.one] && change.tables["note"]?.isTruncated == false)
        await replicator.close()
    }

    @Test(
        "A view that takes over the rows that are told shows what the table holds, whichever row wins a unique value",
        arguments: [Replicator.Rules.UniqueRule.parked, .merged])
    func toldWinner(rule: Replicator.Rules.UniqueRule) async throws {
        let peers = try await TestPeers("a", "b", rules: { $0.merge("tag", uniques: rule) }) { pool in
            try pool.write { try $0.execute(sql: "CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT UNIQUE)") }
        }
        let (a, b) = (peers["a"], peers["b"])
        try await a.pool.write { try $0.execute(sql: "INSERT INTO tag(name) VALUES('work'), ('home')") }
        _ = try await a.replicator.sync()
        peers.clock.advance(by: .seconds(1))
        try await b.pool.write { try $0.execute(sql: "INSERT INTO tag(name) VALUES('play'), ('work')") }
        _ = try await b.replicator.sync()
        func table() async throws -> [Int64: String] {
            let rows = try b.pool.read { try Row.fetchAll($0, sql: "SELECT id, name FROM tag") }
            return Dictionary(uniqueKeysWithValues: rows.map { ($0[0], $0[1]) })
        }
        var view = try await table()
        let told = Told(b.replicator)
        try await peers.settle()
        try await eventually("it is told") { !told.changes.isEmpty }
        let now = try await table()
        for changes in told.changes.compactMap({ $0.tables["tag"] }) {
            #expect(!changes.isTruncated)
            for key in changes.inserted + changes.updated + changes.deleted {
                let id = try #require(Int64.fromDatabaseValue(key[0].databaseValue))
                view[id] = now[id]
            }
        }
        #expect(view == now && now.count == 3)
    }

    @Test("Who observes the notification of an import keeps no other process from the store")
    func notifiedUnlocked() async throws {
        let replicator = try b.replicator()
        _ = try await replicator.sync()
        let locks = try #require(FileManager.default.enumerator(atPath: world.root)).compactMap { $0 as? String }
            .filter { $0.hasSuffix(".step") }.map { world.root + "/" + $0 }
        #expect(!locks.isEmpty)
        let free = Mutex<[Bool]>([])
        let store = b.path
        let observer = NotificationCenter.default.addObserver(forName: .logSyncDidImport, object: nil, queue: nil) {
            guard ($0.userInfo?[DidImport.userInfoKey] as? DidImport)?.store == store else { return }
            for lock in locks {
                let descriptor = open(lock, O_RDWR | O_CLOEXEC)
                let isFree = flock(descriptor, LOCK_EX | LOCK_NB) == 0
                free.withLock { $0.append(isFree) }
                close(descriptor)
            }
        }
        defer { NotificationCenter.default.removeObserver(observer) }
        try a.insert("two")
        try await a.sync()
        _ = try await replicator.sync()
        #expect(free.withLock { $0.count == locks.count && $0.allSatisfy(\.self) })
        await replicator.close()
    }

    @Test("What an error is about can be told without reading its words")
    func subjects() async throws {
        let replicator = try a.replicator()
        func subject(_ body: () async throws -> Void) async -> LogSyncError.Subject? {
            await #expect(throws: LogSyncError.self) { try await body() }?.subject
        }
        #expect(await subject { try await replicator.setPolicy("max", for: "nothing") } == .table("nothing"))
        #expect(
            await subject { try await replicator.setPolicy("max", for: "note.size") }
                == .column("size", table: "note"))
        #expect(
            await subject { try await replicator.keepTombstones(of: "note", columns: ["size"]) }
                == .column("size", table: "note"))
        _ = try await replicator.sync()
        let folder = world.container
        try FileManager.default.moveItem(atPath: folder, toPath: folder + "-away")
        #expect(await subject { _ = try await replicator.sync() } == .container(folder))
        try FileManager.default.moveItem(atPath: folder + "-away", toPath: folder)
        let missing = world.root + "/missing.db"
        let configuration = a.configuration
        #expect(
            await subject { _ = try Replicator(store: missing, configuration: configuration) } == .store(missing))
        let other = try b.database()
        #expect(
            await subject { try await other.write { try replicator.record($0, author: nil) } } == .store(a.path))
        try other.close()
        await replicator.close()
    }

    @Test("What another process imports into the store is told here, once")
    func toldElsewhere() async throws {
        let replicator = try b.replicator()
        _ = try await replicator.sync()
        let told = Told(replicator)
        for number in 0..<3 {
            try a.insert("a\(number)")
            try await a.sync()
            // As a daemon beside the program.
            try await b.sync()
        }
        _ = try await replicator.sync()
        _ = try await replicator.sync()
        try await eventually("it is told") { !told.changes.isEmpty }
        let changes = told.changes
        #expect(changes.map(\.isElsewhere) == [true])
        #expect(changes.first?.transactions.count == 3)
        #expect(changes.first?.tables["note"]?.counts == ChangeCounts(inserted: 3))
        #expect(changes.first?.tables["note"]?.isTruncated == false)
        #expect(changes.first?.tables["note"]?.inserted == (0..<3).map { [.text("a\($0)")] })
        await replicator.close()
    }

    @Test("A running replicator tells of what another process imports, and observations notice")
    func observed() async throws {
        let queue = try b.database()
        let replicator = try b.replicator()
        await replicator.start()
        let notifying = Task { try await replicator.notifyObservations(of: queue) }
        let counts = ValueObservation.tracking { try Int.fetchOne($0, sql: "SELECT count(*) FROM note") ?? 0 }
        let observing = Task {
            for try await count in counts.values(in: queue) where count == 6 { return count }
            return 0
        }
        for number in 0..<5 {
            try a.insert("a\(number)")
            try await a.sync()
            try await b.sync()
        }
        #expect(try await observing.value == 6)
        notifying.cancel()
        await replicator.stop()
        await replicator.close()
        try queue.close()
    }

    @Test("A parked row that comes back when the program makes room is told")
    func toldSettled() async throws {
        let world = try World()
        let a = try world.machine("a")
        try a.execute("CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT UNIQUE COLLATE NOCASE)")
        _ = try await a.initialize()
        let b = try await world.clone("b")
        try a.execute("INSERT INTO tag(name) VALUES('work')")
        try await a.sync()
        try b.execute("INSERT INTO tag(name) VALUES('WORK')")
        try await settle(b, a)
        #expect(try b.count("SELECT count(*) FROM tag") == 1)
        let replicator = try b.replicator()
        _ = try await replicator.sync()
        let told = Told(replicator)
        try b.execute("DELETE FROM tag")
        _ = try await replicator.sync()
        #expect(try b.count("SELECT count(*) FROM tag") == 1)
        try await eventually("it is told") { !told.changes.isEmpty }
        #expect(told.changes.map(\.cause) == [.settled])
        let changes = try #require(told.changes.first?.tables["tag"])
        let id = try b.count("SELECT id FROM tag")
        #expect(changes.inserted == [[.integer(Int64(id))]] && changes.counts == ChangeCounts(inserted: 1))
        await replicator.close()
    }

    @Test("What a policy, a settled conflict and a seed change is told")
    func toldOperations() async throws {
        try a.execute("UPDATE note SET stars = 1")
        try b.execute("UPDATE note SET stars = 5")
        try await b.sync()
        let replicator = try a.replicator()
        _ = try await replicator.sync()
        let told = Told(replicator)
        try await replicator.setPolicy("max", for: "note.stars")
        try await eventually("the policy is told") { told.changes.count == 1 }
        #expect(told.changes.last?.tables["note"]?.isTruncated == true)
        try await replicator.setPolicy("manual", for: "note.stars")
        let conflict = try #require(try await replicator.conflicts(all: true).conflicts.first)
        let version = try #require(conflict.versions.first)
        try await replicator.takeVersion(
            Dot(version.peer.id, version.sequence), table: "note", key: Self.one, column: "stars")
        try await eventually("the settled conflict is told") { told.changes.count == 3 }
        #expect(told.changes.last?.tables["note"]?.updated == [Self.one])
        let seed = world.root + "/seed.db"
        try a.execute("CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, body TEXT, stars INTEGER)", at: seed)
        try a.insert("seeded", at: seed)
        _ = try await replicator.seed(from: seed)
        try await eventually("the seed is told") { told.changes.count == 4 }
        #expect(told.changes.last?.cause == .settled)
        #expect(told.changes.last?.tables["note"]?.inserted == [[.text(Array("seeded".utf8)[...])]])
        await replicator.close()
    }
}
