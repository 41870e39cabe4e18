import Foundation
import LogSyncFormat
import LogSyncModel
import LogSyncSQLite
import Testing

@testable import LogSyncStore

/// A copy of a peer's store on which the same is done with batches off.
final class GeneralWay {
    let store: Store
    private let app: Connection

    init(of peer: TestPeer) throws {
        // As it is, rowids and all, which VACUUM INTO might give anew.
        #expect(try peer.app.rows("PRAGMA wal_checkpoint(TRUNCATE)").first?.first == .integer(0))
        let path = peer.folder.path + "/general-\(UUID().uuidString).db"
        try FileManager.default.copyItem(atPath: peer.path, toPath: path)
        var configuration = peer.configuration
        configuration.batches = false
        store = try Store.open(path, configuration: configuration)
        app = try TestPeer.open(path)
    }

    deinit { TestPeer.close(app) }

    /// Expects that this store holds and shows what the peer's does, and has recorded the same.
    func compare(with peer: TestPeer, sourceLocation: SourceLocation) throws {
        let (own, other) = (try store.audit(), try peer.store.audit())
        #expect(own.problems == [], sourceLocation: sourceLocation)
        #expect(own.shown == other.shown, sourceLocation: sourceLocation)
        #expect(try store.vector() == peer.vector(), sourceLocation: sourceLocation)
        #expect(try store.summary().digest == peer.digest(), sourceLocation: sourceLocation)
        let entries = try store.outbox(unpublishedOnly: false)
        #expect(try entries.map(\.dot) == peer.store.outbox(unpublishedOnly: false).map(\.dot))
        for (entry, twin) in zip(entries, try peer.store.outbox(unpublishedOnly: false)) where entry.chain != twin.chain
        {
            // In another order.
            #expect(try store.changes(of: entry) == peer.store.changes(of: twin), sourceLocation: sourceLocation)
        }
    }

    /// Expects that a recording has left the same clock records and beside them, number by number.
    func compareRecords(with peer: TestPeer, sourceLocation: SourceLocation) throws {
        // A setting that a recording makes is captured at the time of day.
        let settings = "(SELECT id FROM logsync_table WHERE name = 'logsync_setting')"
        let names = try app.rows(
            """
            SELECT name FROM sqlite_schema WHERE type = 'table' AND (name IN
                ('logsync_table', 'logsync_kept', 'logsync_reserved', 'logsync_shown', 'logsync_store')
                OR name GLOB 'logsync_clock_*' OR name GLOB 'logsync_unique_*' OR name GLOB 'logsync_pending_*')
                AND name NOT IN ('logsync_clock_' || \(settings), 'logsync_pending_' || \(settings))
            """)
        for name in names.map({ String(text: $0[0]) }) {
            let sql = "SELECT * FROM \(SQL.name(name)) ORDER BY 1, 2"
            #expect(try app.rows(sql) == peer.app.rows(sql), "\(name)", sourceLocation: sourceLocation)
        }
    }
}

extension TestPeer {
    /// Does something to this peer's store and, where the folder compares ways, to a copy with batches off; expects that
    /// both are left with the same.
    ///
    /// - Parameter isNeeded: whether there may be something to do.
    func bothWays<Result>(
        where isNeeded: Bool = true, sourceLocation: SourceLocation = #_sourceLocation,
        _ body: (Store) throws -> Result
    ) throws -> Result {
        guard folder.comparesWays, try isNeeded || store.hasPendingChanges() else { return try body(store) }
        let general = try GeneralWay(of: self)
        let result = try body(store)
        _ = try body(general.store)
        try general.compare(with: self, sourceLocation: sourceLocation)
        if let recorded = result as? RecordedTransaction? {
            #expect(recorded == nil || recorded?.counts.isEmpty == false)
            try general.compareRecords(with: self, sourceLocation: sourceLocation)
        }
        return result
    }
}

extension Store {
    func blocks(of dot: Dot) throws -> [[UInt8]] {
        var blocks: [[UInt8]] = []
        try forEachOutboxBlock(of: dot) { blocks.append($0) }
        return blocks
    }

    /// A transaction's row changes.
    func groups(of entry: OutboxTransaction) throws -> [RowGroup] {
        var queue = try blocks(of: entry.dot)[...]
        let reader = try SegmentReader(peer: entry.dot.peer, previous: entry.chainBefore) { queue.popFirst() }
        var groups: [RowGroup] = []
        while let frame = try reader.nextFrame() { groups += frame }
        return groups
    }

    /// The same, row by row in any order, as text; settings without their times.
    func changes(of entry: OutboxTransaction) throws -> [String] {
        var changes: [String] = []
        for group in try groups(of: entry) {
            for row in 0..<group.rowCount {
                let integer = group.integers.isEmpty ? "" : " at \(group.integers[row].map(String.init) ?? "none")"
                let cells = group.columns.map { column in
                    let time = column.times.isEmpty ? "" : " at \(column.times[row])"
                    let base = column.bases.isEmpty ? "" : " on \(column.bases[row])"
                    return "\(column.name) \(column.operation) \(column.values[row])\(time)\(base)"
                }
                changes.append(
                    "\(group.kind) \(group.table) \(group.identities[row])\(integer) "
                        + (group.table == "logsync_setting" ? "" : "\(group.times[row]): ")
                        + cells.joined(separator: ", "))
            }
        }
        return changes.sorted()
    }
}
