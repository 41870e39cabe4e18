import LogSyncModel
import LogSyncSQLite

/// The integers by which rows were named at the last recording, before a migration that has others name them by another key.
///
/// A reference was an integer in its row's record, and is a name now. Whether it names the row that it named, or a program
/// has written it, only the integer tells that this row had; and with the layout of its table's records that is gone.
struct FormerIntegers: Sendable, Equatable {
    /// By table id.
    private var integers: [Int64: [RowIdentity: Int64]] = [:]

    init() {}

    /// To be read before records are laid out anew.
    ///
    /// - Parameter former: the columns whose rows name others by another key than before.
    init(_ former: SchemaFindings.NamingChanges, in store: OpenStore) throws {
        for table in store.catalog.programTables {
            for column in table.columns where former[table.id]?[column.id] == .some(nil) {
                guard let parent = store.catalog.namedKey(column, in: table)?.parent, integers[parent.id] == nil else {
                    continue
                }
                var read: [RowIdentity: Int64] = [:]
                let records = try Statement(
                    "SELECT row, identity FROM \(parent.clock) WHERE identity IS NOT NULL", on: store.connection)
                while try records.step() {
                    if case .blob(let bytes) = records.value(1) {
                        read[RowIdentity(unchecked: bytes)] = records.integer(0)
                    }
                }
                integers[parent.id] = read
            }
        }
    }

    /// - Returns: nil where no row of the table was named by its integer.
    subscript(table: TrackedTable) -> [RowIdentity: Int64]? { integers[table.id] }

    mutating func formUnion(_ other: Self) {
        integers.merge(other.integers) { first, _ in first }
    }
}
