import Forgery
import Foundation
import LogSync
import LogSyncFormat
import LogSyncModel
import Testing

/// Whoever writes the folder can say of any store that it is an older state of itself. Once a day it is believed.
@Suite("A folder that says that a store was restored")
struct IdentityClaimTests {
    private let world: World
    private let a: Machine
    private let b: Machine
    private let folder: ForgedFolder

    init() async throws {
        world = try World()
        a = try await world.founder("a", rows: ["one"])
        b = try await world.clone("b")
        try await settle(a, b)
        folder = ForgedFolder(world.contentPath)
    }

    /// How it is said.
    enum Claim: CaseIterable {
        case importedElsewhere, published, otherProcess, logFile, dependency, snapshot, branch
    }

    private func make(_ claim: Claim, of peer: PeerID, by number: UInt64) throws {
        let stranger = PeerID(high: 0x5747_0000_0000_0000, low: number)
        let ahead: UInt64 = 999
        let group = ForgedGroup(
            .insert, "note", key: "lie \(number)", columns: [.init("id", ForgedValues.keyPart(0))])
        switch claim {
        case .importedElsewhere:
            let receipt = ForgedFolder.sealed(
                """
                {"chain":"","collectionEpoch":1,"counter":5,"digest":"","epochsSeen":{},"format":1,"held":[],\
                "imported":{"\(peer)":\(ahead)},"nonce":"n","peer":"\(stranger)","published":0,\
                "readsFormats":[1],"written":"2026-01-01T00:00:00.000Z"}

                """)
            try folder.write(receipt, to: "receipt.json", of: stranger)
        case .published:
            try folder.changeReceipt(of: peer) { $0.replacing(/"published":[0-9]+/, with: "\"published\":\(ahead)") }
        case .otherProcess:
            try folder.changeReceipt(of: peer) { $0.replacing(/"nonce":"[^"]*"/, with: "\"nonce\":\"another\"") }
        case .logFile:
            try folder.put(ForgedLogFile([ForgedTransaction(Dot(peer, ahead), groups: [group])]), of: peer)
        case .dependency:
            let dependencies = [Dependency(Dot(peer, ahead))]
            try folder.put(
                ForgedLogFile([ForgedTransaction(Dot(stranger, 1), dependencies: dependencies, groups: [group])]),
                of: stranger)
            // Only a store without a state file looks at what others depend on; who lost it is told by that.
            try folder.put(ForgedSnapshot(by: stranger, vector: [(peer, ahead), (stranger, 1)].sorted { $0.0 < $1.0 }))
        case .snapshot:
            try folder.put(ForgedSnapshot(by: stranger, vector: [(peer, ahead), (stranger, 1)].sorted { $0.0 < $1.0 }))
        case .branch:
            // Another history of the peer's own, in its own folder.
            try folder.put(ForgedLogFile([ForgedTransaction(Dot(peer, 1), groups: [group])]), of: peer)
        }
    }

    @Test("is believed once a day, and asks the next time", arguments: Claim.allCases)
    func onceADay(claim: Claim) async throws {
        var a = a
        a.configuration.clock = FixedClock(SystemClock().now())
        let first = try await a.peer()
        try make(claim, of: first, by: 1)
        for _ in 0..<2 { try await a.sync() }
        let second = try await a.peer()
        #expect(second != first, "it may be true")
        try await settle(a, b)
        for number in [UInt64(2), 3] {
            try make(claim, of: second, by: number)
            // Where it stands in the store's own receipt, that is put right, and says it no more.
            _ = try await a.with { try await $0.import() }
            let status = try await a.status()
            #expect(status.peer.id == second && status.succeeds.map(\.id) == [first])
            guard claim != .published else { continue }
            #expect(status.identity?.kind == .claimed)
            let report = try await Replicator.doctor(a.path, configuration: a.configuration)
            let finding = report.findings.first { $0.code == "identity-claimed" }
            #expect(finding?.help?.contains("accept-claim") == true)
        }
        try a.insert("after")
        for _ in 0..<3 { for machine in [a, b] { try await machine.sync() } }
        #expect(try await a.peer() == second)
        #expect(try a.ids().contains("after"))
        // Who joined a snapshot that says that it has all of the store's work to come does not hear of that, until the
        // store is another.
        if ![.snapshot, .dependency].contains(claim) {
            #expect(try a.ids().contains("one") && b.ids().contains("one") && b.ids().contains("after"))
        }
        // The next day it is believed again.
        a.configuration.clock = FixedClock(SystemClock().now() + 25 * 3_600_000)
        try make(claim, of: second, by: 4)
        for _ in 0..<2 { try await a.sync() }
        #expect(try await a.peer() != second)
        try a.insert("in the end")
        var b = b
        b.configuration.clock = a.configuration.clock
        for _ in 0..<3 { for machine in [a, b] { try await machine.sync() } }
        #expect(try b.ids().contains("in the end"))
    }

    @Test("is believed at once where a person says so, and asking again is no trouble where nothing is claimed")
    func accepted() async throws {
        let first = try await a.peer()
        let error = await #expect(throws: LogSyncError.self) { try await a.with { try await $0.acceptClaim() } }
        #expect(error?.code == .usage)
        try make(.importedElsewhere, of: first, by: 1)
        try await a.sync()
        let second = try await a.peer()
        try make(.importedElsewhere, of: second, by: 2)
        try await a.sync()
        #expect(try await a.peer() == second)
        try await a.with { try await $0.acceptClaim() }
        try await a.sync()
        let status = try await a.status()
        #expect(status.peer.id != second && status.identity?.kind == .restored)
        #expect(Set(status.succeeds.map(\.id)) == [first, second])
        // A claim that is taken back is forgotten.
        try make(.importedElsewhere, of: status.peer.id, by: 3)
        try await a.sync()
        #expect(try await a.status().identity?.kind == .claimed)
        for number in 1...3 {
            try FileManager.default.removeItem(
                atPath: folder.peer(PeerID(high: 0x5747_0000_0000_0000, low: UInt64(number))))
        }
        try await a.sync()
        #expect(try await a.status().identity?.kind == .restored)
    }

    @Test("shows what is held for it, whoever asks, and is no damage of the store's", arguments: 1...14)
    func held(_ run: Int) async throws {
        try make(.importedElsewhere, of: try await a.peer(), by: 1)
        try await a.sync()
        let peer = try await a.peer()
        try await settle(a, b)
        let twin = try Twin(of: a)
        try a.insert("here \(run)")
        try await a.sync()
        try await twin.live {
            try $0.insert("there \(run)")
            try await settle($0, b)
            try b.execute("UPDATE note SET body = 'seen' WHERE id = 'there \(run)'")
            try await b.sync()
        }
        try twin.foldersMeet()
        let result = try await a.sync()
        #expect(try await a.peer() == peer)
        let status = try await a.status()
        #expect(status.identity?.kind == .claimed)
        #expect(Set(result.held.map(\.reason)) == [.fork, .dependency])
        #expect(status.held == result.held)
        let report = try await Replicator.doctor(a.path, configuration: a.configuration)
        #expect(Set(report.findings.map(\.code)).isSuperset(of: ["held-fork", "held-dependency"]))
        let verified = try await Replicator.verify(a.path, configuration: a.configuration)
        #expect(verified.findings.filter { $0.code == "digest-differs" }.map(\.what) == [])
        #expect(verified.store != false)
    }

    @Test("counts for nothing where this machine knows better: a second restore of one day is found as the first")
    func restores() async throws {
        let backup = world.root + "/backup.db"
        var peers: Set<PeerID> = [try await a.peer()]
        for row in ["two", "three"] {
            try a.checkpoint()
            try? FileManager.default.removeItem(atPath: backup)
            try FileManager.default.copyItem(atPath: a.path, toPath: backup)
            try a.insert(row)
            try await settle(a, b)
            try a.checkpoint()
            try FileManager.default.removeItem(atPath: a.path)
            try FileManager.default.copyItem(atPath: backup, toPath: a.path)
            try await settle(a, b)
            peers.insert(try await a.peer())
        }
        #expect(peers.count == 3)
        #expect(try a.ids() == ["one", "three", "two"] && b.ids() == a.ids())
    }
}
