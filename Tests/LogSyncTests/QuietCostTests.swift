import Foundation
import GRDB
import GRDBSQLite
import LogSyncModel
import LogSyncSQLite
import Synchronization
import Testing

@testable import LogSyncStore
@testable import LogSync

/// What SQLite does for a store, in instructions of its virtual machine: the same on every machine and at every time.
@Suite("What a sync costs does not grow with the history")
struct QuietCostTests {
    private let world: World
    private let a: Machine

    init() async throws {
        world = try World()
        a = try await world.founder("a", rows: ["one"])
    }

    /// Records transactions of one row each.
    private func record(_ count: Int, from first: Int) throws {
        let store = try Store.open(a.path, configuration: a.configuration.storeConfiguration)
        let database = try a.database()
        for number in first..<first + count {
            try database.write { try $0.execute(sql: "INSERT INTO note(id) VALUES('\(number)')") }
            _ = try store.record()
        }
        try database.close()
        try store.close()
    }

    private final class Counter: Sendable {
        private let count = Mutex(0)
        var steps: Int { count.withLock { $0 } }
        func step() { count.withLock { $0 += 1 } }
    }

    /// Has a store's connection count its instructions; nil to count them no longer.
    private func count(_ replicator: Replicator, with counter: Counter?) async throws {
        try await replicator.inspect { store in
            try store.store.database.withConnection { connection in
                guard let counter else { return sqlite3_progress_handler(connection.handle, 0, nil, nil) }
                sqlite3_progress_handler(
                    connection.handle, 1,
                    { context in
                        if let context { Unmanaged<Counter>.fromOpaque(context).takeUnretainedValue().step() }
                        return 0
                    }, Unmanaged.passUnretained(counter).toOpaque())
            }
        }
    }

    /// The instructions that a replicator's store executes during `body`.
    private func steps(_ replicator: Replicator, _ body: () async throws -> Void) async throws -> Int {
        let counter = Counter()
        try await count(replicator, with: counter)
        try await body()
        try await count(replicator, with: nil)
        return counter.steps
    }

    private func costs() async throws -> (quiet: Int, recording: Int) {
        let replicator = try a.replicator()
        for _ in 0..<2 { _ = try await replicator.sync() }
        let quiet = try await steps(replicator) { _ = try await replicator.sync() }
        try a.insert("own \(UUID().uuidString)")
        let recording = try await steps(replicator) {
            let result = try await replicator.export()
            #expect(result.recorded == 1 && result.published == 1)
        }
        await replicator.close()
        return (quiet, recording)
    }

    @Test("With nothing to do, and with one transaction to record and publish")
    func own() async throws {
        try record(5, from: 0)
        let few = try await costs()
        #expect(few.quiet > 100, "the instructions were counted")
        try record(500, from: 5)
        let many = try await costs()
        #expect(Double(many.quiet) < 1.1 * Double(few.quiet), "\(few.quiet) grew to \(many.quiet)")
        #expect(Double(many.recording) < 1.1 * Double(few.recording), "\(few.recording) grew to \(many.recording)")
    }
}
