import Foundation
import LogSyncContainer
import Testing

@testable import LogSync
@testable import LogSyncCommand

/// A file system that does not answer for as long as it is told to, as a mount whose server is gone.
private final class SilentFileSystem: FileSystem {
    private let base = PosixFileSystem()
    private let gate = NSCondition()
    nonisolated(unsafe) private var isSilent = true

    func answer() {
        gate.withLock {
            isSilent = false
            gate.broadcast()
        }
    }

    func beneath(_ root: String) -> any FileSystem { self }
    func list(_ directory: String, statuses: Bool) throws(FileSystemError) -> [DirectoryEntry] {
        try base.list(directory, statuses: statuses)
    }
    func status(_ path: String, followingLinks: Bool) throws(FileSystemError) -> FileStatus {
        gate.withLock { while isSilent, gate.wait(until: Date(timeIntervalSinceNow: Tool.patience)) {} }
        return try base.status(path, followingLinks: followingLinks)
    }
    func open(_ path: String) throws(FileSystemError) -> any ReadableFile { try base.open(path) }
    func create(_ path: String, permissions: FilePermissions) throws(FileSystemError) -> any WritableFile {
        try base.create(path, permissions: permissions)
    }
    func rename(_ path: String, to newPath: String) throws(FileSystemError) { try base.rename(path, to: newPath) }
    func remove(_ path: String) throws(FileSystemError) { try base.remove(path) }
    func makeDirectory(_ path: String, permissions: FilePermissions) throws(FileSystemError) {
        try base.makeDirectory(path, permissions: permissions)
    }
    func removeDirectory(_ path: String) throws(FileSystemError) { try base.removeDirectory(path) }
    func synchronizeDirectory(_ path: String) throws(FileSystemError) { try base.synchronizeDirectory(path) }
    func kind(_ path: String) throws(FileSystemError) -> FileSystemKind { try base.kind(path) }
    func checkWritable(_ directory: String, room: UInt64) throws(FileSystemError) {
        try base.checkWritable(directory, room: room)
    }
}

/// What the daemon says of a folder that does not answer.
@Suite(.turn) struct SilentFolderTests {
    @Test func `a folder that does not answer is said not to be there, though the store was never asked before`()
        async throws
    {
        let tool = try Tool()
        let a = try await tool.store("a.db")
        let fileSystem = SilentFileSystem()
        var configuration = SyncConfiguration(stateDirectory: tool.path("home/.local/state/logsync"))
        configuration.fileSystem = fileSystem
        let replicator = try Replicator(store: a, configuration: configuration)
        // The store is within a step, and says nothing until that has ended.
        async let synced = replicator.sync()
        let metrics = Metrics()
        metrics.setStores([a], hooks: [])
        metrics.setReplicator(replicator, of: a)
        try await eventually("it is silent") { replicator.isContainerSilent }
        let page = await metrics.text()
        #expect(page.contains("logsync_container_available{store=\"\(a)\"} 0\n"), "\(page)")
        #expect(!page.contains("logsync_outbox_transactions"), "\(page)")
        fileSystem.answer()
        _ = try await synced
        try await eventually("it answers") {
            await metrics.text().contains("logsync_container_available{store=\"\(a)\"} 1\n")
        }
        await replicator.close()
    }
}
