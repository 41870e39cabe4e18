import Foundation
import Synchronization
import Testing

@testable import LogSync

@Suite("A store that no program has open")
struct UnsharedStoreTests {
    /// Twenty transactions in as many files, and a configuration by which a store that programs share takes each in a step
    /// of its own.
    private func world() async throws -> (World, Machine) {
        let world = try World()
        let a = try await world.founder("a", rows: ["one"])
        for number in 0..<20 {
            try a.insert("more \(number)")
            try await a.sync()
        }
        var b = try world.machine("b")
        b.configuration.lockBudget = 0
        return (world, b)
    }

    @Test("is filled in long steps while it is cloned")
    func clone() async throws {
        let (world, b) = try await world()
        let steps = Mutex(0)
        let report = try await Replicator.clone(
            to: b.path, container: world.container, content: "notes", peerName: "b", configuration: b.configuration
        ) { _ in steps.withLock { $0 += 1 } }
        #expect(report.imported >= 20)
        #expect((1..<20).contains(steps.withLock { $0 }))
    }

    @Test("is filled in long steps while a history is replayed")
    func replay() async throws {
        let (world, b) = try await world()
        let steps = Mutex(0)
        let report = try await Replicator.verify(world.contentPath, configuration: b.configuration) { _ in
            steps.withLock { $0 += 1 }
        }
        #expect(report.findings.isEmpty, "\(report.findings)")
        #expect(steps.withLock { $0 } < 20)
    }
}
