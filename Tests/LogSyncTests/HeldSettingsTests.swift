import Forgery
import Foundation
import LogSync
import LogSyncFormat
import LogSyncModel
import Testing

/// What every store holds counts for nobody, not for one either that is made of the folder.
@Suite("Settings of a transaction that stores hold")
struct HeldSettingsTests {
    enum Fault: CaseIterable, Sendable {
        case cutOff, unknownKind, future, rowOfTheFuture, rowTwice, gap

        var reason: HeldItem.Reason {
            switch self {
            case .cutOff, .rowTwice: .damaged
            case .unknownKind: .newerFormat
            case .future, .rowOfTheFuture: .clock
            case .gap: .gap
            }
        }
    }

    private static let stranger = PeerID(high: 0x5747_0000_0000_0000, low: 1)
    private let world: World
    private let a: Machine

    init() async throws {
        world = try World()
        a = try await world.founder("a", rows: ["one"])
    }

    /// Publishes that the greatest of two bodies is shown, in a transaction with a fault.
    private func publish(_ fault: Fault) throws {
        let later: Int64 = 100_000_000_000
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        let identity = RowIdentity(natural: ["policy", "note.body"].map { .text(Array($0.utf8)[...]) })
        let policy = ForgedGroup(
            .insert, "logsync_setting", identities: [Array(identity.bytes)],
            columns: [ForgedGroup.Column("value", ForgedValues.texts(["max"]))])
        let note = ForgedGroup(.insert, "note", key: "of the stranger")
        let sequence: UInt64 = fault == .gap ? 5 : 1
        var transaction = ForgedTransaction(Dot(Self.stranger, sequence), groups: [policy])
        transaction.time = HybridTime(milliseconds: now)
        switch fault {
        case .cutOff: transaction.frames[0].removeLast(2)
        case .unknownKind: transaction.frames[0][0] = 9
        case .future: transaction.time = HybridTime(milliseconds: now + later)
        case .rowOfTheFuture:
            var late = note
            late.times = [0] + Forge.zigzag(later) + Forge.varint(0)
            transaction.counts.append((table: "note", inserted: 1, updated: 0, deleted: 0))
            transaction.frames[0] = Forge.joined([policy, late].map(\.bytes))
        case .rowTwice:
            transaction.frames[0] = Forge.joined([policy, note, note].map(\.bytes))
            transaction.counts.append((table: "note", inserted: 2, updated: 0, deleted: 0))
        case .gap: break
        }
        try ForgedFolder(world.contentPath).put(ForgedLogFile([transaction]), of: Self.stranger)
    }

    @Test("say nothing to a clone or a database that joins, and end neither", arguments: Fault.allCases)
    func held(fault: Fault) async throws {
        try publish(fault)
        try await a.sync()
        #expect(try await a.status().held.map(\.reason) == [fault.reason])
        let c = try await world.clone("c")
        let d = try world.machine("d")
        try d.makeDatabase()
        try d.insert("two")
        try await d.initialize()
        try await settle(a, c, d)
        for machine in [a, c, d] {
            #expect(try machine.ids() == ["one", "two"], "\(machine.name)")
            #expect(try await machine.with { try await $0.policies() }.isEmpty, "\(machine.name)")
            #expect(try await machine.status().held.map(\.reason) == [fault.reason], "\(machine.name)")
            let report = try await Replicator.verify(machine.path, configuration: machine.configuration)
            #expect(report.store == true, "\(report.findings)")
        }
        #expect(try await a.status().digest == c.status().digest)
        let folder = try await Replicator.verify(world.container, configuration: a.configuration)
        #expect(folder.contents.allSatisfy { $0.compared.allSatisfy(\.equal) })
    }

    @Test("are known where only its large values have not come")
    func missingBlob() async throws {
        let world = try World(blobThreshold: 100)
        let a = try world.machine("a")
        try a.makeDatabase()
        try a.execute("INSERT INTO note(id, body) VALUES('one', '\(String(repeating: "x", count: 1000))')")
        try await a.initialize()
        let blobs = "\(world.contentPath)/peers/\(try await a.peer())/blobs"
        try FileManager.default.moveItem(atPath: blobs, toPath: world.root + "/away")
        let c = try await world.clone("c")
        #expect(try await c.status().held.map(\.reason) == [.missingBlob])
        try FileManager.default.moveItem(atPath: world.root + "/away", toPath: blobs)
        try await settle(a, c)
        #expect(try c.strings("SELECT length(body) FROM note") == ["1000"])
    }

    @Test("are a founder's whose clock is ahead, where nobody else has settled anything")
    func founderOfTheFuture() async throws {
        let world = try World()
        var a = try world.machine("a")
        a.configuration.clock = FixedClock(SystemClock().now() + 3 * 24 * 3_600_000)
        try a.makeDatabase()
        try a.insert("one")
        try await a.initialize()
        let c = try await world.clone("c")
        #expect(try await c.status().held.map(\.reason) == [.clock])
        let peer = try await a.peer()
        try await c.with { try await $0.acceptClock(of: peer) }
        #expect(try await c.sync().outcome == .complete)
        #expect(try c.ids() == ["one"])
    }
}
