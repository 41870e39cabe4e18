import Foundation
import LogSyncModel
import Testing

@testable import LogSyncStore

@Suite struct HistoryTextTests {
    @Test(arguments: [
        ["items"], ["b", "a", "B", "ä", "z z"], ["a\"b", "a\\b", "a/b", "a\nb", "\u{7F}", "日本", ""], [],
    ])
    func `what changed is written as a coder writes it`(tables: [String]) throws {
        var counts: [String: ChangeCounts] = [:]
        for (index, table) in tables.enumerated() {
            counts[table] = ChangeCounts(inserted: index, updated: 10 * index, deleted: 1)
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        #expect(try History.json(counts) == String(decoding: try encoder.encode(counts), as: UTF8.self))
    }
}
