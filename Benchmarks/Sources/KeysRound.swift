import Foundation
import LogSyncStore

/// Integer keys with references, into a replica that has given all of the author's numbers to rows of its own.
///
/// The session extension takes no part: its change set would conflict in every row.
struct KeysRound {
    private let rows: Int
    private let plain: PlainDatabase
    private let written: PlainDatabase
    private let author: LogsyncSide
    private let replica: LogsyncSide
    private let replicaView: PlainDatabase

    private static let schema = """
        CREATE TABLE lists(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
        CREATE TABLE entries(id INTEGER PRIMARY KEY, list INTEGER NOT NULL REFERENCES lists(id), text TEXT);
        """
    /// What references say, whatever the numbers are.
    private static let content = """
        SELECT lists.name, entries.text FROM entries JOIN lists ON lists.id = entries.list
        WHERE lists.name LIKE 'author %' ORDER BY entries.text
        """

    init(rows: Int, folder: String) throws {
        self.rows = rows
        plain = try PlainDatabase("\(folder)/plain-keys.db")
        try plain.execute(Self.schema)
        written = try PlainDatabase("\(folder)/logsync-keys.db")
        try written.execute(Self.schema)
        author = try LogsyncSide(written.path, container: folder)
        replica = try LogsyncSide("\(folder)/logsync-keys-replica.db", like: author, written, container: folder)
        replicaView = try PlainDatabase(replica.store.path)
        try replica.import(author.recordAndPublish())
        try insert("replica", into: replicaView)
        _ = try replica.recordAndPublish()
    }

    private var lists: Int { max(rows / 10, 1) }

    private func insert(_ name: String, into database: PlainDatabase) throws {
        try database.transaction {
            let list = try database.prepare("INSERT INTO lists(id, name) VALUES (?, ?)")
            for number in 1...lists {
                list.bind(Int64(number), at: 1)
                list.bind("\(name) \(number)", at: 2)
                try list.run()
            }
            let entry = try database.prepare("INSERT INTO entries(id, list, text) VALUES (?, ?, ?)")
            for number in 1...rows {
                entry.bind(Int64(number), at: 1)
                entry.bind(Int64(number % lists + 1), at: 2)
                entry.bind("Entry \(number) of \(name), which says a few words", at: 3)
                try entry.run()
            }
        }
    }

    func run(_ ledger: inout Ledger) throws {
        try ledger.measure(.keys, .plain) { try insert("author", into: plain) }
        try ledger.measure(.keys, .logsync) { try insert("author", into: written) }
        var file: LogsyncSide.Published?
        try ledger.measure(.recordKeys, .logsync) { file = try author.recordAndPublish() }
        guard let file else { throw BenchmarkError("nothing was published") }
        try ledger.measure(.importKeys, .logsync) { try replica.import(file) }
        try check()

        try ledger.measure(.references, .plain) { try pointElsewhere(plain) }
        try ledger.measure(.references, .logsync) { try pointElsewhere(written) }
        var second: LogsyncSide.Published?
        try ledger.measure(.recordReferences, .logsync) { second = try author.recordAndPublish() }
        guard let second else { throw BenchmarkError("nothing was published") }
        try ledger.measure(.importReferences, .logsync) { try replica.import(second) }
        try check()
    }

    private func pointElsewhere(_ database: PlainDatabase) throws {
        try database.transaction {
            let update = try database.prepare("UPDATE entries SET list = ? WHERE id = ?")
            for number in 1...rows {
                update.bind(Int64((number * 7 + 3) % lists + 1), at: 1)
                update.bind(Int64(number), at: 2)
                try update.run()
            }
        }
    }

    private func check() throws {
        let expected = try plain.content(Self.content)
        guard expected.rows == rows else {
            throw BenchmarkError("plain SQLite has \(expected.rows) entries instead of \(rows)")
        }
        for database in [written, replicaView] {
            guard try database.content(Self.content) == expected else {
                throw BenchmarkError("\(database.path) has other references than plain SQLite")
            }
        }
        guard try replicaView.integer("SELECT count(*) FROM entries") == rows * 2 else {
            throw BenchmarkError("the replica lost rows of its own")
        }
    }
}
