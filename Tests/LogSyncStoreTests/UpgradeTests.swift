import LogSyncModel
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
        #expect(try again.strings("SELECT value FROM logsync_store WHERE key = 'format'") == ["7"])
    }

    @Test func keysThatNoRecordKeptAreKeptFromNowOn() throws {
        let a = try TestPeer(folder, "a", sql: "CREATE TABLE t(k TEXT PRIMARY KEY, x); INSERT INTO t VALUES('one', 1)")
        let b = try TestPeer(folder, "b", cloning: a)
        _ = try a.store.record()
        try a.store.close()
        let clock = try #require(
            try a.strings("SELECT 'logsync_clock_' || id FROM logsync_table WHERE name = 't'").first)
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
