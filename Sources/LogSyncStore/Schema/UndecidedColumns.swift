import Foundation
import LogSyncModel
import LogSyncSQLite

/// Columns of which nothing says whether a migration has renamed them.
///
/// After two columns have exchanged their names in an empty table, or after one went and one came in it, each new name may
/// be the former column at its place, or what the name says. Where a rebuild leaves a column's values in a new one, and
/// others under its name, it may have been renamed, or copied and changed. Until it is known, the columns are left alone: what they hold
/// stays in the program's table, and what other peers write to them is kept beside it. The setting `rename` decides, of
/// another peer that could tell, or of `logsync migrate --rename`.
struct UndecidedColumns {
    struct Column: Codable, Equatable {
        /// What the database calls it.
        var name: String
        /// What the column at its place was called in the database before; its own name where that was taken over.
        var former: String
        /// That column's name in logs; nil where this one is new if that has been renamed.
        var place: String?
        /// The name in logs of the column that was called as this one is; nil where there was none, so that it is new.
        var named: String?
        /// At which place it was when the schema was looked at last; nil where an older version has noted it.
        var ordinal: Int?
        /// As it was declared then.
        var type: String?
        /// What the database has called it since it is undecided, and does not any more; nil where an older version has noted it.
        var earlier: [String]?
    }

    private static let prefix = "undecided columns "

    private let connection: Connection

    init(_ connection: Connection) { self.connection = connection }

    /// By table id.
    func all() throws -> [Int64: [Column]] {
        var all: [Int64: [Column]] = [:]
        for (table, columns) in try StoreFacts(connection).values(under: Self.prefix) {
            guard let table = Int64(table) else { continue }
            all[table] = try JSONDecoder().decode([Column].self, from: Data(String(text: columns).utf8))
        }
        return all
    }

    func of(_ table: Int64) throws -> [Column] { try all()[table] ?? [] }

    /// - Parameter columns: none where all is decided.
    func set(_ columns: [Column], of table: Int64) throws {
        guard !columns.isEmpty else {
            return try StoreFacts(connection).remove(Self.prefix + String(table))
        }
        try StoreFacts(connection).set(
            Self.prefix + String(table), .text(String(decoding: try JSONEncoder().encode(columns), as: UTF8.self)))
    }

    /// Columns by what may have been one: what is decided of one group says nothing of the others.
    static func groups(of columns: [Column]) -> [[Column]] {
        var groups: [(names: Set<String>, columns: [Column])] = []
        for column in columns {
            var names = Set([column.name, column.former, column.place, column.named].compactMap { $0?.folded })
            var joined = [column]
            for group in groups where !group.names.isDisjoint(with: names) {
                names.formUnion(group.names)
                joined = group.columns + joined
            }
            groups.removeAll { !$0.names.isDisjoint(with: names) }
            groups.append((names, joined))
        }
        return groups.map(\.columns)
    }

    /// Whether they are the columns at their places under other names, or what their names say; nil where no setting
    /// tells.
    ///
    /// - Parameters:
    ///   - columns: one of the ``groups(of:)``.
    ///   - all: all that are undecided.
    ///   - table: the name in logs.
    func areRenamed(_ columns: [Column], among all: [Column], in table: String) throws -> Bool? {
        for column in columns {
            // A column whose name may have been taken was told its name in logs long before.
            guard let place = column.place else { continue }
            // What was said of a name that it had is said of it, and not of the column that has taken the name.
            let wasTold = try (column.earlier ?? []).contains { name in
                try !all.contains { $0.name.folded == name.folded }
                    && Renames(connection).told(name, in: table) == place
            }
            if wasTold { return true }
            guard let told = try Renames(connection).told(column.name, in: table) else {
                // What another column is, this one is not.
                if try isAnother(of: all, toldAs: place, in: table) { return false }
                continue
            }
            if told == place { return true }
            if told == column.named ?? column.name { return false }
        }
        return nil
    }

    /// Whether a setting says of another column that the table has, and that is decided, that it is this one.
    ///
    /// - Parameters:
    ///   - undecided: all that are undecided: what was said of their names before says nothing of what they are now.
    ///   - place: the name in logs.
    ///   - table: the name in logs.
    private func isAnother(of undecided: [Column], toldAs place: String, in table: String) throws -> Bool {
        let names = Set(undecided.map { $0.name.folded })
        return try connection.rows(
            """
            SELECT c.name FROM logsync_table AS t, pragma_table_info(t.name) AS c, logsync_setting AS s
            WHERE t.log_name = ?1 AND s.kind = 'rename' AND s.value = ?2 COLLATE NOCASE
              AND s.target = t.log_name || '.' || c.name COLLATE NOCASE
            """, .text(table), .text(place)
        ).map { String(text: $0[0]) }.contains {
            try !names.contains($0.folded) && Renames(connection).told($0, in: table) != nil
        }
    }

    /// Whether a setting has come that decides.
    func areDecided() throws -> Bool {
        try all().contains { table, columns in
            guard
                let names = try connection.rows(
                    "SELECT log_name, name FROM logsync_table WHERE id = ?", .integer(table)
                ).first?.map({ String(text: $0) })
            else { return true }
            if let schema = try TableSchema.read(names[1], on: connection),
                try Renames(connection).names(of: schema, in: names[0]) != nil
            {
                return true
            }
            return try Self.groups(of: columns).contains { try areRenamed($0, among: columns, in: names[0]) != nil }
        }
    }
}
