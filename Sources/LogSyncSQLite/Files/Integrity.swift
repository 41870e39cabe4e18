import LogSyncModel

/// What `PRAGMA integrity_check` finds, told apart: a database whose structure is damaged, and sound rows that break what
/// their table declares.
///
/// SQLite reports both in the same way, and two peers may well make a row together that breaks a CHECK.
/// Source: <https://www.sqlite.org/pragma.html#pragma_integrity_check>.
package struct Integrity {
    /// What says that the structure is damaged, the first of it.
    package private(set) var damage: [String] = []
    /// Rows that break a CHECK constraint, by table.
    package private(set) var brokenChecks: [String: Int] = [:]
    /// What says that a value is NULL or of another type than its column may hold, and how often it is said.
    package private(set) var unfitValues: [String: Int] = [:]

    /// Tables that could not be checked, because they use a collation, function or module that only their program has.
    package private(set) var unchecked: [String] = []

    /// Where the structure is damaged, a hundred complaints are enough.
    private static let limit = 100
    private static let brokenCheck = "CHECK constraint failed in "
    /// What SQLite says before `TABLE.COLUMN`: the latter two where a column of that affinity holds such a value.
    private static var unfit: Regex<(Substring, Substring)> { /(?:NULL|non-[A-Z]+|NUMERIC|TEXT) value in (.+)/ }

    /// Reads all of the database.
    package init(_ connection: Connection) throws {
        do {
            // The bound counts broken rows too, of which there may be more than that before the first damage.
            if try read(connection, upTo: Self.limit) == Self.limit, damage.isEmpty {
                self = Integrity()
                _ = try read(connection, upTo: Int(Int32.max))
            }
        } catch let error as LogSyncError where error.code == .invalidStore && !connection.isCorrupt {
            // One table that SQLite cannot read here keeps it from reading the others.
            self = Integrity()
            try readByTable(connection)
        }
        try takeBackNulls(connection)
    }

    private mutating func readByTable(_ connection: Connection) throws {
        for row in try connection.rows("SELECT name FROM main.sqlite_master WHERE type = 'table' ORDER BY name") {
            let name = String(text: row[0])
            do {
                _ = try read(connection, upTo: Int(Int32.max), of: name)
            } catch let error as LogSyncError where error.code == .invalidStore && !connection.isCorrupt {
                unchecked.append(name)
            }
        }
    }

    private static let null = "NULL value in "

    /// Takes back what is said of NULLs that are not there.
    ///
    /// NB: SQLite 3.40 says of a WITHOUT ROWID table whose key's columns are not its first that columns which may not be NULL
    /// are. It may go when no version that logsync runs with says so.
    private mutating func takeBackNulls(_ connection: Connection) throws {
        for complaint in unfitValues.keys where complaint.hasPrefix(Self.null) {
            let place = complaint.dropFirst(Self.null.count)
            // Either's name may have a dot in it.
            for dot in place.indices where place[dot] == "." {
                let (table, column) = (String(place[..<dot]), String(place[place.index(after: dot)...]))
                guard try TableSchema.read(table, on: connection)?.column(column) != nil else { continue }
                // Of `IS NULL` SQLite knows beforehand that it is not so.
                let isThere = try connection.integer(
                    "SELECT EXISTS(SELECT 1 FROM \(SQL.name(table)) WHERE typeof(\(SQL.name(column))) = 'null')")
                if isThere == 0 { unfitValues[complaint] = nil }
            }
        }
    }

    private init() {}

    /// - Returns: how many complaints there were.
    private mutating func read(_ connection: Connection, upTo limit: Int, of table: String? = nil) throws -> Int {
        let statement = try Statement(
            "PRAGMA integrity_check(\(table.map(SQL.literal) ?? String(limit)))", on: connection)
        var count = 0
        while damage.count < Self.limit, try statement.step() {
            count += 1
            add(String(text: statement.value(0)))
        }
        return count
    }

    private mutating func add(_ complaint: String) {
        if complaint == "ok" { return }
        if complaint.hasPrefix(Self.brokenCheck) {
            let table = String(complaint.dropFirst(Self.brokenCheck.count))
            if !Self.isOwn(table) { return brokenChecks[table, default: 0] += 1 }
        } else if let match = complaint.wholeMatch(of: Self.unfit) {
            if !Self.isOwn(match.1) { return unfitValues[complaint, default: 0] += 1 }
        }
        damage.append(complaint)
    }

    /// The tables that logsync keeps break nothing unless they are damaged.
    private static func isOwn(_ name: some StringProtocol) -> Bool { name.hasPrefix("logsync_") }
}
