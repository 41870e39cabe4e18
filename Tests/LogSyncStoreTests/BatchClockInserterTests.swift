import LogSyncModel
import LogSyncSQLite
import LogSyncState
import Testing

@testable import LogSyncStore

/// Records that are written many at a time are those that are written one by one.
struct BatchClockInserterTests {
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    /// What is in a record's row, and what it adds to the state digest.
    private struct Written: Equatable {
        var row: [Value]
        var share: UInt64
    }

    /// Writes the record of row 1 and takes it back.
    private func written(_ table: TrackedTable, _ store: OpenStore, _ write: () throws -> Void) throws -> Written {
        let before = store.stateDigest
        try write()
        defer { store.stateDigest = before }
        let rows = try store.connection.rows("SELECT * FROM \(table.clock) WHERE row = 1")
        try store.connection.execute("DELETE FROM \(table.clock) WHERE row = 1")
        return Written(row: try #require(rows.first), share: store.stateDigest &- before)
    }

    @Test func `a record is the same, whoever set the cells after its insert`() throws {
        let peer = try TestPeer(folder, "a", sql: "CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT, y TEXT)")
        try peer.store.database.write { store in
            let table = try #require(store.catalog["t"])
            let identity = RowIdentity(surrogate: [UInt8](repeating: 7, count: 16))
            func stamp(_ sequence: UInt64) -> Stamp {
                Stamp(peer: store.own, sequence: sequence, time: HybridTime(milliseconds: Int64(sequence)))
            }
            let (x, y) = (table.columns[0].id, table.columns[1].id)
            let (own, later, latest) = (stamp(1), stamp(2), stamp(3))
            let cases: [[Int: Stamp]] = [
                [:], [x: own], [x: later], [x: later, y: later], [x: own, y: own], [x: own, y: later],
                [x: later, y: latest],
            ]
            for cells in cases {
                let batched = try written(table, store) {
                    let inserter = try BatchClockInserter(table, store, own)
                    for position in table.columns.indices { inserter.digests[position] = UInt64(position + 5) }
                    identity.bytes.withUnsafeBytes { inserter.append(at: 1, identity: $0, own, cells: cells) }
                    #expect(try inserter.write().isEmpty)
                    try inserter.flush()
                }
                let single = try written(table, store) {
                    var state = RowClock(insertedBy: own, in: table)
                    for (column, stamp) in cells {
                        state.setCell(column, CellState(versions: [Version(stamp: stamp)]))
                    }
                    var digests = [UInt32](repeating: 0, count: table.columnCount)
                    var digest: UInt64 = 0
                    for (position, column) in table.columns.enumerated() {
                        digests[column.id] = UInt32(position + 5)
                        digest &+= Digest.mix(UInt64(position + 5), UInt64(column.id))
                    }
                    let record = ClockRecord(
                        state: state, digests: digests, digest: digest, identity: identity, key: nil, uniques: [])
                    _ = try ClockTable(table: table, connection: store.connection).insert(record, at: 1)
                    store.count(1, state, row: store.rowDigest(table, identity), table: table)
                }
                #expect(batched == single, "\(cells)")
            }
        }
    }
}
