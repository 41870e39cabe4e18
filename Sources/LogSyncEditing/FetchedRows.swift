import GRDB
import LogSyncStore

/// Rows of a table as they are in the store, each with what tells it from another one that may have its integer key later.
struct FetchedRows: Sendable {
    struct Fetched: Sendable {
        var values: [String: DatabaseValue]
        /// nil where the key says which row it is, or that is not recorded yet.
        var identity: DatabaseValue?
    }

    let shape: TableShape
    let rows: [Fetched]
    /// Whether of each it is known which row it is.
    let areIdentified: Bool

    /// - Parameter known: the table's columns, where they were asked for before.
    init(_ table: String, _ known: TableShape?, _ rows: (Database) throws -> [Row], _ db: Database) throws {
        let shape = try known ?? TableShape(table, db)
        let returned = try ReturnedRows(table, db)
        self.shape = shape
        self.rows = try rows(db).map { row in
            let values = Dictionary(row.map { ($0, $1) }, uniquingKeysWith: { first, _ in first })
            return Fetched(
                values: values, identity: try shape.identity(of: shape.values(values), returned, db))
        }
        areIdentified = returned?.isSurrogate != true || self.rows.allSatisfy { $0.identity != nil }
    }
}
