import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// Reads rows of a tracked table as they are, with the identities that their keys and references stand for.
struct TableReader {
    let table: TrackedTable
    let connection: Connection

    /// - Parameter connection: on which rows are read; nil for the store's own.
    init(table: TrackedTable, store: OpenStore, on connection: Connection? = nil) {
        self.table = table
        self.connection = connection ?? store.connection
    }

    /// A row's values by column position, with their digests.
    struct Row {
        var values: [Value]
        var digests: [UInt64]

        init(values: [Value], of table: TrackedTable) {
            self.values = values
            digests = values.map(table.valueDigest.of)
        }
    }

    func row(at rowid: Int64) throws -> Row? {
        let statement = try connection.prepare(table.selectByRowid)
        statement.bind(rowid, at: 1)
        defer { statement.reset() }
        return try statement.step() ? row(statement) : nil
    }

    /// Takes the local values of the key columns.
    func row(withKey key: [Value]) throws -> Row? {
        let statement = try connection.prepare(table.selectByKey)
        for (index, value) in key.enumerated() { statement.bind(value, at: index + 1) }
        defer { statement.reset() }
        return try statement.step() ? row(statement) : nil
    }

    private func row(_ statement: Statement) -> Row {
        Row(values: table.columns.indices.map(statement.value), of: table)
    }

    func rowid(withKey key: [Value]) throws -> Int64? {
        let statement = try connection.prepare(table.rowidByKey)
        for (index, value) in key.enumerated() { statement.bind(value, at: index + 1) }
        defer { statement.reset() }
        return try statement.step() ? statement.integer(0) : nil
    }

    func exists(_ rowid: Int64) throws -> Bool {
        let statement = try connection.prepare(table.existsByRowid)
        statement.bind(rowid, at: 1)
        defer { statement.reset() }
        return try statement.step()
    }

    /// The digest of a whole row, from its columns' digests by position.
    ///
    /// - Parameter columns: the column ids that the row's record knows; those from there on came later.
    func digest(_ digests: [UInt64], columns: Int = .max) -> UInt64 {
        table.digest(ofRow: digests, below: columns)
    }

    /// The digests that a clock record keeps, by column id.
    func columnDigests(_ digests: [UInt64]) -> [UInt32] {
        var result = [UInt32](repeating: 0, count: table.columnCount)
        for (position, digest) in digests.enumerated() {
            result[table.columns[position].id] = UInt32(truncatingIfNeeded: digest)
        }
        return result
    }

    /// The identity that a row's key columns make, given the values with references translated.
    /// nil where a key column is NULL, or there is no key: such a row has a surrogate identity.
    func naturalIdentity(_ value: (Int) throws -> Value) rethrows -> RowIdentity? {
        guard !table.key.isEmpty else { return nil }
        var parts: [KeyPart] = []
        for key in table.key {
            guard let part = KeyPart(try value(key.index), collation: key.collation) else { return nil }
            parts.append(part)
        }
        return RowIdentity(natural: parts)
    }
}

extension TrackedTable {
    /// The primary key of a row that may be gone; nil where its identity does not tell.
    ///
    /// - Parameter rowid: where the row is or was, where that is known.
    func primaryKey(of identity: RowIdentity, at rowid: Int64?) -> [Value]? {
        if schema.integerKey != nil { return rowid.map { [.integer($0)] } }
        guard let parts = identity.naturalParts, parts.count == key.count else { return nil }
        let values = primaryKeyPositions.compactMap { position -> Value? in
            guard let part = key.firstIndex(where: { $0.index == position }) else { return nil }
            if case .reference = parts[part].value { return nil }
            return parts[part].value
        }
        return !values.isEmpty && values.count == primaryKeyPositions.count ? values : nil
    }

    /// A row's primary key as the app has it; the rowid where it has none.
    func primaryKey(of row: TableReader.Row, at rowid: Int64?) -> [Value] {
        if schema.integerKey != nil { return [.integer(rowid ?? 0)] }
        let key = primaryKeyPositions
        return key.isEmpty ? rowid.map { [.integer($0)] } ?? [] : key.map { row.values[$0] }
    }
}
