import LogSyncModel
import LogSyncSQLite

/// A transaction that was handed out to be merged and cannot be, whatever else comes; nothing of its step was kept.
package struct RefusedTransaction: Error {
    /// As a sentence without its end.
    package var detail: String
    /// Whether its rows lie too far ahead of this machine's clock.
    package var isOfClock = false
}

extension RefusedTransaction {
    /// What merging threw, where the transaction is at fault and not the disk, a lock or the database.
    init?(_ error: LogSyncError, on connection: Connection) {
        let others: [LogSyncError.Code] = [
            .ioError, .locked, .noPermission, .cannotCreate, .noStore, .containerUnavailable, .newerFormat,
            .malformedLog,
        ]
        guard !others.contains(error.code), !connection.isCorrupt else { return nil }
        self.init(detail: error.message)
    }
}
