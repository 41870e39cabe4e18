import LogSyncModel
import LogSyncSQLite
import LogSyncState
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

    /// A liar's transaction may give a row as many as it likes.
    @Test("cost what each of their columns costs where they are not here", arguments: [["c"], ["c", "C"]])
    func absentColumns(spellings: [String]) throws {
        func cost(_ count: Int) throws -> UInt64 {
            var row = RowState(table: "w", identity: RowIdentity(natural: [.integer(1)]))
            let begin = processorTime()
            for (index, spelling) in spellings.enumerated() {
                let stamp = Stamp(peer: Int64(index), sequence: 1, time: .zero)
                for number in 0..<count { row.set("\(spelling)\(number)", .integer(1), stamp, .everything) }
            }
            let end = processorTime()
            #expect(row.state.cellsByName.count == count)
            #expect(row.state.cellsByName.keys.allSatisfy { $0.hasPrefix(spellings.min() ?? "") })
            return end - begin
        }
        _ = try cost(10)
        let (few, many) = (try cost(200), try cost(1600))
        // Eight times as many; sixty-four times the cost were each looked for among all others.
        #expect(many < few * 24, "\(few), \(many)")
    }
}
