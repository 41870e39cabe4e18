import Testing

@testable import LogSyncStore

/// A table that has a row at the greatest integer that is given: others get theirs from below.
@Suite("A table whose greatest integer is taken")
struct TopIntegerTests {
    private static let schema = """
        CREATE TABLE t(id INTEGER PRIMARY KEY, x TEXT); INSERT INTO t VALUES (\(IntegerAllocator.greatest), 'top');
        """

    private static func rows(_ numbers: ClosedRange<Int>, _ name: String) -> String {
        """
        WITH RECURSIVE n(i) AS (VALUES(\(numbers.lowerBound)) UNION ALL SELECT i + 1 FROM n WHERE i < \(numbers.upperBound))
        INSERT INTO t SELECT i, '\(name)' || i FROM n
        """
    }

    private func pair() throws -> (TestFolder, TestPeer, TestPeer) {
        let folder = try TestFolder()
        let a = try TestPeer(folder, "a", sql: Self.schema)
        let b = try TestPeer(folder, "b", cloning: a)
        try a.pull(from: b)
        return (folder, a, b)
    }

    @Test("gives each row the lowest that is free")
    func lowest() throws {
        let (_, a, b) = try pair()
        try a.write(Self.rows(1...3, "a"))
        _ = try a.store.record()
        try b.write(Self.rows(2...3, "b"))
        try b.pull(from: a)
        #expect(
            try b.strings("SELECT id, x FROM t WHERE x <> 'top' ORDER BY id") == [
                "1|a1", "2|b2", "3|b3", "4|a2", "5|a3",
            ])
    }

    @Test("costs what each row costs that finds its integer taken")
    func cost() throws {
        func cost(_ count: Int) throws -> UInt64 {
            let (_, a, b) = try pair()
            try a.write(Self.rows(1...count, "a"))
            _ = try a.store.record()
            try b.write(Self.rows(1...count, "b"))
            _ = try b.store.record()
            let begin = processorTime()
            try b.pull(from: a)
            let end = processorTime()
            #expect(try b.strings("SELECT max(id) FROM t WHERE x <> 'top'") == ["\(2 * count)"])
            return end - begin
        }
        _ = try cost(10)
        let (few, many) = (try cost(200), try cost(1600))
        // Eight times as many; sixty-four times the cost were each looked for from the first on.
        #expect(many < few * 24, "\(few), \(many)")
    }
}
