import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore
import Logging

extension Replicator {
    /// Finds what was changed behind the triggers' back and records it: after `sqlite3 .recover`, a restored table, a
    /// program that dropped the triggers or turned them off.
    ///
    /// Every row is compared with the digests kept with its clocks. What it records is published with the next
    /// ``sync()``. Of a table with a text key only a digest of each key is kept: rows of it that are gone are named from
    /// the logs in the outbox and the container, and rows that no log names are counted in ``RescanReport/nameless``, not
    /// passed over.
    ///
    /// - Throws: `containerUnavailable` where only the container could tell who the store is; `locked`; `ioError`.
    public func rescan() async throws -> RescanReport {
        try await step(settles: true) { store in
            // Without the container, its logs name no rows.
            let scan = try? store.scan()
            try settleIdentity(of: store, scan)
            let report = try store.rescan(scan)
            try store.identity.noteRecorded()
            return report
        }
    }
}

extension ReplicatedStore {
    fileprivate func rescan(_ scan: ContainerScan?) throws -> RescanReport {
        let prepared = try store.prepareRescan()
        let names = try prepared.unidentified.isEmpty ? [:] : names(of: prepared.unidentified, scan)
        let (captured, found, left) = try store.rescan(prepared, naming: names)
        for table in prepared.capturedAgain {
            logger.notice("\(place.path): the triggers of \(table) were gone; they are back")
        }
        func counts(_ recorded: RecordedTransaction?) -> [String: ChangeCounts] {
            (recorded?.counts ?? [:]).filter { $0.key != SettingTable.name }
        }
        return RescanReport(
            store: place.path,
            pending: counts(prepared.pending).merging(counts(captured)) { counts, more in
                var sum = counts
                sum += more
                return sum
            },
            found: counts(found),
            capturedAgain: prepared.capturedAgain,
            nameless: left.sorted { $0.key < $1.key }.map { RescanReport.Nameless(table: $0.key, rows: $0.value) },
            containerAvailable: scan != nil)
    }

    /// The identities that logs within reach give to rows of which the store has digests only.
    private func names(of rows: [UnidentifiedRows], _ scan: ContainerScan?) throws -> [String: Set<RowIdentity>] {
        let wanted = Dictionary(rows.map { ($0.table, $0) }, uniquingKeysWith: { first, _ in first })
        var names: [String: Set<RowIdentity>] = [:]
        func read(_ segment: SegmentReader) throws {
            while let groups = try segment.nextFrame() {
                for group in groups {
                    guard let rows = wanted[group.table] else { continue }
                    names[group.table, default: []].formUnion(group.identities.filter(rows.mayContain))
                }
            }
        }
        for transaction in try store.outbox(unpublishedOnly: false) {
            var blocks: [[UInt8]] = []
            try store.forEachOutboxBlock(of: transaction.dot) { blocks.append($0) }
            var rest = blocks[...]
            try read(
                SegmentReader(peer: transaction.dot.peer, previous: transaction.chainBefore) { rest.popFirst() })
        }
        for snapshot in scan.map(library.snapshots.found) ?? [] {
            do {
                let reader = try library.snapshots.reader(snapshot.name, of: snapshot.peer)
                while let rows = try reader.next() {
                    guard let sought = wanted[rows.table] else { continue }
                    names[rows.table, default: []].formUnion(rows.identities.filter(sought.mayContain))
                }
            } catch let error as LogFileError {
                logger.info("\(content.peer(snapshot.peer).path(snapshot.name)) was passed over: \(error)")
            }
        }
        for peer in scan?.peers.values.sorted(by: { $0.id < $1.id }) ?? [] {
            for file in peer.logs {
                do {
                    let reader = try library.logs.reader(file.name, of: peer.id)
                    while let segment = try reader.nextTransaction() { try read(segment) }
                } catch let error as LogFileError {
                    // Another file may hold the same; rows that none names are counted.
                    logger.info("\(content.peer(peer.id).path(file.name)) was passed over: \(error)")
                }
            }
        }
        return names
    }
}

extension SnapshotRows {
    fileprivate var identities: [RowIdentity] {
        switch self {
        case .plain(let rows): rows.identities
        case .spelled(let rows): rows.rows.map(\.identity)
        }
    }
}
