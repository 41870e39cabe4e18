import Foundation
import GRDB
import LogSync
import Logging

/// What a program with GRDB pays for a write that has an author, of one row and of ten, beside a plain one, and how soon
/// another program is told of it; by the library alone, without libinotifytools.
struct EmbeddingRound {
    let folder: String
    let transactions: Int

    private static let schema = "CREATE TABLE item(id INTEGER PRIMARY KEY, title TEXT NOT NULL)"
    private static let insert = "INSERT INTO item(title) VALUES('Pears, and what there is to say of them')"

    /// How many times the processor time of a plain write a recorded one may take.
    private static let most = 3.0
    /// How many rounds to take the median of, and how many turns each kind of write has in one. Turns are short, because
    /// what the machine does besides comes and goes; rounds are long, because a plain write's log is copied into the
    /// database so seldom.
    private static let rounds = 9
    private static let turns = 16

    /// One kind of write, on a database of its own.
    private struct Contestant {
        var what: String
        /// Whether the aim says what it may cost.
        var isRecorded = false
        var pool: DatabasePool
        var replicator: Replicator?
        /// One a round, of a single write.
        var costs: [Cost] = []
        let write: (DatabasePool) async throws -> Void
    }

    func run() async throws -> [Finding] {
        try await writes(rows: 1, "a row") + writes(rows: 10, "ten rows") + propagation()
    }

    /// The kinds of write take turns, so that what else the machine does meets all of them; a ratio is the median of each
    /// round's.
    ///
    /// - Parameters:
    ///   - rows: how many a write inserts.
    ///   - what: these, in words.
    private func writes(rows: Int, _ what: String) async throws -> [Finding] {
        var contestants = try await contestants(rows: rows, what)
        // What is prepared once is prepared, and no first page has to be made.
        for contestant in contestants { for _ in 0..<100 { try await contestant.write(contestant.pool) } }
        let count = max(transactions / 20 / rows, 1)
        for _ in 0..<Self.rounds {
            for (index, cost) in try await round(of: contestants, writes: count).enumerated() {
                let writes = Double(count * Self.turns)
                contestants[index].costs.append(Cost(cpu: cost.cpu / writes, wall: cost.wall / writes))
            }
        }
        var findings: [Finding] = []
        let plain = contestants[0].costs
        for contestant in contestants {
            let (what, costs) = (contestant.what, contestant.costs)
            findings += [
                Finding(what: "\(what), wall", value: median(costs.map(\.wall)) * 1000, unit: "ms"),
                Finding(what: "\(what), CPU", value: median(costs.map(\.cpu)) * 1000, unit: "ms"),
                Finding(what: "\(what), pages in the log", value: try await pages(contestant), unit: ""),
            ]
            if contestant.isRecorded {
                // The aim is one for the smallest write.
                let ratios = zip(costs, plain).map { $0.cpu / $1.cpu }
                findings.append(
                    Finding(
                        what: "\(what), CPU to plain", value: median(ratios), unit: "",
                        target: rows == 1 ? Self.most : nil))
            }
            try await check(contestant, rows: rows, writes: 100 + Self.rounds * Self.turns * count + Self.counted)
            await contestant.replicator?.close()
        }
        return findings
    }

    /// What each of them has taken in its turns.
    ///
    /// - Parameter writes: how many a turn has.
    private func round(of contestants: [Contestant], writes: Int) async throws -> [Cost] {
        var costs = contestants.map { _ in Cost(cpu: 0, wall: 0) }
        for turn in 0..<Self.turns {
            for place in contestants.indices {
                let index = (place + turn) % contestants.count
                let contestant = contestants[index]
                let cost = try await Cost.measured {
                    for _ in 0..<writes { try await contestant.write(contestant.pool) }
                }
                costs[index] = costs[index] + cost
            }
        }
        return costs
    }

    private func contestants(rows: Int, _ what: String) async throws -> [Contestant] {
        let captured = try await open("captured-\(rows)", content: "captured-\(rows)", runs: false)
        let recorded = try await open("recorded-\(rows)", content: "recorded-\(rows)", runs: false)
        let written = try await open("written-\(rows)", content: "written-\(rows)", runs: false)
        let insert: @Sendable (Database) throws -> Void = { db in
            for _ in 0..<rows { try db.execute(sql: Self.insert) }
        }
        return [
            Contestant(what: "plain GRDB: \(what)", pool: try pool("plain-\(rows)")) { pool in
                try await pool.write(insert)
            },
            Contestant(what: "\(what), captured", pool: captured.0, replicator: captured.1) { pool in
                try await pool.write(insert)
            },
            Contestant(
                what: "\(what), record(db)", isRecorded: true, pool: recorded.0, replicator: recorded.1
            ) { pool in
                try await pool.write { db in
                    try insert(db)
                    try recorded.1.record(db, author: "ann")
                }
            },
            Contestant(
                what: "\(what), write(in:)", isRecorded: true, pool: written.0, replicator: written.1
            ) { pool in
                try await written.1.write(in: pool, author: "ann", insert)
            },
        ]
    }

    /// How many commits' pages are counted.
    private static let counted = 100

    /// How many pages a commit writes into the log.
    private func pages(_ contestant: Contestant) async throws -> Double {
        try await contestant.pool.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
        for _ in 0..<Self.counted { try await contestant.write(contestant.pool) }
        let log = try FileManager.default.attributesOfItem(atPath: contestant.pool.path + "-wal")
        let frames = ((log[.size] as? Int ?? 0) - 32) / (4096 + 24)
        return Double(frames) / Double(Self.counted)
    }

    private func check(_ contestant: Contestant, rows count: Int, writes: Int) async throws {
        let rows = try await contestant.pool.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM item") ?? 0 }
        let recorded = try await contestant.replicator?.log(author: "ann").count ?? 0
        guard rows == writes * count, recorded == (contestant.isRecorded ? writes : 0) else {
            throw BenchmarkError("\(contestant.what): there are \(rows) rows and \(recorded) transactions")
        }
    }

    /// From the commit until the other program has heard of it.
    private func propagation() async throws -> [Finding] {
        let (desk, replicator) = try await open("desk", content: "items", runs: false)
        for _ in 0..<transactions {
            try await replicator.write(in: desk, author: "ann") { try $0.execute(sql: Self.insert) }
        }
        let (phone, other) = try await open("phone", content: "items", runs: true)
        await replicator.start()
        let events = other.didImport
        var iterator = events.makeAsyncIterator()
        var times: [Double] = []
        // The first ones bring all that was written before.
        while try await phone.read({ try Int.fetchOne($0, sql: "SELECT count(*) FROM item") ?? 0 }) < transactions {
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

    private func open(_ name: String, content: String, runs: Bool) async throws -> (DatabasePool, Replicator) {
        let container = "\(folder)/shared"
        try FileManager.default.createDirectory(atPath: container, withIntermediateDirectories: true)
        let pool = try pool(name)
        var configuration = SyncConfiguration(stateDirectory: "\(folder)/state")
        configuration.logger = Logger(label: name) { _ in SwiftLogNoOpLogHandler() }
        let replicator = try await Replicator.open(
            pool, container: container, content: content, peer: name, runs: runs, configuration: configuration)
        return (pool, replicator)
    }
}
