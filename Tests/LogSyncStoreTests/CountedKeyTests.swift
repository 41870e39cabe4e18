import LogSyncModel
import LogSyncSQLite
import Testing

@testable import LogSyncStore

/// Keys that programs count, and that are no numbers of each machine's own.
@Suite("Keys that are counted and no INTEGER PRIMARY KEY")
struct CountedKeyTests {
    let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private func asked(
        _ sql: String, in name: String = "app", _ change: (inout InitializePlan) -> Void = { _ in }
    ) throws -> [String] {
        try folder.examine(sql, in: name, change).undecidedKeys.map { "\($0.table).\($0.column)" }
    }

    /// Sakila's tables have such keys.
    @Test(
        "A declared PRIMARY KEY is no question",
        arguments: ["id INT PRIMARY KEY", "id NUMERIC PRIMARY KEY", "id INTEGER PRIMARY KEY DESC"])
    func primaryKeys(column: String) throws {
        #expect(
            try asked("CREATE TABLE t(\(column), text TEXT); INSERT INTO t VALUES(1, 'a'), (2, 'b'), (3, 'c');") == [])
    }

    @Test("One that is UNIQUE has to be decided where it holds integers without wide gaps")
    func gaps() throws {
        let schema = "CREATE TABLE node(node_id INTEGER UNIQUE, text TEXT);"
        #expect(try asked(schema + "INSERT INTO node VALUES(1, 'a'), (2, 'b'), (3, 'c');") == ["node.node_id"])
        #expect(try asked(schema + "INSERT INTO node VALUES(1, 'a'), (2, 'b');", in: "few") == [])
        #expect(try asked(schema + "INSERT INTO node VALUES(1, 'a'), (20, 'b'), (39, 'c');", in: "gaps") == [])
    }

    /// As in CherryTree and Murmur.
    @Test("So has a number of the rows that is UNIQUE, by itself or within another table's rows")
    func uniqueNumbers() throws {
        let schema = """
            CREATE TABLE node(node_id INTEGER UNIQUE, name TEXT); CREATE TABLE children(node_id INTEGER UNIQUE, father_id INTEGER);
            INSERT INTO node VALUES(1, 'a'), (2, 'b'), (3, 'c'); INSERT INTO children VALUES(1, 0), (2, 1), (3, 1);
            CREATE TABLE channels(server_id INTEGER, channel_id INTEGER, UNIQUE(server_id, channel_id));
            INSERT INTO channels VALUES(1, 0), (1, 1), (1, 2), (1, 3);
            """
        #expect(try asked(schema) == ["channels.channel_id", "node.node_id"])
        let error = try #require(try folder.examine(schema, in: "b").obstacle)
        #expect(error.message.contains("channels.channel_id, node.node_id"))
        for option in ["--identity channels=natural --identity node=natural", "--local channels --local node"] {
            #expect(error.help?.contains(option) ?? false)
        }
        let decided = try asked(schema, in: "c") { $0.identities = ["node": .natural, "Channels": .natural] }
        #expect(decided == [])
    }
}
