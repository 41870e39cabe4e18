import LogSyncModel
import LogSyncSQLite
import LogSyncState

/// The key of the digests by which a store tells changed values from unchanged ones (``ValueDigest``): a fact of the store,
/// made of its salt when it is founded. Stores of format 6 and below get theirs at their next recording.
enum DigestKey {
    private static let fact = "digest_key"

    static func read(on connection: Connection) throws -> ValueDigest {
        guard case .blob(let key)? = try StoreFacts(connection).value(fact) else { return .unkeyed }
        return ValueDigest(key: key)
    }

    static func isMissing(on connection: Connection) throws -> Bool {
        try StoreFacts(connection).value(fact) == nil
    }

    static func set(_ key: Bytes, on connection: Connection) throws {
        try StoreFacts(connection).set(fact, .blob(key))
    }
}
