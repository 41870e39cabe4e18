// Which columns have exchanged their names in a rebuild that has also put columns in another order.
//
// The problem. `INSERT INTO t_new(k, w, b, a) SELECT k, w, a, b FROM t` renames `a` to `b` and `b` to `a`, and moves all
// three. Afterwards neither names nor places say which column is which: values do, and a program may also have changed
// some of them meanwhile, or put one column's values right by another's.
//
// The steps. Rows that hold what a record says, each column under its own name, are set aside. In the others a column
// may be another one of its type that holds as much of what the records have of it. Of the renamings that come into
// question (the one that the places suggest, the one that gives each column the most of its values, and each exchange
// of two) that one is taken under which the most columns have most of their values, and the most rows hold what a
// record says, in all columns that have stayed and in the moved ones. Rows that hold the same in the columns in
// question count for nothing, since they are the same either way. Two more may be exchanged beside these, as flags
// that hold the same values in other rows.
//
// The rule. Columns are renamed where twice as many rows say so as say that names have stayed, in three different ways at
// least; three rows are enough where places say the same. Where fewer do, but more than the others, nothing decides. All
// else are columns that are what they are called, and values that were written.
//
// An example. Records (1, a1, b1) and (2, a2, b2) of `k, a, b`; rows (1, b1, a1) and (2, b2, x) of `k, b, a` by name: one
// row speaks for an exchange and none against, which is too few.

/// What rows and records, in the columns whose names were there before and after, say of a rebuild.
struct ExchangedNames {
    enum Finding: Equatable {
        case none
        /// By column, which one it is now.
        case renamed([Int])
        case undecided([Int])
    }

    /// By column as it was, which others it may be now.
    private let choices: [[Int]]
    /// Digests by column, of rows and records that do not hold the same under the same names.
    private var rows: [[UInt32]] = []
    private var records: [[UInt32]] = []
    /// Those of records that rows repeat.
    private var repeated: [[UInt32]] = []
    private let none: UInt32

    /// So many comparisons of values take no time that anybody notices.
    private static let comparisons = 20_000_000
    /// So many exchanges of two columns are tried.
    private static let exchanges = 32

    /// - Parameters:
    ///   - rows: digests by column, by the names that the columns have now.
    ///   - records: the same, by the names that they had.
    ///   - none: the digest of NULL, which says nothing.
    init(rows: [[UInt32]], records: [[UInt32]], choices: [[Int]], none: UInt32) {
        self.choices = choices
        self.none = none
        var unmatched = Self.counted(rows)
        for record in records {
            if Self.take(record, from: &unmatched) { repeated.append(record) } else { self.records.append(record) }
        }
        self.rows = rows.filter { Self.take($0, from: &unmatched) }
        let pairs = choices.reduce(choices.count) { $0 + $1.count }
        let most = max(1_000, Self.comparisons / max(1, pairs))
        self.rows = Array(self.rows.prefix(most))
        self.records = Array(self.records.prefix(most))
    }

    /// - Parameter places: by column, which one is at its place among them.
    func finding(places: [Int]) -> Finding {
        guard !rows.isEmpty, !records.isEmpty else { return .none }
        let values = Values(self)
        let byValues = values.renaming(places)
        let exchanges = Array(values.exchanges.prefix(Self.exchanges))
        var best: (renaming: [Int], score: Score)?
        for renaming in [places, byValues].compactMap(\.self) + exchanges where isPossible(renaming) {
            let score = score(renaming, values)
            if score.renamed > score.named, best?.score.isLess(than: score) ?? true { best = (renaming, score) }
        }
        if let (renaming, score) = best, score.isClear,
            renaming == places || score.distinct >= SchemaReconciliation.few
        {
            return withOthers(renaming, score, exchanges, values)
        }
        // Where each row has been changed in one of the columns, the others say it.
        if isPossible(places), values.areClear(places) { return .renamed(places) }
        if let best { return .undecided(best.renaming) }
        // Few rows say too little to decide, and too much to let columns be what they are called.
        let likely = [byValues, places].compactMap(\.self).first {
            isPossible($0) && values.areClear($0, from: 1) && score($0, values).named == 0
        }
        return likely.map { .undecided($0) } ?? .none
    }

    /// Columns may have exchanged their names beside those of which it is clear, and hold so few different values that only
    /// rows tell it.
    private func withOthers(_ renaming: [Int], _ score: Score, _ exchanges: [[Int]], _ values: Values) -> Finding {
        var (renaming, score, isClear) = (renaming, score, true)
        for exchange in exchanges {
            let moved = exchange.indices.filter { exchange[$0] != $0 }
            guard moved.allSatisfy({ renaming[$0] == $0 }) else { continue }
            var further = renaming
            for column in moved { further[column] = exchange[column] }
            let found = self.score(further, values)
            guard found.renamed > score.renamed else { continue }
            isClear = isClear && found.renamed - score.renamed >= SchemaReconciliation.few
            (renaming, score) = (further, found)
        }
        return isClear ? .renamed(renaming) : .undecided(renaming)
    }

    private func isPossible(_ renaming: [Int]) -> Bool {
        let moved = renaming.indices.filter { renaming[$0] != $0 }
        return !moved.isEmpty && moved.allSatisfy { choices[$0].contains(renaming[$0]) }
    }

    // MARK: Rows

    /// How many rows hold what a record says.
    private struct Score {
        var renamed = 0
        var named = 0
        /// How many columns have most of their values.
        var columns = 0
        /// How many different rows are among those for a renaming, in the columns that it moves.
        var distinct = 0

        var isClear: Bool { renamed >= SchemaReconciliation.few && named * 2 < renamed }

        func isLess(than other: Score) -> Bool { (columns, renamed) < (other.columns, other.renamed) }
    }

    private func score(_ renaming: [Int], _ values: Values) -> Score {
        let moved = renaming.indices.filter { renaming[$0] != $0 }
        let columns = moved + renaming.indices.filter { renaming[$0] == $0 && values.isMost($0, as: $0) }
        /// Whether a record says something else if the columns are renamed.
        func tells(_ record: [UInt32]) -> Bool { moved.contains { record[$0] != record[renaming[$0]] } }
        var asRenamed = Self.counted(rows.map { row in columns.map { row[renaming[$0]] } })
        var asNamed = Self.counted(rows.map { row in columns.map { row[$0] } })
        var score = Score()
        var distinct: Set<[UInt32]> = []
        for record in records where tells(record) {
            let held = columns.map { record[$0] }
            if Self.take(held, from: &asRenamed) {
                score.renamed += 1
                distinct.insert(Array(held.prefix(moved.count)))
            }
            if Self.take(held, from: &asNamed) { score.named += 1 }
        }
        score.named += repeated.count(where: tells)
        score.distinct = distinct.count
        score.columns = renaming.indices.count { values.isMost($0, as: renaming[$0]) }
        return score
    }

    private static func counted<Key: Hashable>(_ keys: [Key]) -> [Key: Int] {
        Dictionary(keys.map { ($0, 1) }, uniquingKeysWith: +)
    }

    private static func take<Key: Hashable>(_ key: Key, from counts: inout [Key: Int]) -> Bool {
        guard let count = counts[key], count > 0 else { return false }
        counts[key] = count - 1
        return true
    }

    // MARK: Values

    /// How many values of each column the rows have in the columns that it may be, in any order.
    private struct Values {
        private let choices: [[Int]]
        /// By column of the records and of the rows.
        private var same: [[Int: Int]]
        /// By column, how many values records have.
        private let known: [Int]

        init(_ names: ExchangedNames) {
            choices = names.choices
            let present = names.choices.indices.map { column in ExchangedNames.counted(names.rows.map { $0[column] }) }
            same = []
            var known: [Int] = []
            for column in names.choices.indices {
                var values = ExchangedNames.counted(names.records.map { $0[column] })
                values[names.none] = nil
                known.append(values.values.reduce(0, +))
                let others = [column] + names.choices[column]
                same.append(
                    Dictionary(
                        uniqueKeysWithValues: others.map { other in
                            (other, values.reduce(0) { $0 + min($1.value, present[other][$1.key] ?? 0) })
                        }))
            }
            self.known = known
        }

        private func of(_ column: Int, as other: Int) -> Int { same[column][other] ?? 0 }

        /// Whether most of what records have of a column is there, if it is another one.
        func isMost(_ column: Int, as other: Int) -> Bool { of(column, as: other) * 2 > known[column] }

        /// Whether so many values at least say by themselves that columns are renamed.
        func areClear(_ renaming: [Int], from few: Int = SchemaReconciliation.few) -> Bool {
            let moved = renaming.indices.filter { renaming[$0] != $0 }
            let renamed = moved.reduce(0) { $0 + of($1, as: renaming[$1]) }
            return renamed >= few && moved.reduce(0) { $0 + of($1, as: $1) } * 2 < renamed
        }

        /// Each column as the one that has the most of its values; one of which none has any is the one that is left.
        func renaming(_ places: [Int]) -> [Int]? {
            var renaming = choices.indices.map { column -> Int? in
                let most = same[column].values.max() ?? 0
                guard most > 0 else { return known[column] == 0 ? column : nil }
                let first = [column, places[column]].first { of(column, as: $0) == most }
                return first ?? choices[column].first { of(column, as: $0) == most }
            }
            let open = renaming.indices.filter { renaming[$0] == nil }
            let left = Set(renaming.indices).subtracting(renaming.compactMap(\.self)).sorted()
            if open.count == 1, left.count == 1 { renaming[open[0]] = left[0] }
            // Those of which nothing is known stay what they are called, where nothing else is.
            for column in open where renaming[column] == nil && left.contains(column) { renaming[column] = column }
            let found = renaming.compactMap(\.self)
            return Set(found).count == choices.count ? found : nil
        }

        /// The exchanges of two columns of which each has at least as many values of the other.
        var exchanges: [[Int]] {
            choices.indices.flatMap { column in
                choices[column].filter { other in
                    other > column && mayBe(column, other) && mayBe(other, column)
                }.map { other in
                    var renaming = Array(choices.indices)
                    renaming.swapAt(column, other)
                    return renaming
                }
            }
        }

        private func mayBe(_ column: Int, _ other: Int) -> Bool {
            choices[column].contains(other) && of(column, as: other) >= max(1, of(column, as: column))
        }
    }
}
