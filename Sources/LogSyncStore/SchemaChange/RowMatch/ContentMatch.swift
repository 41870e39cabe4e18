import LogSyncModel
import LogSyncState

/// Which rows are those of which clock records, told by what both hold: where one row and one record alone hold it.
struct ContentMatch {
    let table: TrackedTable

    /// - Parameters:
    ///   - rows: the digests of their columns.
    ///   - records: the same, as far as a record knows the columns: it does not know later ones.
    ///   - isUnique: whether all of the columns have to be known.
    func pairs<ID: Hashable & Comparable>(
        _ rows: [ID: [UInt64]], _ records: [Int64: [UInt32]], by columns: [Int], isUnique: Bool
    ) -> [(row: ID, record: Int64)] {
        let columns = columns.sorted { table.columns[$0].id < table.columns[$1].id }
        let none = UInt32(truncatingIfNeeded: table.valueDigest.of(.null))
        /// By how many of the columns a record knows.
        var known: [Int: [[UInt32]: [Int64]]] = [:]
        for (record, digests) in records {
            let values = columns.map { table.columns[$0].id }.filter { $0 < digests.count }.map { digests[$0] }
            guard values.contains(where: { $0 != none }), !isUnique || values.count == columns.count else { continue }
            known[values.count, default: [:]][values, default: []].append(record)
        }
        var pairs: [(row: ID, record: Int64)] = []
        for (count, records) in known {
            var indexes: [[UInt32]: [ID]] = [:]
            for (index, digests) in rows {
                indexes[columns.prefix(count).map { UInt32(truncatingIfNeeded: digests[$0]) }, default: []].append(
                    index)
            }
            for (values, found) in records where found.count == 1 {
                if let indexes = indexes[values], indexes.count == 1 { pairs.append((indexes[0], found[0])) }
            }
        }
        // Records that know less than others may say the same of a row.
        let times = Dictionary(grouping: pairs, by: \.row)
        return pairs.filter { times[$0.row]?.count == 1 }.sorted { $0.row < $1.row }
    }

    /// Rows and records of which several hold the same, as many of the one as of the other: nothing tells them apart but
    /// their order, which a rebuild keeps, and nothing is lost where it did not. Records that do not know a later column are
    /// matched by the columns that all of them know, once the others have their rows.
    func alike<ID: Hashable & Comparable>(
        _ rows: [ID: [UInt64]], _ records: [Int64: [UInt32]], by columns: [Int]
    ) -> [(row: ID, record: Int64)] {
        let columns = columns.sorted { table.columns[$0].id < table.columns[$1].id }
        func known(_ digests: [UInt32]) -> Int { columns.prefix { table.columns[$0].id < digests.count }.count }
        let whole = alike(rows, records.filter { known($0.value) == columns.count }, inFirst: columns[...])
        let taken = (rows: Set(whole.map(\.row)), records: Set(whole.map(\.record)))
        let records = records.filter { !taken.records.contains($0.key) }
        let rows = rows.filter { !taken.rows.contains($0.key) }
        let least = records.values.map(known).min() ?? 0
        return whole + (least > 0 ? alike(rows, records, inFirst: columns.prefix(least)) : [])
    }

    private func alike<ID: Hashable & Comparable>(
        _ rows: [ID: [UInt64]], _ records: [Int64: [UInt32]], inFirst columns: ArraySlice<Int>
    ) -> [(row: ID, record: Int64)] {
        var found: [[UInt32]: [Int64]] = [:]
        for (record, digests) in records {
            found[columns.map { digests[table.columns[$0].id] }, default: []].append(record)
        }
        var indexes: [[UInt32]: [ID]] = [:]
        for (index, digests) in rows {
            indexes[columns.map { UInt32(truncatingIfNeeded: digests[$0]) }, default: []].append(index)
        }
        return found.flatMap { values, records -> [(row: ID, record: Int64)] in
            guard let rows = indexes[values], rows.count == records.count else { return [] }
            return zip(rows.sorted(), records.sorted()).map { ($0, $1) }
        }
    }
}
