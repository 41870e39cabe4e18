import Foundation
import LogSyncContainer
import LogSyncModel
import LogSyncStore
import LogSync

/// What a transaction and a sync cost as a history grows: its author's, and an importer's.
struct TransactionGrowth {
    let maximum: Int
    let folder: String

    private static let portion = 200
    /// So many transactions a log file while the history is filled up.
    private static let fill = 5_000

    func run() async throws -> Plot {
        var plot = Plot(title: "per transaction as the history grows", x: "transactions", y: "us CPU")
        try await importing(&plot)
        try await recording(&plot)
        return plot
    }

    private func importing(_ plot: inout Plot) async throws {
        let store = try await ReplicatedDatabase("importer", folder: folder + "/import")
        var author = try FabricatedPeer(1, content: store.content, schema: store.schema)
        var items = ItemSource()
        let replicator = try Replicator(store: store.path, configuration: store.configuration)
        var count = 0
        for size in Self.sizes(maximum) {
            say("\(size) transactions imported")
            while count < size {
                let portion = min(Self.fill, size - count)
                try author.publish(items.next(portion))
                count += portion
                _ = try await replicator.sync()
            }
            try author.publish(items.next(Self.portion))
            count += Self.portion
            let cost = try await Cost.measured { _ = try await replicator.sync() }
            plot.add("import", at: size, cost.cpu * 1e6 / Double(Self.portion))
            plot.add("quiet sync of the importer", at: size, try await quiet { _ = try await replicator.sync() })
        }
        await replicator.close()
        try await store.check(rows: count)
    }

    private func recording(_ plot: inout Plot) async throws {
        let store = try await ReplicatedDatabase("author", folder: folder + "/record")
        let database = try PlainDatabase(store.path)
        var items = ItemSource()
        var count = 0
        for size in Self.sizes(maximum) {
            say("\(size) transactions recorded")
            let side = try Store.open(store.path, configuration: StoreConfiguration())
            while count < size {
                try database.insert([items.next()])
                _ = try side.record()
                count += 1
            }
            try side.close()
            let replicator = try Replicator(store: store.path, configuration: store.configuration)
            for _ in 0..<3 { _ = try await replicator.sync() }
            var costs: [Double] = []
            for _ in 0..<40 {
                try database.insert([items.next()])
                count += 1
                costs.append(try await Cost.measured { _ = try await replicator.export() }.cpu * 1e6)
            }
            plot.add("record and publish", at: size, median(costs))
            plot.add("quiet sync of the author", at: size, try await quiet { _ = try await replicator.sync() })
            await replicator.close()
        }
        try await store.check(rows: count)
    }

    private func quiet(_ body: () async throws -> Void) async throws -> Double {
        var costs: [Double] = []
        for _ in 0..<9 { costs.append(try await Cost.measured(body).cpu * 1e6) }
        return median(costs)
    }

    private static func sizes(_ maximum: Int) -> [Int] {
        var sizes: [Int] = []
        var size = 1
        while size <= maximum {
            sizes.append(size)
            size *= 10
        }
        return sizes
    }
}
