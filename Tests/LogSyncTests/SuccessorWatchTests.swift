import Foundation
import LogSyncContainer
import LogSyncModel
import Synchronization
import Testing

@testable import LogSync

/// The kernel's events, which say what is watched.
private final class CountedEvents: FolderEvents {
    private let directories = Mutex<Set<String>>([])

    func isWatched(_ directory: String) -> Bool { directories.withLock { $0.contains(directory) } }

    func watch(directory: String, recursive: Bool, only names: Set<String>?) throws(LogSyncError)
        -> AsyncStream<FolderHint>
    {
        let hints = try KernelFolderEvents.shared.watch(directory: directory, recursive: recursive, only: names)
        directories.withLock { _ = $0.insert(directory) }
        return hints
    }
}

@Suite("A store that becomes another peer while a daemon opens it")
struct SuccessorWatchTests {
    @Test("It hears of what its original publishes, though the folder was watched before")
    func copy() async throws {
        let world = try World()
        let a = try await world.founder("a", rows: ["one"])
        let b = try await world.clone("b")
        try await settle(a, b)
        let original = try await a.peer()
        try a.checkpoint()
        let path = world.root + "/a/copy.db"
        try FileManager.default.copyItem(atPath: a.path, toPath: path)
        let events = CountedEvents()
        var copy = a
        copy.configuration.events = events
        // Nothing else is to look.
        copy.configuration.fullScanInterval = .seconds(3600)
        // The first round waits until the folder is watched.
        let directory = StateDirectory(a.configuration.stateDirectory)
        let lock = try StoreLock(path: "\(directory.locks)/\(StoreLocks.name(path)).step")
        try await lock.acquire(wait: .seconds(120), of: path)
        let daemon = try copy.replicator(path)
        await daemon.start()
        try await eventually(within: .seconds(120), "the folder is watched") { events.isWatched(world.contentPath) }
        lock.release()
        try await eventually(within: .seconds(120), "it is another peer") {
            try await daemon.status().peer.id != original
        }
        // Whatever it was woken for meanwhile is done when this has come.
        try b.insert("two")
        try await b.sync()
        try await eventually(within: .seconds(120), "it hears of others") { try a.ids(at: path) == ["one", "two"] }
        try a.insert("three")
        try await a.sync()
        try await eventually(within: .seconds(120), "it hears of its original") {
            try a.ids(at: path) == ["one", "three", "two"]
        }
        await daemon.stop()
        await daemon.close()
    }
}
