import Foundation
import Testing

@testable import LogSync

/// Several processes at one store, of which each notes in the state file what it has done.
@Suite("A store at which two processes are")
struct SharedStateTests {
    @Test("A step undoes nothing of what another process noted since this one began")
    func noted() async throws {
        let world = try World()
        let a = try await world.founder("a", rows: ["one"])
        // As a daemon and a command beside it.
        let daemon = try Replicator(store: a.path, configuration: a.configuration)
        let command = try Replicator(store: a.path, configuration: a.configuration)
        try await daemon.step(settles: true) { _ = try $0.settleIdentity($0.scan(.full)) }
        try a.insert("two")
        #expect(try await command.sync().published == 1)
        let peer = try await daemon.step { $0.peer }
        let directory = StateDirectory(a.configuration.stateDirectory)
        let noted = try #require(try directory.load(peer))
        try await daemon.step { store in
            try store.identity.noteRecorded()
            try store.identity.update { $0.waiting = ["a snapshot": 1] }
        }
        let now = try #require(try directory.load(peer))
        #expect(now.waiting != nil)
        #expect(now.nonces == noted.nonces && now.receiptCounter == noted.receiptCounter)
        #expect(now.sequence == noted.sequence)
        // Else its receipt would be another store's, and this one another peer.
        _ = try await daemon.sync()
        #expect(try await daemon.status().identity == nil)
        #expect(try await daemon.step { $0.peer } == peer)
        await daemon.close()
        await command.close()
    }

    @Test("Neither takes the other for a copy, however often both record, publish and import", .timeLimit(.minutes(30)))
    func together() async throws {
        let world = try World()
        let a = try await world.founder("a", rows: ["one"])
        let b = try await world.clone("b")
        let replicators = try (0..<3).map { _ in try Replicator(store: a.path, configuration: a.configuration) }
        let peer = try await replicators[0].status().peer
        for round in 0..<10 {
            try b.insert("b \(round)")
            try await b.sync()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (number, replicator) in replicators.enumerated() {
                    group.addTask {
                        try a.insert("a \(round) \(number)")
                        _ = try await replicator.sync()
                    }
                }
                try await group.waitForAll()
            }
        }
        let status = try await replicators[0].status()
        #expect(status.peer == peer && status.identity == nil)
        #expect(try a.ids().count == 41)
        for replicator in replicators { await replicator.close() }
    }
}
