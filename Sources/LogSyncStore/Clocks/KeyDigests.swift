import LogSyncModel
import LogSyncSQLite

/// Digests of keys by which records are found, collected so that they are written or removed in their own order: one by
/// one they would scatter over their table.
struct KeyDigests {
    private var entries: [Entry] = []

    private struct Entry {
        var digest: Int32
        var row: Int64
    }

    /// How many are written at a time.
    private static let batch = 1024

    @inline(__always)
    mutating func append(_ digest: Int32, row: Int64) { entries.append(Entry(digest: digest, row: row)) }

    /// Takes back what was appended of some rows.
    mutating func forget(_ rows: Set<Int64>) { entries.removeAll { rows.contains($0.row) } }

    mutating func write(to table: TrackedTable, on connection: Connection) throws {
        guard !entries.isEmpty else { return }
        sort()
        let statement = try connection.prepare(table.insertUniques, readingRowsOf: 2)
        let batch = RowsParameter(width: 2)
        for entry in entries {
            batch.append(Int64(entry.digest))
            batch.append(entry.row)
            if batch.count == Self.batch { try write(batch, with: statement, on: connection) }
        }
        try write(batch, with: statement, on: connection)
        entries.removeAll(keepingCapacity: true)
    }

    private func write(_ batch: RowsParameter, with statement: Statement, on connection: Connection) throws {
        // What is refused is there: two keys of one row may have one digest.
        _ = try batch.write(with: statement, on: connection)
        batch.removeAll()
    }

    mutating func remove(from table: TrackedTable, on connection: Connection) throws {
        guard !entries.isEmpty else { return }
        sort()
        let statement = try connection.prepare(table.deleteUnique)
        for entry in entries {
            statement.bind(Int64(entry.digest), at: 1)
            statement.bind(entry.row, at: 2)
            try statement.run()
        }
        entries.removeAll(keepingCapacity: true)
    }

    private mutating func sort() {
        entries.sort { $0.digest == $1.digest ? $0.row < $1.row : $0.digest < $1.digest }
    }
}
