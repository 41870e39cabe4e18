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
}
