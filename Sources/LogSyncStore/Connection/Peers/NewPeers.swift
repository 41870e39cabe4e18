import LogSyncModel
import LogSyncSQLite

/// How many peers of which nothing was known came today, by UTC.
///
/// Every peer is an entry in each receipt, vector and snapshot for ever, so who makes up peers by the thousand costs all
/// others for good. On the day on which a store is made it meets all that there are.
struct NewPeers {
    private static let fact = "new_peers"
    private static let dayLength: Int64 = 24 * 3600 * 1000

    let store: OpenStore

    private var today: Int64 { store.configuration.clock.now() / Self.dayLength }

    /// Notes that the first transactions of so many peers were merged, or a snapshot joined that stands for them.
    func add(_ number: Int = 1) throws {
        guard number > 0 else { return }
        try store.facts.set(Self.fact, .text("\(today) \(try count() + number)"))
    }

    /// How many came today; 0 where the store itself came today.
    func counted() throws -> Int {
        let created = try store.facts.value("created")?.asInteger ?? 0
        return created / Self.dayLength == today ? 0 : try count()
    }

    private func count() throws -> Int {
        let parts = try store.facts.text(Self.fact)?.split(separator: " ").compactMap { Int64($0) } ?? []
        return parts.count == 2 && parts[0] == today ? Int(clamping: parts[1]) : 0
    }
}
