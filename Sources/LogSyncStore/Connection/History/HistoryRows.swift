import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Which rows transactions changed, under the keys that these have or had in this store: kept beside the history
/// (``History``), because nothing else knows the keys of rows that are gone, or of what another process imported.
///
/// As many keys are kept as did-import lists (``TableChanges/maximumKeys``), and ``maximumBytes`` a transaction.
struct HistoryRows {
    let connection: Connection

    /// What the rows of one transaction may take; of the tables that have no room only the counts are kept.
    private static let maximumBytes = 1 << 20

    /// The key of the fact that says which token is the first whose rows are not forgotten.
    static let start = "history_start"

    func keep(_ tables: [String: TableChanges], of token: Int64) throws {
        try connection.run(
            "UPDATE logsync_transaction SET rows = ?2 WHERE token = ?1", .integer(token),
            .blob(Self.encode(tables)[...]))
    }

    /// Keeps rows that changed without a transaction.
    ///
    /// - Parameters:
    ///   - peer: the number of the peer that they are from.
    ///   - time: Unix milliseconds.
    func keep(
        _ tables: [String: TableChanges], of token: Int64, cause: String, peer: Int64, sequence: UInt64, time: Int64
    ) throws {
        try connection.run(
            "INSERT INTO logsync_history(token, rows, cause, peer, sequence, time) VALUES(?, ?, ?, ?, ?, ?)",
            .integer(token), .blob(Self.encode(tables)[...]), .text(cause), .integer(peer),
            .integer(Int64(clamping: sequence)), .integer(time))
    }

    /// Forgets the rows of what came before this. What came last stays, so that no token is given twice.
    func forget(before token: Int64) throws {
        let token = min(token, try History.lastToken(on: connection))
        let facts = StoreFacts(connection)
        let start = try facts.value(Self.start)?.asInteger ?? 0
        try connection.run(
            "UPDATE logsync_transaction SET rows = NULL WHERE token >= ? AND token < ?", .integer(start),
            .integer(token))
        try connection.run("DELETE FROM logsync_history WHERE token < ?", .integer(token))
        if token > start { try facts.set(Self.start, .integer(token)) }
    }

    // MARK: Encoding

    /// A version byte; then of each table but the settings its name, counts and flags, the lists of columns that updates
    /// changed, and its keys by kind, each update with the number of its list.
    static func encode(_ tables: [String: TableChanges]) -> [UInt8] {
        let tables = tables.filter { $0.key != SettingTable.name }
        var writer = RecordWriter()
        writer.bytes.append(version)
        writer.append(UInt64(tables.count))
        for (name, changes) in tables.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
            var table = RecordWriter()
            table.append(name, changes)
            if writer.bytes.count + table.bytes.count > maximumBytes {
                table = RecordWriter()
                table.append(name, TableChanges(unlisted: changes.counts))
            }
            writer.bytes += table.bytes
        }
        return writer.bytes
    }

    /// nil for what no version up to this one has written.
    static func decode(_ bytes: Bytes) -> [String: TableChanges]? {
        var reader = RecordReader(rest: bytes)
        guard (try? reader.byte()) == version, let tables = try? reader.list({ try $0.table() }) else { return nil }
        return Dictionary(tables) { $1 }
    }

    private static let version: UInt8 = 1

    // MARK: Keys alone

    static func encode(key: [Value]) -> [UInt8] {
        var writer = RecordWriter()
        writer.append(key)
        return writer.bytes
    }

    static func encode(keys: [[Value]]) -> [UInt8] {
        var writer = RecordWriter()
        writer.append(keys)
        return writer.bytes
    }

    static func decode(key bytes: Bytes) -> [Value]? {
        var reader = RecordReader(rest: bytes)
        return try? reader.key()
    }

    static func decode(keys bytes: Bytes) -> [[Value]]? {
        var reader = RecordReader(rest: bytes)
        return try? reader.list { try $0.key() }
    }
}

extension RecordWriter {
    fileprivate mutating func append(_ name: String, _ changes: TableChanges) {
        append(name)
        for count in [changes.counts.inserted, changes.counts.updated, changes.counts.deleted] {
            append(UInt64(max(0, count)))
        }
        bytes.append(changes.isUnlisted ? 1 : 0)
        var numbers: [[String]: Int] = [:]
        var lists: [[String]] = []
        var last: (list: [String], number: Int)?
        let columns = changes.updatedColumns.map { list in
            // Mostly the same as that of the row before.
            if let last, last.list == list { return last.number }
            let number = numbers[list] ?? lists.count
            if number == lists.count { lists.append(list) }
            numbers[list] = number
            last = (list, number)
            return number
        }
        append(UInt64(lists.count))
        for list in lists {
            append(UInt64(list.count))
            for name in list { append(name) }
        }
        append(changes.inserted)
        append(changes.updated)
        for index in changes.updated.indices {
            append(UInt64(columns.indices.contains(index) ? columns[index] + 1 : 0))
        }
        append(changes.deleted)
        append(UInt64(changes.tombstones.count))
        for (key, values) in changes.tombstones {
            append(key)
            append(UInt64(values.count))
            for (name, value) in values {
                append(name)
                append(value)
            }
        }
    }

    fileprivate mutating func append(_ keys: [[Value]]) {
        append(UInt64(keys.count))
        for key in keys { append(key) }
    }

    fileprivate mutating func append(_ key: [Value]) {
        append(UInt64(key.count))
        for value in key { append(value) }
    }
}

extension RecordReader {
    fileprivate mutating func table() throws -> (String, TableChanges) {
        let name = try text()
        var changes = TableChanges()
        changes.counts = ChangeCounts(
            inserted: Int(clamping: try integer()), updated: Int(clamping: try integer()),
            deleted: Int(clamping: try integer()))
        changes.isUnlisted = try byte() & 1 != 0
        let lists = try list { try $0.list { try $0.text() } }
        changes.inserted = try list { try $0.key() }
        changes.updated = try list { try $0.key() }
        for _ in changes.updated {
            let number = try integer()
            guard number <= UInt64(lists.count) else { throw Self.malformed }
            changes.updatedColumns.append(number == 0 ? [] : lists[Int(number) - 1])
        }
        changes.deleted = try list { try $0.key() }
        let tombstones = try list { reader in
            (try reader.key(), Dictionary(try reader.list { (try $0.text(), try $0.value()) }) { $1 })
        }
        changes.tombstones = Dictionary(tombstones) { $1 }
        return (name, changes)
    }

    fileprivate mutating func key() throws -> [Value] { try list { try $0.value() } }
}
