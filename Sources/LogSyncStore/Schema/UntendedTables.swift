import LogSyncModel
import LogSyncSQLite

/// Virtual tables that keep what they are told, and that no trigger of the program writes: the program does so itself, and
/// not for rows that come from other peers.
struct UntendedTables {
    let names: [String]

    /// Modules that keep nothing, or nothing of their own.
    private static let readers: Set = [
        "fts5vocab", "fts4aux", "fts3tokenize", "dbstat", "csv", "bytecode", "virtualtext",
    ]

    init(on connection: Connection) throws {
        let objects = try connection.rows(
            """
            SELECT type, name, sql FROM main.sqlite_master
            WHERE (type = 'trigger' OR sql LIKE 'CREATE VIRTUAL%') AND name NOT LIKE 'logsync\\_%' ESCAPE '\\'
            """
        ).map { (type: String(text: $0[0]), name: String(text: $0[1]), sql: String(text: $0[2])) }
        var written: Set<String> = []
        for trigger in objects where trigger.type == "trigger" {
            let tokens = SQLTokens(trigger.sql)
            for index in 1..<max(1, tokens.count) where ["INTO", "UPDATE"].contains(tokens.word(index - 1)) {
                written.insert(tokens.name(index).folded)
            }
        }
        names = objects.filter { object in
            let tokens = SQLTokens(object.sql)
            guard object.type == "table", let using = tokens.firstIndex(of: "USING"), using + 1 < tokens.count else {
                return false
            }
            return !Self.readers.contains(tokens.name(using + 1).folded) && !written.contains(object.name.folded)
        }.map(\.name)
    }

    /// What has to be known of them, as a sentence; nil where there are none.
    var warning: String? {
        guard let first = names.first else { return nil }
        let what =
            names.count == 1
            ? "the virtual table \(first) is" : "the virtual tables \(names.joined(separator: ", ")) are"
        return
            "\(what) not replicated, and no trigger of the program writes \(names.count == 1 ? "it" : "them"): a clone "
            + "begins with \(names.count == 1 ? "an empty one" : "empty ones"), and rows that come are missing there until the "
            + "program brings \(names.count == 1 ? "it" : "them") up to date"
    }
}
