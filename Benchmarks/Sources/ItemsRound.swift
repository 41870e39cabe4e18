import Foundation
import LogSyncStore

/// One pass over the text-keyed workload: every contestant does each step before anyone does the next.
struct ItemsRound {
    private let workload: Workload
    private let folder: String
    private let databases: [Contestant: PlainDatabase]
    private let sessionReplica: PlainDatabase
    private let session: SessionSide
    private let author: LogsyncSide
    private let replica: LogsyncSide
    private let replicaView: PlainDatabase

    init(_ workload: Workload, folder: String) throws {
        self.workload = workload
        self.folder = folder
        func database(_ name: String) throws -> PlainDatabase {
            let database = try PlainDatabase("\(folder)/\(name).db")
            try database.execute(Workload.schema)
            return database
        }
        let plain = try database("plain")
        let trigger = try database("trigger")
        try trigger.execute(Self.triggers)
        let observed = try database("session")
        sessionReplica = try database("session-replica")
        session = try SessionSide(observed)
        let replicated = try database("logsync")
        author = try LogsyncSide(replicated.path, container: folder)
        replica = try LogsyncSide("\(folder)/logsync-replica.db", like: author, replicated, container: folder)
        replicaView = try PlainDatabase(replica.store.path)
        databases = [.plain: plain, .trigger: trigger, .session: observed, .logsync: replicated]
        // What founding recorded is not what is measured.
        try replica.import(author.recordAndPublish())
    }

    private static let triggers = ["INSERT", "UPDATE", "DELETE"].map { event in
        """
        CREATE TRIGGER note_\(event) AFTER \(event) ON items BEGIN
            INSERT INTO pending(key, ms) VALUES (
                \(event == "DELETE" ? "OLD" : "NEW").id,
                CAST((julianday('now') - 2440587.5) * 86400000.0 + 0.5 AS INTEGER));
        END;
        """
    }.reduce("CREATE TABLE pending(key, ms);", +)

    func run(_ ledger: inout Ledger) throws {
        try write(.insert, &ledger) { try $0.insert(workload.items) }
        try exchange(.recordInserts, .importInserts, .insertLog, &ledger)
        try noteSizes(&ledger)
        try check(rows: workload.items.count)
        try clone(&ledger)

        try write(.singles, &ledger) { try $0.insertSingly(workload.singles) }
        try exchangeUnmeasured()
        try check(rows: workload.items.count + workload.singles.count)

        try write(.update, &ledger) { try $0.update(workload.updates) }
        try exchange(.recordUpdates, .importUpdates, .updateLog, &ledger)
        try check(rows: workload.items.count + workload.singles.count)

        try write(.delete, &ledger) { try $0.delete(workload.deletes) }
        try exchange(.recordDeletes, .importDeletes, .deleteLog, &ledger)
        try check(rows: workload.items.count + workload.singles.count - workload.deletes.count)
        let noted = try require(.trigger).integer("SELECT count(*) FROM pending")
        let written =
            workload.items.count + workload.singles.count + workload.updates.count + workload.deletes.count
        guard noted == written else { throw BenchmarkError("the trigger noted \(noted) of \(written) changes") }
    }

    private func require(_ contestant: Contestant) throws -> PlainDatabase {
        guard let database = databases[contestant] else { throw BenchmarkError("\(contestant) has no database") }
        return database
    }

    private func write(_ phase: Phase, _ ledger: inout Ledger, _ body: (PlainDatabase) throws -> Void) throws {
        for contestant in Contestant.allCases {
            let database = try require(contestant)
            try ledger.measure(phase, contestant) { try body(database) }
        }
    }

    private var changeSet: String { "\(folder)/changes.zst" }

    private func exchange(
        _ record: Phase, _ import: Phase, _ volume: Volume, _ ledger: inout Ledger
    ) throws {
        var length = 0
        try ledger.measure(record, .session) { length = try session.publish(changeSet) }
        ledger.note(volume, .session, length)
        var file: LogsyncSide.Published?
        try ledger.measure(record, .logsync) { file = try author.recordAndPublish() }
        guard let file else { throw BenchmarkError("nothing was published") }
        ledger.note(volume, .logsync, file.bytes)
        try ledger.measure(`import`, .session) { try SessionSide.import(changeSet, into: sessionReplica) }
        try ledger.measure(`import`, .logsync) { try replica.import(file) }
    }

    private func exchangeUnmeasured() throws {
        try session.publish(changeSet)
        try SessionSide.import(changeSet, into: sessionReplica)
        try replica.import(author.recordAndPublish())
    }

    private func noteSizes(_ ledger: inout Ledger) throws {
        for contestant in Contestant.allCases {
            ledger.note(.author, contestant, try require(contestant).size())
        }
        ledger.note(.replica, .plain, try require(.plain).size())
        ledger.note(.replica, .session, try sessionReplica.size())
        ledger.note(.replica, .logsync, try replicaView.size())
    }

    private func clone(_ ledger: inout Ledger) throws {
        let path = "\(folder)/items.snapshot"
        var hash = try author.takeSnapshot(path)
        try ledger.measure(.snapshot, .logsync) { hash = try author.takeSnapshot(path) }
        let length = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
        ledger.note(.snapshot, .logsync, length ?? 0)
        let database = try require(.logsync)
        var clone: LogsyncSide?
        try ledger.measure(.clone, .logsync) {
            let made = try LogsyncSide(
                "\(folder)/clone.db", like: author, database, container: folder,
                isShared: false)
            try made.fill(from: path, hash: hash)
            clone = made
        }
        guard let clone else { throw BenchmarkError("no clone was made") }
        let content = try PlainDatabase(clone.store.path).content(Workload.content)
        guard try content == require(.plain).content(Workload.content) else {
            throw BenchmarkError("the clone shows other rows than plain SQLite")
        }
    }

    /// All databases hold the same, and as many rows as they should.
    private func check(rows: Int) throws {
        let expected = try require(.plain).content(Workload.content)
        guard expected.rows == rows else {
            throw BenchmarkError("plain SQLite has \(expected.rows) rows instead of \(rows)")
        }
        for database in Contestant.allCases.compactMap({ databases[$0] }) + [sessionReplica, replicaView] {
            guard try database.content(Workload.content) == expected else {
                throw BenchmarkError("\(database.path) shows other rows than plain SQLite")
            }
        }
        let key = ComparisonKey()
        guard try author.store.shownTables(key) == replica.store.shownTables(key) else {
            throw BenchmarkError("author and replica do not show the same")
        }
        for side in [author, replica] {
            let summary = try side.store.summary()
            guard summary.pending == 0, summary.conflicts == 0, summary.parked == 0 else {
                throw BenchmarkError("\(side.store.path) has changes left over: \(summary)")
            }
        }
    }
}
