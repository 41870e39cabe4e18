/// Everything that happens in one run, as a value: generated first, then executed, so that it can be shrunk and shown.
struct Scenario: Sendable {
    var seed: UInt64
    var features: Features
    var schema: SchemaModel
    /// (`TABLE` or `TABLE.COLUMN`, policy) from the start.
    var policies: [(target: String, policy: String)] = []
    var peers: [PeerModel]
    /// Whether peers meet through folders of their own and a courier, or hand each other transactions.
    var hasFolders = false
    var steps: [Step] = []
}

extension Scenario {
    /// Whether something takes a store's place, so that what it had not published is gone for good.
    var hasRestores: Bool {
        steps.contains { step in
            switch step {
            case .restore, .copy: true
            default: false
            }
        }
    }

    /// Key columns by table, of those that come later too; all by their names in logs.
    var keys: [String: [String]] {
        var keys = schema.withSettings.keys
        for case .migrate(_, .createTable(let table)) in steps { keys[table.name] = table.key }
        return keys
    }

    /// Whether somebody may lie.
    var hasLies: Bool { features.contains(.lies) }

    /// Whether somebody does something to a folder.
    var hasFaults: Bool {
        steps.contains { step in
            if case .fault = step { true } else { false }
        }
    }
}

struct PeerModel: Sendable {
    enum Beginning: Sendable {
        case founds
        case clones
        /// Joins with a database that has rows.
        case joins
    }

    var name: String
    var beginning: Beginning
    /// What its database holds before it takes part.
    var rows: [String] = []
    var foreignKeysAreOn = false
    /// Milliseconds by which its clock is wrong.
    var skew: Int64 = 0
    /// Where the process dies that makes it a peer; another makes good what it left.
    var death: Death?
}

enum Step: Sendable {
    enum Ending: String, Sendable {
        case commit, rollback
        /// Written by a program that embeds logsync: recorded within its own transaction.
        case embedded
    }

    /// A program's transaction.
    case write(peer: Int, statements: [String], ending: Ending)
    /// Time goes by.
    case pass(milliseconds: Int64)
    /// A peer's clock is set.
    case skew(peer: Int, milliseconds: Int64)
    case record(peer: Int)
    /// What one peer has comes to another's folder.
    case send(from: Int, to: Int)
    /// Records and publishes, imports all that has come.
    case sync(peer: Int)
    case policy(peer: Int, target: String, policy: String)
    /// Something happens to a peer's folder; `choice` picks what of it.
    case fault(Fault, peer: Int, choice: UInt64)
    /// Somebody writes well-formed nonsense into a peer's folder; `choice` picks what.
    case lie(peer: Int, choice: UInt64)
    /// The next sync dies.
    case crash(Death, peer: Int)
    /// A peer publishes a snapshot.
    case snapshot(peer: Int)
    /// A peer collects what is older than so many days.
    case compact(peer: Int, days: Int)
    /// A store is backed up.
    case backUp(peer: Int, vacuums: Bool)
    /// A store's backup takes its place; with `losesState` what the machine knew of it is lost too.
    case restore(peer: Int, losesState: Bool)
    /// A store takes another's place, byte for byte.
    case copy(from: Int, to: Int, vacuums: Bool)
    /// A peer says of another that it takes part no more.
    case retire(by: Int, other: Int)
    /// A peer's program changes its store's schema.
    case migrate(peer: Int, Migration)
    /// Somebody settles a conflict or a parked row; `choice` picks which, and how.
    case settle(peer: Int, choice: UInt64)

    var peers: [Int] {
        switch self {
        case .write(let peer, _, _), .skew(let peer, _), .record(let peer), .sync(let peer), .policy(let peer, _, _),
            .fault(_, let peer, _), .lie(let peer, _), .crash(_, let peer), .settle(let peer, _),
            .migrate(let peer, _), .backUp(let peer, _), .restore(let peer, _), .snapshot(let peer),
            .compact(let peer, _):
            [peer]
        case .send(let from, let to), .copy(let from, let to, _), .retire(let from, let to): [from, to]
        case .pass: []
        }
    }
}

/// What a courier, or whoever keeps the folder, may do wrong.
enum Fault: String, CaseIterable, Sendable {
    case truncate, flipBit, remove, resurrect, conflictCopy, temporaryName, duplicate, wipe, rollBack, blank
}

/// Where a process dies.
struct Death: Sendable, Hashable {
    var kind: Crash
    /// The change at which it dies, from 1.
    var change: Int
    /// How much of that one is still made.
    var extent: Extent

    enum Extent: String, CaseIterable, Sendable { case none, half, whole }
}

enum Crash: String, CaseIterable, Sendable {
    /// At a change of a file outside the store.
    case fileSystem
    /// At a write, sync or truncation of the store.
    case store
    /// The same, and what was not synced is lost.
    case power
    /// At a change of a file outside the store, and what was not synced is lost.
    case fileSystemPower

    var isOfStore: Bool { self == .store || self == .power }
    var cutsPower: Bool { self == .power || self == .fileSystemPower }
}

extension Scenario: CustomStringConvertible {
    var description: String {
        var lines = ["seed \(seed)\(hasFolders ? ", with folders" : "")"]
        lines += schema.sql.map { "    \($0);" }
        for table in schema.tables where table.identity == .columns || table.keyIsRowid {
            lines.append(
                "    identity \(table.name)=\(table.identity == .columns ? table.key.joined(separator: ",") : "natural")"
            )
        }
        for table in schema.tables {
            for column in table.columns where !(column.reference?.isDeclared ?? true) {
                lines.append("    reference \(table.name).\(column.name)=\(column.reference?.parent ?? "")")
            }
        }
        lines += policies.map { "    policy \($0.target)=\($0.policy)" }
        for (index, peer) in peers.enumerated() {
            let details = [
                "\(peer.beginning)", peer.foreignKeysAreOn ? "foreign_keys on" : nil,
                peer.skew == 0 ? nil : "clock \(peer.skew) ms", peer.death.map { "dies at first (\($0))" },
            ].compactMap { $0 }
            lines.append("peer \(index) \(peer.name): \(details.joined(separator: ", "))")
            lines += peer.rows.map { "    \($0);" }
        }
        for (index, step) in steps.enumerated() { lines.append("\(index): \(step)") }
        return lines.joined(separator: "\n")
    }
}

extension Death: CustomStringConvertible {
    var description: String { "\(kind.rawValue), change \(change), \(extent.rawValue) of it made" }
}

extension Step: CustomStringConvertible {
    var description: String {
        switch self {
        case .write(let peer, let statements, let ending):
            "\(peer) writes\(ending == .commit ? "" : " (\(ending.rawValue))"): \(statements.joined(separator: "; "))"
        case .pass(let milliseconds): "\(milliseconds) ms pass"
        case .skew(let peer, let milliseconds): "\(peer)'s clock is set \(milliseconds) ms wrong"
        case .record(let peer): "\(peer) records"
        case .send(let from, let to): "\(from) → \(to)"
        case .sync(let peer): "\(peer) syncs"
        case .policy(let peer, let target, let policy): "\(peer) sets the policy \(target)=\(policy)"
        case .fault(let fault, let peer, let choice): "\(fault.rawValue) in \(peer)'s folder (\(choice))"
        case .lie(let peer, let choice): "a lie in \(peer)'s folder (\(choice))"
        case .crash(let death, let peer): "\(peer)'s next sync dies (\(death))"
        case .snapshot(let peer): "\(peer) publishes a snapshot"
        case .compact(let peer, let days): "\(peer) collects what is older than \(days) days"
        case .backUp(let peer, let vacuums): "\(peer)'s store is backed up\(vacuums ? " by VACUUM INTO" : "")"
        case .restore(let peer, let losesState):
            "\(peer)'s store is restored from its backup\(losesState ? ", its state files lost" : "")"
        case .settle(let peer, let choice): "\(peer) settles a conflict (\(choice))"
        case .copy(let from, let to, let vacuums):
            "\(from)'s store is copied over \(to)'s\(vacuums ? " by VACUUM INTO" : "")"
        case .migrate(let peer, let migration): "\(peer)'s program \(migration)"
        case .retire(let peer, let other): "\(peer) retires \(other)"
        }
    }
}
