/// A place where a program notes which integers it has given to rows of a table, because it does not let SQLite number
/// them: Core Data's `Z_PRIMARYKEY.Z_MAX`, Hibernate's `hibernate_sequence.next_val`.
///
/// It is kept above the integers of rows that come from other peers, in the transaction that brings these.
public struct ProgramAllocator: Hashable, Sendable, Codable {
    /// What a column of the noted row holds.
    public enum Key: Hashable, Sendable, Codable {
        case integer(Int64)
        case text(String)

        public init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let integer = try? container.decode(Int64.self) {
                self = .integer(integer)
            } else {
                self = .text(try container.decode(String.self))
            }
        }

        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .integer(let integer): try container.encode(integer)
            case .text(let text): try container.encode(text)
            }
        }
    }

    /// The table in which the program notes it.
    public var table: String
    /// The column that holds the integer.
    public var column: String
    /// The columns that say which row it is, with what they hold; empty where there is only one row.
    public var key: [String: Key]
    /// The table whose rows get the integers.
    public var countedTable: String
    /// Its column that holds them: an INTEGER PRIMARY KEY, or the first of a UNIQUE index.
    public var countedColumn: String
    /// By how much it is to be above the greatest integer: 0 where the last one given is noted, 1 where the next one is.
    public var ahead: Int64

    public init(
        table: String, column: String, key: [String: Key] = [:], countedTable: String, countedColumn: String,
        ahead: Int64 = 0
    ) {
        self.table = table
        self.column = column
        self.key = key
        self.countedTable = countedTable
        self.countedColumn = countedColumn
        self.ahead = ahead
    }

    /// What it counts, which it alone does.
    package var target: String { "\(countedTable).\(countedColumn)" }
}
