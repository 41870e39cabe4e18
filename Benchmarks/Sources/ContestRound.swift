import Foundation
import LogSyncStore

/// Two peers that update the same cells of the same rows, neither having seen the other: every cell is in conflict.
struct ContestRound {
    private let workload: Workload
    private let plain: PlainDatabase
    private let first: (side: LogsyncSide, database: PlainDatabase)
    private let second: (side: LogsyncSide, database: PlainDatabase)

    init(_ workload: Workload, folder: String) throws {
        self.workload = workload
        plain = try PlainDatabase("\(folder)/plain-contest.db")
        try plain.execute(Workload.schema)
        try plain.insert(workload.items)
        let database = try PlainDatabase("\(folder)/first.db")
        try database.execute(Workload.schema)
        first = (try LogsyncSide(database.path, container: folder), database)
        let other = try LogsyncSide("\(folder)/second.db", like: first.side, database, container: folder)
        second = (other, try PlainDatabase(other.store.path))
        try other.import(first.side.recordAndPublish())
        try database.insert(workload.items)
        try other.import(first.side.recordAndPublish())
    }

    func run(_ ledger: inout Ledger) throws {
        // The first one's titles stay what `updates` says where they win; all that has to hold is that both agree.
        let rivals = workload.updates.reversed().map { item in
            var item = item
            item.title = String(item.title.reversed()) + "!"
            item.quantity += 1
            return item
        }
        try ledger.measure(.contest, .plain) { try plain.update(workload.updates) }
        try ledger.measure(.contest, .logsync) { try first.database.update(workload.updates) }
        try second.database.update(rivals)
        var file: LogsyncSide.Published?
        try ledger.measure(.recordContest, .logsync) { file = try first.side.recordAndPublish() }
        let rival = try second.side.recordAndPublish()
        guard let file else { throw BenchmarkError("nothing was published") }
        try ledger.measure(.importContest, .logsync) { try second.side.import(file) }
        try first.side.import(rival)
        try check()
    }

    private func check() throws {
        let contents = try [first, second].map { try $0.database.content(Workload.content) }
        guard contents[0] == contents[1], contents[0].rows == workload.items.count else {
            throw BenchmarkError("two peers that contested the same rows show different ones")
        }
        // The titles and the quantities.
        let cells = workload.items.count * 2
        for side in [first.side, second.side] {
            let summary = try side.store.summary()
            guard summary.conflicts == cells, summary.pending == 0, summary.parked == 0 else {
                throw BenchmarkError("\(side.store.path) does not list \(cells) cells in conflict: \(summary)")
            }
        }
    }
}
