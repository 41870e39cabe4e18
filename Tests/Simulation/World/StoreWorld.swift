import Foundation
import LogSyncFormat
import LogSyncModel
import LogSyncStore
import SimulationVFS

/// Runs a scenario on real stores whose peers hand each other transactions: the merge and nothing else, many times a
/// second.
final class StoreWorld: World {
    let scenario: Scenario
    private let directory: String
    private var peers: [StorePeer] = []
    private var now: Int64 = 1_700_000_000_000
    private var random: Random
    private let ledger = Ledger()
    private let checks: Checks

    init(_ scenario: Scenario, directory: String) throws {
        self.scenario = scenario
        self.directory = directory
        random = Random(seed: scenario.seed &+ 77)
        checks = Checks(scenario, ledger)
    }

    func run(trace: @escaping (String) -> Void) async throws {
        simulation_vfs_seed(scenario.seed)
        ledger.trace = trace
        for (index, model) in scenario.peers.enumerated() { try begin(index, model) }
        for (number, step) in scenario.steps.enumerated() {
            trace("\(number): \(step)")
            do {
                try perform(step, trace)
            } catch var failure as Failure {
                failure.step = failure.step ?? number
                throw failure
            } catch {
                throw Failure(.error, "\(error)", step: number)
            }
        }
        trace("the end")
        do {
            try settle()
        } catch let failure as Failure {
            throw failure
        } catch {
            throw Failure(.error, "\(error)")
        }
    }

    var yield: Yield { checks.yield }

    func close() async {
        simulation_vfs_revive()
        simulation_vfs_track_unsynced(0)
        for peer in peers { peer.close() }
        peers = []
    }

    // MARK: Steps

    private func begin(_ index: Int, _ model: PeerModel) throws {
        do {
            let peer = try StorePeer(
                model, index: index, scenario: scenario, directory: directory, now: now, founder: peers.first)
            peers.append(peer)
            try harvest(index)
        } catch let failure as Failure {
            throw failure
        } catch {
            throw Failure(.error, "\(model.name) could not begin: \(error)")
        }
    }

    private func perform(_ step: Step, _ trace: (String) -> Void) throws {
        switch step {
        case .pass(let milliseconds): now += milliseconds
        case .skew(let peer, let milliseconds): peers[peer].skew = milliseconds
        case .write(let peer, let statements, .embedded):
            peers[peer].awake(now)
            try peers[peer].embed(statements)
            // What such a write makes room for comes with the next step of any kind.
            try record(peers[peer])
            try harvest(peer)
            try check(peer)
        case .write(let peer, let statements, let ending):
            peers[peer].awake(now)
            try peers[peer].app.transaction(statements, ending: ending)
        case .record(let peer):
            peers[peer].awake(now)
            try record(peers[peer])
            try harvest(peer)
            try check(peer)
        case .send(let from, let to):
            peers[from].awake(now)
            try record(peers[from])
            try harvest(from)
            peers[to].arrived.formUnion(peers[from].oracle.vector)
        case .sync(let peer): try sync(peer, trace)
        case .policy(let peer, let target, let policy):
            peers[peer].awake(now)
            try record(peers[peer])
            try Hand.set(target, policy, peers[peer].store)
            try harvest(peer)
            try check(peer)
        case .settle(let peer, let choice):
            peers[peer].awake(now)
            try record(peers[peer])
            try Hand.settle(peers[peer].store, peers[peer].schema.inLogNames, choice: choice)
            try harvest(peer)
            try check(peer)
        case .migrate(let peer, let migration):
            // A new table that is empty is left alone for a minute: another one if it is renamed meanwhile, and its columns are
            // known in logs by the names that they have then.
            switch migration {
            case .renameTable(let table, _), .renameColumn(let table, _, _), .renameKey(let table, _, _):
                if peers[peer].renewed.contains(table) { now += 61_000 }
            default: break
            }
            peers[peer].awake(now)
            // What was written before it may still wait for being recorded, as may what it writes.
            let isAlone: Bool
            if migration.keepsRows {
                isAlone = !peers[peer].unseen.isEmpty || random.chance(60)
            } else {
                isAlone =
                    migration.isGuessed || random.chance(70)
                    || migration.tangles(with: peers[peer].unseen, renewed: peers[peer].renewed)
            }
            if isAlone {
                try record(peers[peer])
                try harvest(peer)
                peers[peer].unseen = []
            }
            guard let schema = migration.applied(to: peers[peer].schema),
                try peers[peer].app.migrate(
                    migration.sql(on: peers[peer].schema), foreignKeysAreOn: peers[peer].model.foreignKeysAreOn)
            else { return }
            peers[peer].schema = schema
            if case .takeOver(let table, _) = migration { peers[peer].renewed.insert(table) }
            if random.chance(30) { try peers[peer].reopen() }
            if !migration.isGuessed, random.chance(30) { return peers[peer].unseen.append(migration) }
            try record(peers[peer])
            if case let recorded = try harvest(peer), isAlone, let fault = migration.fault(of: recorded) {
                throw Failure(.recording, "\(peers[peer].model.name): \(fault)")
            }
            try check(peer)
        case .retire(let peer, let other):
            peers[peer].awake(now)
            try record(peers[peer])
            try peers[peer].store.retire(peers[other].id)
            try harvest(peer)
            try check(peer)
        case .crash(let death, let peer): if death.kind.isOfStore { peers[peer].death = death }
        case .fault, .lie, .backUp, .restore, .snapshot, .compact, .copy: break
        }
    }

    /// Records what a peer's programs wrote. One that seems to be making a table anew is given the minute that it is waited for.
    /// Columns of which it has to be said whether they were renamed are told.
    private func record(_ peer: StorePeer) throws {
        do {
            _ = try peer.store.record()
        } catch let error as LogSyncError where error.code == .locked {
            now += 61_000
            peer.awake(now)
            _ = try peer.store.record()
        }
        if !scenario.features.contains(.keyMigrations) { _ = try Hand.decideColumns(peer.store, peer.schema) }
    }

    /// Takes what a peer has recorded into the ledger, and brings its oracle to where it stands.
    @discardableResult
    private func harvest(_ index: Int) throws -> [OracleTransaction] {
        let peer = peers[index]
        let found = try ledger.harvest(peer.store)
        try ledger.advance(&peer.oracle, of: peer.id, to: peer.store.vector())
        return found
    }

    private func check(_ index: Int) throws {
        let peer = peers[index]
        try checks.check(Checked(peer))
    }

    // MARK: Importing

    private func sync(_ index: Int, _ trace: (String) -> Void) throws {
        let peer = peers[index]
        guard let death = peer.death else {
            try importAll(index)
            return try check(index)
        }
        peer.death = nil
        simulation_vfs_track_unsynced(death.kind.cutsPower ? 1 : 0)
        simulation_vfs_arm(Int64(death.change), death.extent.ofStore)
        var thrown: (any Error)?
        do {
            try importAll(index)
        } catch {
            thrown = error
        }
        _ = simulation_vfs_disarm()
        if simulation_vfs_is_dead() != 0 {
            trace("    it dies")
            try peer.bury(cutsPower: death.kind.cutsPower)
            thrown = nil
        }
        simulation_vfs_track_unsynced(0)
        if let thrown { throw thrown }
        try harvest(index)
        try record(peer)
        try harvest(index)
        try check(index)
    }

    private func importAll(_ index: Int) throws {
        let peer = peers[index]
        peer.awake(now)
        try record(peer)
        try harvest(index)
        while true {
            var batch = nextBatch(peer)
            if batch.isEmpty { return }
            let step: ImportStep
            do {
                step = try peer.store.importStep {
                    guard !batch.isEmpty else { return nil }
                    return ledger.incoming(batch.removeFirst())
                }
            } catch let unready as UnreadyTable {
                try peer.store.prepare(unready)
                continue
            }
            try harvest(index)
            if step.imported.isEmpty { throw Failure(.error, "\(peer.model.name) imported nothing of what was ready") }
        }
    }

    /// Some of what is ready, in an order that its dependencies allow.
    private func nextBatch(_ peer: StorePeer) -> [Dot] {
        var vector = peer.oracle.vector
        var batch: [Dot] = []
        let size = random.number(4)
        while batch.count < size {
            let ready = peer.arrived.sequences.keys.sorted().compactMap { author -> Dot? in
                let dot = Dot(author, vector[author] + 1)
                guard dot.sequence <= peer.arrived[author], let sent = ledger[dot],
                    vector.includes(sent.dependencies), ledger.time(of: dot) - peer.clock.now() <= StorePeer.drift
                else { return nil }
                return dot
            }
            guard !ready.isEmpty else { break }
            let dot = random.pick(ready)
            batch.append(dot)
            vector[dot.peer] = dot.sequence
        }
        return batch
    }

    /// Everything is delivered, and everybody syncs until there is nothing new.
    private func settle() throws {
        for _ in 0..<4 {
            // Clocks agree at last: what was held for its time comes in.
            for index in peers.indices {
                now += 1
                peers[index].skew = 0
                peers[index].awake(max(now, ledger.latest + 1))
                try record(peers[index])
                try harvest(index)
            }
            now = max(now, ledger.latest + 1)
            for index in peers.indices {
                for other in peers { peers[index].arrived.formUnion(other.oracle.vector) }
                try importAll(index)
            }
        }
        try checks.checkEnd(peers.map(Checked.init))
    }
}

extension Checked {
    fileprivate init(_ peer: StorePeer) {
        self.init(
            store: peer.store, oracle: peer.oracle, app: peer.app.connection, schema: peer.schema, name: peer.model.name
        )
    }
}
