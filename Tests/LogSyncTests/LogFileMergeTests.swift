import Foundation
import LogSyncContainer
import LogSyncModel
import Synchronization
import Testing

@testable import LogSync

/// Does something as soon as a directory was listed, once.
private final class MergingFileSystem: ForwardingFileSystem {
    let base = PosixFileSystem()
    private let directory: String
    private let merge: @Sendable () -> Void
    private let merged = Mutex(false)

    var hasMerged: Bool { merged.withLock { $0 } }

    init(_ directory: String, _ merge: @escaping @Sendable () -> Void) {
        self.directory = directory
        self.merge = merge
    }

    func again() { merged.withLock { $0 = false } }

    func list(_ directory: String, statuses: Bool) throws(FileSystemError) -> [DirectoryEntry] {
        let listed = try base.list(directory, statuses: statuses)
        guard directory == self.directory else { return listed }
        let isFirst = merged.withLock { merged in
            defer { merged = true }
            return !merged
        }
        if isFirst { merge() }
        return listed
    }
}

@Suite("Many small files become a few larger ones")
struct LogFileMergeTests {
    @Test("A hundred transactions leave a handful of files, and a clone has all rows")
    func merges() async throws {
        let world = try World()
        let a = try await world.founder("a")
        let peer = try await a.peer()
        var most = 0
        for index in 0..<100 {
            try a.insert("row\(index)")
            try await a.sync()
            most = max(most, try world.logs(peer).count)
        }
        #expect(most <= 18)
        let c = try await world.clone("c")
        #expect(try c.ids().count == 100)
        try await settle(a, c)
        #expect(try await c.sync().outcome == .complete)
        let before = try world.listing()
        try await a.sync()
        #expect(try world.listing() == before)
    }

    @Test("Files are merged though the outbox has let go of what they hold")
    func released() async throws {
        let world = try World()
        let a = try await world.founder("a")
        let peer = try await a.peer()
        for index in 0..<40 {
            try a.insert("row\(index)")
            try await a.sync()
            if index % 10 == 9 { try await a.snapshot() }
        }
        #expect(try world.logs(peer).count <= 18)
        for name in try world.snapshots(peer) {
            try FileManager.default.removeItem(atPath: world.snapshotPath(peer, name))
        }
        let b = try await world.clone("b")
        #expect(try b.ids().count == 40)
        #expect(try await b.sync().outcome == .complete)
        try await settle(a, b)
        #expect(try await a.status().digest == b.status().digest)
    }

    @Test("Merging keeps sizes geometric")
    func geometric() {
        #expect(LogFileMerge.start([Int](repeating: 1, count: 17)) == 0)
        #expect(LogFileMerge.start([1000] + [Int](repeating: 1, count: 16)) == 1)
        #expect(LogFileMerge.start([64 << 20] + [Int](repeating: 1, count: 16)) == 1)
        #expect(LogFileMerge.start([64 << 20, 64 << 20]) == 1)
    }

    @Test("Every transaction is written again only a few times")
    func amplification() {
        var sizes: [Int] = []
        var written = 0
        for _ in 0..<10_000 {
            sizes.append(1)
            written += 1
            guard sizes.count > 16 else { continue }
            let start = LogFileMerge.start(sizes)
            guard sizes.count - start > 1 else { continue }
            let sum = sizes[start...].reduce(0, +)
            sizes.replaceSubrange(start..., with: [sum])
            written += sum
        }
        #expect(sizes.count <= 17)
        #expect(written < 10_000 * 16)
    }

    @Test("Files that are merged between being listed and being read are looked for again, and nothing is held")
    func mergedMeanwhile() async throws {
        let world = try World()
        let a = try await world.founder("a")
        var b = try await world.clone("b")
        let peer = try await a.peer()
        let (logs, before, after) = (world.logsPath(peer), world.root + "/before", world.root + "/after")
        let files = FileManager.default
        var count = 0
        repeat {
            count = try world.logs(peer).count
            if files.fileExists(atPath: before) { try files.removeItem(atPath: before) }
            try files.copyItem(atPath: logs, toPath: before)
            try a.insert("row\(count)")
            try await a.sync()
        } while try world.logs(peer).count > count
        let rows = try a.ids()
        func unmerge() throws {
            try files.moveItem(atPath: logs, toPath: after)
            try files.moveItem(atPath: before, toPath: logs)
        }
        try unmerge()
        let fileSystem = MergingFileSystem(logs) {
            // The test fails where this does.
            try? files.moveItem(atPath: logs, toPath: before)
            try? files.moveItem(atPath: after, toPath: logs)
        }
        b.configuration.fileSystem = fileSystem
        let status = try await b.status()
        #expect(fileSystem.hasMerged && status.held.isEmpty, "\(status.held)")
        try unmerge()
        fileSystem.again()
        let result = try await b.sync()
        #expect(fileSystem.hasMerged && result.outcome == .complete, "\(result.held)")
        #expect(try b.ids() == rows)
    }
}
