import Foundation
import Testing

@Suite(.turn) struct IdleTests {
    @Test func `syncs with nothing to do make no transaction and write no file`() async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(schema: "kinds", rows: 5)
            try await one.add(rows: 2, tag: "left")
            try await two.add(rows: 2, tag: "right")
            try await exchange(one, two)
            try await exchange(one, two)
            // What a sync finds in a folder that has stood still for three seconds it leaves, once, to the next sync.
            try await eventually("the folder has stood still", every: 0.1) {
                sandbox.lastChange(in: sandbox.container) < Date(timeIntervalSinceNow: -4)
            }
            try await exchange(one, two)
            let vector = try await one.status()["vector"]
            let before = sandbox.listing(sandbox.container)
            let stores = try [one, two].map { try Data(contentsOf: URL(fileURLWithPath: $0.path)) }
            for _ in 1...3 { try await exchange(one, two) }
            #expect(try await one.status()["vector"] == vector)
            #expect(try await two.status()["vector"] == vector)
            #expect(sandbox.listing(sandbox.container) == before)
            let after = try [one, two].map { try Data(contentsOf: URL(fileURLWithPath: $0.path)) }
            #expect(after == stores, "an idle sync wrote to a store")
        }
    }

    @Test(.subcommand("watch"))
    func `an idle daemon writes nothing into the folder`() async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(schema: "music", rows: 3)
            try await exchange(one, two)
            let here = try await Daemon(watching: one, options: ["--poll", "0.1"])
            let there = try await Daemon(watching: two, options: ["--poll", "0.1"])
            try await Task.sleep(for: .seconds(1))
            // A receipt may carry a new nonce once a process; after that nothing moves.
            let before = sandbox.listing(sandbox.container)
            try await Task.sleep(for: .seconds(Scale.choose(2, long: 90)))
            #expect(sandbox.listing(sandbox.container) == before)
            _ = await here.stop()
            _ = await there.stop()
        }
    }

    @Test func `what was imported is not recorded again, whatever the merging wrote`() async throws {
        try await withSandbox { sandbox in
            let (one, two) = try await sandbox.pair(schema: "kinds", rows: 5)
            try await one.churn(operations: 80, tag: "left")
            try await two.churn(operations: 80, tag: "right")
            try await exchange(one, two)
            let vector = try await one.status()["vector"]
            for _ in 1...3 { try await exchange(two, one) }
            #expect(try await one.status()["vector"] == vector)
            #expect(try await two.status()["vector"] == vector)
        }
    }
}
