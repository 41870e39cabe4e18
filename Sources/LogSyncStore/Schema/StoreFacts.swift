import LogSyncModel
import LogSyncSQLite

/// The key-value facts of a store.
struct StoreFacts {
    /// The key of the fact that an embedding program's write may have made room for a parked row.
    static let unsettled = "unsettled"
    /// The key of the fact that an embedding program's write came with settings that have not been applied to shown rows.
    static let policyChange = "policy_change"
    /// The key of the fact that a program's own connection has recorded by a commit that a power cut may undo.
    static let unsynchronized = "unsynchronized"
    /// The key of the names of the policies in code that decided every contested cell, a line each.
    static let policiesInCode = "policies_in_code"
    /// The key of the columns at which policies were passed over when every contested cell was decided, a line each.
    static let policiesPassedOver = "policies_passed_over"
    /// The key of when transactions of other peers were last imported, in Unix milliseconds.
    private static let lastImport = "last_import"

    /// The key of the fact that says which schema stands for the store's: what it was settled for, and its fingerprint.
    static let schema = "schema"

    /// The key of the fact that a clone is being filled, which no program has seen.
    static let isBeingFilled = "being_filled"

    let connection: Connection

    init(_ connection: Connection) { self.connection = connection }

    func value(_ key: String) throws -> Value? {
        try connection.scalar("SELECT value FROM logsync_store WHERE key = ?", .text(key))
    }

    /// The facts whose keys begin with a prefix, by the rest of the key, in its order.
    func values(under prefix: String) throws -> [(name: String, value: Value)] {
        try connection.rows(
            "SELECT substr(key, ?2 + 1), value FROM logsync_store WHERE substr(key, 1, ?2) = ?1 ORDER BY key",
            .text(prefix), .integer(Int64(prefix.unicodeScalars.count))
        ).map { (String(text: $0[0]), $0[1]) }
    }

    func remove(_ key: String) throws {
        try connection.run("DELETE FROM logsync_store WHERE key = ?", .text(key))
    }

    func remove(under prefix: String) throws {
        try connection.run(
            "DELETE FROM logsync_store WHERE substr(key, 1, ?2) = ?1", .text(prefix),
            .integer(Int64(prefix.unicodeScalars.count)))
    }

    func text(_ key: String) throws -> String? {
        guard let value = try value(key), !value.isNull else { return nil }
        return String(text: value)
    }

    /// When transactions of other peers were last imported, by this machine's clock, in Unix milliseconds; nil where none were,
    /// or only by a version that did not note it.
    var lastImport: Int64? {
        get throws { try value(Self.lastImport)?.asInteger }
    }

    func setLastImport(_ time: Int64) throws { try set(Self.lastImport, .integer(time)) }

    func set(_ key: String, _ value: Value) throws {
        try connection.run("INSERT OR REPLACE INTO logsync_store(key, value) VALUES(?, ?)", .text(key), value)
    }

    /// The time of this store's last transaction; zero where it has recorded none.
    var lastTime: HybridTime {
        get throws { HybridTime(rawValue: UInt64(bitPattern: try value("last_time")?.asInteger ?? 0)) }
    }

    /// What changes with nearly every write.
    func set(generation: Int64, lastTime: HybridTime, latestTime: Int64, digest: UInt64) throws {
        try connection.run(
            """
            INSERT OR REPLACE INTO logsync_store(key, value)
            VALUES('generation', ?), ('last_time', ?), ('latest_time', ?), ('digest', ?)
            """, .integer(generation), .integer(Int64(bitPattern: lastTime.rawValue)), .integer(latestTime),
            .integer(Int64(bitPattern: digest)))
    }

    /// See ``OpenStore/latestTime``. Earlier versions noted it of accepted clocks alone.
    var latestTime: Int64 {
        get throws { max(try lastTime.milliseconds, try value("latest_time")?.asInteger ?? 0) }
    }
}
