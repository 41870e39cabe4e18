import LogSyncModel
import LogSyncSQLite

/// The shapes of the tables that a store leaves out, so that one which a migration gives another name is left out under
/// that, too: new tables are replicated, and what was to stay on this machine would be published.
struct LeftTables {
    private let connection: Connection
    private let facts: StoreFacts

    init(_ connection: Connection) {
        self.connection = connection
        facts = StoreFacts(connection)
    }

    /// Where a table's rows are in the file, and its columns.
    private struct Shape {
        var rootPage: String
        /// In lower case.
        var columns: [String]
        /// The name of the table that was left out, where this one is it under another; empty where it was so called then.
        var former = ""

        init(_ table: String, _ connection: Connection) throws {
            let root = try connection.integer(
                "SELECT rootpage FROM sqlite_master WHERE type = 'table' AND name = ? COLLATE NOCASE", .text(table))
            rootPage = String(root ?? 0)
            columns = try TableSchema.read(table, on: connection)?.columns.map(\.name.folded) ?? []
        }

        /// nil for a table that was left out by a version that noted nothing but its name, and that has not been seen since.
        init?(_ value: Value) {
            guard case .text(let text) = value,
                let parts = try? KeyList.decode(String(decoding: text, as: UTF8.self)), parts.count > 1
            else { return nil }
            (rootPage, former, columns) = (parts[0], parts[1], Array(parts.dropFirst(2)))
        }

        func encoded() throws -> Value { .text(try KeyList.encode([rootPage, former] + columns)) }

        /// Whether it is the same table, by its place and most of its columns, or made anew with the same ones. The place
        /// alone says nothing: the pages of a table that is dropped are the next one's.
        func isSame(as other: Shape) -> Bool {
            guard columns != other.columns else { return !columns.isEmpty }
            let common = Set(columns).intersection(other.columns).count
            return rootPage == other.rootPage && rootPage != "0" && 2 * common > max(columns.count, other.columns.count)
        }
    }

    /// Notes the shapes that the tables have now.
    func note() throws {
        for (table, setting) in try AppSchema.leftTables(on: connection) {
            let key = setting.key(table)
            let known = try facts.value(key)
            var shape = try Shape(table, connection)
            shape.former = known.flatMap(Shape.init)?.former ?? ""
            let now = try shape.encoded()
            if known != now { try facts.set(key, now) }
        }
    }

    /// Leaves out those of the tables that are one which was left out, under another name.
    ///
    /// - Parameter tables: that have come, by their names.
    func follow(_ tables: [String]) throws {
        let present = Set(try TableSchema.tableNames(on: connection).map(\.folded))
        for setting in AppSchema.Left.allCases {
            for (name, value) in try facts.values(under: setting.key("")) where !present.contains(name) {
                guard var left = Shape(value) else { continue }
                left.former = name
                for table in tables where try Shape(table, connection).isSame(as: left) {
                    try facts.set(setting.key(table), left.encoded())
                }
            }
        }
    }

    /// The tables that are left out because they are another one under a name of their own, with the name that it had.
    func renamed() throws -> [(table: String, former: String)] {
        try AppSchema.leftTables(on: connection).compactMap { table, setting in
            let former = try facts.value(setting.key(table)).flatMap(Shape.init)?.former ?? ""
            return former.isEmpty ? nil : (table, former)
        }
    }
}
