import Foundation
import LogSyncModel
import LogSyncStore
import LogSync
import SimulationVFS

/// Runs a scenario on whole machines: replicators, each with a store and a copy of the folder, and a courier between
/// them.
final class FolderWorld: World {
    private static let maximumRounds = 12

    let scenario: Scenario
    private let directory: String
    var peers: [FolderPeer] = []
    private var now: Int64 = 1_700_000_000_000 {
        didSet { (courier.now, liar.now) = (now, now) }
    }
    let ledger = Ledger()
    let checks: Checks
    let courier = Courier()
    let liar = Liar()
    /// What was changed, of files and of the store, where a process may die.
    private(set) var changes: [Place: Changes] = [:]

    /// What a process changed, in order.
    struct Changes {
        var files: [ChangeKind] = []
        var store: [ChangeKind] = []
    }

    /// Where a process may die.
    enum Place: Hashable {
        case beginning(peer: Int)
        case step(Int)
    }

    init(_ scenario: Scenario, directory: String) throws {
        self.scenario = scenario
        self.directory = directory
        checks = Checks(scenario, ledger)
    }

    func run(trace: @escaping (String) -> Void) async throws {
        simulation_vfs_seed(scenario.seed)
        ledger.trace = trace
        (courier.now, liar.now) = (now, now)
        courier.carriesDeletions = scenario.features.contains(.retirement)
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
            try peer.prepare(scenario.schema)
            _ = try await dying(peer, model.death, at: .beginning(peer: index)) { try await peer.begin(scenario) }
            // Another process makes good what the dead one left.
            if peer.id == FolderPeer.nobody { try await peer.begin(scenario) }
            if index == 0 { try courier.rememberMarker(peer.container) }
            try harvest(peer)
            peer.skew = model.skew
        }
    }

    private func perform(_ step: Step, _ number: Int, _ trace: (String) -> Void) async throws {
        switch step {
        case .pass(let milliseconds): now += milliseconds
        case .skew(let peer, let milliseconds): peers[peer].skew = milliseconds
        case .write(let peer, let statements, .embedded):
            peers[peer].awake(now)
            try await living(peers[peer], number, trace) {
                _ = try await tolerating(peers[peer]) { try await peers[peer].embed(statements) }
            }
            try harvest(peers[peer])
        case .write(let peer, let statements, let ending):
            peers[peer].awake(now)
            try peers[peer].openApp().transaction(statements, ending: ending)
        case .record(let peer):
            peers[peer].awake(now)
            try await living(peers[peer], number, trace) {
                _ = try await tolerating(peers[peer]) { try await peers[peer].openReplicator().export() }
            }
            try harvest(peers[peer])
        case .send(let from, let to):
            try courier.carry(from: peers[from].container, owner: "\(peers[from].id)", to: peers[to].container)
        case .sync(let peer):
            if number % 3 == 0 { try courier.remember(peers[peer].container) }
            try await sync(peers[peer], number, trace)
        case .policy(let peer, let target, let policy):
            try await export(peers[peer])
            guard try peers[peer].knowsWhoItIs() else { return }
            try await living(peers[peer], number, trace) { try Hand.set(target, policy, peers[peer].openStore()) }
            try harvest(peers[peer])
        case .settle(let peer, let choice):
            try await export(peers[peer])
            guard try peers[peer].knowsWhoItIs() else { return }
            try await living(peers[peer], number, trace) {
                try Hand.settle(try peers[peer].openStore(), peers[peer].schema.inLogNames, choice: choice)
            }
            try harvest(peers[peer])
        case .migrate(let peer, let migration):
            try await export(peers[peer])
            guard let schema = migration.applied(to: peers[peer].schema),
                try peers[peer].openApp().migrate(
                    migration.sql(on: peers[peer].schema), foreignKeysAreOn: peers[peer].model.foreignKeysAreOn)
            else { return }
            peers[peer].schema = schema
            try await living(peers[peer], number, trace) {
                _ = try await tolerating(peers[peer]) { try await peers[peer].openReplicator().export() }
            }
            try harvest(peers[peer])
        case .retire(let peer, let other):
            try await export(peers[peer])
            try await living(peers[peer], number, trace) {
                _ = try await tolerating(peers[peer]) {
                    do {
                        try await peers[peer].openReplicator().retire(peers[other].id)
                    } catch let error as LogSyncError where error.code == .usage {
                        // It has not heard of it, or is a copy that has not found out yet.
                    }
                }
            }
            try harvest(peers[peer])
        case .copy(let from, let to, let vacuums):
            let unpublished = try unpublished(by: peers[to])
            try await peers[to].takeCopy(of: peers[from], vacuums: vacuums)
            // The machine's backup may have what is forgotten here.
            if !unpublished.isEmpty { try peers[to].loseBackup() }
            try forget(unpublished, of: peers[to])
            peers[to].oracle = OracleState(keys: scenario.keys)
            try ledger.advance(&peers[to].oracle, of: FolderPeer.nobody, to: peers[to].openStore().vector())
        case .fault(let fault, let peer, let choice):
            try courier.spoil(peers[peer].container, fault, choice: choice)
        case .lie(let peer, let choice): try lie(to: peers[peer], choice: choice, trace)
        case .crash(let death, let peer): peers[peer].death = death
        case .snapshot(let peer):
            try await act(peers[peer], number, trace) { _ = try await $0.snapshot() }
        case .compact(let peer, let days):
            try await act(peers[peer], number, trace) { _ = try await $0.compact(grace: .seconds(days * 86_400)) }
        case .backUp(let peer, let vacuums): try peers[peer].backUp(vacuums: vacuums)
        case .restore(let peer, let losesState):
            let unpublished = try unpublished(by: peers[peer])
            let losesState = try losesState && !isDeceived(peers[peer])
            guard try await peers[peer].restore(losesState: losesState) else { return }
            try forget(unpublished + unheard(of: peers[peer]), of: peers[peer])
            // What it shows is what it showed then.
            peers[peer].oracle = OracleState(keys: scenario.keys)
            try ledger.advance(&peers[peer].oracle, of: FolderPeer.nobody, to: peers[peer].openStore().vector())
        }
    }

    private func export(_ peer: FolderPeer) async throws {
        peer.awake(now)
        _ = try await tolerating(peer) { try await peer.openReplicator().export() }
        try harvest(peer)
    }

    @discardableResult
    func sync(_ peer: FolderPeer, _ number: Int?, _ trace: (String) -> Void) async throws -> SyncResult? {
        peer.awake(now)
        let death = peer.death
        peer.death = nil
        var result: SyncResult?
        let lived = try await dying(peer, death, at: number.map { .step($0) }) {
            result = try await tolerating(peer) {
                let replicator = try peer.openReplicator()
                guard peer.isAtOthersContainer else { return try await replicator.sync() }
                let attached = try await replicator.attach(to: peer.container).result
                peer.isAtOthersContainer = false
                return attached
            }
        }
        try harvest(peer)
        guard lived else {
            trace("    it dies")
            return nil
        }
        if let result {
            let held = result.held.map { "\($0.reason.rawValue) \($0.peer.name):\($0.sequence)" }
            trace(
                "    \(result.recorded) recorded, \(result.published) published, \(result.imported) imported, \(held) held"
            )
            try checkHeld(result, peer)
        }
        try check(peer)
        return result
    }

    /// Does something else than to sync, which may die as well. It syncs before: what a snapshot stands for leaves the
    /// outbox, where the ledger would look for it.
    private func act(
        _ peer: FolderPeer, _ number: Int, _ trace: (String) -> Void, _ body: (Replicator) async throws -> Void
    ) async throws {
        let death = peer.death
        peer.death = nil
        try await sync(peer, nil, trace)
        let lived = try await dying(peer, death, at: .step(number)) {
            _ = try await tolerating(peer) { try await body(peer.openReplicator()) }
        }
        if !lived { trace("    it dies") }
        try harvest(peer)
    }

    /// Does what may die, and is not done again where it does.
    private func living(
        _ peer: FolderPeer, _ number: Int, _ trace: (String) -> Void, _ body: () async throws -> Void
    ) async throws {
        let death = peer.death
        peer.death = nil
        if try await !dying(peer, death, at: .step(number), body) { trace("    it dies") }
    }

    // MARK: What goes wrong

    /// A folder that was wiped is unavailable, and one with a damaged marker may seem to be another's or a newer one's:
    /// what was recorded waits.
    private func tolerating<Result>(
        _ peer: FolderPeer, _ body: () async throws -> Result
    ) async throws -> Result? {
        do {
            return try await body()
        } catch let error as LogSyncError where error.code == .containerUnavailable {
            return nil
        } catch let error as LogSyncError where [.configuration, .newerFormat].contains(error.code) {
            guard try courier.hasDamagedMarker(peer.container) else { throw error }
            return nil
        }
    }

    /// Runs what may die. Returns whether it lived; what a death left open is closed then.
    private func dying(
        _ peer: FolderPeer, _ death: Death?, at place: Place?, _ body: () async throws -> Void
    ) async throws -> Bool {
        let cutsPower = death?.kind.cutsPower ?? false
        let ofStore = death.flatMap { $0.kind.isOfStore ? $0 : nil }
        let ofFiles = death.flatMap { $0.kind.isOfStore ? nil : $0 }
        simulation_vfs_track_unsynced(cutsPower ? 1 : 0)
        simulation_vfs_arm(Int64(ofStore?.change ?? 0), (ofStore?.extent ?? .none).ofStore)
        peer.fileSystem.arm(ofFiles?.change, ofFiles?.extent ?? .none, mayLosePower: cutsPower)
        var thrown: (any Error)?
        do {
            try await body()
        } catch {
            thrown = error
        }
        let written = Int(simulation_vfs_disarm())
        if let place {
            changes[place] = Changes(
                files: peer.fileSystem.changes,
                store: (0..<written).map {
                    simulation_vfs_change(Int64($0)) == CChar(UInt8(ascii: "w")) ? .divisible : .whole
                })
        }
        let died = simulation_vfs_is_dead() != 0
        if died { try await peer.bury(cutsPower: cutsPower) }
        peer.fileSystem.arm(nil, .none, mayLosePower: false)
        simulation_vfs_track_unsynced(0)
        if let thrown, !died { throw thrown }
        return !died
    }

    /// Where nobody touched a folder, nothing in it is damaged or forked.
    private func checkHeld(_ result: SyncResult, _ peer: FolderPeer) throws {
        guard !scenario.hasFaults, !scenario.hasLies else { return }
        for held in result.held where ![.gap, .dependency, .clock].contains(held.reason) {
            throw Failure(
                .error,
                "\(peer.model.name) holds \(held.peer.id):\(held.sequence) (\(held.reason.rawValue)) of sound folders: "
                    + "\(held.detail ?? "")")
        }
    }

    /// Takes what a peer has recorded into the ledger, and brings its oracle to where it stands.
    private func harvest(_ peer: FolderPeer) throws {
        if scenario.hasLies { return try meet(peer) }
        let store = try decidedStore(of: peer)
        _ = try ledger.harvest(store)
        let vector = try store.vector()
        // A copy publishes where its original did, until it is attached elsewhere.
        for container in [peer.container] + peers.map(\.container) {
            for (author, sequence) in vector.sequences where ledger.lasts[author] < sequence {
                try ledger.harvest(files: courier.logs(of: author, in: container))
            }
        }
        let registered = try store.registration().peer
        // A copy is still called like its original until it has found out.
        if registered != peer.id, !peers.contains(where: { $0 !== peer && $0.id == registered }) {
            guard peer.id == FolderPeer.nobody || peer.wasRestored else {
                throw Failure(
                    .error, "\(peer.model.name) took itself for another peer, though nobody copied or restored it")
            }
            peer.id = registered
        }
        try ledger.advance(&peer.oracle, of: registered, to: vector)
    }

    private func check(_ peer: FolderPeer) throws {
        if scenario.hasLies { return try audit(peer) }
        // What a program wrote after the sync is not recorded yet.
        let store = try peer.openStore()
        guard try !store.hasPendingChanges() else { return }
        try checks.check(Checked(peer))
    }

    // MARK: The end

    private func settle(_ trace: (String) -> Void) async throws {
        for peer in peers { peer.skew = 0 }
        var results: [String] = []
        for round in 0..<Self.maximumRounds {
            now = max(now, ledger.latest) + 1000
            // What only a store has by now comes back by a snapshot, which is for somebody to ask for.
            if round == Self.maximumRounds / 2, !results.isEmpty {
                // For long enough that nobody waits for log files that only a snapshot stands for.
                now += 3_600_000
                for peer in peers { _ = try await tolerating(peer) { try await peer.openReplicator().snapshot() } }
            }
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
                // What was lied is held for good.
                results += try result.held.filter { try !scenario.hasLies && !$0.isGoneForGood(scenario, peers) }.map {
                    "\(peer.model.name) holds \($0.reason.rawValue) \($0.peer.id):\($0.sequence) \($0.detail ?? "")"
                }
                isNews = isNews || result.recorded + result.published + result.imported > 0 || !results.isEmpty
            }
            if !isNews, round > 0 {
                // What only stores have of a peer that is no store any more, nobody waits for.
                guard scenario.hasRestores, round < Self.maximumRounds / 2,
                    try Set(peers.map { try $0.openStore().vector() }).count > 1
                else { break }
                now += 3_600_000
                for peer in peers { _ = try await tolerating(peer) { try await peer.openReplicator().snapshot() } }
            }
        }
        guard results.isEmpty else {
            throw Failure(.unsettled, results.joined(separator: "; "))
        }
        if scenario.hasLies { return try await checkHonest(trace) }
        try checks.checkEnd(peers.map { try Checked($0) })
        for peer in peers {
            guard let again = try await sync(peer, nil, trace), again.recorded + again.published + again.imported == 0
            else {
                throw Failure(.phantom, "\(peer.model.name) found something to do when all was done")
            }
        }
    }
}

extension Checked {
    fileprivate init(_ peer: FolderPeer) throws {
        self.init(
            store: try peer.openStore(), oracle: peer.oracle, app: try peer.openApp().connection, schema: peer.schema,
            name: peer.model.name)
    }
}
