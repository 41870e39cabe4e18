import Forgery
import Foundation
import LogSync
import LogSyncFormat
import LogSyncModel
import LogSyncStore
import Testing

/// What the manifest of a snapshot can say to those who join it.
@Suite("Whatever a snapshot says of peers and branches")
struct HostileSnapshotTests {
    private let world: World
    private let a: Machine
    private let b: Machine
    private let folder: ForgedFolder
    private let stranger = PeerID(high: 0x5747_0000_0000_0000, low: 1)

    init() async throws {
        world = try World()
        a = try await world.founder("a", rows: ["one"])
        b = try await world.clone("b")
        try await settle(a, b)
        folder = ForgedFolder(world.contentPath)
    }

    /// How a manifest speaks of a branch of a's history.
    enum Told: CaseIterable {
        case proper, ofItself, ofOneAnother, later, asPeer, unknownOrigin, ofABranch
    }

    private static let mark = ChainMark(rawValue: .max)

    private func snapshot(_ told: Told, _ origin: PeerID, by number: UInt64) -> ForgedSnapshot {
        let id = Branch.id(of: Self.mark, origin: origin)
        func branch(
            _ origin: PeerID, start: UInt64 = 1, _ parent: PeerID, mark: ChainMark = Self.mark
        ) -> (id: PeerID, bytes: [UInt8]) {
            let head = origin.bytes + Forge.varint(start) + Forge.littleEndian(mark.rawValue)
            return (Branch.id(of: mark, origin: origin), head + parent.bytes + Forge.littleEndian(mark.rawValue - 1))
        }
        let other = ChainMark(rawValue: .max - 7)
        let otherID = Branch.id(of: other, origin: origin)
        let branches: [(id: PeerID, bytes: [UInt8])] =
            switch told {
            case .proper: [branch(origin, origin)]
            case .ofItself: [branch(origin, start: 2, id)]
            case .ofOneAnother:
                [branch(origin, start: 2, otherID), branch(origin, start: 2, id, mark: other)]
            case .later: [branch(origin, start: 2, origin)]
            case .asPeer: []
            case .unknownOrigin: [branch(stranger, stranger)]
            case .ofABranch: [branch(origin, origin), branch(id, id)]
            }
        let author = PeerID(high: stranger.high, low: number)
        var forged = ForgedSnapshot(by: author, vector: [(author, 1), (id, 1)].sorted { $0.0 < $1.0 })
        guard !branches.isEmpty else { return forged }
        forged.rest = Forge.varint(UInt64(branches.count))
        for branch in branches.sorted(by: { $0.id < $1.id }) { forged.rest += branch.bytes }
        forged.rest += Forge.varint(0)
        return forged
    }

    @Test("Branches that contradict each other keep nobody from anything", arguments: Told.allCases, Told.allCases)
    func branches(first: Told, second: Told) async throws {
        let origin = try await a.peer()
        for (index, told) in [first, second].enumerated() {
            try folder.put(snapshot(told, origin, by: UInt64(index) + 2))
        }
        for round in 1...2 {
            try a.insert("of a \(round)")
            try b.insert("of b \(round)")
            for machine in [a, b, a, b] { try await machine.sync() }
        }
        for machine in [a, b] {
            #expect(try Set(machine.ids()) == ["one", "of a 1", "of b 1", "of a 2", "of b 2"])
            _ = try await machine.status()
            _ = try await Replicator.doctor(machine.path, configuration: machine.configuration)
            _ = try await Replicator.verify(machine.path, configuration: machine.configuration)
        }
        try await b.snapshot()
        #expect(try await world.clone("c").ids().count == 5)
    }

    @Test("A snapshot whose branches contradict what is known is held by its name")
    func named() async throws {
        let origin = try await a.peer()
        try folder.put(snapshot(.proper, origin, by: 2))
        #expect(try await b.sync().held.isEmpty)
        let name = try folder.put(snapshot(.later, origin, by: 3))
        let held = try await b.sync().held
        #expect(held.map(\.reason) == [.refused])
        #expect(held.map(\.file) == [name])
        #expect(held.first?.detail?.contains("branch") == true)
        #expect(try await b.status().held == held)
    }

    @Test("Peers that come by a snapshot count as those that come by log files do, and are let in by hand")
    func madeUpPeers() async throws {
        var later = b
        later.configuration.clock = FixedClock(SystemClock().now() + 24 * 3_600_000)
        later.configuration.maximumNewPeers = 3
        let author = PeerID(high: stranger.high, low: 2)
        let madeUp = (1...3).map { PeerID(high: 7, low: UInt64($0)) }
        let name = try folder.put(
            ForgedSnapshot(by: author, vector: (madeUp + [author]).sorted().map { ($0, 1) }))
        let held = try await later.sync().held
        #expect(held.map(\.reason) == [.tooLarge])
        #expect(held.map(\.file) == [name])
        #expect(held.map(\.peer.id) == [author])
        #expect(try await later.status().vector[madeUp[0]] == 0)
        #expect(try await later.status().held == held)
        try await later.with { try await $0.acceptSize(of: author) }
        #expect(try await later.status().held.isEmpty)
        #expect(try await later.sync().held.isEmpty)
        #expect(try await later.status().vector[madeUp[0]] == 1)
        // They have come today, by whichever way.
        let group = ForgedGroup(
            .insert, "note", identities: [ForgedIdentity.natural("made up")],
            columns: [.init("id", ForgedValues.keyPart(0)), .init("body", ForgedValues.texts(["x"]))])
        try folder.put(ForgedLogFile([ForgedTransaction(Dot(stranger, 1), groups: [group])]), of: stranger)
        #expect(try await later.sync().held.map(\.reason) == [.tooLarge])
    }
}
