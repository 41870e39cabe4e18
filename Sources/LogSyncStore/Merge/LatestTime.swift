import LogSyncFormat
import LogSyncModel
import LogSyncSQLite

/// The latest time that rows of an incoming transaction may have.
///
/// Each row has a time of its own, which may be later than its transaction's: one with a time far ahead would win over
/// everything that is written until then. What is let in is noted (``OpenStore/latestTime``), because a row that is written
/// over such a row is no earlier than that.
struct LatestTime {
    private let store: OpenStore
    private let isAccepted: Bool
    /// In milliseconds since 1970.
    private let limit: Int64

    init(_ store: OpenStore, of header: TransactionHeader) {
        self.store = store
        isAccepted = store.peers[header.dot.peer]?.acceptsClock ?? false
        limit = store.timeLimit
        store.noteTime(header.time)
    }

    /// - Throws: ``RefusedTransaction`` where a row lies beyond.
    func check(_ group: RowGroup) throws {
        let latest = group.latestTime
        guard latest.milliseconds <= limit || isAccepted else {
            throw RefusedTransaction(
                detail:
                    "a row of \(group.table) has a time that lies \(((latest.milliseconds - limit) / 1000).counted("second")) beyond "
                    + "what this machine's clock allows", isOfClock: true)
        }
        store.noteTime(latest)
    }
}
