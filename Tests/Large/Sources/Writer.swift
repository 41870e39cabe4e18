import Foundation
import GRDB
import LogSync

/// Writes many small transactions to a store, one after the other, as a program that embeds logsync.
///
///     large-writer STORE TRANSACTIONS SEED
@main struct Writer {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 4, let count = Int(arguments[2]), var state = UInt64(arguments[3]) else {
            FileHandle.standardError.write(Data("usage: large-writer STORE TRANSACTIONS SEED\n".utf8))
            exit(64)
        }
        func below(_ limit: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % limit
        }
        let queue = try DatabaseQueue(path: arguments[1])
        let replicator = try Replicator(store: arguments[1], configuration: SyncConfiguration())
        let rows = try await queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM item") ?? 0 }
        for number in 0..<count {
            let (row, text, amount) = ("row \(below(max(rows, 1)))", "text \(below(1 << 30))", below(1000))
            try await replicator.write(in: queue, author: "writer") { db in
                if number % 10 == 0 {
                    try db.execute(
                        sql: "INSERT OR REPLACE INTO item VALUES(?, ?, ?)", arguments: [row, text, amount])
                } else {
                    try db.execute(
                        sql: "UPDATE item SET text = ?, count = ? WHERE id = ?", arguments: [text, amount, row])
                }
            }
        }
        await replicator.close()
        try queue.close()
    }
}
