import LogSyncModel
import LogSyncSQLite

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
        let rows = tables.filter { $0.key != "logsync_setting" }
        try connection.run(
            "INSERT OR REPLACE INTO logsync_history(token, rows) VALUES(?, ?)", .integer(token),
            .blob(Self.encode(rows)[...]))
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
        let token = min(token, try History.lastToken(on: connection, hasRows: true))
        try connection.run("DELETE FROM logsync_history WHERE token < ?", .integer(token))
        let facts = StoreFacts(connection)
        let start = try facts.value(Self.start)?.asInteger ?? 0
        if token > start { try facts.set(Self.start, .integer(token)) }
    }

    // MARK: Encoding

    /// A version byte; then of each table its name, counts and flags, the lists of columns that updates changed, and its
    /// keys by kind, each update with the number of its list.
    static func encode(_ tables: [String: TableChanges]) -> [UInt8] {
        var writer = RowsWriter()
        writer.bytes.append(version)
        writer.append(UInt64(tables.count))
        for (name, changes) in tables.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
            var table = RowsWriter()
            table.append(name, changes)
            if writer.bytes.count + table.bytes.count > maximumBytes {
                table = RowsWriter()
                table.append(name, TableChanges(unlisted: changes.counts))
            }
            writer.bytes += table.bytes
        }
        return writer.bytes
    }

    /// nil for what no version up to this one has written.
    static func decode(_ bytes: Bytes) -> [String: TableChanges]? {
        var reader = RowsReader(bytes)
        guard reader.byte() == version, let count = reader.count() else { return nil }
        var tables: [String: TableChanges] = [:]
        for _ in 0..<count {
            guard let (name, changes) = reader.table() else { return nil }
            tables[name] = changes
        }
        return tables
    }

    private static let version: UInt8 = 1

    // MARK: Keys alone

    static func encode(key: [Value]) -> [UInt8] {
        var writer = RowsWriter()
        writer.append(key)
        return writer.bytes
    }

    static func encode(keys: [[Value]]) -> [UInt8] {
        var writer = RowsWriter()
        writer.append(keys)
        return writer.bytes
    }

    static func decode(key bytes: Bytes) -> [Value]? {
        var reader = RowsReader(bytes)
        return reader.key()
    }

    static func decode(keys bytes: Bytes) -> [[Value]]? {
        var reader = RowsReader(bytes)
        return reader.list { $0.key() }
    }
}

private struct RowsWriter {
    var bytes: [UInt8] = []

    mutating func append(_ integer: UInt64) {
        var rest = integer
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    private mutating func append(_ text: String) { append(counted: Array(text.utf8)[...]) }

    private mutating func append(counted content: Bytes) {
        append(UInt64(content.count))
        bytes += content
    }

    mutating func append(_ name: String, _ changes: TableChanges) {
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
            for column in list { append(column) }
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
            for (column, value) in values {
                append(column)
                append(value)
            }
        }
    }

    mutating func append(_ keys: [[Value]]) {
        append(UInt64(keys.count))
        for key in keys { append(key) }
    }

    mutating func append(_ key: [Value]) {
        append(UInt64(key.count))
        for value in key { append(value) }
    }

    private mutating func append(_ value: Value) {
        switch value {
        // The program's tables hold neither.
        case .null, .reference, .external: bytes.append(0)
        case .integer(let integer):
            bytes.append(1)
            append(UInt64(bitPattern: integer << 1 ^ integer >> 63))
        case .real(let real):
            bytes.append(2)
            withUnsafeBytes(of: real.bitPattern.littleEndian) { bytes.append(contentsOf: $0) }
        case .text(let text):
            bytes.append(3)
            append(counted: text)
        case .blob(let blob):
            bytes.append(4)
            append(counted: blob)
        }
    }
}

/// Reads what ``RowsWriter`` wrote; nil where the bytes say something else.
private struct RowsReader {
    private var rest: Bytes

    init(_ bytes: Bytes) { rest = bytes }

    mutating func byte() -> UInt8? { rest.popFirst() }

    private mutating func integer() -> UInt64? {
        var result: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            guard let byte = byte() else { return nil }
            result |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return result }
        }
        return nil
    }

    /// Of things that take a byte each at least.
    mutating func count() -> Int? {
        guard let count = integer(), count <= UInt64(rest.count) else { return nil }
        return Int(count)
    }

    private mutating func counted() -> Bytes? {
        guard let count = count() else { return nil }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    private mutating func text() -> String? { counted().map { String(decoding: $0, as: UTF8.self) } }

    mutating func list<Element>(_ element: (inout RowsReader) -> Element?) -> [Element]? {
        guard let count = count() else { return nil }
        var list: [Element] = []
        for _ in 0..<count {
            guard let element = element(&self) else { return nil }
            list.append(element)
        }
        return list
    }

    mutating func table() -> (name: String, changes: TableChanges)? {
        guard let name = text(), let inserted = integer(), let updated = integer(), let deleted = integer(),
            let flags = byte(), let lists = list({ $0.list { $0.text() } }), let insertedKeys = list({ $0.key() }),
            let updatedKeys = list({ $0.key() })
        else { return nil }
        var changes = TableChanges()
        changes.counts = ChangeCounts(
            inserted: Int(clamping: inserted), updated: Int(clamping: updated), deleted: Int(clamping: deleted))
        changes.isUnlisted = flags & 1 != 0
        changes.inserted = insertedKeys
        changes.updated = updatedKeys
        for _ in updatedKeys {
            guard let number = integer(), number <= UInt64(lists.count) else { return nil }
            changes.updatedColumns.append(number == 0 ? [] : lists[Int(number) - 1])
        }
        guard let deletedKeys = list({ $0.key() }),
            let tombstones = list({ reader -> ([Value], [String: Value])? in
                guard let key = reader.key(),
                    let cells = reader.list({ reader -> (String, Value)? in
                        guard let column = reader.text(), let value = reader.value() else { return nil }
                        return (column, value)
                    })
                else { return nil }
                return (key, Dictionary(cells) { $1 })
            })
        else { return nil }
        changes.deleted = deletedKeys
        changes.tombstones = Dictionary(tombstones) { $1 }
        return (name, changes)
    }

    mutating func key() -> [Value]? { list { $0.value() } }

    private mutating func value() -> Value? {
        switch byte() {
        case 0: return .null
        case 1:
            guard let integer = integer() else { return nil }
            return .integer(Int64(bitPattern: integer >> 1) ^ -Int64(bitPattern: integer & 1))
        case 2:
            guard rest.count >= 8 else { return nil }
            let bits = rest.prefix(8).reversed().reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
            rest = rest.dropFirst(8)
            return .real(Double(bitPattern: bits))
        case 3: return counted().map { .text($0) }
        case 4: return counted().map { .blob($0) }
        default: return nil
        }
    }
}
