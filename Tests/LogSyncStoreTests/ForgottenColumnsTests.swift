import LogSyncFormat
import LogSyncModel
import Testing

@testable import LogSyncStore

/// What a store remembers of values that are gone.
@Suite struct ForgottenColumnsTests {
    let folder: TestFolder
    let a: TestPeer
    let b: TestPeer
    let c: TestPeer
    private let lost: Set = [ColumnName("t", "y")]

    init() throws {
        folder = try TestFolder()
        a = try TestPeer(folder, "a", sql: "CREATE TABLE t(id TEXT PRIMARY KEY, x, y); INSERT INTO t VALUES('p', 1, 1)")
        b = try TestPeer(folder, "b", cloning: a)
        c = try TestPeer(folder, "c", cloning: a)
    }

    @Test func whatOneHasLostIsLostToWhoeverJoinsItsSnapshot() throws {
        try a.write("INSERT INTO t VALUES('q', 2, 3)")
        _ = try a.store.record()
        try a.write("ALTER TABLE t DROP COLUMN y")
        let first = try a.snapshot()
        #expect(try first.taken.lost == lost && first.manifest.lost == lost)
        #expect(try b.join(first).lost == lost)
        #expect(try b.strings("SELECT * FROM t ORDER BY id") == ["p|1|1", "q|2|NULL"])
        // What it shows in the value's place it gives on as the value.
        let second = try b.snapshot()
        #expect(try second.manifest.lost == lost)
        #expect(try c.join(second).lost == lost)
        #expect(try c.strings("SELECT * FROM t ORDER BY id") == ["p|1|1", "q|2|NULL"])
        #expect(try c.store.lostColumns() == lost)
        let shown = try c.store.shownColumns()
        #expect(shown.isSuperset(of: [ColumnName("t", "id"), ColumnName("t", "x")]))
        #expect(shown.isDisjoint(with: lost))
        let d = try TestPeer(folder, "d", filling: second, from: b)
        #expect(try d.store.lostColumns() == lost)
        #expect(try d.snapshot().manifest.lost == lost)
    }

    @Test func whoTakesNothingOfAColumnFromASnapshotHasLostNothing() throws {
        try a.write("INSERT INTO t VALUES('q', 2, 2)")
        try converge(a, b)
        try a.write("ALTER TABLE t DROP COLUMN y; UPDATE t SET x = 3")
        #expect(try b.join(try a.snapshot()).lost.isEmpty)
        #expect(try b.strings("SELECT * FROM t ORDER BY id") == ["p|3|1", "q|3|2"])
        #expect(try b.store.lostColumns().isEmpty)
        #expect(try b.snapshot().manifest.lost.isEmpty)
    }

    @Test func aStoreFromBeforeItWasRememberedRemembersItFromItsNextWriteOn() throws {
        try a.write("ALTER TABLE t DROP COLUMN y")
        _ = try a.store.record()
        try a.store.close()
        try a.write("DELETE FROM logsync_store WHERE key = 'lost_columns'")
        let again = try TestPeer(folder, "a", opening: try Store.open(a.path, configuration: TestPeer.configuration(1)))
        #expect(try again.store.lostColumns() == lost)
        #expect(try again.snapshot().manifest.lost == lost)
        // The rows that showed it go.
        try again.write("DELETE FROM t")
        _ = try again.store.record()
        #expect(try again.store.lostColumns() == lost)
        #expect(try again.snapshot().manifest.lost == lost)
    }
}
