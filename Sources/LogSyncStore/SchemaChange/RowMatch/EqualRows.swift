import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Records of rows whose former keys are one under the key that a migration gives to their table: it ignores case or spaces
/// from now on, or has lost a column.
///
/// A migration keeps one of such rows (`INSERT OR IGNORE`), another one on another peer that reads them in another order. Each
/// would delete what the other has kept, and none would be left. So the row that is kept, whichever it is, goes on as the
/// oldest of them, which is the same on all peers, and the others are deleted.
struct EqualRows {
    /// The place of the oldest record, by those of all that are equal to it.
    private var oldest: [Int64: Int64] = [:]

    /// - Parameters:
    ///   - spelled: the records of rows whose keys spelled something else than their identities, by what they spelled.
    ///   - deleted: the records of rows that the program had deleted before its migration.
    init(
        of table: TrackedTable, after former: FormerKey?, _ records: FormerRecords, _ spelled: [RowIdentity: Int64],
        except deleted: Set<Int64>, in store: OpenStore
    ) throws {
        guard let former, former.kind == .natural, !former.isInteger, table.kind == .natural, !table.key.isEmpty
        else { return }
        let names = former.names.map(\.folded)
        let parts = table.key.compactMap { key in names.firstIndex(of: table.columns[key.index].name.folded) }
        let collations = table.key.map(\.collation)
        guard parts.count == collations.count, parts.count < names.count || collations != former.collations else {
            return
        }
        let first = store.catalog.keys.firstKey(of: table.name)
        let isFirst = first == nil || first?.map(\.folded) == names
        let keys = Dictionary(spelled.map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
        var groups: [RowIdentity: [(place: Int64, since: Stamp, identity: RowIdentity)]] = [:]
        for place in try store.connection.rows("SELECT row FROM \(records.name)").map(\.[0].asInteger) {
            guard !deleted.contains(place), let record = try records.record(at: place, store.connection),
                let identity = record.named, let former = (keys[place] ?? identity).naturalParts,
                keys[place] != nil || isFirst && !KeyHistory.isOfLaterKey(former), former.count == names.count,
                let since = record.state.insertEntries.min(by: { store.precedes($0, $1) })
            else { continue }
            let key = zip(parts, collations).compactMap { KeyPart(former[$0].value, collation: $1) }
            groups[RowIdentity(natural: key), default: []].append((place, since, identity))
        }
        for rows in groups.values where rows.count > 1 {
            let first = rows.min { a, b in
                a.since == b.since ? a.identity < b.identity : store.precedes(a.since, b.since)
            }
            for row in rows { oldest[row.place] = first?.place }
        }
    }

    /// The record as which the row of a record goes on.
    func heir(of record: Int64) -> Int64 { oldest[record] ?? record }
}
