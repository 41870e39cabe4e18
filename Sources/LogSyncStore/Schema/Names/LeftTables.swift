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

        /// Whether it has most of another's columns.
        func hasMost(of other: Shape) -> Bool {
            2 * Set(columns).intersection(other.columns).count > max(columns.count, other.columns.count)
        }

        /// Whether it has all of another's columns, and these are more than a key and a value.
        func hasAll(of other: Shape) -> Bool {
            other.columns.count > 2 && Set(other.columns).isSubset(of: columns)
        }

        func isAt(_ other: Shape) -> Bool { rootPage == other.rootPage && rootPage != Self.nowhere }

        /// Where a table is that was gone at an earlier look.
        static let nowhere = "0"
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

    /// Leaves out those of the tables that are one which was left out, under another name, or a copy of one.
    ///
    /// - Parameter tables: that have come, by their names.
    func follow(_ tables: [String]) throws {
        let present = Set(try TableSchema.tableNames(on: connection).map(\.folded))
        let known = Set(try AppSchema.leftTables(on: connection).map(\.name.folded))
        let new = tables.filter { !known.contains($0.folded) }
        for setting in AppSchema.Left.allCases {
            for (name, value) in try facts.values(under: setting.key("")) {
                guard var left = Shape(value) else { continue }
                let isHere = present.contains(name)
                let found = try new.filter { try isOther($0, left, called: name, isHere: isHere) }
                let former = left.former
                left.former = name
                for table in found { try facts.set(setting.key(table), left.encoded()) }
                guard !isHere, found.isEmpty else { continue }
                if present.contains(former) {
                    // A copy that has taken the name of the one that it was made of.
                    try facts.remove(setting.key(name))
                } else if left.rootPage != Shape.nowhere {
                    (left.former, left.rootPage) = (former, Shape.nowhere)
                    try facts.set(setting.key(name), left.encoded())
                }
            }
        }
    }

    /// Whether a new table is one that was left out, or holds its rows.
    ///
    /// The place alone says nothing: the pages of a table that is dropped are the next one's. Where the one has just gone, one
    /// that has all of its columns may have been made of it; later, one that has the same.
    ///
    /// - Parameter isHere: whether a table is called as the one was.
    private func isOther(_ table: String, _ left: Shape, called name: String, isHere: Bool) throws -> Bool {
        let shape = try Shape(table, connection)
        if !isHere {
            if shape.columns == left.columns { return !shape.columns.isEmpty }
            return left.rootPage != Shape.nowhere
                && (shape.hasAll(of: left) || shape.isAt(left) && shape.hasMost(of: left))
        }
        guard shape.hasMost(of: left) else { return false }
        return try CopyName.isCopy(table, of: name) || shape.isAt(left) && !Shape(name, connection).isAt(left)
    }

    /// The tables that are left out because they are another one under a name of their own, with the name that it had.
    func renamed() throws -> [(table: String, former: String)] {
        try AppSchema.leftTables(on: connection).compactMap { table, setting in
            let former = try facts.value(setting.key(table)).flatMap(Shape.init)?.former ?? ""
            return former.isEmpty ? nil : (table, former)
        }
    }
}
