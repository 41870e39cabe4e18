import Foundation
import LogSyncStore

/// What a row costs as its table grows: always the same portion of new and of changed rows, into ever larger stores.
struct RowGrowth {
    let maximum: Int
    let folder: String

    private static let portion = 1000
    private static let fill = 20_000

    func run() throws -> Plot {
        var plot = Plot(title: "per row as the table grows", x: "rows", y: "us CPU")
        let plain = try PlainDatabase("\(folder)/plain.db")
        let written = try PlainDatabase("\(folder)/author.db")
        for database in [plain, written] { try database.execute(Workload.schema) }
        let author = try LogsyncSide(written.path, container: folder)
        let replica = try LogsyncSide("\(folder)/replica.db", like: author, written, container: folder)
        try replica.import(author.recordAndPublish(), removing: true)
        let view = try PlainDatabase(replica.store.path)
        var items = ItemSource()
        var rows = 0
        var size = 1000
        while size <= maximum {
            say("\(size) rows")
            while rows < size - Self.portion {
                let count = min(Self.fill, size - Self.portion - rows)
                let portion = items.next(count)
                try plain.insert(portion)
                try written.insert(portion)
                try replica.import(author.recordAndPublish(), removing: true)
                rows += count
            }
            let portion = items.next(Self.portion)
            var changed = portion
            for index in changed.indices { changed[index].title = "changed at \(size)" }
            changed.shuffle()
            try measure(
                "insert", &plot, size, author, replica, { try plain.insert(portion) }, { try written.insert(portion) })
            try measure(
                "update", &plot, size, author, replica, { try plain.update(changed) }, { try written.update(changed) })
            rows += Self.portion
            for database in [plain, written, view] {
                plot.add(
                    "bytes a row: \((database.path as NSString).lastPathComponent)", at: size,
                    Double(try database.size()) / Double(rows))
            }
            let contents = try [plain, written, view].map { try $0.content(Workload.content) }
            guard contents[0].rows == rows, contents[1] == contents[0], contents[2] == contents[0] else {
                throw BenchmarkError("at \(rows) rows the databases differ: \(contents)")
            }
            size *= 10
        }
        return plot
    }

    private func measure(
        _ what: String, _ plot: inout Plot, _ size: Int, _ author: LogsyncSide, _ replica: LogsyncSide,
        _ plain: () throws -> Void, _ write: () throws -> Void
    ) throws {
        func note(_ name: String, _ cost: Cost) {
            plot.add("\(name) \(what)", at: size, cost.cpu * 1e6 / Double(Self.portion))
        }
        note("plain", try Cost.measured(plain))
        note("captured", try Cost.measured(write))
        var file: LogsyncSide.Published?
        note("record", try Cost.measured { file = try author.recordAndPublish() })
        guard let file else { throw BenchmarkError("nothing was published") }
        note("import", try Cost.measured { try replica.import(file) })
    }
}
