import Foundation
import LogSyncContainer
import LogSyncModel
import LogSyncStore

/// Whether published schemas bear out what settings say of names: that a table or column of the schema is another one in
/// logs (`rename`), or what each column of a table is (`columns`).
///
/// Anybody who can write the folder may write such a setting, and a clone that follows it shows columns exchanged, or a table
/// empty. A store finds a rename between the schema that it had and the one that it has, and publishes both. So a setting is
/// followed where
///
/// 1. its author has published a schema in which the names are as it says, and one in which they are not, or
/// 2. there are schemas, of any peers, of which one has the name in logs alone and another the new one alone, or
/// 3. names have gone on from one to the other, and the last is left for a table or column that no schema ever had under its
///    name in logs, which leaves the schema as it was, or
/// 4. its author is not in the folder any more.
///
/// Two schemas may be a lie as well. What a liar gains by them is said: names that stand for one another (``doubt(about:isReplicated:)``).
struct RenameEvidence {
    struct Claim {
        var kind: String
        var target: String
        var value: String
        var author: PeerID
    }

    static let kinds: Set = ["rename", "columns"]

    private typealias Tables = [String: [String]]

    private var peers: [PeerID: String]
    /// Each peer's schemas: the tables in order, and their columns.
    private var published: [PeerID: [(order: [String], tables: Tables)]] = [:]
    private var all: [Tables] { published.values.joined().map(\.tables) }
    /// The schemas that peers have now; of a peer that does not say which, all of its.
    private var present: [Tables] = []
    /// What a table of logs may be called, by its name there.
    private var localNames: [String: Set<String>] = [:]
    /// What tables have been called in logs, by what they were called.
    private var logNames: [String: Set<String>] = [:]
    /// What columns of a list have been called in logs, by the table with that list, and by what they were called.
    private var listedNames: [[String]: [String: Set<String>]] = [:]

    init(_ scan: ContainerScan, _ folder: ContentFolder, _ claims: [Claim]) throws {
        peers = scan.peers.mapValues { $0.description.value?.name ?? $0.id.description }
        var known: [SchemaFingerprint: SchemaOutline] = [:]
        for peer in scan.peers.values {
            for file in peer.schemas {
                if known[file.name.fingerprint] == nil, let text = folder.schema(file.name, of: peer.id) {
                    known[file.name.fingerprint] = try Store.outline(ofSchema: text)
                }
                guard let outline = known[file.name.fingerprint], !outline.isEmpty else { continue }
                let tables = Dictionary(outline.map { ($0.table, $0.columns) }) { first, _ in first }
                published[peer.id, default: []].append((outline.map(\.table), tables))
                let now = peer.description.value?.schema
                if now == nil || now == file.name.fingerprint { present.append(tables) }
            }
        }
        for claim in claims {
            guard claim.kind == "rename" else {
                guard case .columns(let table, let local, let log) = columns(claim, claim.target.folded) else {
                    continue
                }
                let said = Dictionary(zip(local, log.map { Set([$0]) })) { $0.union($1) }
                listedNames[[table] + local, default: [:]].merge(said) { $0.union($1) }
                continue
            }
            localNames[claim.value.folded, default: []].insert(claim.target.folded)
            logNames[claim.target.folded, default: []].insert(claim.value.folded)
        }
    }

    func name(of peer: PeerID) -> String { peers[peer] ?? peer.description }

    func bearsOut(_ claim: Claim) -> Bool {
        // It left before: who wrote that is not to be told any more.
        guard peers[claim.author] != nil else { return true }
        return subjects(of: claim).contains { bearsOut($0, claim.author) }
    }

    private func bearsOut(_ subject: Subject, _ author: PeerID) -> Bool {
        let own = published[author] ?? []
        switch subject {
        case .table(let local, let log):
            return local == log || Set(own.map(\.order)).count > 1
                || all.contains { $0[log] != nil && $0[local] == nil }
                    && all.contains { $0[local] != nil && $0[log] == nil }
                || own.contains { tables in
                    HandedNames(tables.order, logNames, known: Set(all.flatMap(\.keys))).contain(local, log)
                }
        case .column(let table, let local, let log):
            let names = names(of: table)
            func has(_ tables: Tables, _ column: String, without other: String) -> Bool {
                names.contains { tables[$0]?.contains(column) == true && tables[$0]?.contains(other) == false }
            }
            return local == log
                || names.contains { name in
                    own.contains { $0.tables[name]?.contains(local) == true }
                        && Set(own.map { $0.tables[name] }).count > 1
                }
                || all.contains { has($0, log, without: local) } && all.contains { has($0, local, without: log) }
        case .columns(let table, let local, let log):
            let names = names(of: table)
            let moved = local.indices.filter { local[$0] != log[$0] }
            return moved.isEmpty
                || names.contains { name in
                    own.contains { $0.tables[name] == local } && Set(own.map { $0.tables[name] }).count > 1
                }
                || all.contains { tables in
                    names.contains { name in
                        guard let columns = tables[name] else { return false }
                        return moved.allSatisfy { $0 < columns.count && columns[$0] == log[$0] }
                    }
                }
                || names.contains { name in
                    guard own.contains(where: { $0.tables[name] == local }) else { return false }
                    let known = Set(all.flatMap { $0[name] ?? [] })
                    let handed = HandedNames(local, listedNames[[table] + local] ?? [:], known: known)
                    return moved.allSatisfy { handed.contain(local[$0], log[$0]) }
                }
        case .nothing: return true
        }
    }

    /// What has to be said of a setting that is followed: that a name stands for something that is itself called otherwise, or
    /// was. Another peer's word is all that tells.
    ///
    /// - Parameter isReplicated: whether logs have a table under the name that the setting is about.
    func doubt(about claim: Claim, isReplicated: Bool) -> String? {
        for case let what? in subjects(of: claim).map({ doubt(about: claim, $0, isReplicated: isReplicated) }) {
            return what
                + ", as \(name(of: claim.author)) says. A migration that renames does that, and nothing has to be done; only "
                + "where its program has had none, look whether the values here stand where they should"
        }
        return nil
    }

    private func doubt(about claim: Claim, _ subject: Subject, isReplicated: Bool) -> String? {
        switch subject {
        case .table(let local, let log):
            guard local != log, isReplicated else { return nil }
            return "the table \(claim.target) is the one that was called \(claim.value)"
        case .column(let table, let local, let log):
            let names = names(of: table)
            // Where no schema has the other name any more, nothing else can be shown under this one.
            guard local != log,
                present.contains(where: { tables in
                    names.contains { tables[$0].map { $0.contains(local) && $0.contains(log) } ?? false }
                })
            else { return nil }
            return "the column \(claim.target) is the one that was called \(claim.value)"
        case .columns(let table, let local, let log):
            guard local.indices.contains(where: { local[$0] != log[$0] && local.contains(log[$0]) }) else {
                return nil
            }
            return
                "the columns \(local.joined(separator: ", ")) of \(table) are those that were called \(log.joined(separator: ", "))"
        case .nothing: return nil
        }
    }

    private enum Subject {
        case table(local: String, log: String)
        case column(table: String, local: String, log: String)
        case columns(table: String, local: [String], log: [String])
        /// No schema can follow it.
        case nothing
    }

    /// What a setting may mean where dots stand in names: each reading that some schema has, and all readings where no schema has
    /// any.
    private func subjects(of claim: Claim) -> [Subject] {
        let target = claim.target.folded
        guard claim.kind == "rename" else { return [columns(claim, target)] }
        let log = claim.value.folded
        let table = Subject.table(local: target, log: log)
        let readings = ColumnName.readings(of: target)
        let isThere = readings.map { name in
            names(of: name.table).contains { table in all.contains { $0[table]?.contains(name.column) == true } }
        }
        let named = all.contains { $0[target] != nil }
        let isAny = named || isThere.contains(true)
        let columns = zip(readings, isThere).filter { $1 || !isAny }
            .map { name, _ in Subject.column(table: name.table, local: name.column, log: log) }
        return (named || columns.isEmpty ? [table] : []) + columns
    }

    private func columns(_ claim: Claim, _ target: String) -> Subject {
        guard let space = target.firstRange(of: " ["),
            let local = Self.list(target[target.index(after: space.lowerBound)...]),
            let log = Self.list(claim.value[...]), local.count == log.count
        else { return .nothing }
        return .columns(table: String(target[..<space.lowerBound]), local: local, log: log.map(\.folded))
    }

    private static func list(_ text: Substring) -> [String]? {
        try? JSONDecoder().decode([String].self, from: Data(text.utf8))
    }

    private func names(of table: String) -> Set<String> { (localNames[table] ?? []).union([table]) }
}
