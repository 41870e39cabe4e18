import LogSyncModel
import LogSyncSQLite

/// What of the content's schema this store did not make or does not run, noted among its facts.
struct UnmadeObjects {
    private let connection: Connection

    init(_ connection: Connection) { self.connection = connection }

    private static let prefix = "unmade "

    func add(_ objects: [UnmadeObject]) throws {
        for unmade in objects { try StoreFacts(connection).set(Self.prefix + unmade.object, .text(unmade.reason)) }
    }

    /// The objects that have not come to be since, by name.
    func all() throws -> [UnmadeObject] {
        try StoreFacts(connection).values(under: Self.prefix).filter { name, _ in
            try connection.integer("SELECT 1 FROM main.sqlite_master WHERE name = ? COLLATE NOCASE", .text(name)) == nil
        }.map { UnmadeObject(object: $0.name, reason: String(text: $0.value)) }
    }
}
