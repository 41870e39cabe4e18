import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// The key of the digests by which a store tells changed values from unchanged ones (``ValueDigest``): a fact of the store,
/// made of its salt when it is founded. Stores of format 6 and below get theirs at their next recording.
enum DigestKey {
    private static let fact = "digest_key"

    static func read(on connection: Connection) throws -> ValueDigest {
        guard case .blob(let key)? = try value(on: connection) else { return .unkeyed }
        return ValueDigest(key: key)
    }

    static func isMissing(on connection: Connection) throws -> Bool { try value(on: connection) == nil }

    static func set(_ key: Bytes, on connection: Connection) throws {
        try connection.run("INSERT OR REPLACE INTO logsync_store(key, value) VALUES(?, ?)", .text(fact), .blob(key))
    }

    private static func value(on connection: Connection) throws -> Value? {
        try connection.scalar("SELECT value FROM logsync_store WHERE key = ?", .text(fact))
    }
}
