import Foundation
import LogSyncModel
import LogSync
import Synchronization
import Testing

@Suite("Looking at a store")
struct LookTests {
    private func keys(_ value: some Encodable) throws -> [String] {
        let data = try JSONEncoder().encode(value)
        let object = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        return object.keys.sorted()
    }

    @Test("Status has the keys of the command line's contract")
    func statusKeys() async throws {
        let world = try World()
        let a = try await world.founder("a", rows: ["one"])
        let b = try await world.clone("b")
        try await settle(a, b)
        let status = try await a.status()
        let contract: Set = [
            "format", "store", "content", "container", "peer", "pending", "outbox", "vector", "peers", "held",
            "conflicts", "parked", "digest",
        ]
        #expect(try contract.isSubset(of: keys(status)))
        #expect(
            try keys(try #require(status.peers.first)) == [
                "behind", "id", "imported", "name", "published", "retired", "seenAt",
            ])
        #expect(try keys(status.container) == ["available", "path"])
    }

    @Test("Status changes nothing, and sees what has not been imported")
    func statusOnly() async throws {
        let world = try World()
        let a = try await world.founder("a", rows: ["one"])
        let b = try await world.clone("b")
        try await settle(a, b)
        try a.insert("two")
        try b.insert("three")
        try await a.sync()
        let listing = try world.listing()
        let status = try await b.status()
        #expect(status.pending == 1 && status.peers.first?.behind == 1)
        #expect(try world.listing() == listing)
        #expect(try b.ids() == ["one", "three"])
    }

    @Test("The log lists transactions by token, author, peer and table")
    func log() async throws {
        let world = try World()
        let a = try await world.founder("a", rows: ["one"])
        let b = try await world.clone("b")
        try await settle(a, b)
        try a.insert("two")
        try await a.sync()
        try b.execute("DELETE FROM note WHERE id = 'one'")
        try await settle(a, b)
        let all = try await a.with { try await $0.log() }
        #expect(all.map(\.token) == all.map(\.token).sorted(by: >))
        #expect(all.first?.peer.name == "b" && all.first?.changes["note"] == ChangeCounts(deleted: 1))
        let ofA = try await a.with { try await $0.log(limit: 1, peer: "a", table: "note") }
        #expect(ofA.map(\.changes) == [["note": ChangeCounts(inserted: 1)]])
        let later = try await a.with { try await $0.log(after: all[1].token) }
        #expect(later.map(\.token) == [all[0].token])
        await #expect(throws: LogSyncError.self) { try await a.with { try await $0.log(peer: "nobody") } }
        #expect(try keys(all[0]) == ["author", "changes", "context", "peer", "sequence", "time", "token"])
    }

    @Test("Show streams a transaction from the outbox and from the container, and a file, alike")
    func show() async throws {
        let world = try World()
        let a = try await world.founder("a", rows: ["one"])
        let b = try await world.clone("b")
        try await settle(a, b)
        try a.insert("two", "text")
        try await a.sync()
        let peer = try await a.peer()
        let dot = Dot(peer, try await a.status().vector[peer])
        let fromOutbox = try await shown(dot, by: a)
        let fromContainer = try await shown(dot, by: b)
        var fromFile: [String] = []
        let name = try #require(try world.logs(peer).last)
        try Replicator.show(file: "\(world.logsPath(peer))/\(name)") { fromFile.append(Self.text($0)) }
        #expect(fromOutbox.count == 2 && fromOutbox[1].contains("\"text\""))
        #expect(fromContainer == fromOutbox)
        #expect(fromFile.count == 3 && Array(fromFile.dropFirst()) == fromOutbox)
    }

    private func shown(_ dot: Dot, by machine: Machine) async throws -> [String] {
        let elements = Mutex<[String]>([])
        try await machine.with { replicator in
            try await replicator.show(dot) { element in elements.withLock { $0.append(Self.text(element)) } }
        }
        return elements.withLock { $0 }
    }

    private static func text(_ element: LogElement) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let data =
            switch element {
            case .file(let file): try? encoder.encode(file)
            case .transaction(let transaction): try? encoder.encode(transaction)
            case .row(let row): try? encoder.encode(row)
            }
        return String(decoding: data ?? Data(), as: UTF8.self)
    }

    @Test(
        "Values in JSON keep what SQLite stores",
        arguments: [
            (Value.null, "null"), (.integer(9_007_199_254_740_993), "9007199254740993"), (.real(1.5), "1.5"),
            (.text("é"), "\"é\""), (.blob([1, 2]), #"{"base64":"AQI="}"#),
            (.text([0xFF]), #"{"text":{"base64":"/w=="}}"#),
            (.real(.infinity), #"{"real":"Infinity"}"#),
        ])
    func values(value: Value, text: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        #expect(String(decoding: try encoder.encode([JSONValue(value)]), as: UTF8.self) == "[\(text)]")
    }

    @Test(
        "Times are RFC 3339 in UTC with milliseconds, and read back",
        arguments: [
            (Int64(0), "1970-01-01T00:00:00.000Z"), (1_740_830_400_123, "2025-03-01T12:00:00.123Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"), (-1, "1969-12-31T23:59:59.999Z"),
        ])
    func times(milliseconds: Int64, text: String) {
        #expect(Timestamp(milliseconds: milliseconds).description == text)
        #expect(Timestamp(text)?.milliseconds == milliseconds)
        #expect(Timestamp("yesterday") == nil)
    }
}
