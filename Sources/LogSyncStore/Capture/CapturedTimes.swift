import LogSyncModel
import LogSyncSQLite

/// When triggers have noted rows as written, where these are told apart in another way since.
///
/// What was captured names rows by the key that they had. It is lost with that key, but not the time: without it an edit
/// from before the migration would count as made when logsync looked, and win over later ones of other peers.
struct CapturedTimes: Sendable, Equatable {
    private var byKey: [RowIdentity: Int64] = [:]
    private var byRowid: [Int64: Int64] = [:]

    var isEmpty: Bool { byKey.isEmpty && byRowid.isEmpty }

    /// - Parameters:
    ///   - pending: the table of what was captured.
    ///   - recorded: up to which number that is recorded.
    ///   - collations: of the columns of the key under which it was captured.
    ///   - records: the table of the clock records that there were, where a migration may have gone over all rows
    ///     (``CapturedPasses``): what programs had written by then was written before it.
    init(
        in pending: String, after recorded: Int64, _ collations: [Collation], migrating records: String? = nil,
        on connection: Connection
    ) throws {
        let passes = try records.map {
            try CapturedPasses(over: $0, in: pending, after: recorded, on: connection)
        }
        let names = try connection.rows("SELECT name FROM pragma_table_info(?)", .text(pending))
            .map { String(text: $0[0]) }
        let keys = collations.indices.map { "k\($0)" }
        let hasKey = !keys.isEmpty && keys.allSatisfy(names.contains) && !names.contains("k\(keys.count)")
        for row in try connection.rows(
            """
            SELECT ms, row, number\(hasKey ? keys.map { ", \($0)" }.joined() : "") FROM \(pending)
            WHERE number > ? AND kind <> \(Capture.Kind.found.rawValue) ORDER BY number
            """, .integer(recorded))
        {
            let milliseconds = row[0].asInteger
            guard !(passes?.contains(row[2].asInteger) ?? false) else { continue }
            if case .integer(let rowid) = row[1] { byRowid[rowid] = milliseconds }
            let parts = zip(row.dropFirst(3), collations).compactMap { KeyPart($0, collation: $1) }
            guard hasKey, parts.count == keys.count else { continue }
            byKey[RowIdentity(natural: parts)] = milliseconds
        }
    }

    /// - Parameters:
    ///   - keys: what the former key may have been, of the row's own values.
    ///   - rowid: the number that the row had; nil where nothing says that.
    subscript(keys keys: [RowIdentity], rowid rowid: Int64?) -> Int64? {
        for key in keys { if let time = byKey[key] { return time } }
        return byKey.isEmpty ? rowid.flatMap { byRowid[$0] } : nil
    }
}
