import Foundation
import LogSyncContainer
import LogSyncModel
import LogSyncStore
import LogSync
import Logging

/// A store with everything around it that the replicator brings: state file, receipts, scans.
struct ReplicatedDatabase {
    let path: String
    let configuration: SyncConfiguration
    let content: ContentFolder
    let schema: SchemaFingerprint

    /// Makes a database of the items' schema and founds a content with it.
    init(_ name: String, folder: String) async throws {
        path = "\(folder)/\(name).db"
        var configuration = SyncConfiguration(stateDirectory: "\(folder)/state")
        configuration.logger = Logger(label: "logsync", factory: { _ in SwiftLogNoOpLogHandler() })
        self.configuration = configuration
        let container = "\(folder)/container"
        try FileManager.default.createDirectory(atPath: container, withIntermediateDirectories: true)
        try PlainDatabase(path).execute(Workload.schema)
        var options = InitializeOptions()
        options.peerName = name
        _ = try await Replicator.initialize(
            path, container: container, content: "bench", options: options, configuration: configuration)
        content = ContentFolder(container: container, name: try ContentName(checking: "bench"))
        let store = try Store.open(path, configuration: StoreConfiguration())
        schema = try store.schemaText().fingerprint
        try store.close()
    }

    /// As one run of `logsync sync` does.
    func syncOnce() async throws -> SyncResult {
        let replicator = try Replicator(store: path, configuration: configuration)
        let result = try await replicator.sync()
        await replicator.close()
        return result
    }

    /// Fails unless so many items are in the store, and nothing waits.
    func check(rows: Int) async throws {
        let count = try PlainDatabase(path).integer("SELECT count(*) FROM items")
        let held = try await syncOnce().held
        guard count == rows, held.isEmpty else {
            throw BenchmarkError("\(path) has \(count) items instead of \(rows), and \(held.count) are held")
        }
    }
}
