import LogSyncModel
import LogSyncSQLite

/// What has been said of a table's columns, when the table had precisely these, and has been followed.
///
/// Names that go round come to be the same list again and mean other columns then. So what is said of a list counts once: for
/// a table that has these columns when it is said, or comes to have them. A table that has had them, as was said, and has them
/// again is another version of the schema, of which something else may be said (``Renames/list``).
struct FollowedLists {
    private let facts: StoreFacts

    private static let prefix = "followed "

    init(_ connection: Connection) { facts = StoreFacts(connection) }

    /// - Parameters:
    ///   - target: of the setting.
    ///   - value: what it says.
    func note(_ target: String, _ value: String) throws {
        guard try self.value(target) != value else { return }
        try facts.set(Self.prefix + target.folded, .text(value))
    }

    /// What was said last of a list, and has been followed.
    func value(_ target: String) throws -> String? { try facts.text(Self.prefix + target.folded) }

    /// A table that is gone begins anew.
    ///
    /// - Parameter table: the name in logs.
    func forget(_ table: String) throws { try facts.remove(under: "\(Self.prefix)\(table.folded) [") }
}
