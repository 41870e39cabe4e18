import Foundation
import LogSyncContainer
import LogSyncModel
import Logging
import Synchronization
import Testing

@testable import LogSync

/// Hears of nothing, as where watches begin late on a busy machine.
private final class DeafEvents: FolderEvents {
    private let content: String
    private let streams = Mutex<[AsyncStream<FolderHint>.Continuation]>([])
    private let watch = Mutex<AsyncStream<FolderHint>.Continuation?>(nil)

    init(content: String) { self.content = content }

    var isWatching: Bool { watch.withLock { $0 != nil } }

    /// Ends the watch of the content folder, which is begun again.
    func end() {
        watch.withLock { watch in
            watch?.finish()
            watch = nil
        }
    }

    func watch(directory: String, recursive: Bool, only names: Set<String>?) throws(LogSyncError)
        -> AsyncStream<FolderHint>
    {
        let (stream, continuation) = AsyncStream.makeStream(of: FolderHint.self)
        if directory == content {
            watch.withLock { $0 = continuation }
        } else {
            streams.withLock { $0.append(continuation) }
        }
        return stream
    }
}

@Suite("A store that goes and comes back while only the watch of the folder looks at it")
struct UnheardReturnTests {
    @Test("It is said that it is in step again")
    func said() async throws {
        let world = try World()
        var a = try await world.founder("a", rows: ["one"])
        try await a.sync()
        let (events, log) = (DeafEvents(content: world.contentPath), CapturedLog.Lines())
        a.configuration.events = events
        a.configuration.logger = Logger(label: "a") { _ in CapturedLog(log) }
        let replicator = try a.replicator()
        let ear = ReadyEar(replicator)
        await replicator.start()
        try await eventually("it has begun") { ear.isReady && events.isWatching }
        // The looks for commits that are on their way have ended when nothing of the store has been open for a while.
        try await eventually("it rests") { !KernelLocks.shared.isStillInUse(a.path) }
        try await Task.sleep(for: .milliseconds(500))
        let files = ["", "-wal", "-shm"].filter { FileManager.default.fileExists(atPath: a.path + $0) }
        for file in files { try FileManager.default.moveItem(atPath: a.path + file, toPath: a.path + "\(file).away") }
        events.end()
        try await eventually("it is missed") { log.all.contains { $0.contains("was replaced or removed") } }
        for file in files { try FileManager.default.copyItem(atPath: a.path + "\(file).away", toPath: a.path + file) }
        try await eventually("it is said") { log.all.contains { $0.hasSuffix("is in step again") } }
        await replicator.stop()
        await replicator.close()
        #expect(try a.ids() == ["one"])
    }
}
