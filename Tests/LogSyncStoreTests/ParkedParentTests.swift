import LogSyncModel
import LogSyncSQLite
import Testing

@testable import LogSyncStore

/// Rows that refer to a row which is parked here, by a reference that nothing enforces.
@Suite("Rows of a parked parent")
struct ParkedParentTests {
    private static let schema = """
        CREATE TABLE genre(id INTEGER PRIMARY KEY, name TEXT UNIQUE); INSERT INTO genre(name) VALUES('Drama'), ('Comedy');
        CREATE TABLE link(genre_id INTEGER, movie TEXT);
        """
    private static let shown = "SELECT movie, name FROM link LEFT JOIN genre ON genre.id = genre_id ORDER BY 1"

    private func pair() throws -> (a: TestPeer, b: TestPeer) {
        let folder = try TestFolder()
        let a = try TestPeer(folder, "a", sql: Self.schema) { $0.references = [("link", "genre_id", "genre")] }
        let b = try TestPeer(folder, "b", cloning: a)
        for (peer, movie) in [(a, "of a"), (b, "of b")] {
            try peer.write("INSERT INTO genre(name) VALUES('Western'); INSERT INTO link VALUES(3, '\(movie)')")
            _ = try peer.record()
        }
        return (a, b)
    }

    @Test("go to no row that a program inserts next, and the row that stands has an integer that programs give")
    func nextRow() throws {
        let (a, b) = try pair()
        try converge(a, b)
        let standing = try [a, b].map { try $0.strings("SELECT name FROM genre WHERE id > 0 ORDER BY name") }
        #expect(standing == [["Comedy", "Drama", "Western"], ["Comedy", "Drama", "Western"]])
        for (peer, genre) in [(a, "Horror"), (b, "Crime")] {
            try peer.write("INSERT INTO genre(name) VALUES('\(genre)')")
        }
        try converge(a, b)
        let shown = try [a, b].map { try $0.strings(Self.shown) }
        // Whose genre stands is a matter of their ages.
        #expect(shown[0] == shown[1])
        #expect(shown[0] == ["of a|Western", "of b|NULL"] || shown[0] == ["of a|NULL", "of b|Western"])
        #expect(try a.digest() == b.digest())
    }

    @Test("are its rows again when it comes back, under whatever integer", arguments: [false, true])
    func comesBack(isTaken: Bool) throws {
        let (a, b) = try pair()
        try converge(a, b)
        if isTaken {
            for (peer, name) in [(a, "x"), (b, "y")] { try peer.write("INSERT INTO genre(name) VALUES('\(name)')") }
        }
        try converge(a, b)
        try a.write("UPDATE genre SET name = 'Western movies' WHERE name = 'Western'")
        try converge(a, b)
        for peer in [a, b] {
            let shown = try peer.strings(Self.shown)
            #expect(
                shown == ["of a|Western", "of b|Western movies"] || shown == ["of a|Western movies", "of b|Western"])
            #expect(try peer.strings("SELECT id FROM genre WHERE id < 0") == [])
        }
    }

    @Test("A row that comes after rows which refer to it has an integer that programs give")
    func childrenFirst() throws {
        let folder = try TestFolder()
        let a = try TestPeer(folder, "a", sql: Self.schema) { $0.references = [("link", "genre_id", "genre")] }
        let b = try TestPeer(folder, "b", cloning: a)
        try b.write("INSERT INTO genre(name) VALUES('of b')")
        try a.write("INSERT INTO link VALUES(3, 'm')")
        try converge(a, b)
        try a.write("INSERT INTO genre VALUES(3, 'of a')")
        try converge(a, b)
        for peer in [a, b] { #expect(try peer.strings(Self.shown) == ["m|of a"]) }
        #expect(try b.strings("SELECT id, name FROM genre WHERE id > 2 OR id < 0") == ["3|of b", "4|of a"])
    }

    @Test("go on referring to it where it has come back under its promised integer and a program replaces it")
    func replaced() throws {
        let folder = try TestFolder()
        // What names a row in a key without a rowid finds it by its integer alone: the parent keeps the promised one.
        let schema = """
            CREATE TABLE genre(id INTEGER PRIMARY KEY, name TEXT UNIQUE, note TEXT);
            CREATE TABLE link(movie TEXT PRIMARY KEY, genre_id INTEGER);
            CREATE TABLE tag(genre_id INTEGER, word TEXT, PRIMARY KEY(genre_id, word)) WITHOUT ROWID;
            """
        let a = try TestPeer(folder, "a", sql: schema) {
            $0.references = [("link", "genre_id", "genre"), ("tag", "genre_id", "genre")]
        }
        let b = try TestPeer(folder, "b", cloning: a)
        try a.write("INSERT INTO genre VALUES(2, 'Western', 'of a')")
        try a.record()
        try b.awaitAnotherMillisecond()
        try b.write(
            "INSERT INTO genre VALUES(5, 'Western', 'of b'); INSERT INTO link VALUES('m', 5); INSERT INTO tag VALUES(5, 't')"
        )
        try a.pull(from: b)
        #expect(try a.strings("SELECT note FROM genre") == ["of a"])
        try a.write("DELETE FROM genre")
        try a.record()
        #expect(try a.strings("SELECT note FROM genre WHERE id < -1000000") == ["of b"])
        try a.write("REPLACE INTO genre(id, name, note) VALUES(7, 'Western', 'new')")
        try converge(a, b)
        for peer in [a, b] {
            let shown = "SELECT movie, note FROM link LEFT JOIN genre ON genre.id = genre_id"
            #expect(try peer.strings(shown) == ["m|new"])
            // A key stays what it is: it names a row that is not here.
            #expect(try peer.strings("SELECT word, id FROM tag LEFT JOIN genre ON genre.id = genre_id") == ["t|NULL"])
            #expect(try peer.store.audit().problems == [])
        }
        let shown = try a.store.audit().shown
        #expect(try b.store.audit().shown == shown)
        let isReference = if case .reference? = shown["tag"]?.values.first?["genre_id"] { true } else { false }
        #expect(isReference)
    }
}
