import LogSyncModel
import LogSyncSQLite

/// What happened to a row, as triggers note it.
enum CaptureKind: Int64 {
    case insert = 1
    case update = 2
    case delete = 3
    /// The key moved away from here; the next row says where to.
    case rekeyedFrom = 4
    case rekeyedTo = 5
    /// Found by a comparison, not by a trigger.
    case found = 6
    /// Inserted by an undo of its deletion (``ReturnedRows``).
    case returned = 7
}

extension TrackedTable {
    /// Notes a row as possibly changed.
    ///
    /// - Parameter place: the row's rowid, or its key in a table without.
    func noteFound(at place: [Value], on connection: Connection) throws {
        let keys = capturesKey ? keyColumnNames.map { ", \(SQL.name($0))" }.joined() : ""
        let targets = capturesKey ? key.indices.map { ", k\($0)" }.joined() : ""
        let statement = try connection.prepare(
            """
            INSERT INTO \(pending)(kind, row, ms\(targets))
            SELECT \(CaptureKind.found.rawValue), \(hasRowid ? rowid : "NULL"), \(SQL.milliseconds)\(keys)
            FROM \(quoted) WHERE \(hasRowid ? "\(rowid) = ?" : keyCondition)
            """)
        for (index, value) in place.enumerated() { statement.bind(value, at: index + 1) }
        try statement.run()
    }
}
