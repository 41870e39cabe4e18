import Foundation
import LogSyncContainer
import LogSyncModel
import LogSync
import Synchronization
import Testing

/// Begins to watch a content folder only when that has gone.
private final class LateEvents: FolderEvents {
    let content: String

    init(content: String) { self.content = content }

    func watch(directory: String, recursive: Bool, only names: Set<String>?) throws(LogSyncError)
        -> AsyncStream<FolderHint>
    {
        // Nothing ever happens elsewhere.
        guard directory == content else { return AsyncStream { _ in } }
        while FileManager.default.fileExists(atPath: directory) { usleep(1000) }
        throw LogSyncError(.containerUnavailable, "\(directory) is not there")
    }
}

@Suite("Watching a folder that goes before it is watched")
struct LateWatchTests {
    @Test("It is said at once, and not by the full look a minute later")
    func gone() async throws {
        let world = try World()
        var a = try await world.founder("a", rows: ["one"])
        a.configuration.events = LateEvents(content: world.contentPath)
        let replicator = try a.replicator()
        let heard = Mutex<[String]>([])
        let events = replicator.events()
        let ear = Task { for await event in events { heard.withLock { $0.append(event.name) } } }
        await replicator.start()
        try await eventually("it is ready") { heard.withLock { $0 } == ["ready"] }
        try FileManager.default.moveItem(atPath: world.container, toPath: world.container + "-away")
        try await eventually("it is said") { heard.withLock { $0 } == ["ready", "unavailable"] }
        await replicator.stop()
        ear.cancel()
        await replicator.close()
    }
}
