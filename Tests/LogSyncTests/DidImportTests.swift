import Foundation
import LogSyncModel
import LogSyncStore
import Testing

@testable import LogSync

/// What a program is told of an import.
@Suite("Did import")
struct DidImportTests {
    @Test("Lists of keys that end early say so", arguments: [10_000, 10_001])
    func truncated(rows: Int) throws {
        var changes = TableChanges()
        changes.inserted = Array(repeating: [.integer(1)], count: TableChanges.maximumKeys)
        changes.counts.inserted = rows
        // A row that cannot stand is counted and has no key.
        changes.counts.updated = 1
        let event = DidImport(
            store: "notes.db",
            transactions: [
                DidImport.Transaction(
                    peer: PeerName(id: PeerID(high: 1, low: 2), name: "a"), sequence: 1,
                    time: Timestamp(milliseconds: 0),
                    token: HistoryToken(1), tables: ["note": changes])
            ])
        let json = String(decoding: try JSONEncoder().encode(event), as: UTF8.self)
        #expect(json.contains("\"truncated\":\(rows > TableChanges.maximumKeys)") == true, "\(rows)")
    }
}
