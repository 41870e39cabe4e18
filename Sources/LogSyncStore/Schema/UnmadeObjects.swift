import LogSyncModel
import LogSyncSQLite

/// What of the content's schema this store did not make or does not run, noted among its facts.
///
/// The statements are noted, too: the schema that this store publishes has them all the same, because what one machine
/// cannot make, such as a trigger that calls its program's functions, another one can.
struct UnmadeObjects {
    private let connection: Connection

    init(_ connection: Connection) { self.connection = connection }

    private static let prefix = "unmade "
    private static let statementPrefix = "left-out "

    func add(_ objects: [(object: UnmadeObject, sql: String?)]) throws {
        let facts = StoreFacts(connection)
        for (unmade, sql) in objects {
            try facts.set(Self.prefix + unmade.object, .text(unmade.reason))
            if let sql { try facts.set(Self.statementPrefix + unmade.object, .text(sql)) }
        }
    }

    /// The objects that have not come to be since, by name.
    func all() throws -> [UnmadeObject] {
        let left = Set(try missing(Self.statementPrefix).map(\.name))
        return try missing(Self.prefix).map { name, reason in
            UnmadeObject(object: name, reason: String(text: reason), isMissing: left.contains(name))
        }
    }

    /// What would make those of them that a statement makes, in the order in which a schema has its statements.
    func statements() throws -> [String] {
        let kinds = ["TABLE", "VIRTUAL", "INDEX", "UNIQUE", "VIEW", "TRIGGER"]
        let statements = try missing(Self.statementPrefix).map { String(text: $0.value) }
        return kinds.flatMap { kind in
            statements.filter { sql in
                let tokens = SQLTokens(sql)
                return tokens.count > 1 && tokens.word(1) == kind
            }
        }
    }

    private func missing(_ prefix: String) throws -> [(name: String, value: Value)] {
        // A store that is just being made has no facts yet.
        guard try connection.integer("SELECT 1 FROM main.sqlite_master WHERE name = 'logsync_store'") != nil else {
            return []
        }
        return try StoreFacts(connection).values(under: prefix).filter { name, _ in
            try connection.integer("SELECT 1 FROM main.sqlite_master WHERE name = ? COLLATE NOCASE", .text(name)) == nil
        }
    }
}
