import Foundation
import LogModel
import LogStore
import LogSync
import SimulationVFS

/// Runs a scenario on whole machines: replicators, each with a store and a copy of the folder, and a courier between
/// them.
final class FolderWorld: World {
    private static let maximumRounds = 12

    let scenario: Scenario
    private let directory: String
    private var peers: [FolderPeer] = []
    private var now: Int64 = 1_700_000_000_000
    private let ledger = Ledger()
    private let checks: Checks
    private let courier = Courier()
    /// How many changes each sync step made, of files and of the store; for those who enumerate crashes.
    private(set) var changes: [Int: [Crash: Int]] = [:]

    init(_ scenario: Scenario, directory: String) throws {
        self.scenario = scenario
        self.directory = directory
        checks = try Checks(scenario, ledger)
    }

    func run(trace: (String) -> Void) async throws {
        simulation_vfs_seed(scenario.seed)
        try await step(nil) { try await beginAll() }
        for (number, step) in scenario.steps.enumerated() {
            trace("\(number): \(step)")
            try await self.step(number) { try await perform(step, number, trace) }
        }
        trace("the end")
        try await step(nil) { try await settle(trace) }
    }

    var yield: Yield { checks.yield }

    func close() async {
        simulation_vfs_revive()
        simulation_vfs_track_unsynced(0)
        for peer in peers { await peer.close() }
        peers = []
    }

    private func step(_ number: Int?, _ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch var failure as Failure {
            failure.step = failure.step ?? number
            throw failure
        } catch {
            throw Failure(.error, "\(error)", step: number)
        }
    }

    // MARK: Steps

    private func beginAll() async throws {
        for (index, model) in scenario.peers.enumerated() {
            let peer = try FolderPeer(model, index: index, scenario: scenario, directory: directory, now: now)
            if let founder = peers.first {
                try courier.carry(from: founder.container, owner: "\(founder.id)", to: peer.container)
            }
            peers.append(peer)
            // A founder whose clock is ahead has its first transaction held by those who come after it.
            peer.skew = 0
            peer.awake(now)
            try await peer.begin(scenario)
            if index == 0 { try courier.rememberMarker(peer.container) }
            try harvest(peer)
            peer.skew = model.skew
        }
    }

    private func perform(_ step: Step, _ number: Int, _ trace: (String) -> Void) async throws {
        switch step {
        case .pass(let milliseconds): now += milliseconds
        case .skew(let peer, let milliseconds): peers[peer].skew = milliseconds
        case .write(let peer, let statements, let ending):
            peers[peer].awake(now)
            try peers[peer].openApp().transaction(statements, ending: ending)
        case .record(let peer):
            peers[peer].awake(now)
            // With nothing to import it from, an import records and no more.
            _ = try await tolerating(peers[peer]) { try await peers[peer].openReplicator().export() }
            try harvest(peers[peer])
        case .send(let from, let to):
            try courier.carry(from: peers[from].container, owner: "\(peers[from].id)", to: peers[to].container)
        case .sync(let peer): try await sync(peers[peer], number, trace)
        case .policy(let peer, let target, let policy):
            peers[peer].awake(now)
            let store = try peers[peer].openStore()
            _ = try await tolerating(peers[peer]) { try await peers[peer].openReplicator().export() }
            try harvest(peers[peer])
            try store.setPolicy(target, policy)
            try harvest(peers[peer])
        case .fault(let fault, let peer, let choice):
            try courier.spoil(peers[peer].container, fault, choice: choice)
        case .crash(let kind, let peer, let change, let completes):
            try courier.remember(peers[peer].container)
            peers[peer].crash = (kind, change, completes)
        }
    }

    /// A folder that was wiped is unavailable, and one with a damaged marker may seem to be another's or a newer one's:
    /// what was recorded waits.
    private func tolerating(
        _ peer: FolderPeer, _ body: () async throws -> SyncResult
    ) async throws -> SyncResult? {
        do {
            return try await body()
        } catch let error as LogSyncError where error.code == .containerUnavailable {
            return nil
        } catch let error as LogSyncError where [.configuration, .newerFormat].contains(error.code) {
            guard try courier.hasDamagedMarker(peer.container) else { throw error }
            return nil
        }
    }

    @discardableResult
    private func sync(_ peer: FolderPeer, _ number: Int?, _ trace: (String) -> Void) async throws -> SyncResult? {
        peer.awake(now)
        let crash = peer.crash
        peer.crash = nil
        simulation_vfs_track_unsynced(crash?.kind == .power ? 1 : 0)
        simulation_vfs_arm(
            crash.map { $0.kind == .fileSystem ? 0 : Int64($0.change) } ?? 0, crash?.completes ?? false ? 1 : 0)
        peer.fileSystem.arm(crash?.kind == .fileSystem ? crash?.change : nil, completesLast: crash?.completes ?? false)
        var result: SyncResult?
        var thrown: (any Error)?
        do {
            result = try await tolerating(peer) { try await peer.openReplicator().sync() }
        } catch {
            thrown = error
        }
        let written = simulation_vfs_disarm()
        if let number {
            changes[number] = [.fileSystem: peer.fileSystem.changes, .store: Int(written), .power: Int(written)]
        }
        peer.fileSystem.arm(nil, completesLast: false)
        if simulation_vfs_is_dead() != 0 {
            trace("    it dies")
            try await peer.bury(cutsPower: crash?.kind == .power)
            try harvest(peer)
            return nil
        }
        simulation_vfs_track_unsynced(0)
        if let thrown { throw thrown }
        if let result {
            trace(
                "    recorded \(result.recorded), published \(result.published), imported \(result.imported), held \(result.held.map { "\($0.reason.rawValue) \($0.peer.name ?? "?"):\($0.sequence)" })"
            )
        }
        try harvest(peer)
        try check(peer)
        return result
    }

    /// Takes what a peer has recorded into the ledger, and brings its oracle to where it stands.
    private func harvest(_ peer: FolderPeer) throws {
        let store = try peer.openStore()
        _ = try ledger.harvest(store)
        let vector = try store.vector()
        let registered = try store.registration().peer
        if registered != peer.id {
            guard peer.id == PeerID(high: 0, low: 0) || scenario.features.contains(.restoredStores) else {
                throw Failure(
                    .error, "\(peer.model.name) took itself for another peer, though nobody copied or restored it")
            }
            peer.id = registered
        }
        try ledger.advance(&peer.oracle, to: vector)
    }

    private func check(_ peer: FolderPeer) throws {
        // What a program wrote after the sync is not recorded yet.
        let store = try peer.openStore()
        guard try !store.hasPendingChanges() else { return }
        try checks.check(store, peer.oracle, try peer.openApp().connection, name: peer.model.name)
    }

    // MARK: The end

    private func settle(_ trace: (String) -> Void) async throws {
        for peer in peers { peer.skew = 0 }
        var results: [String] = []
        for round in 0..<Self.maximumRounds {
            now = max(now, ledger.latest) + 1000
            results = []
            var isNews = false
            for peer in peers {
                for other in peers where other !== peer {
                    try courier.carry(from: other.container, owner: "\(other.id)", to: peer.container)
                }
                try courier.mark(peer.container)
                trace("\(peer.model.name) syncs")
                guard let result = try await sync(peer, nil, trace) else {
                    results.append("\(peer.model.name): unavailable")
                    isNews = true
                    continue
                }
                results += result.held.map {
                    "\(peer.model.name) holds \($0.reason.rawValue) \($0.peer.id):\($0.sequence) \($0.detail ?? "")"
                }
                isNews = isNews || result.recorded + result.published + result.imported > 0 || !result.held.isEmpty
            }
            if !isNews, round > 0 { break }
        }
        guard results.isEmpty else {
            throw Failure(.unsettled, results.joined(separator: "; "))
        }
        try checks.checkEnd(
            try peers.map { (try $0.openStore(), $0.oracle, try $0.openApp().connection, $0.model.name) })
        for peer in peers {
            guard let again = try await sync(peer, nil, trace), again.recorded + again.published + again.imported == 0
            else {
                throw Failure(.phantom, "\(peer.model.name) found something to do when all was done")
            }
        }
    }
}
