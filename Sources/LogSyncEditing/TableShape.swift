import GRDB
import LogSyncStore

/// What columns a table has, by the names that it was declared with; records may write them otherwise.
struct TableShape: Sendable {
    let name: String
    let key: [String]
    /// The key where it is an integer, or the rowid: what it says may be another row at another time.
    let integerKey: String?
    /// The columns that hold the integer key of a row, and of which table.
    let pointers: [(column: String, parent: String)]
    private let names: [String: String]

    init(_ table: String, _ db: Database) throws {
        name = table
        let primaryKey = try db.primaryKey(table)
        key = primaryKey.columns
        integerKey = primaryKey.rowIDColumn
        names = Dictionary(
            (try db.columns(in: table).map(\.name) + key).map { ($0.lowercased(), $0) },
            uniquingKeysWith: { first, _ in first })
        pointers = try UndoReferences(table, db).pointers(db)
    }

    func values(_ record: [String: DatabaseValue]) -> [String: DatabaseValue] {
        Dictionary(
            record.map { (names[$0.lowercased()] ?? $0, $1) }, uniquingKeysWith: { first, _ in first })
    }

    /// - Throws: `DatabaseError` where a record does not say which row it is.
    func check(_ values: [String: DatabaseValue]) throws {
        guard key.allSatisfy({ values[$0].map { !$0.isNull } ?? false }) else {
            throw DatabaseError(
                resultCode: .SQLITE_MISUSE, message: "a record of \(name) without its primary key cannot be edited")
        }
    }

    /// Which row has the integer key that is among these values, as far as that is recorded; nil where the key itself says it.
    func identity(of values: [String: DatabaseValue], _ rows: ReturnedRows?, _ db: Database) throws -> DatabaseValue? {
        guard let rows, let integer = integerKey.flatMap({ values[$0] }), !integer.isNull else { return nil }
        return try rows.identity(at: integer, db)
    }
}
