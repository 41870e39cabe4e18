import Forgery
import Foundation
import LogSyncFormat
import LogSyncModel
import Testing

@testable import LogSync

/// Peers as people name them.
@Suite struct PeerNameTests {
    @Test func `a peer is found by its name, by its id, and by what its id begins with`() async throws {
        let world = try World()
        let a = try await world.founder("a", rows: ["one"])
        let b = try await world.clone("b")
        try await settle(a, b)
        let id = try await b.peer()
        func found(_ text: String) async throws -> PeerID { try await a.with { try await $0.peer(named: text).id } }
        for text in ["b", id.description, String(id.description.prefix(8)), id.description.uppercased()] {
            #expect(try await found(text) == id)
        }
        // Too little to be meant, or nobody's.
        for text in [String(id.description.prefix(3)), "zzzz"] {
            let error = await #expect(throws: LogSyncError.self) { try await found(text) }
            #expect(error?.code == .usage)
        }
    }

    @Test func `a peer that is called what the id of another begins with is not taken for that one`() async throws {
        let world = try World()
        let a = try await world.founder("a", rows: ["one"])
        let b = try await world.clone("b")
        let start = String(try await b.peer().description.prefix(8))
        let liar = try await world.clone("c")
        try await liar.with { try await $0.rename(to: start) }
        for machine in [liar, b, a] { try await machine.sync() }
        let error = await #expect(throws: LogSyncError.self) {
            try await a.with { _ = try await $0.peer(named: start) }
        }
        let id = try await liar.peer().description
        #expect(error?.code == .usage && error?.help?.contains(id) ?? false, "\(error as Any)")
    }

    @Test func `a peer without a name is found by what its id begins with, also beside one that is called so`()
        async throws
    {
        let world = try World()
        let a = try await world.founder("a", rows: ["one"])
        let stranger = PeerID(high: 0x5747_0000_0000_0000, low: 1)
        let column = ForgedGroup.Column("body", ForgedValues.texts(["x"]))
        let transaction = ForgedTransaction(
            Dot(stranger, 1), groups: [ForgedGroup(.insert, "note", key: "two", columns: [column])])
        try ForgedFolder(world.contentPath).put(ForgedLogFile([transaction]), of: stranger)
        func found(_ text: String) async throws -> PeerID { try await a.with { try await $0.peer(named: text).id } }
        // Before anything was imported from it, and afterwards.
        for _ in 0..<2 {
            for text in ["57470000", "5747"] { #expect(try await found(text) == stranger) }
            try await a.sync()
        }
        let liar = try await world.clone("c")
        try await liar.with { try await $0.rename(to: "57470000") }
        for machine in [liar, a] { try await machine.sync() }
        let error = await #expect(throws: LogSyncError.self) { try await found("57470000") }
        #expect(error?.code == .usage && error?.help?.contains(stranger.description) ?? false, "\(error as Any)")
    }

    @Test func `a policy that prefers somebody who is not there says so`() async throws {
        let a = try await World().founder("a", rows: ["one"])
        let notes = try await a.with { try await $0.setPolicy("prefer a,b,c", for: "note.body") }
        #expect(notes == ["No peer is called b or c yet; the peers are a"])
    }

    @Test func `a policy goes on preferring a peer that is renamed`() async throws {
        let world = try World()
        let a = try await world.founder("a", rows: ["one"])
        let b = try await world.clone("b")
        try await settle(a, b)
        let notes = try await a.with { try await $0.setPolicy("prefer a,b", for: "note.body") }
        #expect(notes.isEmpty)
        try await settle(a, b)
        try await b.with { try await $0.rename(to: "laptop") }
        try await settle(a, b)
        let policies = try await a.with { try await $0.policies() }
        #expect(policies.map(\.policy) == ["prefer a,laptop"])
    }

    @Test func `the name of a peer that was not imported from yet is taken`() async throws {
        let world = try World()
        let a = try await world.founder("a", rows: ["one"])
        _ = try await world.clone("b")
        let error = await #expect(throws: LogSyncError.self) { try await a.with { try await $0.rename(to: "b") } }
        #expect(error?.code == .usage)
        #expect(try await a.status().peer.name == "a")
        try await a.with { try await $0.rename(to: "a") }
        try await a.with { try await $0.rename(to: "c") }
    }
}
