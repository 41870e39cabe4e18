import Foundation
import LogSyncModel
import LogSyncSQLite

/// Columns that a migration has added since the store was made, and that seem to refer to other tables' rows.
///
/// Their integers differ from peer to peer. Recorded as numbers they would be other rows everywhere else, so they are left
/// alone until the setting `reference` or `no-reference` decides, of `logsync migrate` or of another peer, or a foreign key
/// does: of a column of a table that was there, nothing is recorded or shown, and the others' cells are kept; a table that
/// came with such a column is left alone as a whole.
struct HeldReferences {
    struct Column: Codable, Equatable {
        /// As the database has them.
        var table: String
        var column: String
        /// The tables whose rows it may name, the likeliest first.
        var parents: [String]
        var evidence: String
        /// What settings call it.
        var target: String
    }

    /// The kind of the settings that say that a column is left alone, by names in logs, with the tables that it may refer to:
    /// a clone has no rows that would tell, and a peer may have others.
    static let setting = "held-reference"
    private static let columns = "held columns "
    private static let table = "held table "

    private let connection: Connection

    init(_ connection: Connection) { self.connection = connection }

    /// Of a table that is replicated without them.
    func of(_ table: Int64) throws -> [Column] {
        try StoreFacts(connection).value(Self.columns + String(table)).map(decode) ?? []
    }

    /// By lower-case name.
    func tables() throws -> [String: [Column]] {
        Dictionary(
            try StoreFacts(connection).values(under: Self.table).map { ($0.name, try decode($0.value)) },
            uniquingKeysWith: { first, _ in first })
    }

    func all() throws -> [Column] {
        try [Self.columns, Self.table].flatMap { prefix in
            try StoreFacts(connection).values(under: prefix).flatMap { try decode($0.value) }
        }
    }

    /// - Parameter columns: none where all is decided.
    func set(_ columns: [Column], of table: Int64) throws { try set(columns, at: Self.columns + String(table)) }

    func set(_ columns: [Column], ofTable name: String) throws { try set(columns, at: Self.table + name.folded) }

    private func set(_ columns: [Column], at key: String) throws {
        guard !columns.isEmpty else { return try StoreFacts(connection).remove(key) }
        try StoreFacts(connection).set(
            key, .text(String(decoding: try JSONEncoder().encode(columns), as: UTF8.self)))
    }

    private func decode(_ value: Value) throws -> [Column] {
        try JSONDecoder().decode([Column].self, from: Data(String(text: value).utf8))
    }

    /// Takes back the registration of a column that was just registered, and of which nothing has been recorded.
    ///
    /// - Returns: the id that it had; columns with greater ones have them less one now, because ids are without gaps.
    @discardableResult
    func forget(_ column: String, of table: Int64) throws -> Int {
        let id =
            try connection.integer(
                "SELECT id FROM logsync_column WHERE table_id = ? AND name = ? AND NOT dropped", .integer(table),
                .text(column)) ?? -1
        try connection.run(
            "DELETE FROM logsync_column WHERE table_id = ? AND id = ?", .integer(table), .integer(id))
        for later in try connection.rows(
            "SELECT id FROM logsync_column WHERE table_id = ? AND id > ? ORDER BY id", .integer(table), .integer(id))
        {
            try connection.run(
                "UPDATE logsync_column SET id = id - 1 WHERE table_id = ? AND id = ?", .integer(table), later[0])
        }
        return Int(id)
    }

    /// Leaves alone what other peers leave alone, of tables that were just registered: the columns, as if a migration had
    /// added them.
    func takeUp(in catalog: Catalog) throws {
        let settings = try connection.rows(
            "SELECT target, value FROM logsync_setting WHERE kind = ?", .text(Self.setting))
        for setting in settings {
            let target = String(text: setting[0])
            guard let parents = try? KeyList.decode(String(text: setting[1])) else { continue }
            for table in catalog.tables {
                for column in table.columns.sorted(by: { $0.id > $1.id })
                where "\(table.name).\(column.name)".folded == target.folded && !column.isKey && column.reference == nil
                {
                    let held = Column(
                        table: table.schema.name, column: column.local,
                        parents: parents.map { catalog[$0]?.schema.name ?? $0 },
                        evidence: ReferenceReport.Evidence.name.rawValue, target: target)
                    guard try !isDecided(held) else { continue }
                    try forget(column.local, of: table.id)
                    try set(of(table.id) + [held], of: table.id)
                }
            }
        }
    }

    /// Whether a setting or a foreign key says what a column is by now, or it is gone.
    func isDecided(_ column: Column) throws -> Bool {
        guard let schema = try TableSchema.read(column.table, on: connection), schema.column(column.column) != nil
        else { return true }
        if schema.foreignKeys.contains(where: { $0.from.map(\.folded) == [column.column.folded] }) { return true }
        return try connection.integer(
            """
            SELECT EXISTS(SELECT 1 FROM logsync_setting
            WHERE kind IN ('reference', '\(LaterColumns.declined)') AND target = ? COLLATE NOCASE)
            """, .text(column.target)) == 1
    }

    /// Whether one has been decided that is left alone.
    func areDecided() throws -> Bool {
        let open = try tables().values.contains { columns in try columns.allSatisfy(isDecided) }
        return try open
            || StoreFacts(connection).values(under: Self.columns).contains {
                try decode($0.value).contains(where: isDecided)
            }
    }

    /// What they seem to be, one a column and parent.
    func reports() throws -> [ReferenceReport] {
        try all().flatMap { column in
            column.parents.map {
                ReferenceReport(
                    table: column.table, column: column.column, parent: $0,
                    evidence: ReferenceReport.Evidence(rawValue: column.evidence) ?? .name, taken: false)
            }
        }
    }
}

extension HeldReferences.Column {
    func logName(in table: TrackedTable) -> String { String(target.dropFirst(table.name.count + 1)) }

    /// - Parameter reports: those of one column.
    init?(_ reports: [ReferenceReport], in table: TrackedTable) {
        guard let first = reports.first, let position = table.localPositions[first.column.folded] else { return nil }
        self.init(
            table: first.table, column: first.column, parents: reports.map(\.parent), evidence: first.evidence.rawValue,
            target: "\(table.name).\(table.columns[position].name)")
    }
}
