import Foundation
import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore

/// The settings that a content already has, read from its logs before there is a store to import them into.
///
/// A store that joins has to identify rows as the others do from its first transaction on.
struct ContentSettings {
    private struct Entry {
        var value: String
        var time: HybridTime
        var dot: Dot
    }

    struct Key: Hashable, Comparable {
        var kind: String
        var target: String

        init?(_ identity: RowIdentity) {
            guard let parts = identity.naturalParts, parts.count == 2, case .text(let kind) = parts[0],
                case .text(let target) = parts[1]
            else { return nil }
            self.init(
                kind: String(decoding: kind, as: UTF8.self), target: String(decoding: target, as: UTF8.self))
        }

        init(kind: String, target: String) {
            self.kind = kind
            self.target = target
        }

        static func < (a: Key, b: Key) -> Bool { (a.kind, a.target) < (b.kind, b.target) }
    }

    private var entries: [Key: Entry] = [:]
    /// All that has been said of names, which is followed where schemas bear it out (``RenameEvidence``).
    private var renames: [Key: [Entry]] = [:]
    /// The settings of names that are not followed, with the reason, for anybody may write some.
    private(set) var unfollowed: [UnfollowedRename] = []
    /// What is followed and might be a lie, as sentences.
    private(set) var doubtfulRenames: [String] = []
    /// What the folder says against its snapshots.
    let doubts: SnapshotDoubts

    /// Reads the settings of the newest snapshot and of the transactions after it that change settings and that a store would
    /// import; snapshots that cannot be read, or that the folder contradicts, are passed over.
    ///
    /// What every store holds, because it is damaged, or lacks something, or is of the future, says nothing. But where nothing
    /// else says anything, what is of the future does: the founder's clock may be ahead, and it is a store that accepts it.
    ///
    /// No peer ever deletes a setting or empties it. Who does so all the same has no say: those who have gone by it since
    /// they were founded go on so, and who comes anew has to agree with them.
    ///
    /// - Throws: `containerUnavailable`, `noPermission`, `ioError`.
    init(_ scan: ContainerScan, _ library: ContentLibrary, _ configuration: SyncConfiguration) throws {
        doubts = SnapshotDoubts(scan, library)
        // Of settings, nothing is ever lost.
        let newest = try readNewest(library.snapshots.found(scan).sorted { $0.reach > $1.reach }, library.snapshots)
        let left = try Self.transactionsWithSettings(scan, library.logs, after: newest?.vector ?? VersionVector())
        for acceptsClocks in [false, true] where entries.isEmpty {
            try read(left, after: newest, scan, library, configuration, acceptsClocks: acceptsClocks)
        }
    }

    /// Reads the settings of transactions, in the order of an import that begins with a snapshot.
    ///
    /// - Parameter acceptsClocks: whether they may be of any time.
    private mutating func read(
        _ left: Set<Dot>, after newest: SnapshotManifest?, _ scan: ContainerScan, _ library: ContentLibrary,
        _ configuration: SyncConfiguration, acceptsClocks: Bool
    ) throws {
        var left = left
        var vector = newest?.vector ?? VersionVector()
        var chains = Dictionary(uniqueKeysWithValues: newest?.peers.map { ($0.id, $0.chain) } ?? [])
        let plan = ImportPlan(scan, except: PeerID(high: 0, low: 0), library: library, configuration: configuration)
        // No setting is a blob, and stores that have imported a transaction go by its settings, and its blobs may come later.
        plan.waitsForBlobs = false
        if acceptsClocks { for peer in scan.peers.keys { plan.acceptClock(of: peer) } }
        let latest =
            acceptsClocks ? .max : configuration.clock.now() + configuration.storeConfiguration.maximumDrift
        try plan.begin(vector: vector) { chains[$0] ?? .zero }
        while !left.isEmpty, let transaction = try plan.next() {
            let dot = transaction.header.dot
            if try take(transaction, latest, plan) {
                vector[dot.peer] = dot.sequence
                chains[dot.peer] = transaction.chain
                left.remove(dot)
            } else {
                try plan.begin(vector: vector) { chains[$0] ?? .zero }
            }
        }
    }

    /// Has names follow those settings alone which schemas in the folder bear out: of each the latest of these.
    mutating func checkRenames(_ scan: ContainerScan, _ folder: ContentFolder) throws {
        guard !renames.isEmpty else { return }
        let claims = renames.flatMap { key, said in
            said.map {
                RenameEvidence.Claim(kind: key.kind, target: key.target, value: $0.value, author: $0.dot.peer)
            }
        }
        let evidence = try RenameEvidence(scan, folder, claims)
        for (key, said) in renames.sorted(by: { $0.key < $1.key }) {
            entries[key] = nil
            for entry in said.sorted(by: { ($0.time, $0.dot) > ($1.time, $1.dot) }) {
                let claim = RenameEvidence.Claim(
                    kind: key.kind, target: key.target, value: entry.value, author: entry.dot.peer)
                guard evidence.bearsOut(claim) else {
                    unfollowed.append(
                        UnfollowedRename(
                            kind: key.kind, target: key.target, value: entry.value,
                            author: evidence.name(of: entry.dot.peer)))
                    continue
                }
                entries[key] = entry
                let isTable = entries[Key(kind: "identity", target: key.target)] != nil
                if let doubt = evidence.doubt(about: claim, isReplicated: isTable) { doubtfulRenames.append(doubt) }
                break
            }
        }
    }

    /// (kind, target, value), in order.
    var rows: [(kind: String, target: String, value: String)] {
        entries.sorted { $0.key < $1.key }.map { ($0.kind, $0.target, $1.value) }
    }

    func value(_ kind: String, _ target: String) -> String? {
        entries[Key(kind: kind, target: target)]?.value
    }

    // MARK: Snapshots

    /// Takes the settings of the first snapshot that can be read through, and returns what that says of itself.
    private mutating func readNewest(
        _ found: [FoundSnapshot], _ snapshots: SnapshotLibrary
    ) throws -> SnapshotManifest? {
        for snapshot in found {
            do {
                guard try snapshots.isIntact(snapshot.name, of: snapshot.peer) else { continue }
                guard try doubts.doubt(about: snapshot) == nil else { continue }
                for rows in try doubts.settings(of: snapshot) { take(rows, snapshot.manifest) }
                return snapshot.manifest
            } catch is LogFileError {
                // The next one, or the logs, will do.
                continue
            }
        }
        return nil
    }

    private mutating func take(_ rows: SnapshotRows, _ manifest: SnapshotManifest) {
        switch rows {
        case .plain(let rows):
            guard let column = rows.columns.first(where: { $0.name == "value" }) else { return }
            let exceptions = Dictionary(column.exceptions.map { ($0.row, $0.stamp) }) { first, _ in first }
            for (index, identity) in rows.identities.enumerated() {
                take(column.values?[index], of: identity, exceptions[index] ?? rows.stamps[index], manifest)
            }
        case .spelled(let rows):
            for row in rows.rows where !row.inserts.isEmpty {
                for version in row.cells.first(where: { $0.column == "value" })?.versions ?? [] {
                    take(version.value, of: row.identity, version.stamp, manifest)
                }
            }
        }
    }

    private mutating func take(
        _ value: Value?, of identity: RowIdentity, _ stamp: EntryStamp, _ manifest: SnapshotManifest
    ) {
        guard let key = Key(identity), case .text(let bytes)? = value else { return }
        let dot = Dot(manifest.peers[stamp.peer].id, stamp.sequence)
        note(key, Entry(value: String(decoding: bytes, as: UTF8.self), time: stamp.time, dot: dot))
        if let known = entries[key], (known.time, known.dot) > (stamp.time, dot) { return }
        entries[key] = Entry(value: String(decoding: bytes, as: UTF8.self), time: stamp.time, dot: dot)
    }

    // MARK: Logs

    /// The transactions that say in their ends that they have settings, as far as files are whole.
    private static func transactionsWithSettings(
        _ scan: ContainerScan, _ logs: LogLibrary, after vector: VersionVector
    ) throws -> Set<Dot> {
        var found: Set<Dot> = []
        for peer in scan.peers.values {
            let files = peer.logFiles
            var sequence = vector[peer.id] + 1
            while sequence <= files.reach {
                var isSound: Set<LogFileName> = []
                for file in peer.logs where file.name.covers(sequence) {
                    if case .sound = try logs.examine(file, of: peer.id) { isSound.insert(file.name) }
                }
                switch files.choice(for: sequence, where: isSound.contains) {
                case .file(let name):
                    try logs.reader(name, of: peer.id).forEachSummary { summary in
                        if summary.counts[SettingTable.name] != nil { found.insert(summary.header.dot) }
                    }
                    logs.forget(name, of: peer.id)
                    sequence = name.last + 1
                case .gap(let next): sequence = max(next, sequence + 1)
                case .end: sequence = files.reach + 1
                }
            }
        }
        return found
    }

    /// So many rows of a transaction are compared, to find one that it changes twice.
    private static let comparedRows = 1_000_000

    /// Takes the settings of a transaction; false where it is one that stores hold, which nothing is taken of.
    ///
    /// - Parameter latest: the latest time that it may have, in milliseconds since 1970.
    private mutating func take(_ transaction: IncomingTransaction, _ latest: Int64, _ plan: ImportPlan) throws -> Bool {
        var groups: [RowGroup] = []
        // By hashes: a first transaction has all rows of a database. Of more, honest peers insert each once as well.
        var (rows, isRefused): (Set<Int>, Bool) = ([], false)
        do {
            try transaction.forEachGroup { group in
                isRefused =
                    isRefused || group.latestTime.milliseconds > latest || RowIdentity.repeats(in: group.identities)
                // Several updates of a row are refused where they are of one column.
                if group.kind != .update || group.table == SettingTable.name {
                    for identity in group.identities where rows.count < Self.comparedRows {
                        var hasher = Hasher()
                        hasher.combine(group.table)
                        hasher.combine(identity)
                        isRefused = !rows.insert(hasher.finalize()).inserted || isRefused
                    }
                }
                guard group.table == SettingTable.name else { return }
                groups.append(group)
            }
        } catch  where plan.streamFailure != nil {
            // Another file may have it whole.
            plan.block(.damaged, "")
            return false
        }
        guard !isRefused else {
            plan.reject(.refused, "")
            return false
        }
        for group in groups { take(group, transaction.header.dot) }
        return true
    }

    private mutating func take(_ group: RowGroup, _ dot: Dot) {
        let column = group.columns.first { $0.name == "value" }
        for row in 0..<group.rowCount {
            guard let key = Key(group.identities[row]) else { continue }
            if group.kind != .delete, case .text(let bytes)? = column?.values[row] {
                note(key, Entry(value: String(decoding: bytes, as: UTF8.self), time: group.times[row], dot: dot))
            }
            if let known = entries[key], (known.time, known.dot) > (group.times[row], dot) { continue }
            guard group.kind != .delete, case .text(let bytes)? = column?.values[row] else { continue }
            entries[key] = Entry(value: String(decoding: bytes, as: UTF8.self), time: group.times[row], dot: dot)
        }
    }

    private mutating func note(_ key: Key, _ entry: Entry) {
        guard RenameEvidence.kinds.contains(key.kind),
            renames[key]?.contains(where: { $0.value == entry.value && $0.dot.peer == entry.dot.peer }) != true
        else { return }
        renames[key, default: []].append(entry)
    }

    // MARK: Flags

    /// Refuses options that contradict what the content has settled.
    ///
    /// - Throws: `configuration`.
    func check(_ options: InitializeOptions) throws {
        guard let first = options.contradictions(isSettled: false, value).first else { return }
        throw LogSyncError(
            .configuration, "the content has settled that \(first); nothing was done",
            help: "Leave that option out, or use logsync policy set afterwards")
    }
}

extension InitializeOptions {
    /// What contradicts these options, as clauses.
    ///
    /// - Parameters:
    ///   - isSettled: whether what is not set will not be set by them either.
    ///   - value: the content's settings, by kind and target.
    func contradictions(isSettled: Bool, _ value: (_ kind: String, _ target: String) -> String?) -> [String] {
        var found: [String] = []
        for (table, identity) in identities.sorted(by: { $0.key < $1.key }) {
            guard let settled = value("identity", table), settled != identity.setting else { continue }
            found.append("the rows of \(table) are identified as \(settled)")
        }
        for reference in references {
            let target = "\(reference.table).\(reference.column)"
            if let settled = value("reference", target) {
                if settled != reference.parent { found.append("\(target) refers to \(settled)") }
            } else if isSettled {
                found.append("\(target) was not said to refer to \(reference.parent)")
            }
        }
        for (target, policy) in policies {
            if let settled = value(Store.settingKind(ofPolicy: policy), target) {
                if settled != policy { found.append("the policy of \(target) is \(settled)") }
            } else if isSettled {
                found.append("the policy of \(target) was not set to \(policy)")
            }
        }
        for table in skip + local where value("identity", table) != nil { found.append("\(table) is replicated") }
        return found
    }
}

extension InitializeOptions.Identity {
    /// As the setting has it.
    fileprivate var setting: String {
        switch self {
        case .natural: return "natural"
        case .surrogate: return "surrogate"
        case .columns(let columns):
            // An array of strings can always be encoded.
            let list = (try? JSONEncoder().encode(columns)).map { String(decoding: $0, as: UTF8.self) } ?? ""
            return "columns=\(list)"
        }
    }
}
