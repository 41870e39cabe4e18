import Foundation
import GRDB
import LogSync
import Logging

/// What a program with GRDB pays for a write of one row that has an author, beside a plain one, and how soon another program
/// is told of it; by the library alone, without libinotifytools.
struct EmbeddingRound {
    let folder: String
    let transactions: Int

    private static let schema = "CREATE TABLE item(id INTEGER PRIMARY KEY, title TEXT NOT NULL)"
    private static let insert = "INSERT INTO item(title) VALUES('Pears, and what there is to say of them')"

    /// How many times the processor time of a plain write a recorded one may take.
    private static let most = 3.0

    func run() async throws -> [Finding] {
        let plain = try pool("plain")
        let (desk, replicator) = try await open("desk", runs: false)
        var findings: [Finding] = []
        var unrecorded: Double?
        func note(_ what: String, isRecorded: Bool = false, _ body: () async throws -> Void) async throws {
            try await body()
            let cost = try await Cost.measured { for _ in 0..<transactions { try await body() } }
            findings += [
                Finding(what: "\(what), wall", value: cost.wall / Double(transactions) * 1000, unit: "ms"),
                Finding(what: "\(what), CPU", value: cost.cpu / Double(transactions) * 1000, unit: "ms"),
            ]
            if isRecorded, let unrecorded {
                findings.append(
                    Finding(what: "\(what), CPU to plain", value: cost.cpu / unrecorded, unit: "", target: Self.most))
            }
            unrecorded = unrecorded ?? cost.cpu
        }
        try await note("plain GRDB: a row") { try await plain.write { try $0.execute(sql: Self.insert) } }
        try await note("a row, captured") { try await desk.write { try $0.execute(sql: Self.insert) } }
        _ = try await replicator.sync()
        try await note("record(db) within the program's write", isRecorded: true) {
            try await desk.write { db in
                try db.execute(sql: Self.insert)
                try replicator.record(db, author: "ann")
            }
        }
        try await note("write(in:)", isRecorded: true) {
            try await replicator.write(in: desk, author: "ann") { try $0.execute(sql: Self.insert) }
        }
        let rows = try await desk.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM item") ?? 0 }
        let recorded = try await replicator.log(author: "ann").count
        guard rows == 3 * (transactions + 1), recorded == 2 * (transactions + 1) else {
            throw BenchmarkError("there are \(rows) rows and \(recorded) transactions")
        }
        findings += try await propagation(desk, replicator)
        return findings
    }

    /// From the commit until the other program has heard of it.
    private func propagation(_ desk: DatabasePool, _ replicator: Replicator) async throws -> [Finding] {
        let (phone, other) = try await open("phone", runs: true)
        await replicator.start()
        let events = other.didImport
        var iterator = events.makeAsyncIterator()
        var times: [Double] = []
        // The first ones bring all that was written before.
        while try await phone.read({ try Int.fetchOne($0, sql: "SELECT count(*) FROM item") ?? 0 }) < 3 * transactions {
            try await Task.sleep(for: .milliseconds(100))
        }
        for number in 0..<200 {
            // As a person writes: nothing is under way any more.
            try await Task.sleep(for: .milliseconds(50))
            let start = ContinuousClock.now
            try await desk.write { db in
                try db.execute(sql: "INSERT INTO item(title) VALUES(?)", arguments: ["tick \(number)"])
                try replicator.record(db, author: "ann", context: "tick \(number)")
            }
            while let event = await iterator.next() {
                if event.transactions.contains(where: { $0.context == "tick \(number)" }) { break }
            }
            times.append((ContinuousClock.now - start) / .milliseconds(1))
        }
        await replicator.stop()
        await other.stop()
        await replicator.close()
        await other.close()
        return [
            Finding(what: "from commit to did-import in a program, p50", value: median(times), unit: "ms", target: 15),
            Finding(what: "from commit to did-import in a program, p99", value: percentile(99, times), unit: "ms"),
        ]
    }

    private func pool(_ name: String) throws -> DatabasePool {
        var configuration = GRDB.Configuration()
        configuration.busyMode = .timeout(10)
        let pool = try DatabasePool(path: "\(folder)/\(name).db", configuration: configuration)
        try pool.write { try $0.execute(sql: Self.schema) }
        return pool
    }

    private func open(_ name: String, runs: Bool) async throws -> (DatabasePool, Replicator) {
        let container = "\(folder)/shared"
        try FileManager.default.createDirectory(atPath: container, withIntermediateDirectories: true)
        let pool = try pool(name)
        var configuration = SyncConfiguration(stateDirectory: "\(folder)/state")
        configuration.logger = Logger(label: name) { _ in SwiftLogNoOpLogHandler() }
        let replicator = try await Replicator.open(
            pool, container: container, content: "items", peer: name, runs: runs, configuration: configuration)
        return (pool, replicator)
    }
}
