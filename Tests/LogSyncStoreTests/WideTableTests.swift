import LogSyncSQLite
import Testing

@testable import LogSyncStore

@Suite("Tables of many columns")
struct WideTableTests {
    @Test("cost what each of their columns costs when a database becomes a store", arguments: ["TEXT", "INTEGER"])
    func cost(type: String) throws {
        func cost(_ count: Int) throws -> UInt64 {
            let columns = (1...count).map { "c\($0) \(type)" }.joined(separator: ", ")
            let folder = try TestFolder()
            let begin = processorTime()
            let report = try folder.examine(
                """
                CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT);
                CREATE TABLE w(k TEXT PRIMARY KEY, \(columns)); INSERT INTO w(k) VALUES('a');
                """)
            #expect(report.refusals.isEmpty)
            return processorTime() - begin
        }
        _ = try cost(10)
        let (few, many) = (try cost(100), try cost(800))
        // Eight times as many; sixty-four times the cost were each looked for among all others.
        #expect(many < few * 24, "\(few), \(many)")
    }
}
