import LogSyncModel
import LogSyncSQLite

/// Row numbers that nothing has, for records and rows to stand at while others are where they go.
///
/// They go down from the lowest that there is. Programs' rows may have any integers, the least of all included: numbers below
/// the lower half count one by one, as they are met.
struct FreeNumbers {
    /// A table's column that has row numbers.
    struct Place {
        var table: String
        var column = "row"
    }

    private static let half = Int64.min / 2

    private let places: [Place]
    private let numbers: Set<Int64>
    private let connection: Connection
    private var last: Int64

    /// - Parameters:
    ///   - places: where numbers are taken that may not be given.
    ///   - numbers: others that may not be given either, as those to which records are about to go.
    init(besides places: [Place], and numbers: some Sequence<Int64> = [], on connection: Connection) throws {
        self.places = places
        self.numbers = Set(numbers.lazy.filter { $0 <= Self.half })
        self.connection = connection
        let taken = try places.compactMap {
            try connection.integer(
                "SELECT min(\($0.column)) FROM \($0.table) WHERE \($0.column) > ?", .integer(Self.half))
        }
        let given = numbers.lazy.filter { $0 > Self.half }.min()
        last = min(taken.min() ?? 0, given ?? 0, 0)
    }

    mutating func next() throws -> Int64 {
        repeat {
            // So many rows no table has.
            last -= 1
        } while try last <= Self.half && isTaken(last)
        return last
    }

    private func isTaken(_ number: Int64) throws -> Bool {
        try numbers.contains(number)
            || places.contains {
                try connection.integer(
                    "SELECT 1 FROM \($0.table) WHERE \($0.column) = ? LIMIT 1", .integer(number)) != nil
            }
    }
}
