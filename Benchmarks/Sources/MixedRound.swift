import Foundation
import LogSyncStore

/// A program at work: transactions of ten changes, half of them updates, three inserts and two deletes, recorded and
/// imported a tenth of them at a time.
struct MixedRound {
    private let workload: Workload
    private let plain: PlainDatabase
    private let written: PlainDatabase
    private let author: LogsyncSide
    private let replica: LogsyncSide
    private let replicaView: PlainDatabase

    private static let portions = 10

    init(_ workload: Workload, folder: String) throws {
        self.workload = workload
        plain = try PlainDatabase("\(folder)/plain-mixed.db")
        written = try PlainDatabase("\(folder)/logsync-mixed.db")
        for database in [plain, written] { try database.execute(Workload.schema) }
        author = try LogsyncSide(written.path, container: folder)
        replica = try LogsyncSide("\(folder)/logsync-mixed-replica.db", like: author, written, container: folder)
        replicaView = try PlainDatabase(replica.store.path)
        try replica.import(author.recordAndPublish())
        for database in [plain, written] { try database.insert(workload.items) }
        try replica.import(author.recordAndPublish())
    }

    func run(_ ledger: inout Ledger) throws {
        let none = Cost(cpu: 0, wall: 0)
        var (plainly, capturing, recording, importing) = (none, none, none, none)
        // Updates take the front of the shuffled items, deletes the back, so that no row meets both.
        let transactions = max(workload.items.count / 10, 1)
        for portion in 0..<Self.portions {
            let range = transactions * portion / Self.portions..<transactions * (portion + 1) / Self.portions
            guard !range.isEmpty else { continue }
            plainly = try plainly + Cost.measured { try range.forEach { try work($0, plain) } }
            capturing = try capturing + Cost.measured { try range.forEach { try work($0, written) } }
            var file: LogsyncSide.Published?
            recording = try recording + Cost.measured { file = try author.recordAndPublish() }
            guard let file else { throw BenchmarkError("nothing was published") }
            importing = try importing + Cost.measured { try replica.import(file) }
        }
        ledger.note(.mix, .plain, plainly)
        ledger.note(.mix, .logsync, capturing)
        ledger.note(.recordMix, .logsync, recording)
        ledger.note(.importMix, .logsync, importing)
        let contents = try [plain, written, replicaView].map { try $0.content(Workload.content) }
        guard contents[1] == contents[0], contents[2] == contents[0] else {
            throw BenchmarkError("a mixed workload left different rows: \(contents)")
        }
        for side in [author, replica] {
            let summary = try side.store.summary()
            guard summary.pending == 0, summary.conflicts == 0, summary.parked == 0 else {
                throw BenchmarkError("\(side.store.path) has changes left over: \(summary)")
            }
        }
    }

    private func work(_ number: Int, _ database: PlainDatabase) throws {
        let updates = workload.updates
        try database.transaction {
            try database.updateEach((0..<5).map { updates[(number * 5 + $0) % (updates.count * 3 / 4)] })
            let fresh = (0..<3).map { index in
                var item = workload.items[(number * 3 + index) % workload.items.count]
                item.id = "new \(number) \(index)"
                return item
            }
            try database.insertEach(fresh)
            try database.deleteEach((0..<2).map { updates[updates.count - 1 - (number * 2 + $0)].id })
        }
    }
}
