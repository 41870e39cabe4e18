import LogSyncModel

// Which rows are those of which clock records, where triggers named rows by rowids alone: in a table without a key, or of
// rows with a NULL in it.
//
// The problem. VACUUM numbers rows anew, from 1 and in their order; so does a rebuild, and so does a dump that is read in
// again. Nothing says whether one of them ran, nor before which of the writes that were captured. A row found by what it
// holds may be another one that holds the same, and one found by its place the row that came after a deleted one.
//
// The steps. What was captured is applied to the places of the records, as it was noted.
//
//   1. Where each row that is there has a place then, and each that nobody wrote holds what its record says, no row has
//      moved. Had one, its new place was free before: a write or a row would be where none can be.
//   2. Else all were numbered anew after some of the writes, if the same comes out so. Where it does after several, the one
//      counts that explains most rows.
//   3. Else, after a rebuild, whose triggers went before the rows did, what is left of the records and of the inserted rows
//      is matched to rows by what it holds and by order.
//   4. Else rows are found by what they hold. One that holds what no record says is new, and a record of no row is deleted.
//
// An example. Records 1 = a and 2 = b; captured are an insert at 3 and a delete at 1; after VACUUM there are 1 = b, 2 = c. No
// row can be at 1 unless rows were numbered anew after the delete: 2 became 1, and 3 became 2, which is new.

/// The places of rows that no key tells apart, between a table's clock records and its rows.
struct CapturedPlaces {
    struct Write {
        var kind: Capture.Kind
        var row: Int64
        var milliseconds: Int64
    }

    struct Match {
        /// The rows that have a record, by the numbers of both.
        var pairs: [(record: Int64, row: Int64)] = []
        /// Records of no row.
        var orphans: [Int64] = []
        /// When rows were last written, as far as that was captured.
        var times: [Int64: Int64] = [:]
        /// Whether each captured write names the row that it was of.
        var isUnmoved = false
    }

    /// In order of their numbers.
    let rows: [OrderedMatch.Side]
    let records: [OrderedMatch.Side]
    /// In the order in which they were captured.
    let writes: [Write]
    /// The ids of the columns that the table has now.
    let columns: [Int]

    /// - Parameter isRebuilt: whether the rows were copied into a table that had no triggers.
    func match(isRebuilt: Bool) -> Match {
        let places = places(renumberedAfter: nil)
        if isRebuilt { return matchInOrder(places) }
        if places.isPossible, explained(by: places) != nil {
            var match = self.match(places)
            match.isUnmoved = true
            return match
        }
        var best: (explained: Int, places: Places)?
        for count in renumberings().prefix(Self.bound) {
            let places = self.places(renumberedAfter: count)
            guard places.isPossible, let explained = explained(by: places), explained > best?.explained ?? -1 else {
                continue
            }
            best = (explained, places)
        }
        return best.map { match($0.places) } ?? matchByContent()
    }

    /// So many points at which rows may have been numbered anew are tried.
    private static let bound = 32

    // MARK: Replaying what was captured

    /// Who is where.
    private struct Places {
        struct Occupant {
            /// Its record, by index; nil where it has come since.
            var record: Int?
            /// When it was last written; nil where it was not.
            var milliseconds: Int64?
        }

        private(set) var occupants: [Int64: Occupant]
        /// Whether each write was of a row that was there.
        private(set) var isPossible = true

        init(_ records: [OrderedMatch.Side]) {
            occupants = Dictionary(
                uniqueKeysWithValues: records.enumerated().map { ($1.number, Occupant(record: $0)) })
        }

        mutating func apply(_ write: Write) {
            switch write.kind {
            case .insert, .returned, .rekeyedTo:
                // One that was there has been displaced.
                occupants[write.row] = Occupant(milliseconds: write.milliseconds)
            case .update:
                isPossible = isPossible && occupants[write.row] != nil
                occupants[write.row]?.milliseconds = write.milliseconds
            case .delete, .rekeyedFrom:
                isPossible = occupants.removeValue(forKey: write.row) != nil && isPossible
            case .found:
                break
            }
        }

        mutating func renumber() {
            let ordered = occupants.sorted { $0.key < $1.key }.map(\.value)
            occupants = Dictionary(uniqueKeysWithValues: zip(Int64(1)..., ordered).map { ($0, $1) })
        }
    }

    private func places(renumberedAfter count: Int?) -> Places {
        var places = Places(records)
        if count == 0 { places.renumber() }
        for (index, write) in writes.enumerated() {
            places.apply(write)
            if index + 1 == count { places.renumber() }
        }
        return places
    }

    /// How many rows nobody wrote, and hold what their records say; nil where one does not, or has no place.
    private func explained(by places: Places) -> Int? {
        var explained = 0
        for row in rows {
            guard let occupant = places.occupants[row.number] else { return nil }
            guard let record = occupant.record, occupant.milliseconds == nil else { continue }
            let known = records[record].digests
            guard columns.allSatisfy({ $0 >= known.count || known[$0] == row.digests[$0] }) else { return nil }
            explained += 1
        }
        return explained
    }

    /// After how many of the writes rows can have been numbered anew: as many rows as were there by then are, the later
    /// writes undone, at 1 and so on.
    private func renumberings() -> [Int] {
        var places = Places(records)
        var counts = [places.occupants.count]
        for write in writes {
            places.apply(write)
            guard places.isPossible else { break }
            counts.append(places.occupants.count)
        }
        var numbers = Set(rows.map(\.number))
        var sum = numbers.reduce(0, &+)
        var low = numbers.count { $0 < 1 }
        var found: [Int] = []
        for count in (0...writes.count).reversed() {
            let size = Int64(numbers.count)
            if count < counts.count, counts[count] == numbers.count, low == 0, sum == size * (size + 1) / 2 {
                found.append(count)
            }
            guard count > 0 else { break }
            let row = writes[count - 1].row
            switch writes[count - 1].kind {
            case .insert, .returned, .rekeyedTo:
                guard numbers.remove(row) != nil else { return found }
                sum &-= row
                low -= row < 1 ? 1 : 0
            case .update:
                guard numbers.contains(row) else { return found }
            case .delete, .rekeyedFrom:
                guard numbers.insert(row).inserted else { return found }
                sum &+= row
                low += row < 1 ? 1 : 0
            case .found:
                break
            }
        }
        return found
    }

    // MARK: Matching

    private func match(_ places: Places) -> Match {
        match(rows.map { ($0.number, places.occupants[$0.number]) })
    }

    private func match(_ found: [(row: Int64, occupant: Places.Occupant?)]) -> Match {
        var match = Match()
        var left = Set(records.indices)
        for (row, occupant) in found {
            guard let occupant else { continue }
            match.times[row] = occupant.milliseconds
            guard let record = occupant.record else { continue }
            left.remove(record)
            match.pairs.append((records[record].number, row))
        }
        match.orphans = left.sorted().map { records[$0].number }
        return match
    }

    private func matchInOrder(_ places: Places) -> Match {
        let ordered = places.occupants.sorted { $0.key < $1.key }
        let sides = ordered.map { number, occupant in
            OrderedMatch.Side(
                number: number, digests: occupant.record.map { records[$0].digests } ?? [],
                isWritten: occupant.milliseconds != nil)
        }
        let pairs = OrderedMatch(rows, sides, columns: columns).pairs
        return match(pairs.map { ($0.row, places.occupants[$0.record]) })
    }

    private func matchByContent() -> Match {
        let isCounted = writes.allSatisfy { $0.kind == .update }
        var times: [Int64: Int64] = [:]
        var named: Set<Int64> = []
        for write in writes {
            times[write.row] = write.milliseconds
            if write.kind != .update { named.insert(write.row) }
        }
        let found = OrderedMatch(rows, records, columns: columns, fillsGaps: isCounted, except: named)
        var match = Match(pairs: found.pairs, orphans: found.orphans)
        for pair in found.pairs { match.times[pair.row] = times[pair.record] }
        return match
    }
}
