import Foundation
import LogSyncContainer
import LogSyncFormat
import LogSyncModel
import LogSyncStore

/// One store: what the replicator does with it, step by step, without daemon, scan and receipts.
final class LogsyncSide {
    let store: Store
    private let peer: PeerID
    private let content: ContentFolder

    /// Makes the database that stands at `path` a store.
    init(_ path: String, container: String) throws {
        content = try Self.content(container)
        store = try Store.initialize(
            path, plan: InitializePlan(content: "bench", container: container, peerName: "author"),
            configuration: StoreConfiguration()
        ).store
        peer = try store.registration().peer
    }

    /// Makes an empty store like another.
    ///
    /// - Parameter isShared: false where it is a clone that is being made.
    init(
        _ path: String, like author: LogsyncSide, _ database: PlainDatabase, container: String, isShared: Bool = true
    ) throws {
        content = try Self.content(container)
        var plan = InitializePlan(
            content: "bench", container: container, peerName: (path as NSString).lastPathComponent)
        let settings = try database.prepare("SELECT kind, target, value FROM logsync_setting")
        while try settings.step() {
            plan.settings.append((kind: settings.text(0), target: settings.text(1), value: settings.text(2)))
        }
        var configuration = StoreConfiguration()
        configuration.isShared = isShared
        store = try Store.create(
            path, schema: try author.store.schemaText().text, plan: plan, configuration: configuration)
        peer = try store.registration().peer
    }

    deinit {
        // The run is over or has failed; its folder is removed with the file.
        try? store.close()
    }

    private static func content(_ container: String) throws -> ContentFolder {
        let content = ContentFolder(container: container, name: try ContentName(checking: "bench"))
        if try !content.exists() { try content.create() }
        return content
    }

    /// A published log file.
    struct Published {
        var path: String
        var bytes: Int
    }

    /// Records, copies the outbox into a log file, and reads it back.
    func recordAndPublish() throws -> Published {
        _ = try store.record()
        let waiting = try store.outbox(unpublishedOnly: true)
        guard let first = waiting.first, let last = waiting.last else {
            throw BenchmarkError("\(store.path) recorded nothing")
        }
        let sequences = first.dot.sequence...last.dot.sequence
        let folder = content.peer(peer)
        let staged = try Publisher(folder: folder).stage(LogFileName.self)
        var writer = try LogFileWriter(
            content: content.name.description, peer: peer, sequences: sequences, chainBefore: first.chainBefore,
            segmentBytes: waiting.reduce(0) { $0 + $1.byteCount }
        ) { try staged.write($0) }
        for transaction in waiting {
            try store.forEachOutboxBlock(of: transaction.dot) { try writer.append($0) }
        }
        _ = try writer.finish(chainAfter: last.chain)
        let name = try staged.publish {
            LogFileName(first: sequences.lowerBound, last: sequences.upperBound, fileHash: $0)
        }
        guard try folder.verify(name) == .intact else {
            throw BenchmarkError("\(folder.path(name)) was read back with other bytes than were written")
        }
        try store.markPublished(waiting.map(\.dot))
        return Published(path: folder.path(name), bytes: writer.header.totalLength)
    }

    /// Reads a log file through, as what checks files before they are imported does, and merges its transactions.
    ///
    /// - Parameter removing: whether to remove the file afterwards.
    func `import`(_ file: Published, removing: Bool = false) throws {
        let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: file.path)))
        let examined = try LogFileReader(MemorySource(bytes))
        _ = try examined.verify()
        var chains: [ChainHash] = []
        while let transaction = try examined.nextTransaction() { chains.append(try transaction.finish().chain) }
        let reader = try LogFileReader(MemorySource(bytes))
        for chain in chains {
            guard let transaction = try reader.nextTransaction() else {
                throw BenchmarkError("\(file.path) ended early")
            }
            var next: IncomingTransaction? = IncomingTransaction(
                header: transaction.header, chainBefore: transaction.chainBefore, chain: chain
            ) { body in
                while let groups = try transaction.nextFrame() { try groups.forEach(body) }
            }
            _ = try store.importStep {
                defer { next = nil }
                return next
            }
        }
        if removing { try FileManager.default.removeItem(atPath: file.path) }
    }

    /// Writes a snapshot into a file.
    ///
    /// - Returns: its hash, by which a store that is filled from it knows it.
    func takeSnapshot(_ path: String) throws -> LogSyncFormat.FileHash {
        _ = FileManager.default.createFile(atPath: path, contents: nil)
        guard let file = FileHandle(forWritingAtPath: path) else { throw BenchmarkError("\(path) could not be made") }
        let taken = try store.writeSnapshot { try file.write(contentsOf: $0) }
        try file.synchronize()
        try file.close()
        return taken.hash
    }

    /// Fills this empty store from a snapshot, which is read through first.
    func fill(from path: String, hash: LogSyncFormat.FileHash) throws {
        let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
        guard try SnapshotReader(MemorySource(bytes)).verify() == hash else {
            throw BenchmarkError("\(path) was read back with other bytes than were written")
        }
        try store.fill(from: hash, { try SnapshotReader(MemorySource(bytes)) })
    }
}
