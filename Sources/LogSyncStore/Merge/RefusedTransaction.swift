import LogSyncModel
import LogSyncSQLite

/// A transaction that was handed out to be merged and cannot be, whatever else comes; nothing of its step was kept.
package struct RefusedTransaction: Error {
    /// As a sentence without its end.
    package var detail: String
    /// Whether its rows lie too far ahead of this machine's clock.
    package var isOfClock = false
    /// Whether it makes sense, and its table needs something that only its own program has, or has an index that allows other
    /// rows on each peer.
    package var isOfProgram = false
    /// Whether it makes sense, and a trigger of this store's program refuses a row of it.
    package var isOfTrigger = false
}

extension RefusedTransaction {
    /// A row for which its table cannot be made ready.
    package init(_ unready: UnreadyTable) {
        detail =
            switch unready.need {
            case .identities: "the rows of \(unready.table) have other keys than they can have here"
            case .withoutTrigger(let name, let reason): "the trigger \(name) fails (\(reason))"
            case .reference(let column, let parent): "\(unready.table).\(column) cannot refer to \(parent) here"
            }
    }

    /// What merging threw, where the transaction is at fault and not the disk, a lock or the database.
    init?(_ error: LogSyncError, on connection: Connection) throws {
        let others: [LogSyncError.Code] = [
            .ioError, .locked, .noPermission, .cannotCreate, .noStore, .containerUnavailable, .newerFormat,
            .malformedLog,
        ]
        guard !others.contains(error.code), !connection.isCorrupt else { return nil }
        if let lacking = ProgramDefinition(lackedBy: error.message) {
            self.init(detail: try lacking.obstacle(on: connection), isOfProgram: true)
        } else {
            self.init(
                detail: error.message, isOfProgram: error.code == .unsupportedTable,
                isOfTrigger: AppTriggers.isRefusal(error, on: connection))
        }
    }
}

extension OpenStore {
    /// What merging threw, where a trigger is at fault that may be left out: nobody has relied on it here yet.
    func withoutFailedTrigger(_ error: LogSyncError) throws -> UnreadyTable? {
        guard isBeingFilled, let copy = connection.failedTrigger, let name = AppTriggers.name(ofCopy: copy),
            try RefusedTransaction(error, on: connection) != nil
        else { return nil }
        return UnreadyTable(table: "", need: .withoutTrigger(name, reason: error.message))
    }

    /// Runs `body`, which writes rows of a snapshot.
    func blamingTriggers<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as LogSyncError {
            throw try withoutFailedTrigger(error) ?? error
        }
    }
}
