import LogSyncModel
import LogSyncSQLite
import Testing

@testable import LogSyncStore

/// What is held against a store that programs write all the time.
@Suite struct BusyStoreTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private static let schema = """
        CREATE TABLE p(id INTEGER PRIMARY KEY, name TEXT UNIQUE, big);
        CREATE TABLE word(k TEXT PRIMARY KEY, x);
        CREATE TABLE bag(x, y);
        INSERT INTO p VALUES(1, 'one', 1), (2, 'two', 2), (3, 'three', 3);
        INSERT INTO word VALUES('a', 1), ('b', 2), ('c', 3);
        INSERT INTO bag VALUES(1, 1), (2, 2), (3, 3);
        """

    private static let writes = """
        UPDATE p SET big = 'new' WHERE id = 1; DELETE FROM p WHERE id = 2; INSERT INTO p(name) VALUES('four');
        UPDATE word SET x = 'new' WHERE k = 'a'; UPDATE word SET k = 'z' WHERE k = 'b'; DELETE FROM word WHERE k = 'c';
        UPDATE bag SET x = 'new' WHERE y = 1; DELETE FROM bag WHERE y = 2;
        """

    @Test("A snapshot is true though programs have written since, and write on while it is compared")
    func snapshotsAreComparedAtAMomentWhenAllIsRecorded() throws {
        let a = try TestPeer(folder, "a", sql: Self.schema)
        let snapshot = try a.snapshot()
        try a.write(Self.writes)
        #expect(try a.store.agrees { try snapshot.open() } == nil, "what is not recorded says nothing")
        var writes = 0
        let agrees = try a.store.agrees(recording: {
            _ = try a.store.record()
            writes += 1
            if writes < 5 { try a.write("UPDATE p SET big = \(writes) WHERE id = 3; DELETE FROM bag WHERE y = 3") }
        }) { try snapshot.open() }
        #expect(agrees == true)
        #expect(writes == 5)
    }

    @Test("A snapshot that holds something else is found in a store that programs write")
    func anUntrueSnapshotIsFoundInABusyStore() throws {
        let a = try TestPeer(folder, "a", sql: Self.schema)
        let snapshot = try a.snapshot()
        try a.app.setTriggersEnabled(false)
        try a.write("UPDATE word SET x = 'another' WHERE k = 'c'")
        try a.app.setTriggersEnabled(true)
        try a.write("UPDATE p SET big = 'new' WHERE id = 1")
        let agrees = try a.store.agrees(recording: { _ = try a.store.record() }) { try snapshot.open() }
        #expect(agrees == false)
    }

    @Test("What programs write while rows are compared is captured, not found")
    func whatIsCapturedMeanwhileIsNotFound() throws {
        let a = try TestPeer(folder, "a", sql: Self.schema)
        try a.app.setTriggersEnabled(false)
        try a.write("UPDATE word SET x = 'behind' WHERE k = 'a'")
        try a.app.setTriggersEnabled(true)
        let prepared = try a.store.prepareRescan()
        try a.write(
            "UPDATE word SET x = 'new' WHERE k = 'b'; INSERT INTO p(name) VALUES('four'); DELETE FROM bag WHERE y = 2")
        let rescan = try a.store.rescan(prepared, naming: [:])
        #expect(rescan.found?.counts == ["word": ChangeCounts(updated: 1)])
        #expect(
            rescan.captured?.counts == [
                "word": ChangeCounts(updated: 1), "p": ChangeCounts(inserted: 1), "bag": ChangeCounts(deleted: 1),
            ])
        #expect(try a.store.rescan(a.store.prepareRescan(), naming: [:]).found == nil)
        #expect(try a.store.audit().problems == [])
    }
}
