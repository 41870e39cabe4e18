import LogSyncModel
import LogSyncSQLite

/// A setting of the content's that gives a table or columns other names in logs (``Renames``), and that no published schema
/// bears out. A store that was founded without it goes on without it, and names it among what it did not make.
package struct UnfollowedRename: Sendable {
    package var kind: String
    package var target: String
    package var value: String
    package var author: String

    package init(kind: String, target: String, value: String, author: String) {
        (self.kind, self.target, self.value, self.author) = (kind, target, value, author)
    }

    private static let prefix = "unfollowed "

    /// Notes the settings that would have had a say in this schema.
    static func note(_ unfollowed: [UnfollowedRename], on connection: Connection) throws {
        guard !unfollowed.isEmpty else { return }
        let settings = Dictionary(grouping: unfollowed) { "\($0.kind) \($0.target.folded)" }
        for name in try TableSchema.tableNames(on: connection) {
            guard let schema = try TableSchema.read(name, on: connection) else { continue }
            let table = try Renames(connection).currentLogName(name)
            let targets =
                [("rename", name), (Renames.list, try Renames.target(schema, table))]
                + schema.columns.map { ("rename", "\(table).\($0.name)") }
            for (kind, target) in targets {
                for setting in settings["\(kind) \(target.folded)"] ?? [] { try setting.note(on: connection) }
            }
        }
    }

    private func note(on connection: Connection) throws {
        try StoreFacts(connection).set("\(Self.prefix)\(kind) \(target.folded) \(value)", .integer(1))
        let object = UnmadeObject(
            object: "\(kind) \(target) = \(value)",
            reason: "\(author) has set it, and no published schema bears it out: names are taken as they are")
        try UnmadeObjects(connection).add([(object, nil)])
    }

    static func isNoted(_ kind: String, _ target: String, _ value: String, on connection: Connection) throws -> Bool {
        try StoreFacts(connection).value("\(prefix)\(kind) \(target.folded) \(value)") != nil
    }
}
