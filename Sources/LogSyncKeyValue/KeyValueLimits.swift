import GRDB
import LogSyncModel

/// What a key-value store may hold; nil for no limit.
public struct KeyValueLimits: Sendable, Hashable {
    /// How many keys.
    public var keys: Int?
    /// How many bytes of UTF-8 a key may have.
    public var keyBytes: Int?
    /// How many bytes keys and values may have together.
    public var bytes: Int?

    public init(keys: Int? = nil, keyBytes: Int? = nil, bytes: Int? = nil) {
        self.keys = keys
        self.keyBytes = keyBytes
        self.bytes = bytes
    }

    /// 1024 keys of at most 64 bytes, 1 MiB in all, as NSUbiquitousKeyValueStore has it.
    public static let `default` = KeyValueLimits(keys: 1024, keyBytes: 64, bytes: 1 << 20)
    public static let none = KeyValueLimits()

    /// A store that imports have filled beyond its limits takes what makes it no larger.
    ///
    /// - Throws: `quota`.
    func check(_ key: String, from before: KeyValueUsage, to after: KeyValueUsage) throws {
        func refuse(_ what: String, _ help: String) -> LogSyncError {
            LogSyncError(.quota, "\(key.debugDescription) was not set: \(what)", help: help)
        }
        if let keyBytes, key.utf8.count > keyBytes, after.keys > before.keys {
            throw refuse("a key has at most \(keyBytes) bytes, and this one \(key.utf8.count)", "Choose a shorter key")
        }
        if let keys, after.keys > keys, after.keys > before.keys {
            throw refuse("there are \(before.keys) keys, and \(keys) are the most", "Delete some first")
        }
        if let bytes, after.bytes > bytes, after.bytes > before.bytes {
            throw refuse(
                "keys and values would have \(after.bytes) bytes, and \(bytes) are the most",
                "Delete some first; large values belong into files, or into a store of their own")
        }
    }
}

/// How much a key-value store holds.
public struct KeyValueUsage: Sendable, Hashable {
    public var keys: Int
    /// Of keys and values together; a number counts as many as its text.
    public var bytes: Int
    /// The keys that are beyond the limits, as two machines may exceed them together though each kept to them: keys that are
    /// too long, and in the order of the keys all for which there is no room. They are kept, and replicated like the others.
    public var excess: [String]

    init(_ db: Database, _ limits: KeyValueLimits) throws {
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT CAST(key AS BLOB), length(CAST(key AS BLOB)), coalesce(length(CAST(value AS BLOB)), 0) FROM entry
                WHERE \(KeyValueStore.isKey) ORDER BY key
                """)
        (keys, bytes, excess) = (0, 0, [])
        while let row = try rows.next() {
            let (keyBytes, valueBytes): (Int, Int) = (row[1], row[2])
            keys += 1
            bytes += keyBytes + valueBytes
            if keys > limits.keys ?? .max || bytes > limits.bytes ?? .max || keyBytes > limits.keyBytes ?? .max {
                excess.append(WholeText.text(row[0]))
            }
        }
    }
}
