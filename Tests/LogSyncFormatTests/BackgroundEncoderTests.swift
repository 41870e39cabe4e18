import Foundation
import LogSyncFormat
import LogSyncModel
import Testing

/// What is encoded on another thread is what would be on this one.
struct BackgroundEncoderTests {
    private let header = TransactionHeader(dot: Dot(.a, 1), time: HybridTime(milliseconds: 1_700_000_000_000))

    /// Groups of these sizes, whose values no compression shortens.
    private func groups(_ sizes: [Int]) -> [RowGroup] {
        var random = SeededGenerator(seed: 7)
        return sizes.enumerated().map { number, count in
            RowGroup(
                table: "table \(number)", kind: .update,
                columns: [.init(name: "v", values: (0..<count).map { _ in .blob(random.bytes(300)[...]) })],
                identities: (0..<count).map { RowIdentity(natural: [.integer(Int64($0))]) },
                times: Array(repeating: header.time, count: count))
        }
    }

    /// Which thread each of something happened on.
    private final class Threads: @unchecked Sendable {
        private let lock = NSLock()
        private var seen: [pthread_t] = []

        func note() { lock.withLock { seen.append(pthread_self()) } }
        var areOwn: [Bool] { lock.withLock { seen.map { pthread_equal($0, pthread_self()) != 0 } } }
    }

    @Test func `groups that are encoded elsewhere give the same blocks, on the thread that asked`() throws {
        let groups = groups([5000, 3, 2000, 1024, 1023, 4000])
        let expected = try encode(Transaction(header: header, groups: groups))
        let sink = Sink()
        let threads = Threads()
        let encoder = try BackgroundEncoder(header: header, previous: .zero) {
            threads.note()
            sink.blocks.append($0.bytes)
        }
        #expect(sink.blocks.count == 1)
        for group in groups {
            let before = sink.blocks.count
            try encoder.append(group)
            // What went before is there, and nothing of a large group.
            if group == groups[0] { #expect(sink.blocks.count == before) }
        }
        let (chain, counts) = try encoder.finish()
        #expect(sink.blocks == expected.blocks)
        #expect(chain == expected.chain)
        #expect(counts == expected.counts)
        #expect(!threads.areOwn.contains(false))
        #expect(sink.blocks.count > 4)
    }

    @Test func `what is wrong with a large group is said at the next call`() throws {
        for isLast in [true, false] {
            var wrong = groups([2000])[0]
            wrong.table = "a\0b"
            let encoder = try BackgroundEncoder(header: header, previous: .zero) { _ in }
            try encoder.append(wrong)
            let error = #expect(throws: LogSyncError.self) {
                if isLast { _ = try encoder.finish() } else { try encoder.append(groups([1])[0]) }
            }
            #expect(error?.code == .unsupportedTable)
        }
    }
}
