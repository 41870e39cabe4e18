@testable import LogSyncStore
import Testing

@Suite("Which record a row without a key has")
struct OrderedMatchTests {
    private func sides(_ sides: [(Int64, [UInt32])]) -> [OrderedMatch.Side] {
        sides.map { OrderedMatch.Side(number: $0.0, digests: $0.1) }
    }

    private func match(
        _ rows: [(Int64, [UInt32])], _ records: [(Int64, [UInt32])], columns: [Int] = [0]
    ) -> (pairs: [[Int64]], orphans: [Int64]) {
        let match = OrderedMatch(sides(rows), sides(records), columns: columns)
        return (match.pairs.map { [$0.record, $0.row] }, match.orphans)
    }

    @Test("What holds the same, whatever its number and the columns that came since")
    func same() {
        let found = match([(1, [7, 0]), (2, [9, 0])], [(1, [7]), (2, [8]), (3, [9])], columns: [0, 1])
        #expect(found.pairs == [[1, 1], [3, 2]] && found.orphans == [2])
    }

    @Test("Of rows that hold the same, each has one record")
    func multiset() {
        let found = match([(1, [7]), (2, [7]), (3, [7])], [(2, [7]), (5, [7])])
        #expect(found.pairs == [[2, 2], [5, 1]] && found.orphans.isEmpty)
    }

    @Test("A row that was written is told by its place, where rows have other numbers")
    func gap() {
        let found = match([(1, [1]), (2, [33]), (3, [4])], [(2, [1]), (4, [3]), (6, [4])])
        #expect(found.pairs == [[2, 1], [4, 2], [6, 3]])
        // One was deleted and one written: it is not said which.
        let unclear = match([(1, [1]), (2, [33]), (3, [5])], [(2, [1]), (4, [3]), (5, [4]), (6, [5])])
        #expect(unclear.pairs == [[2, 1], [6, 3]] && unclear.orphans == [4, 5])
        // After the last that is known, further rows are new.
        let last = match([(1, [1]), (2, [33]), (3, [6])], [(2, [1]), (4, [3])])
        #expect(last.pairs == [[2, 1], [4, 2]])
    }

    @Test("A row that was written is told by its number, where no row has another")
    func number() {
        let found = match([(1, [1]), (4, [44])], [(1, [1]), (3, [3]), (4, [4])])
        #expect(found.pairs == [[1, 1], [4, 4]] && found.orphans == [3])
    }

    @Test("Rows that all hold something else are told by their order, where there are as many")
    func none() {
        #expect(match([(1, [1]), (2, [2])], [(1, [10]), (3, [20])]).pairs == [[1, 1], [3, 2]])
        #expect(match([(1, [1]), (3, [2])], [(1, [10]), (2, [15]), (3, [20])]).pairs == [[1, 1], [3, 3]])
    }
}
