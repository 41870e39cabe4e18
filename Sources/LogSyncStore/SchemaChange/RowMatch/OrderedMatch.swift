import LogSyncModel

/// Which rows are those of which clock records, where no key tells: in a table without one, or of rows with a NULL in it.
///
/// Whatever numbers rows anew (VACUUM, a rebuild by create, copy, drop and rename) keeps their order. So a row is that of a
/// record that says the same, as far as the record knows the columns; and rows that were written meanwhile are told by their
/// places between those. Rowids say it where no row has got another.
struct OrderedMatch {
    /// A row or a record: its number, and the digests of what it holds, by column id.
    struct Side {
        var number: Int64
        var digests: [UInt32]
        /// Whether it holds something else by now, as far as was captured.
        var isWritten = false
    }

    /// The rows that have a record, by the numbers of both.
    private(set) var pairs: [(record: Int64, row: Int64)] = []
    /// Records of no row.
    private(set) var orphans: [Int64] = []

    /// - Parameters:
    ///   - rows: in order; with the digests of all columns.
    ///   - records: in order; with the digests that they know.
    ///   - columns: the ids of the columns that the table has now.
    ///   - fillsGaps: whether places between rows that are known tell others.
    ///   - numbers: at which a row is not that of the record.
    init(
        _ rows: [Side], _ records: [Side], columns: [Int], fillsGaps: Bool = true, except numbers: Set<Int64> = []
    ) {
        var rowOfRecord = Self.same(rows, records, columns)
        let isOrdered = zip(rowOfRecord.compactMap(\.self), rowOfRecord.compactMap(\.self).dropFirst())
            .allSatisfy { $0 < $1 }
        let isMoved = rowOfRecord.indices.contains { index in
            rowOfRecord[index].map { rows[$0].number != records[index].number } ?? false
        }
        let isAnySame = rowOfRecord.contains { $0 != nil }
        if fillsGaps, isOrdered, isMoved || !isAnySame && rows.count == records.count {
            Self.fillGaps(&rowOfRecord, rows.count)
        } else if !isMoved {
            let taken = Set(rowOfRecord.compactMap(\.self))
            var rowAt: [Int64: Int] = [:]
            for (index, row) in rows.enumerated() where !taken.contains(index) { rowAt[row.number] = index }
            for index in records.indices
            where rowOfRecord[index] == nil && !numbers.contains(records[index].number) {
                rowOfRecord[index] = rowAt[records[index].number]
            }
        }
        for (index, record) in records.enumerated() {
            if let row = rowOfRecord[index] {
                pairs.append((record.number, rows[row].number))
            } else {
                orphans.append(record.number)
            }
        }
    }

    /// By record, the row that holds the same: the one of its number, or the first that is left. Records of rows
    /// that were written come last.
    private static func same(_ rows: [Side], _ records: [Side], _ columns: [Int]) -> [Int?] {
        var rowOfRecord = [Int?](repeating: nil, count: records.count)
        var isTaken = [Bool](repeating: false, count: rows.count)
        for isWritten in [false, true] {
            let asked = records.indices.filter { records[$0].isWritten == isWritten }
            same(rows, records, asked, columns, &rowOfRecord, &isTaken)
        }
        return rowOfRecord
    }

    private static func same(
        _ rows: [Side], _ records: [Side], _ all: [Int], _ columns: [Int], _ rowOfRecord: inout [Int?],
        _ isTaken: inout [Bool]
    ) {
        for count in Set(all.map { records[$0].digests.count }).sorted(by: >) {
            let known = columns.filter { $0 < count }
            guard !known.isEmpty else { continue }
            var left: [[UInt32]: [Int]] = [:]
            let numbers = Dictionary(rows.enumerated().map { ($1.number, $0) }) { first, _ in first }
            func values(_ side: Side) -> [UInt32] { known.map { side.digests[$0] } }
            let asked = all.filter { records[$0].digests.count == count }
            for index in asked {
                guard let row = numbers[records[index].number], !isTaken[row],
                    values(rows[row]) == values(records[index])
                else { continue }
                rowOfRecord[index] = row
                isTaken[row] = true
            }
            for index in rows.indices.reversed() where !isTaken[index] {
                left[values(rows[index]), default: []].append(index)
            }
            for index in asked where rowOfRecord[index] == nil {
                guard let row = left[values(records[index])]?.popLast() else { continue }
                rowOfRecord[index] = row
                isTaken[row] = true
            }
        }
    }

    /// Between two rows that are known there are as many rows as records: they are each other's. After the last one, further
    /// rows are new.
    private static func fillGaps(_ rowOfRecord: inout [Int?], _ rowCount: Int) {
        var record = 0
        var row = 0
        while record <= rowOfRecord.count {
            let end = rowOfRecord[record...].firstIndex { $0 != nil } ?? rowOfRecord.count
            let isLast = end == rowOfRecord.count
            let rowEnd = isLast ? rowCount : rowOfRecord[end] ?? rowCount
            let (records, rows) = (end - record, rowEnd - row)
            if rows == records || isLast && rows > records {
                for offset in 0..<records { rowOfRecord[record + offset] = row + offset }
            }
            (record, row) = (end + 1, rowEnd + 1)
        }
    }
}
