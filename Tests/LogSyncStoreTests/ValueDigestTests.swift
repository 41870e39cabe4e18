import LogSyncModel
import LogSyncSQLite
import LogSyncState
import Testing

@testable import LogSyncStore

/// Which values a store takes for the same.
@Suite struct ValueDigestTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    /// Two texts that the digest which every store shares takes for one.
    static let pair = ("cd94e5481189a878", "a37d9595e0d6a0a7")

    private func digest(_ text: String, _ digest: ValueDigest) -> UInt64 { digest.of(.text(Array(text.utf8)[...])) }

    @Test func itIsSipHash() {
        let digest = ValueDigest(key: 0..<16)
        func text(_ count: UInt8) -> UInt64 { digest.of(.text(Array(0..<count)[...])) }
        // Of a kind that is none, the algorithm's own vectors; of texts, what another implementation makes of them.
        var empty = ValueDigest.State(digest, kind: 0)
        #expect(empty.finish(count: 0) == 0xABAC_0158_050F_C4DC)
        var one = ValueDigest.State(digest, kind: 0)
        one.take(0x0706_0504_0302_0100)
        #expect(one.finish(count: 15, tail: 0x0E_0D0C_0B0A_0908) == 0xD320_D86D_2A51_9956)
        #expect(text(0) == 0xCEF4_139B_700B_FFEA)
        #expect(text(7) == 0xE6CE_F639_04C1_5CEC)
        #expect(text(8) == 0xCA62_63F7_095C_73F6)
        #expect(text(63) == 0xA540_A533_0168_1510)
        let values: [Value] = [
            .null, .integer(1), .real(1), .text([1]), .blob([1]), .integer(Int64(bitPattern: (1.0).bitPattern)),
        ]
        #expect(Set(values.map(digest.of)).count == values.count)
    }

    @Test func valuesThatWereMadeToLookTheSameAreToldApart() throws {
        #expect(digest(Self.pair.0, .unkeyed) == digest(Self.pair.1, .unkeyed), "the pair is none")
        let a = try TestPeer(folder, "a", sql: "CREATE TABLE user(id INTEGER PRIMARY KEY, name TEXT)")
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write("INSERT INTO user VALUES(1, '\(Self.pair.0)')")
        try converge(a, b)
        try a.write("UPDATE user SET name = '\(Self.pair.1)'")
        try converge(a, b)
        #expect(try b.strings("SELECT name FROM user") == [Self.pair.1])
        let key = ComparisonKey()
        #expect(try a.store.shownTables(key) == b.store.shownTables(key))
        try quietly(b, "UPDATE user SET name = '\(Self.pair.0)'")
        #expect(try a.store.shownTables(key) != b.store.shownTables(key))
        #expect(try b.store.health().differing == ["user": 1])
    }

    @Test(arguments: [
        "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, n)", "CREATE TABLE t(id TEXT PRIMARY KEY, name TEXT, n)",
        "CREATE TABLE t(id TEXT PRIMARY KEY, name TEXT, n) WITHOUT ROWID",
        "CREATE TABLE t(id TEXT PRIMARY KEY, name TEXT UNIQUE, n)",
    ]) func aStoreWithoutAKeyTakesOne(schema: String) throws {
        let a = try TestPeer(folder, "a", sql: schema)
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write("INSERT INTO t VALUES(1, '\(Self.pair.0)', 1), (2, 'two', 2), (3, 'three', 3), (4, 'four', 4)")
        try converge(a, b)
        try forgetKey(of: a)
        try a.store.close()
        try a.takeToFormat7()
        try a.write("UPDATE logsync_store SET value = 6 WHERE key = 'format'")
        // What is changed meanwhile is recorded, also where nothing captured it.
        try quietly(a, "UPDATE t SET n = 20 WHERE name = 'two'")
        try a.write("UPDATE t SET n = 30 WHERE name = 'three'; DELETE FROM t WHERE name = 'four'")
        let again = try TestPeer(folder, "a", opening: try Store.open(a.path, configuration: TestPeer.configuration(1)))
        try converge(again, b)
        #expect(try again.strings("SELECT length(value) FROM logsync_store WHERE key = 'digest_key'") == ["16"])
        #expect(try b.strings("SELECT n FROM t ORDER BY n") == ["1", "2", "30"])
        #expect(try again.store.health().differing == ["t": 1], "a row that no trigger saw change must be found")
        _ = try again.store.rescan(again.store.prepareRescan(), naming: [:])
        try again.write("UPDATE t SET name = '\(Self.pair.1)' WHERE n = 1")
        try agree(again, b)
        #expect(try b.strings("SELECT name, n FROM t ORDER BY n") == ["\(Self.pair.1)|1", "two|20", "three|30"])
        #expect(try again.store.audit().problems == [])
    }

    /// As `sqlite3 -cmd '.dbconfig enable_trigger off'` does.
    private func quietly(_ peer: TestPeer, _ sql: String) throws {
        try peer.app.setTriggersEnabled(false)
        try peer.write(sql)
        try peer.app.setTriggersEnabled(true)
    }

    /// Makes a store one of format 6: its digests are those that every store shares.
    private func forgetKey(of peer: TestPeer) throws {
        try peer.store.database.write { store in
            try store.connection.run("DELETE FROM logsync_store WHERE key = 'digest_key'")
            try store.reloadCatalog()
            for table in store.catalog.tables {
                let clock = ClockTable(table: table, connection: store.connection)
                let reader = TableReader(table: table, store: store)
                for row in try store.connection.rows("SELECT row FROM \(table.clock)") {
                    var record = try #require(try clock.record(at: row[0].asInteger))
                    let present =
                        try record.identity.map {
                            try ShownRows(store).currentRow($0, at: row[0].asInteger, in: table)
                        } ?? reader.row(at: row[0].asInteger)
                    let digests = try #require(present).digests
                    record.digest = reader.digest(digests)
                    record.digests = reader.columnDigests(digests)
                    try clock.update(record, at: row[0].asInteger, formerUniques: record.uniques)
                }
            }
        }
    }
}
