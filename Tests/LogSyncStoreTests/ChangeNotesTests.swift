import LogSyncFormat
import LogSyncModel
import Testing

@testable import LogSyncStore

/// What an import tells those who listen: every row that is shown anew, with the key under which this store shows it.
struct ChangeNotesTests {
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private func changes(_ imported: [ImportedTransaction], of table: String) -> [TableChanges] {
        imported.compactMap { $0.tables[table] }
    }

    @Test(arguments: ["unique-park", "unique-merge"])
    func aRowThatTakesTheUniqueValueOfAYoungerOneIsListed(policy: String) throws {
        let clock = TestClock()
        let sql = "CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE)"
        let a = try TestPeer(folder, "a", sql: sql, clock: clock) { $0.policies = [("tag", policy)] }
        let b = try TestPeer(folder, "b", cloning: a, clock: clock)
        try a.write("INSERT INTO tag(id, name) VALUES (7, 'work')")
        _ = try a.store.record()
        clock.milliseconds += 60_000
        try b.write("INSERT INTO tag(id, name) VALUES (2, 'work')")
        _ = try b.store.record()
        let told = try changes(b.pull(from: a), of: "tag")
        let shown = try b.strings("SELECT id FROM tag")
        #expect(shown.count == 1)
        #expect(told.flatMap(\.deleted) == [[.integer(2)]])
        #expect(told.flatMap(\.inserted).map { "\($0)" } == shown.map { "\([Value.integer(Int64($0) ?? 0)])" })
        #expect(told.map(\.counts) == [ChangeCounts(inserted: 1, updated: 0, deleted: 1)])
        #expect(told.allSatisfy { !$0.isTruncated })
    }

    @Test func aParkedRowThatComesBackIsListed() throws {
        let clock = TestClock()
        let a = try TestPeer(
            folder, "a", sql: "CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT UNIQUE)", clock: clock)
        let b = try TestPeer(folder, "b", cloning: a, clock: clock)
        try a.write("INSERT INTO tag(id, name) VALUES (1, 'work')")
        _ = try a.store.record()
        clock.milliseconds += 60_000
        try b.write("INSERT INTO tag(id, name) VALUES (2, 'work')")
        try b.pull(from: a)
        #expect(try b.strings("SELECT name FROM tag") == ["work"])
        try a.write("DELETE FROM tag")
        let told = try changes(b.pull(from: a), of: "tag")
        let shown = try b.strings("SELECT id FROM tag")
        #expect(shown.count == 1)
        #expect(told.flatMap(\.inserted).map { "\($0)" } == shown.map { "\([Value.integer(Int64($0) ?? 0)])" })
        #expect(told.map(\.counts.inserted) == [1])
    }

    @Test func aParkedRowThatAnEditLetsInIsAnInsertion() throws {
        let clock = TestClock()
        let a = try TestPeer(
            folder, "a", sql: "CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT UNIQUE)", clock: clock)
        let b = try TestPeer(folder, "b", cloning: a, clock: clock)
        try b.write("INSERT INTO tag(id, name) VALUES (5, 'work')")
        _ = try b.store.record()
        clock.milliseconds += 60_000
        try a.write("INSERT INTO tag(id, name) VALUES (6, 'work')")
        try b.pull(from: a)
        #expect(try b.strings("SELECT id, name FROM tag") == ["5|work"])
        try a.write("UPDATE tag SET name = 'home'")
        let told = try changes(b.pull(from: a), of: "tag")
        #expect(try b.strings("SELECT id, name FROM tag ORDER BY id") == ["5|work", "6|home"])
        #expect(told.flatMap(\.inserted) == [[.integer(6)]])
        #expect(told.map(\.counts) == [ChangeCounts(inserted: 1, updated: 0, deleted: 0)])
    }
}
