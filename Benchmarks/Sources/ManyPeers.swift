import Foundation
import LogSyncContainer
import LogSyncModel
import LogSync

/// A content of many peers of which two are active: a store, and one that writes what the store imports.
struct ManyPeers {
    let peers: Int
    private let store: ReplicatedDatabase
    private var author: FabricatedPeer
    private var items = ItemSource()
    private var rows: Int

    /// Makes the folder and has the store import what the peers did while they were active.
    init(_ peers: Int, folder: String) async throws {
        self.peers = peers
        store = try await ReplicatedDatabase("reader", folder: folder)
        var others: [FabricatedPeer] = []
        for number in 1..<max(peers, 2) {
            var peer = try FabricatedPeer(number, content: store.content, schema: store.schema)
            try peer.publish([items.next()])
            others.append(peer)
        }
        author = others.removeLast()
        let dots = (others + [author]).map(\.seen.dot)
        let vector = VersionVector(Dictionary(dots.map { ($0.peer, $0.sequence) }, uniquingKeysWith: max))
        for other in others { try other.acknowledge(vector) }
        try author.acknowledge(vector)
        // It has seen everybody.
        try author.publish([items.next()], seen: others.map(\.seen))
        rows = others.count + 2
        _ = try await store.syncOnce()
        try await store.check(rows: rows)
    }

    /// Imports transactions of one row; seconds of CPU time for each, beyond what a sync takes that has nothing to do.
    mutating func importing(_ count: Int) async throws -> Double {
        let replicator = try Replicator(store: store.path, configuration: store.configuration)
        _ = try await replicator.sync()
        var quiet: [Double] = []
        for _ in 0..<5 { quiet.append(try await Cost.measured { _ = try await replicator.sync() }.cpu) }
        try author.publish(items.next(count))
        rows += count
        let cost = try await Cost.measured { _ = try await replicator.sync() }
        await replicator.close()
        return (cost.cpu - median(quiet)) / Double(count)
    }

    /// Syncs again and again in one process: with nothing to do, after another's transaction, after one of its own; and
    /// in a process of its own each time. The median of each.
    mutating func syncing(_ count: Int) async throws -> [Kind: Cost] {
        let replicator = try Replicator(store: store.path, configuration: store.configuration)
        let database = try PlainDatabase(store.path)
        _ = try await replicator.sync()
        var costs: [Kind: [Cost]] = [:]
        for _ in 0..<count {
            for kind in Kind.allCases {
                if kind == .importing { try author.publish([items.next()]) }
                if kind == .recording { try database.insert([items.next()]) }
                if kind == .importing || kind == .recording { rows += 1 }
                let cost = try await Cost.measured {
                    _ = kind == .process ? try await store.syncOnce() : try await replicator.sync()
                }
                costs[kind, default: []].append(cost)
            }
        }
        await replicator.close()
        return costs.mapValues { Cost(cpu: median($0.map(\.cpu)), wall: median($0.map(\.wall))) }
    }

    enum Kind: String, CaseIterable {
        case quiet = "with nothing to do"
        case importing = "with a transaction to import"
        case recording = "with a transaction to record"
        case process = "in a new process"
    }

    /// Has a daemon import transactions that arrive one after the other; seconds of its CPU time for each.
    mutating func watching(_ count: Int, tool: String) async throws -> Double {
        var environment = ProcessInfo.processInfo.environment
        environment["STATE_DIRECTORY"] = store.configuration.stateDirectory
        let daemon = try Daemon(tool: tool, store: store.path, environment: environment)
        do {
            try await arrive()
            let before = try daemon.usage().cpu
            for _ in 0..<count { try await arrive() }
            // The receipt is part of it.
            try await Task.sleep(for: .seconds(1))
            let after = try daemon.usage().cpu
            try daemon.stop()
            return (after - before) / Double(count)
        } catch {
            // The first error is what is of interest.
            try? daemon.stop()
            throw error
        }
    }

    /// Publishes a transaction, and waits until the daemon has imported it.
    private mutating func arrive() async throws {
        try author.publish([items.next()])
        rows += 1
        let database = try PlainDatabase(store.path)
        let deadline = ContinuousClock.now + .seconds(120)
        while try database.integer("SELECT count(*) FROM items") < rows {
            guard ContinuousClock.now < deadline else { throw BenchmarkError("a transaction did not arrive") }
            try await Task.sleep(for: .milliseconds(20))
        }
        try await Task.sleep(for: .milliseconds(100))
    }

    func check() async throws { try await store.check(rows: rows) }

    /// What many cost beside two.
    static func compare(_ many: Int, transactions: Int, tool: String, folder: String) async throws -> [Finding] {
        var few = try await ManyPeers(2, folder: folder + "/few")
        var crowd = try await ManyPeers(many, folder: folder + "/many")
        var imports: (few: [Double], crowd: [Double]) = ([], [])
        for _ in 0..<5 {
            imports.few.append(try await few.importing(transactions))
            imports.crowd.append(try await crowd.importing(transactions))
        }
        let ratios = zip(imports.crowd, imports.few).map { $0 / $1 }
        var findings = [
            Finding(what: "import a transaction, 2 peers", value: median(imports.few) * 1e6, unit: "us CPU"),
            Finding(what: "import a transaction, \(many) peers", value: median(imports.crowd) * 1e6, unit: "us CPU"),
            Finding(what: "the one relative to the other", value: median(ratios), unit: "x", target: 1.1),
        ]
        let watches = (few: try await few.watching(30, tool: tool), crowd: try await crowd.watching(30, tool: tool))
        findings += [
            Finding(what: "a daemon, each transaction, 2 peers", value: watches.few * 1000, unit: "ms CPU"),
            Finding(
                what: "a daemon, each transaction, \(many) peers: more",
                value: (watches.crowd - watches.few) * 1000, unit: "ms CPU", target: 50),
        ]
        let syncs = (few: try await few.syncing(15), crowd: try await crowd.syncing(15))
        try await few.check()
        try await crowd.check()
        for kind in Kind.allCases {
            guard let small = syncs.few[kind], let large = syncs.crowd[kind] else { continue }
            findings.append(
                Finding(what: "sync \(kind.rawValue), 2 peers", value: small.cpu * 1000, unit: "ms CPU"))
            findings.append(
                Finding(
                    what: "sync \(kind.rawValue), \(many) peers: more", value: (large.cpu - small.cpu) * 1000,
                    unit: "ms CPU", target: 50))
        }
        return findings
    }
}
