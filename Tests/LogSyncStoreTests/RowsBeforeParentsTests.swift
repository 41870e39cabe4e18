import LogSyncModel
import Testing

@testable import LogSyncStore

/// Rows whose key is the integer of a row that comes later: a program that does not enforce foreign keys writes them in any order.
@Suite struct RowsBeforeParentsTests {
    private static let schema = """
        CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE note(id INTEGER PRIMARY KEY REFERENCES item(id), text TEXT);
        CREATE TABLE mark(id INTEGER PRIMARY KEY REFERENCES note(id), text TEXT);
        """

    @Test(
        "move to the integer that their parent gets, whichever peer has used its own for another row",
        arguments: [[1, 2, 3], [7, 7, 7], [1, 1, 1]])
    func recordedFirst(numbers: [Int]) throws {
        let folder = try TestFolder()
        let a = try TestPeer(folder, "a", sql: Self.schema)
        let b = try TestPeer(folder, "b", cloning: a)
        let c = try TestPeer(folder, "c", cloning: a)
        for (peer, number) in zip([a, b, c], numbers) {
            try peer.write("INSERT INTO mark VALUES(\(number), 'mark of \(peer.name)')")
            try peer.record()
        }
        try agree(a, b, c)
        for (peer, number) in zip([a, b, c], numbers) {
            try peer.write("INSERT INTO note VALUES(\(number), 'note of \(peer.name)')")
            try peer.record()
        }
        try agree(a, b, c)
        for (peer, number) in zip([a, b, c], numbers) {
            try peer.write("INSERT INTO item VALUES(\(number), 'item of \(peer.name)')")
            try peer.record()
        }
        try agree(a, b, c)
        let query = """
            SELECT name || ', ' || n.text || ', ' || m.text FROM item JOIN note n USING (id) JOIN mark m USING (id) ORDER BY 1
            """
        for peer in [a, b, c] {
            #expect(
                try peer.strings(query)
                    == ["a", "b", "c"].map { "item of \($0), note of \($0), mark of \($0)" })
            #expect(try peer.strings("SELECT max(id) > 0 AND min(id) > 0 FROM mark") == ["1"])
        }
    }
}
