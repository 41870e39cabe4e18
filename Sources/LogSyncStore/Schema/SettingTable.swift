import LogSyncModel
import LogSyncSQLite

/// The table of the content's settings, which is replicated beside the program's.
package struct SettingTable {
    package static let name = "logsync_setting"

    let connection: Connection

    init(_ connection: Connection) { self.connection = connection }

    /// What is shown of them, in no order.
    func all() throws -> [(kind: String, target: String, value: String)] {
        try connection.rows("SELECT kind, target, value FROM logsync_setting").map {
            (String(text: $0[0]), String(text: $0[1]), String(text: $0[2]))
        }
    }

    /// Writes one where nothing is recorded yet; ``Settings/set(_:_:_:)`` does in a store.
    func write(_ kind: String, _ target: String, _ value: String) throws {
        try connection.run(
            "INSERT OR REPLACE INTO logsync_setting(kind, target, value) VALUES(?, ?, ?)", .text(kind), .text(target),
            .text(value))
    }
}

extension TrackedTable {
    var holdsSettings: Bool { name == SettingTable.name }
}

extension Catalog {
    /// Without the one of settings.
    var programTables: [TrackedTable] { tables.filter { !$0.holdsSettings } }
}
