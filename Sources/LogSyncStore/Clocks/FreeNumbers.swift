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
    private let connection: Connection
    private var last: Int64

    /// - Parameter places: where numbers are taken that may not be given.
    init(besides places: [Place], on connection: Connection) throws {
        self.places = places
        self.connection = connection
        let least = try places.compactMap {
            try connection.integer(
                "SELECT min(\($0.column)) FROM \($0.table) WHERE \($0.column) > ?", .integer(Self.half))
        }
        last = min(least.min() ?? 0, 0)
    }

    mutating func next() throws -> Int64 {
        repeat {
            // So many rows no table has.
            last -= 1
        } while try last <= Self.half && isTaken(last)
        return last
    }

    private func isTaken(_ number: Int64) throws -> Bool {
        try places.contains {
            try connection.integer(
                "SELECT 1 FROM \($0.table) WHERE \($0.column) = ? LIMIT 1", .integer(number)) != nil
        }
    }
}
