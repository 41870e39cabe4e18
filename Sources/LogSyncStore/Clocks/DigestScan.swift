import LogSyncSQLite

/// Finds the records that have certain key digests, asked for in ascending order.
///
/// Each is looked for from where the last one was: digests that stand close together are read one after the other, and
/// beyond the last one of the table nothing is read at all.
struct DigestScan {
    private let statement: Statement
    /// The next entry that has not been taken; nil where there is none any more.
    private var next: (digest: Int64, row: Int64)?
    private var taken: (digest: Int64, rows: [Int64])?

    /// How many entries are read before the table is searched instead: as far as it led there lately.
    private var reach = 1
    private static let farthest = 8

    init(_ table: TrackedTable, on connection: Connection) throws {
        statement = try connection.prepare(
            "SELECT digest, row FROM \(table.unique) WHERE digest >= ? ORDER BY digest, row")
        try seek(Int64(Int32.min))
    }

    /// The records with a digest, which is none below that of the call before.
    mutating func rows(with digest: Int32) throws -> [Int64] {
        let digest = Int64(digest)
        if let taken, taken.digest == digest { return taken.rows }
        var steps = 0
        while let next, next.digest < digest {
            if steps < reach { try read() } else { try seek(digest) }
            steps += 1
        }
        if steps > reach { reach = 1 } else if steps > 0 { reach = min(reach * 2, Self.farthest) }
        var rows: [Int64] = []
        while let next, next.digest == digest {
            rows.append(next.row)
            try read()
        }
        taken = (digest, rows)
        return rows
    }

    /// Ends the search; nothing is found from here on.
    mutating func finish() {
        next = nil
        statement.reset()
    }

    private mutating func seek(_ digest: Int64) throws {
        statement.reset()
        statement.bind(digest, at: 1)
        try read()
    }

    private mutating func read() throws {
        next = try statement.step() ? (statement.integer(0), statement.integer(1)) : nil
    }
}
