import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore

/// What the folder itself says against its snapshots, for who has no store yet to hold them against.
///
/// **The problem.** Who can write the folder can put a snapshot there that stands for everybody's transactions and holds
/// none of their rows. Its hashes are right, it adds up, and what it stands for is read from no log file any more.
///
/// **The steps.** A snapshot without any setting is doubted: the content's first transaction makes some, and none is ever
/// deleted. Where the log files are all there of what it stands for, from everybody's first transaction on, their ends say
/// how many rows they insert and delete: of the rows that one peer has inserted at least those are there that nobody's
/// deletes can have taken away. A snapshot with fewer is looked at again, and doubted where their identities say so, too:
/// a row that a program deletes and inserts in one transaction is inserted twice, and deleted by nobody.
///
/// **The exception.** Tables that its schema does not name, because they were renamed, and such as its author has lost
/// columns of, are not counted. Where log files are missing nothing can be told. A doubt that is wrong does no harm: it costs
/// the time in which the log files are read instead.
///
/// **An example.** A has inserted 3 notes and B has deleted 1; a snapshot that stands for both and has one note is doubted.
final class SnapshotDoubts {
    private let scan: ContainerScan
    private let library: ContentLibrary
    private var contents: [SnapshotName: Contents] = [:]

    private struct Contents {
        var settings: [SnapshotRows] = []
        var doubt: String?
    }

    init(_ scan: ContainerScan, _ library: ContentLibrary) {
        self.scan = scan
        self.library = library
    }

    /// Why a snapshot cannot be true; nil where nothing says so.
    ///
    /// - Throws: `LogFileError` where it cannot be read to its end.
    func doubt(about snapshot: FoundSnapshot) throws -> String? { try contents(of: snapshot).doubt }

    /// The rows of a snapshot that are settings.
    ///
    /// - Throws: `LogFileError` where it cannot be read to its end.
    func settings(of snapshot: FoundSnapshot) throws -> [SnapshotRows] { try contents(of: snapshot).settings }

    /// The snapshots that were doubted.
    var doubted: [SnapshotName] { contents.filter { $0.value.doubt != nil }.map(\.key).sorted() }

    private func contents(of snapshot: FoundSnapshot) throws -> Contents {
        if let known = contents[snapshot.name] { return known }
        var found = Contents()
        var held: [String: Int] = [:]
        let reader = try library.snapshots.reader(snapshot.name, of: snapshot.peer)
        while let rows = try reader.next() {
            held[rows.table.folded, default: 0] += Self.present(rows)
            if rows.table == SettingTable.name { found.settings.append(rows) }
        }
        if held[SettingTable.name, default: 0] == 0 {
            found.doubt = "it has none of the content's settings"
        } else {
            func lacking(_ changes: (PeerID, UInt64) -> [String: ChangeCounts]?) throws -> [String: Int] {
                try leastRows(of: snapshot, changes)?.filter { held[$0.key, default: 0] < $0.value } ?? [:]
            }
            let suspects = try lacking { changes(of: $0, upTo: $1) }
            if !suspects.isEmpty {
                let table = try lacking { distinctChanges(of: $0, upTo: $1, in: suspects) }.min { $0.key < $1.key }
                found.doubt = table.map {
                    "it has \(held[$0.key, default: 0]) rows of \($0.key), and the log files of what it stands for have "
                        + "\($0.value) at least"
                }
            }
        }
        contents[snapshot.name] = found
        return found
    }

    /// How many rows are there; a row that was only changed by those who had not seen its delete is none.
    private static func present(_ rows: SnapshotRows) -> Int {
        switch rows {
        case .plain(let plain): plain.identities.count
        case .spelled(let spelled): spelled.rows.count { !$0.inserts.isEmpty }
        }
    }

    /// How many rows a snapshot has to have by the log files, by the tables' folded names; nil where these do not tell.
    ///
    /// - Parameter changes: what a peer's transactions do, up to one of them.
    private func leastRows(
        of snapshot: FoundSnapshot, _ changes: (PeerID, UInt64) -> [String: ChangeCounts]?
    ) throws -> [String: Int]? {
        let lines = snapshot.vector.sequences.filter { $0.value > 0 }
        // Whether the first and the last are there is told by names alone.
        for (peer, sequence) in lines {
            guard let files = scan.peers[peer]?.logFiles, sequence <= files.reach, case .file = files.choice(for: 1)
            else { return nil }
        }
        var inserted: [String: Int] = [:]
        var deleted: [String: Int] = [:]
        for (peer, sequence) in lines {
            guard let sum = changes(peer, sequence) else { return nil }
            for (name, count) in sum {
                let table = name.folded
                inserted[table] = max(inserted[table] ?? 0, count.inserted)
                deleted[table] = Int(clamping: UInt64(deleted[table] ?? 0) + UInt64(max(0, count.deleted)))
            }
        }
        let named = try Store.columns(ofSchema: snapshot.manifest.schemaText)
        let lost = Set(snapshot.manifest.lost.map(\.table.folded))
        return inserted.filter { table, _ in
            table == SettingTable.name || named[table] != nil && !lost.contains(table)
        }.reduce(into: [:]) { $0[$1.key] = max(0, $1.value - (deleted[$1.key] ?? 0)) }
    }

    /// What a peer's transactions do in all, from the first one on; nil where their log files do not say it one after the
    /// other.
    private func changes(of peer: PeerID, upTo last: UInt64) -> [String: ChangeCounts]? {
        var sum: [String: ChangeCounts] = [:]
        let isWhole = forEachFile(of: peer, upTo: last) { reader, next in
            try reader.forEachSummary {
                guard $0.header.dot.sequence == next, next <= last else { return }
                for (table, count) in $0.counts { sum[table, default: ChangeCounts()] += count }
                next += 1
            }
        }
        return isWhole ? sum : nil
    }

    /// The same of some tables, by their folded names, where a row counts once, however often it is inserted.
    private func distinctChanges(
        of peer: PeerID, upTo last: UInt64, in tables: [String: Int]
    ) -> [String: ChangeCounts]? {
        /// By their hashes: rows of one hash count as one.
        var inserted: [String: Set<Int>] = [:]
        var sum: [String: ChangeCounts] = [:]
        let isWhole = forEachFile(of: peer, upTo: last) { reader, next in
            while let transaction = try reader.nextTransaction() {
                guard transaction.header.dot.sequence == next, next <= last else { continue }
                while let groups = try transaction.nextFrame() {
                    for group in groups where tables[group.table.folded] != nil {
                        switch group.kind {
                        case .insert: inserted[group.table, default: []].formUnion(group.identities.map(\.hashValue))
                        case .update: break
                        case .delete: sum[group.table, default: ChangeCounts()].deleted += group.identities.count
                        }
                    }
                }
                next += 1
            }
        }
        for (table, rows) in inserted { sum[table, default: ChangeCounts()].inserted = rows.count }
        return isWhole ? sum : nil
    }

    /// Goes through a peer's log files in the order of their transactions.
    ///
    /// - Parameter read: moves the sequence on that is to come next.
    /// - Returns: whether that is beyond the last by then.
    private func forEachFile(
        of peer: PeerID, upTo last: UInt64, _ read: (LogFileReader, _ next: inout UInt64) throws -> Void
    ) -> Bool {
        var next: UInt64 = 1
        let files = scan.peers[peer]?.logFiles ?? LogFileSet([])
        var bad: Set<LogFileName> = []
        while next <= last, case .file(let name) = files.choice(for: next, where: { !bad.contains($0) }) {
            let before = next
            // A file that cannot be read to its end says as much as was read.
            if let reader = try? library.logs.reader(name, of: peer) { try? read(reader, &next) }
            if next == before { bad.insert(name) }
        }
        return next > last
    }
}
