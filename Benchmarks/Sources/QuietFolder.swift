import Foundation
import LogSyncContainer
import LogSyncModel
import LogSync

/// A container of many files in which nothing happens.
struct QuietFolder {
    let files: Int
    let folder: String

    private static let peers = 100

    func run() async throws -> [Finding] {
        let store = try await ReplicatedDatabase("reader", folder: folder)
        var items = ItemSource()
        for number in 1...Self.peers {
            var peer = try FabricatedPeer(number, content: store.content, schema: store.schema)
            for _ in 0..<files / Self.peers { try peer.publish([items.next()]) }
        }
        let count = files / Self.peers * Self.peers
        let importing = try await Cost.measured { _ = try await store.syncOnce() }
        try await store.check(rows: count)
        let once = try await Cost.measured { _ = try await store.syncOnce() }

        // Time passes for the scanner alone, so that it trusts what stands still.
        let time = PassingSeconds()
        let scanner = ContainerScanner(content: store.content, now: { time.next(3) })
        var scan = try scanner.scan()
        guard scan.peers.values.reduce(0, { $0 + $1.logs.count }) >= count else {
            throw BenchmarkError("the scan found \(scan.peers.count) peers and not their \(count) files")
        }
        for _ in 0..<2 { scan = try scanner.scan() }
        let again = try Cost.measured { scan = try scanner.scan() }
        guard scan.changed.isEmpty else { throw BenchmarkError("a quiet folder was found changed") }
        let full = try Cost.measured { scan = try scanner.scan(full: true) }

        let replicator = try Replicator(store: store.path, configuration: store.configuration)
        _ = try await replicator.sync()
        let warm = try await Cost.measured { _ = try await replicator.sync() }
        await replicator.close()
        return [
            Finding(what: "import \(count) files of one transaction", value: importing.cpu, unit: "s CPU"),
            Finding(what: "scan again, listing nothing", value: again.wall, unit: "s", target: 1),
            Finding(what: "scan again, listing everything", value: full.wall, unit: "s", target: 1),
            Finding(what: "sync with nothing to do, in a new process", value: once.wall, unit: "s"),
            Finding(what: "sync with nothing to do, in the same process", value: warm.wall, unit: "s", target: 1),
        ]
    }
}

/// Items that never repeat.
struct ItemSource {
    private var random = SplitMix(state: 7)

    mutating func next() -> Workload.Item { Workload.item(&random) }
    mutating func next(_ count: Int) -> [Workload.Item] { (0..<count).map { _ in next() } }
}
