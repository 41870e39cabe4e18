import Glibc

/// Who takes part.
enum Contestant: String, CaseIterable {
    case plain
    /// The yardstick: a bare trigger that notes key and time.
    case trigger
    case session
    case logsync
}

/// What is measured, in the order of the table.
enum Phase: String, CaseIterable {
    case insert = "insert in one transaction"
    case singles = "insert, one a transaction"
    case update = "update by key"
    case delete = "delete by key"
    case recordInserts = "record and publish inserts"
    case recordUpdates = "record and publish updates"
    case recordDeletes = "record and publish deletes"
    case importInserts = "import inserts"
    case importUpdates = "import updates"
    case importDeletes = "import deletes"
    case snapshot = "take a snapshot"
    case clone = "clone from it"
    case keys = "insert integer keys"
    case recordKeys = "record and publish those"
    case importKeys = "import, all integers taken"
    case references = "point references elsewhere"
    case recordReferences = "record and publish that"
    case importReferences = "import that"
    case contest = "update rows that another updates too"
    case recordContest = "record and publish the contested"
    case importContest = "import the contested"
    case mix = "inserts, updates, deletes by tens"
    case recordMix = "record and publish, a tenth at a time"
    case importMix = "import, a tenth at a time"

    /// The plain writing of the same changes.
    var baseline: Phase {
        switch self {
        case .insert, .recordInserts, .importInserts, .snapshot, .clone: .insert
        case .singles: .singles
        case .update, .recordUpdates, .importUpdates: .update
        case .delete, .recordDeletes, .importDeletes: .delete
        case .keys, .recordKeys, .importKeys: .keys
        case .references, .recordReferences, .importReferences: .references
        case .contest, .recordContest, .importContest: .contest
        case .mix, .recordMix, .importMix: .mix
        }
    }
}

/// Bytes, in the order of the table.
enum Volume: String, CaseIterable {
    case insertLog = "log of the inserts"
    case updateLog = "log of the updates"
    case deleteLog = "log of the deletes"
    case snapshot = "snapshot"
    case author = "database that wrote the inserts"
    case replica = "database that imported them"
}

/// Seconds: CPU time of this process with all its threads, user and system, and wall-clock time.
struct Cost {
    var cpu: Double
    var wall: Double

    static func measured(_ body: () throws -> Void) rethrows -> Cost {
        let (cpu, start) = (cpuSeconds(), ContinuousClock.now)
        try body()
        return Cost(cpu: cpuSeconds() - cpu, wall: (ContinuousClock.now - start) / .seconds(1))
    }

    static func measured(_ body: () async throws -> Void) async rethrows -> Cost {
        let (cpu, start) = (cpuSeconds(), ContinuousClock.now)
        try await body()
        return Cost(cpu: cpuSeconds() - cpu, wall: (ContinuousClock.now - start) / .seconds(1))
    }

    static func + (a: Cost, b: Cost) -> Cost { Cost(cpu: a.cpu + b.cpu, wall: a.wall + b.wall) }

    private static func cpuSeconds() -> Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        return seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }
}

/// Everything that was measured: one cost a round.
struct Ledger {
    private(set) var costs: [Phase: [Contestant: [Cost]]] = [:]
    private(set) var volumes: [Volume: [Contestant: [Int]]] = [:]
    var findings: [Finding] = []

    mutating func measure(_ phase: Phase, _ contestant: Contestant, _ body: () throws -> Void) rethrows {
        note(phase, contestant, try Cost.measured(body))
    }

    mutating func note(_ phase: Phase, _ contestant: Contestant, _ cost: Cost) {
        costs[phase, default: [:]][contestant, default: []].append(cost)
    }

    mutating func note(_ volume: Volume, _ contestant: Contestant, _ bytes: Int) {
        volumes[volume, default: [:]][contestant, default: []].append(bytes)
    }
}
