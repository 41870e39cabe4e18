import LogSyncFormat
import LogSyncModel
import LogSyncSQLite
import Testing

@testable import LogSyncStore

/// What was changed with the triggers off, in every kind of table.
@Suite struct RescanTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private static let schema = """
        CREATE TABLE plain(k TEXT PRIMARY KEY, x);
        CREATE TABLE folded(k TEXT COLLATE NOCASE, l INT, x, PRIMARY KEY(k, l));
        CREATE TABLE bare(k TEXT, x, PRIMARY KEY(k)) WITHOUT ROWID;
        CREATE TABLE parent(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
        CREATE TABLE child(id INTEGER PRIMARY KEY, parent INT REFERENCES parent, x);
        CREATE TABLE link(parent INT REFERENCES parent, tag TEXT, x, PRIMARY KEY(parent, tag));
        INSERT INTO plain VALUES('a', 1), ('b', 2), ('c', 3), ('d', 4);
        INSERT INTO folded VALUES('Bob', 1, 1), ('ann', 1, 2), ('eve', 2.0, 3);
        INSERT INTO bare VALUES('a', 1), ('b', 2), ('c', 3);
        INSERT INTO parent VALUES(1, 'p'), (2, 'q'), (3, 'r');
        INSERT INTO child VALUES(1, 1, 'x'), (2, 2, 'y'), (3, 3, 'z');
        INSERT INTO link VALUES(1, 'red', 1), (2, 'red', 2), (3, 'blue', 3);
        """

    private static let changes = """
        UPDATE plain SET x = 'new' WHERE k = 'a'; DELETE FROM plain WHERE k = 'b'; INSERT INTO plain VALUES('n', 9);
        UPDATE plain SET k = 'renamed' WHERE k = 'd';
        UPDATE folded SET x = 'new' WHERE k = 'bob'; DELETE FROM folded WHERE k = 'EVE'; INSERT INTO folded VALUES('Zoe', 1, 9);
        UPDATE bare SET x = 'new' WHERE k = 'a'; DELETE FROM bare WHERE k = 'b'; INSERT INTO bare VALUES('n', 9);
        DELETE FROM child WHERE id = 3; DELETE FROM link WHERE parent = 3; DELETE FROM parent WHERE id = 3;
        UPDATE parent SET name = 'new' WHERE id = 1; INSERT INTO parent VALUES(7, 's'); INSERT INTO child VALUES(7, 7, 'w');
        UPDATE child SET parent = 7 WHERE id = 2; INSERT INTO link VALUES(7, 'green', 9); UPDATE link SET x = 8 WHERE tag = 'red';
        """

    /// As `sqlite3 -cmd '.dbconfig enable_trigger off'` does.
    private func quietly(_ peer: TestPeer, _ sql: String) throws {
        try peer.app.setTriggersEnabled(false)
        try peer.write(sql)
        try peer.app.setTriggersEnabled(true)
    }

    /// Every identity that the peers' outboxes name.
    private func names(_ peers: TestPeer...) throws -> [String: Set<RowIdentity>] {
        var names: [String: Set<RowIdentity>] = [:]
        for peer in peers {
            for entry in try peer.store.outbox(unpublishedOnly: false) {
                var blocks: [[UInt8]] = []
                try peer.store.forEachOutboxBlock(of: entry.dot) { blocks.append($0) }
                var queue = blocks[...]
                let reader = try SegmentReader(peer: entry.dot.peer, previous: entry.chainBefore) { queue.popFirst() }
                while let groups = try reader.nextFrame() {
                    for group in groups { names[group.table, default: []].formUnion(group.identities) }
                }
            }
        }
        return names
    }

    private func dump(_ peer: TestPeer) throws -> [String] {
        try ["plain", "folded", "bare"].flatMap { try peer.strings("SELECT * FROM \($0) ORDER BY 1, 2") }
            + peer.strings("SELECT name FROM parent ORDER BY 1")
            + peer.strings("SELECT name, x FROM child JOIN parent ON parent.id = parent ORDER BY 1, 2")
            + peer.strings("SELECT name, tag, x FROM link JOIN parent ON parent.id = parent ORDER BY 1, 2")
    }

    /// Lets clock records be as they were before they kept natural keys.
    private func forgetKeys(_ peer: TestPeer) throws {
        for table in try peer.strings("SELECT id FROM logsync_table WHERE name IN ('plain', 'folded')") {
            try peer.write("UPDATE logsync_clock_\(table) SET uniques = NULL")
        }
    }

    @Test(arguments: [false, true])
    func everyKindOfTableIsFoundAndRecordedOnce(keysAreKept: Bool) throws {
        let a = try TestPeer(folder, "a", sql: Self.schema)
        let b = try TestPeer(folder, "b", cloning: a)
        for peer in [a, b] {
            if !keysAreKept { try forgetKeys(peer) }
            try quietly(peer, peer === a ? Self.changes : "UPDATE plain SET x = 'b' WHERE k = 'c'")
            #expect(try peer.store.record() == nil, "no trigger said anything")
        }
        let prepared = try a.store.prepareRescan()
        #expect(prepared.pending == nil && prepared.capturedAgain.isEmpty)
        #expect(Set(prepared.unidentified.map(\.table)) == (keysAreKept ? [] : ["plain", "folded"]))
        let (_, found, left) = try a.store.rescan(prepared, naming: keysAreKept ? [:] : try names(a))
        #expect(left.isEmpty)
        #expect(found?.counts["plain"] == ChangeCounts(inserted: 2, updated: 1, deleted: 2))
        #expect(found?.counts["folded"] == ChangeCounts(inserted: 1, updated: 1, deleted: 1))
        #expect(found?.counts["bare"] == ChangeCounts(inserted: 1, updated: 1, deleted: 1))
        #expect(found?.counts["parent"] == ChangeCounts(inserted: 1, updated: 1, deleted: 1))
        #expect(found?.counts["child"] == ChangeCounts(inserted: 1, updated: 1, deleted: 1))
        #expect(found?.counts["link"] == ChangeCounts(inserted: 1, updated: 2, deleted: 1))
        #expect(try a.store.audit().problems == [])
        #expect(
            try b.store.rescan(b.store.prepareRescan(), naming: [:]).found?.counts == [
                "plain": ChangeCounts(updated: 1)
            ])
        try converge(a, b)
        #expect(try dump(a) == dump(b))
        #expect(try a.strings("SELECT x FROM plain WHERE k = 'c'") == ["b"])
        for peer in [a, b] {
            let again = try peer.store.rescan(peer.store.prepareRescan(), naming: try names(a, b))
            #expect(again.found == nil && again.unidentified.isEmpty)
            #expect(try peer.store.audit().problems == [])
        }
    }

    @Test func rowsOfEveryPortionAreFound() throws {
        // More than two portions, with rows at the ends of the integers.
        let schema = """
            CREATE TABLE many(id INTEGER PRIMARY KEY, x);
            INSERT INTO many VALUES(-9223372036854775808, 'least'), (9223372036854775807, 'greatest');
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 45000)
            INSERT INTO many SELECT i * 2, 'row ' || i FROM n;
            """
        let a = try TestPeer(folder, "a", sql: schema)
        try quietly(
            a,
            """
            UPDATE many SET x = 'new' WHERE id IN (-9223372036854775808, 2, 40000, 40002, 79998, 90000, 9223372036854775807);
            DELETE FROM many WHERE id IN (4, 60000);
            INSERT INTO many VALUES(1, 'between'), (90001, 'after')
            """)
        let (_, found, left) = try a.store.rescan(a.store.prepareRescan(), naming: [:])
        #expect(left.isEmpty)
        #expect(found?.counts == ["many": ChangeCounts(inserted: 2, updated: 7, deleted: 2)])
        #expect(try a.store.audit().problems == [])
        #expect(try a.store.rescan(a.store.prepareRescan(), naming: [:]).found == nil)
    }

    @Test("Of a table that is gone through by its keys, too, also where too many rows differ to remember them all")
    func rowsOfEveryPortionAreFoundByTheirKeys() throws {
        let schema = """
            CREATE TABLE many(k TEXT, l INT, x, PRIMARY KEY(k, l)) WITHOUT ROWID;
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 45000)
            INSERT INTO many SELECT printf('%05d', i / 2), i, 'row ' || i FROM n;
            """
        let a = try TestPeer(folder, "a", sql: schema)
        try quietly(
            a,
            """
            UPDATE many SET x = 'new' WHERE l IN (1, 19999, 20000, 20001, 40000, 45000);
            DELETE FROM many WHERE l IN (2, 14000);
            INSERT INTO many VALUES('', 0, 'before'), ('10000', 20002, 'between'), ('99999', 0, 'after')
            """)
        let few = try a.store.rescan(a.store.prepareRescan(), naming: [:]).found
        #expect(few?.counts == ["many": ChangeCounts(inserted: 3, updated: 6, deleted: 2)])
        try quietly(a, "UPDATE many SET x = 'newer' WHERE l > 15000")
        let many = try a.store.rescan(a.store.prepareRescan(), naming: [:]).found
        #expect(many?.counts == ["many": ChangeCounts(updated: 30_001)])
        #expect(try a.store.audit().problems == [])
        #expect(try a.store.rescan(a.store.prepareRescan(), naming: [:]).found == nil)
    }

    @Test(arguments: ["k COLLATE NOCASE", "k DESC", "k, x"])
    func rowsOfAnyKeyThatAreThereStay(key: String) throws {
        let a = try TestPeer(
            folder, "a",
            sql: """
                CREATE TABLE t(k TEXT NOT NULL, x TEXT NOT NULL, v, PRIMARY KEY(\(key))) WITHOUT ROWID;
                INSERT INTO t VALUES('A', 'X', 1), ('b', 'Y', 2), ('C', 'z', 3)
                """)
        try quietly(a, "UPDATE t SET v = 'new' WHERE k = 'b'")
        let found = try a.store.rescan(a.store.prepareRescan(), naming: [:]).found
        #expect(found?.counts == ["t": ChangeCounts(updated: 1)])
        #expect(try a.store.audit().problems == [])
    }

    @Test(arguments: ["k TEXT PRIMARY KEY NOT NULL, x", "k TEXT PRIMARY KEY NOT NULL, x, y UNIQUE"])
    func rowsThatHaveOnlyChangedPlacesAreTheSame(columns: String) throws {
        let a = try TestPeer(
            folder, "a", sql: "CREATE TABLE t(\(columns)); INSERT INTO t(k, x) VALUES('a', 1), ('b', 2), ('c', 3)")
        try quietly(
            a,
            """
            UPDATE t SET rowid = 10 WHERE k = 'a'; UPDATE t SET rowid = 1 WHERE k = 'b';
            UPDATE t SET rowid = 2 WHERE k = 'a'; UPDATE t SET rowid = 20 WHERE k = 'c'
            """)
        #expect(try a.store.rescan(a.store.prepareRescan(), naming: [:]).found == nil)
        #expect(try a.store.audit().problems == [])
        try a.write("UPDATE t SET x = 'new' WHERE k = 'a'; DELETE FROM t WHERE k = 'b'")
        #expect(try a.store.record()?.counts["t"] == ChangeCounts(updated: 1, deleted: 1))
        #expect(try a.store.audit().problems == [])
    }

    @Test func aRowThatHasTakenTheNumberOfOneThatIsGoneIsThere() throws {
        let a = try TestPeer(folder, "a", sql: Self.schema)
        try forgetKeys(a)
        try quietly(a, "DELETE FROM plain WHERE k = 'a'; UPDATE plain SET rowid = 1 WHERE k = 'b'")
        let prepared = try a.store.prepareRescan()
        #expect(prepared.unidentified.map(\.digests.count) == [1], "a is gone, b is not")
        let found = try a.store.rescan(prepared, naming: try names(a)).found
        #expect(found?.counts == ["plain": ChangeCounts(deleted: 1)])
        #expect(try a.store.audit().problems == [])
    }

    @Test func rowsThatAnotherProcessHasFollowedToOtherNumbersAreComparedAgain() throws {
        let a = try TestPeer(folder, "a", sql: Self.schema)
        try quietly(a, "UPDATE plain SET x = 'new' WHERE k = 'd'")
        let prepared = try a.store.prepareRescan()
        // As VACUUM numbers rows anew, and moves the schema's version.
        try quietly(a, "UPDATE plain SET rowid = rowid + 10; CREATE INDEX later ON plain(x)")
        let other = try Store.open(a.path, configuration: a.configuration)
        #expect(try other.record() == nil)
        try other.close()
        let found = try a.store.rescan(prepared, naming: [:]).found
        #expect(found?.counts == ["plain": ChangeCounts(updated: 1)])
        #expect(try a.store.audit().problems == [])
    }

    @Test func aColumnThatRecordsDoNotKnowIsCompared() throws {
        let a = try TestPeer(
            folder, "a", sql: "CREATE TABLE t(id INTEGER PRIMARY KEY, x); INSERT INTO t VALUES(1, 1), (2, 2)")
        try a.write("ALTER TABLE t ADD COLUMN y")
        _ = try a.store.record()
        try quietly(a, "UPDATE t SET y = 'new' WHERE id = 2")
        let found = try a.store.rescan(a.store.prepareRescan(), naming: [:]).found
        #expect(found?.counts["t"] == ChangeCounts(updated: 1))
    }

    @Test func whatNobodyNamesIsCountedAndKept() throws {
        let a = try TestPeer(folder, "a", sql: Self.schema)
        let b = try TestPeer(folder, "b", cloning: a)
        try forgetKeys(b)
        try quietly(b, "DELETE FROM plain WHERE k IN ('a', 'b')")
        let prepared = try b.store.prepareRescan()
        let strangers = try [RowIdentity(natural: [#require(KeyPart(.text("other"), collation: .binary))])]
        let first = try b.store.rescan(prepared, naming: ["plain": Set(strangers)])
        #expect(first.found == nil && first.unidentified == ["plain": 2])
        let second = try b.store.rescan(prepared, naming: try names(a))
        #expect(second.unidentified.isEmpty && second.found?.counts["plain"] == ChangeCounts(deleted: 2))
        try converge(a, b)
        #expect(try dump(a) == dump(b))
        #expect(try a.strings("SELECT k FROM plain ORDER BY 1") == ["c", "d"])
    }
}
