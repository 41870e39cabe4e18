import Foundation
import LogSyncFormat
import LogSyncModel
import LogSyncSQLite
import Testing

@testable import LogSyncStore

/// Stores that an older logsync made.
@Suite struct UpgradeTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    @Test func aStoreOfTheFirstFormatGoesOn() throws {
        let a = try TestPeer(folder, "a", sql: "CREATE TABLE t(id TEXT PRIMARY KEY, x); INSERT INTO t VALUES('one', 1)")
        let b = try TestPeer(folder, "b", cloning: a)
        try b.write("INSERT INTO t VALUES('two', 2)")
        try converge(a, b)
        try a.store.close()
        try a.takeToFormat7()
        // As it was before branches were known, and blobs.
        try a.write(
            """
            DROP TABLE logsync_shown; DROP TABLE logsync_blob; DROP TABLE logsync_blob_part; DROP TABLE logsync_outbox_blob;
            DROP TABLE logsync_joined; DROP TABLE logsync_branch; DROP TABLE logsync_mark;
            ALTER TABLE logsync_peer DROP COLUMN joined; ALTER TABLE logsync_peer DROP COLUMN files;
            ALTER TABLE logsync_transaction DROP COLUMN mark; ALTER TABLE logsync_transaction DROP COLUMN dependencies;
            UPDATE logsync_store SET value = 1 WHERE key = 'format';
            """)
        let again = try TestPeer(folder, "a", opening: try Store.open(a.path, configuration: TestPeer.configuration(1)))
        try again.write("UPDATE t SET x = 3 WHERE id = 'two'")
        try b.write("INSERT INTO t VALUES('three', 3)")
        try agree(again, b)
        #expect(try b.strings("SELECT * FROM t ORDER BY id") == ["one|1", "three|3", "two|3"])
        #expect(try b.store.summary().conflicts == 0)
        #expect(try again.strings("SELECT value FROM logsync_store WHERE key = 'format'") == ["8"])
    }

    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// A store that format 7's last version left: three transactions are published, one waits, one row is captured; another
    /// peer's transactions are imported.
    private func golden() throws -> TestPeer {
        let path = folder.path + "/golden.db"
        try FileManager.default.copyItem(
            at: Self.root.appending(path: "Fixtures/store-format-7/store.db"), to: URL(filePath: path))
        return try TestPeer(folder, "golden", opening: try Store.open(path, configuration: TestPeer.configuration(1)))
    }

    @Test func `a store of format 7 goes on publishing where it was`() throws {
        let peer = try golden()
        #expect(try peer.strings("SELECT value FROM logsync_store WHERE key = 'format'") == ["8"])
        #expect(try peer.store.outbox(unpublishedOnly: true).map(\.dot.sequence) == [4])
        #expect(try peer.store.waitingCount() == 1)
        let recorded = try #require(try peer.store.record())
        #expect(recorded.dot.sequence == 5)
        let entries = try peer.store.outbox(unpublishedOnly: false)
        #expect(entries.map(\.dot.sequence) == [1, 2, 3, 4, 5])
        #expect(zip(entries, entries.dropFirst()).allSatisfy { $0.chain == $1.chainBefore })
        #expect(try entries.map { try peer.store.changes(of: $0).count } == [4, 2, 2, 2, 1])
        try peer.store.markPublished([entries[3].dot])
        #expect(try peer.store.outbox(unpublishedOnly: true).map(\.dot.sequence) == [5])
        #expect(try peer.store.audit().problems == [])
    }

    @Test func `a store of format 7 keeps the history of its rows and what its tables ever had`() throws {
        let peer = try golden()
        try peer.write("DELETE FROM item WHERE id = 10")
        _ = try peer.store.record()
        try peer.write("INSERT INTO item(title) VALUES('again')")
        _ = try peer.store.record()
        var tokens: [Int64] = []
        try peer.store.forEachHistoryEntry(after: 0) { entry in
            tokens.append(entry.token)
            #expect(entry.rows?.mapValues(\.counts) == entry.counts)
            return true
        }
        #expect(tokens == [1, 2, 3, 4, 5, 6, 7])
        let table = try #require(try peer.store.database.read { $0.catalog["item"] })
        // 9 was the greatest integer that a recorded row ever had, and it is gone.
        #expect(table.recorded == 7 && table.high == 9)
        try peer.store.forgetHistory(before: 7)
        var known: [Int64] = []
        try peer.store.forEachHistoryEntry(after: 0) { entry in
            if entry.rows != nil { known.append(entry.token) }
            return true
        }
        #expect(known == [7])
    }

    @Test func keysThatNoRecordKeptAreKeptFromNowOn() throws {
        let a = try TestPeer(folder, "a", sql: "CREATE TABLE t(k TEXT PRIMARY KEY, x); INSERT INTO t VALUES('one', 1)")
        let b = try TestPeer(folder, "b", cloning: a)
        _ = try a.store.record()
        try a.store.close()
        let clock = try #require(
            try a.strings("SELECT 'logsync_clock_' || id FROM logsync_table WHERE name = 't'").first)
        try a.takeToFormat7()
        try a.write("UPDATE \(clock) SET uniques = NULL; UPDATE logsync_store SET value = 4 WHERE key = 'format'")
        let again = try TestPeer(folder, "a", opening: try Store.open(a.path, configuration: TestPeer.configuration(1)))
        try again.write("DROP TABLE t")
        try b.write("UPDATE t SET x = 2")
        try converge(again, b)
        #expect(try again.store.audit().problems == [])
    }

    @Test func whatAStoreLeavesOutIsItsOwnChoiceFromNowOn() throws {
        let a = try TestPeer(folder, "a", sql: "CREATE TABLE t(k TEXT PRIMARY KEY, x)")
        _ = try a.store.record()
        try a.store.close()
        try a.takeToFormat7()
        try a.write(
            """
            INSERT INTO logsync_setting VALUES('skip', 'Token', '1'), ('local', 'version', '1');
            DELETE FROM logsync_store WHERE key LIKE 'skip %' OR key LIKE 'local %';
            UPDATE logsync_store SET value = 5 WHERE key = 'format'
            """)
        let again = try TestPeer(folder, "a", opening: try Store.open(a.path, configuration: TestPeer.configuration(1)))
        let choices = "SELECT key FROM logsync_store WHERE key LIKE 'skip %' OR key LIKE 'local %' ORDER BY key"
        #expect(try again.strings(choices) == ["local version", "skip token"])
        try again.write("INSERT OR REPLACE INTO logsync_setting VALUES('local', 'token', '1')")
        _ = try again.store.record()
        #expect(try again.strings(choices) == ["local version", "skip token"])
    }
}

extension TestPeer {
    /// Lets a store that is closed have the tables that it had in format 7.
    func takeToFormat7() throws {
        for row in try app.rows("SELECT peer, sequence, bytes FROM logsync_outbox WHERE bytes IS NOT NULL") {
            guard case .blob(let bytes) = row[2] else { continue }
            for (part, block) in EncodedBlock.split(bytes).enumerated() {
                try app.run(
                    "INSERT INTO logsync_outbox_block(peer, sequence, part, bytes) VALUES(?, ?, ?, ?)", row[0], row[1],
                    .integer(Int64(part)), .blob(block.bytes[...]))
            }
        }
        app.finalizeStatements()
        try write(
            """
            INSERT INTO logsync_history(token, rows) SELECT token, rows FROM logsync_transaction;
            CREATE TABLE former(
                token INTEGER PRIMARY KEY, peer INTEGER NOT NULL, sequence INTEGER NOT NULL, time INTEGER NOT NULL,
                author TEXT, context TEXT, changes TEXT NOT NULL, mark INTEGER, dependencies BLOB);
            INSERT INTO former SELECT token, peer, sequence, time, author, context, changes, mark, dependencies
                FROM logsync_transaction;
            DROP TABLE logsync_transaction;
            ALTER TABLE former RENAME TO logsync_transaction;
            CREATE UNIQUE INDEX logsync_transaction_dot ON logsync_transaction(peer, sequence);
            CREATE TABLE former(
                number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, sequence INTEGER NOT NULL DEFAULT 0, chain BLOB,
                declared INTEGER NOT NULL DEFAULT 0, accepts_clock INTEGER NOT NULL DEFAULT 0,
                joined INTEGER NOT NULL DEFAULT 0, files INTEGER);
            INSERT INTO former SELECT number, id, sequence, chain, declared, accepts_clock, joined, files
                FROM logsync_peer;
            DROP TABLE logsync_peer;
            ALTER TABLE former RENAME TO logsync_peer;
            ALTER TABLE logsync_outbox DROP COLUMN bytes;
            CREATE INDEX logsync_outbox_waiting ON logsync_outbox(peer, sequence) WHERE NOT published;
            ALTER TABLE logsync_table ADD COLUMN recorded INTEGER NOT NULL DEFAULT 0;
            ALTER TABLE logsync_table ADD COLUMN high INTEGER NOT NULL DEFAULT 0;
            UPDATE logsync_table SET
                recorded = coalesce((SELECT CAST(value AS INTEGER) FROM logsync_store WHERE key = 'extent ' || id), 0),
                high = coalesce((SELECT CAST(substr(value, instr(value, ' ')) AS INTEGER) FROM logsync_store
                    WHERE key = 'extent ' || id), 0);
            DELETE FROM logsync_store WHERE key LIKE 'extent %';
            UPDATE logsync_store SET value = 7 WHERE key = 'format';
            """)
    }
}
