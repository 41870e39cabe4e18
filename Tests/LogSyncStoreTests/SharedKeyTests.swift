import LogSyncModel
import Testing

@testable import LogSyncStore

/// Tables whose integer key is another table's, as an option says and no key declares.
@Suite("Keys that are another table's")
struct SharedKeyTests {
    private static let schema = """
        CREATE TABLE images(id INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE info(imageid INTEGER PRIMARY KEY, rating INTEGER);
        CREATE TABLE notes(id INTEGER PRIMARY KEY, info INTEGER, text TEXT);
        INSERT INTO images VALUES(1, 'sea'), (2, 'hill'); INSERT INTO info VALUES(1, 5), (2, 3);
        INSERT INTO notes VALUES(1, 2, 'of hill');
        """
    private static let shown = """
        SELECT images.name, rating, text FROM images LEFT JOIN info ON imageid = images.id
        LEFT JOIN notes ON notes.info = imageid ORDER BY images.name
        """

    private func pair() throws -> (a: TestPeer, b: TestPeer) {
        let folder = try TestFolder()
        let a = try TestPeer(folder, "a", sql: Self.schema) { plan in
            plan.references = [("info", "imageid", "images"), ("notes", "info", "info")]
        }
        return (a, try TestPeer(folder, "b", cloning: a))
    }

    @Test("A row goes on being of the same row, and so does what refers to it")
    func follows() throws {
        let (a, b) = try pair()
        for (peer, name) in [(a, "of a"), (b, "of b")] {
            try peer.write(
                """
                INSERT INTO images VALUES(3, '\(name)'); INSERT INTO info VALUES(3, 1);
                INSERT INTO notes(info, text) VALUES(3, '\(name)')
                """)
        }
        try converge(a, b)
        try b.write("UPDATE info SET rating = 9 WHERE imageid = (SELECT id FROM images WHERE name = 'of a')")
        try a.write("DELETE FROM info WHERE imageid = 1")
        try converge(a, b)
        for peer in [a, b] {
            #expect(
                try peer.strings(Self.shown) == [
                    "hill|3|of hill", "of a|9|of a", "of b|1|of b", "sea|NULL|NULL",
                ])
        }
    }
}
