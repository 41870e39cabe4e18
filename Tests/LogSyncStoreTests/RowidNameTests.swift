import LogSyncModel
import Testing

@testable import LogSyncStore

/// Tables whose columns come to be called as SQL calls the rowid. Source: <https://www.sqlite.org/lang_createtable.html#rowid>.
@Suite("A table")
struct RowidNameTests {
    @Test(
        "is captured where a column is called as the rowid, whatever the program has written before that is seen",
        arguments: ["rowid", "oid", "_rowid_"], ["", ", PRIMARY KEY(uid)", ", id INTEGER PRIMARY KEY"])
    func columnsCalledRowid(name: String, key: String) throws {
        let folder = try TestFolder()
        let a = try TestPeer(
            folder, "a",
            sql: "CREATE TABLE t(uid TEXT, note TEXT, x INTEGER\(key)); "
                + "INSERT INTO t(uid, note, x) VALUES('1', 'one', 3), ('2', 'two', 1), ('3', 'three', 2)")
        let b = try TestPeer(folder, "b", cloning: a)
        for (migration, next) in [
            ("ALTER TABLE t RENAME COLUMN x TO \(name)", "4"), ("ALTER TABLE t ADD COLUMN more INTEGER DEFAULT 7", "5"),
        ] {
            try a.write("UPDATE t SET note = 'before \(next)' WHERE uid = '1'")
            try a.write(migration)
            try a.write(
                """
                INSERT INTO t(uid, note, \(name)) VALUES('\(next)', 'new', 1); UPDATE t SET \(name) = 2 WHERE uid = '2';
                UPDATE t SET note = note || '\(next)' WHERE uid = '2'; DELETE FROM t WHERE uid = '3'
                """)
            try a.record()
            try b.write(migration)
            try agree(a, b)
            try a.write(
                "UPDATE t SET note = 'after \(next)' WHERE uid = '\(next)'; INSERT INTO t(uid, note) VALUES('3', 'back')"
            )
            try b.write("UPDATE t SET note = note || ' by b' WHERE uid = '2'")
            try agree(a, b)
        }
        for peer in [a, b] {
            #expect(
                try peer.strings("SELECT uid, note, \(name) FROM t ORDER BY 1")
                    == ["1|before 5|3", "2|two4 by b5 by b|2", "3|back|NULL", "4|after 4|1", "5|after 5|1"])
        }
    }

    @Test("is captured again after a rescan, where an earlier version has left triggers that name the column")
    func leftTriggers() throws {
        let folder = try TestFolder()
        let a = try TestPeer(folder, "a", sql: "CREATE TABLE t(uid TEXT, rowid TEXT); INSERT INTO t VALUES('1', 'one')")
        let triggers = try a.strings("SELECT sql FROM sqlite_master WHERE name LIKE 'logsync_%' AND tbl_name = 't'")
        #expect(triggers.contains { $0.contains("NEW.\"_rowid_\"") || $0.contains("NEW._rowid_") })
        for trigger in triggers {
            let name = trigger.split(separator: " ")[2]
            try a.write("DROP TRIGGER \(name); \(trigger.replacing("_rowid_", with: "rowid"))")
        }
        try a.store.database.write { try $0.acceptSchemaVersion() }
        #expect(try a.store.health().withoutTriggers == ["t"])
        let prepared = try a.store.prepareRescan()
        #expect(prepared.capturedAgain == ["t"])
        _ = try a.store.rescan(prepared, naming: [:])
        #expect(try a.store.health().withoutTriggers.isEmpty)
        try a.write("UPDATE t SET rowid = 'two' WHERE uid = '1'")
        #expect(try a.recorded() == "t ~1")
        #expect(try a.store.audit().problems == [])
    }
}
