import LogSyncFormat
import LogSyncModel
import LogSyncSQLite

/// The latest time that rows of an incoming transaction may have.
///
/// Each row has a time of its own, which may be later than its transaction's: one with a time far ahead would win over
/// everything that is written until then. A row that was written over one from a clock that this store has let in is no
/// earlier than that one, and is let in, too.
struct LatestTime {
    private let store: OpenStore
    private let isAccepted: Bool
    /// In milliseconds since 1970.
    private let limit: Int64

    /// The key of the fact that says the latest time, in milliseconds, that came from an accepted clock.
    private static let fact = "latest_time"

    init(_ store: OpenStore, author: PeerID) throws {
        self.store = store
        isAccepted = store.peers[author]?.acceptsClock ?? false
        let (now, overflows) = store.configuration.clock.now().addingReportingOverflow(store.configuration.maximumDrift)
        limit = max(overflows ? .max : now, try store.facts.value(Self.fact)?.asInteger ?? 0)
    }

    /// - Throws: ``RefusedTransaction`` where a row lies beyond.
    func check(_ group: RowGroup) throws {
        var latest = group.times.max() ?? .zero
        for column in group.columns { latest = max(latest, column.times.max() ?? .zero) }
        guard latest.milliseconds > limit else { return }
        guard isAccepted else {
            throw RefusedTransaction(
                detail:
                    "a row of \(group.table) has a time that lies \((latest.milliseconds - limit) / 1000) seconds beyond "
                    + "what this machine's clock allows", isOfClock: true)
        }
        try store.facts.set(Self.fact, .integer(latest.milliseconds))
    }
}
