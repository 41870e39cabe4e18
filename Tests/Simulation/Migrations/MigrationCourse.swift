import LogSyncModel
import LogSyncStore
import SimulationVFS

/// One run of a migration on two peers, each at its own time: what is written before and after, and what comes of it.
final class MigrationCourse {
    /// Where something may happen.
    enum Place: Int, CaseIterable, CustomStringConvertible {
        case firstMigration, firstRecording, importUnderOldSchema, importUnderNewSchema, secondMigration,
            secondRecording

        var description: String {
            switch self {
            case .firstMigration: "the first peer's migration"
            case .firstRecording: "the recording after it"
            case .importUnderOldSchema: "the import into the second peer, under the old schema"
            case .importUnderNewSchema: "the import into the first peer, under the new schema"
            case .secondMigration: "the second peer's migration"
            case .secondRecording: "the recording after that"
            }
        }

        var isMigration: Bool { self == .firstMigration || self == .secondMigration }
    }

    enum Disturbance: CustomStringConvertible {
        case none
        /// The program dies before it runs a statement of the migration; another looks, and the program goes on.
        case statement(Int, Place)
        /// A process dies at a change that it makes.
        case death(Death, Place)
        /// A change is refused, and the process goes on.
        case refusal(Int, Place)

        var description: String {
            switch self {
            case .none: "nothing"
            case .statement(let number, let place): "a death before statement \(number) of \(place)"
            case .death(let death, let place): "a death in \(place) (\(death))"
            case .refusal(let change, let place): "change \(change) of \(place) is refused"
            }
        }

        /// Whether the program's writes may be recorded as several transactions, because another process looks in between.
        var divides: Bool {
            switch self {
            case .statement: true
            case .death(_, let place): place.isMigration
            case .none, .refusal: false
            }
        }
    }

    /// What is the same however often something died on the way.
    struct Outcome: Equatable {
        var rows: [String]
        var conflicts: [String]
        var parked: [String]
        /// Where what died was done again as it was.
        var digest: String
    }

    private let subject: MigrationCase
    private let disturbance: Disturbance
    private let ledger = Ledger()
    private let clock = SimulatedClock()
    private var now: Int64 = 1_700_000_000_000
    private let first: MigrationPeer
    private let second: MigrationPeer
    /// What is being done.
    private(set) var step = ""
    /// The changes made at each place, where nothing happened.
    private(set) var changes: [Place: [ChangeKind]] = [:]

    init(_ subject: MigrationCase, _ disturbance: Disturbance, hasLog: Bool, directory: String) throws {
        self.subject = subject
        self.disturbance = disturbance
        simulation_vfs_seed(1)
        clock.set(now)
        first = try MigrationPeer(
            "ada", subject, hasLog: hasLog, founder: nil, clock: clock, directory: directory)
        second = try MigrationPeer(
            "bob", subject, hasLog: hasLog, founder: first, clock: clock, directory: directory)
    }

    func close() {
        simulation_vfs_revive()
        simulation_vfs_track_unsynced(0)
        first.close()
        second.close()
    }

    func run() throws -> Outcome {
        try take(first, from: second)
        try take(second, from: first)
        // What is recorded before a migration instead of after it keeps its time: the later one wins all the same.
        try write(second, subject.before[1])
        try write(first, subject.before[0])
        try migrate(first, at: .firstMigration)
        try record(first, at: .firstRecording)
        try write(first, subject.after[0])
        _ = try first.store.record()
        try take(second, from: first, at: .importUnderOldSchema)
        try take(first, from: second, at: .importUnderNewSchema)
        try migrate(second, at: .secondMigration)
        try record(second, at: .secondRecording)
        try write(second, subject.after[1])
        for _ in 0..<3 {
            try take(first, from: second)
            try take(second, from: first)
        }
        return try outcome()
    }

    // MARK: Steps

    private func pass(_ step: String) {
        self.step = step
        now += 1000
        clock.set(now)
    }

    private func write(_ peer: MigrationPeer, _ statements: [String]) throws {
        pass("\(peer.name) writes")
        try peer.write(statements)
    }

    private func migrate(_ peer: MigrationPeer, at place: Place) throws {
        pass("\(peer.name) migrates")
        var done = 0
        if case .statement(let number, place) = disturbance {
            for statement in subject.migration.prefix(number) { try peer.app.execute(statement) }
            done = number
            try peer.buryProgram(cutsPower: false)
        } else {
            let death = try dying(at: place) {
                for statement in subject.migration {
                    try peer.app.execute(statement)
                    done += 1
                }
            }
            guard let death else { return }
            try peer.buryProgram(cutsPower: death.kind.cutsPower)
            simulation_vfs_track_unsynced(0)
        }
        try look(peer)
        try resume(peer, after: done)
    }

    /// A program goes on where it was, or from the beginning where all of it was undone.
    private func resume(_ peer: MigrationPeer, after done: Int) throws {
        if subject.isTransaction {
            guard try peer.app.rows("PRAGMA user_version")[0][0] != .integer(1) else { return }
            for statement in subject.migration { try peer.app.execute(statement) }
            return
        }
        for (number, statement) in subject.migration.enumerated().dropFirst(done) {
            do {
                try peer.app.execute(statement)
            } catch let failure as Failure where number == done && failure.kind == .program {
                // It had been done when the program died.
            }
        }
    }

    /// Another process looks in between. As long as a table is gone it waits.
    private func look(_ peer: MigrationPeer) throws {
        do {
            _ = try peer.store.record()
        } catch let error as LogSyncError where error.code == .locked {
            // Says so, and has changed nothing.
        }
    }

    private func record(_ peer: MigrationPeer, at place: Place) throws {
        pass("\(peer.name) records")
        try living(peer, at: place) { _ = try peer.store.record() }
    }

    /// Takes what the other has recorded, whose program is not in the middle of anything.
    private func take(_ peer: MigrationPeer, from other: MigrationPeer, at place: Place? = nil) throws {
        pass("\(other.name) records")
        _ = try other.store.record()
        _ = try ledger.harvest(other.store)
        pass("\(peer.name) imports")
        try living(peer, at: place) { try importAll(peer, from: other) }
        _ = try ledger.harvest(peer.store)
    }

    private func importAll(_ peer: MigrationPeer, from other: MigrationPeer) throws {
        _ = try peer.store.record()
        while true {
            let known = try peer.store.vector()[other.id]
            guard known < ledger.lasts[other.id] else { return }
            var waiting = (known + 1...ledger.lasts[other.id]).map { Dot(other.id, $0) }
            do {
                let step = try peer.store.importStep {
                    waiting.isEmpty ? nil : ledger.incoming(waiting.removeFirst())
                }
                if step.imported.isEmpty { throw Failure(.error, "\(peer.name) imported nothing of what was ready") }
            } catch let unready as UnreadyTable {
                try peer.store.prepare(unready)
            }
        }
    }

    // MARK: Deaths

    /// Does something in which logsync may die or be refused, and then again.
    private func living(_ peer: MigrationPeer, at place: Place?, _ body: () throws -> Void) throws {
        guard let place else { return try body() }
        guard let death = try dying(at: place, body) else { return }
        if case .refusal = disturbance {
            simulation_vfs_revive()
        } else {
            try peer.buryStore(cutsPower: death.kind.cutsPower)
        }
        simulation_vfs_track_unsynced(0)
        try body()
    }

    /// Returns the death that was met; nil where there was none.
    private func dying(at place: Place, _ body: () throws -> Void) throws -> Death? {
        var planned: Death?
        switch disturbance {
        case .death(let death, place): planned = death
        case .refusal(let change, place): planned = Death(kind: .store, change: change, extent: .none)
        default: break
        }
        simulation_vfs_track_unsynced(planned?.kind.cutsPower ?? false ? 1 : 0)
        simulation_vfs_arm(Int64(planned?.change ?? 0), (planned?.extent ?? .none).ofStore)
        var thrown: (any Error)?
        do {
            try body()
        } catch {
            thrown = error
        }
        let count = simulation_vfs_disarm()
        changes[place] = (0..<count).map {
            simulation_vfs_change($0) == CChar(UInt8(ascii: "w")) ? .divisible : .whole
        }
        if let planned, simulation_vfs_is_dead() != 0 { return planned }
        simulation_vfs_track_unsynced(0)
        if let thrown { throw thrown }
        return nil
    }

    // MARK: The end

    private func outcome() throws -> Outcome {
        let (mine, others) = (try outcome(of: first), try outcome(of: second))
        for (name, left, right) in [
            ("rows", mine.rows, others.rows), ("conflicts", mine.conflicts, others.conflicts),
            ("parked rows", mine.parked, others.parked), ("digest", [mine.digest], [others.digest]),
        ] where left != right {
            throw Failure(.divergence, "the peers have other \(name): \(Self.difference(left, right))")
        }
        return mine
    }

    private func outcome(of peer: MigrationPeer) throws -> Outcome {
        if try peer.store.record() != nil {
            throw Failure(.phantom, "\(peer.name) records a change that nobody made")
        }
        let audit = try peer.store.audit()
        if let problem = audit.problems.first { throw Failure(.audit, "\(peer.name): \(problem)") }
        let check = try peer.app.rows("PRAGMA integrity_check").map { $0[0].string }
        if check != ["ok"] { throw Failure(.constraint, "\(peer.name): \(check.joined(separator: "; "))") }
        let conflicts = try peer.store.conflicts(table: nil, all: true).map { conflict in
            let versions = conflict.versions.map { Spelling.value($0.value) }.sorted()
            return "\(conflict.table).\(conflict.column): \(versions.joined(separator: ", "))"
        }
        let parked = try peer.store.parkedRows(table: nil).map { row in
            "\(row.table) \(row.key.map(Spelling.value)) \(row.reason)"
        }
        return Outcome(
            rows: try peer.dump(), conflicts: conflicts.sorted(), parked: parked.sorted(),
            digest: try peer.store.summary().digest)
    }

    /// What is on one side alone.
    static func difference(_ left: [String], _ right: [String]) -> String {
        let (less, more) = (left.filter { !right.contains($0) }, right.filter { !left.contains($0) })
        return "\(less.joined(separator: "; ")) | \(more.joined(separator: "; "))"
    }
}
