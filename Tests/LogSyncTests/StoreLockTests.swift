import Foundation
import Synchronization
import Testing

@testable import LogSync

@Suite struct StoreLockTests {
    @Test func `a process that waits is let in between two steps of one that has no end of them`() async throws {
        let world = try World()
        let path = world.root + "/store.step"
        let (busy, patient) = (try StoreLock(path: path), try StoreLock(path: path))
        try await busy.acquire(wait: .seconds(120), of: "store")
        let isIn = Mutex(false)
        async let steps = Task.detached {
            var count = 0
            // Ends by itself where nobody is let in: a test that fails, not one that hangs. Few enough that nobody is let in by
            // chance either, because this thread has to wait between the two calls.
            while !isIn.withLock({ $0 }), count < 100 {
                usleep(20_000)
                count += 1
                busy.release()
                try await busy.acquire(wait: .seconds(120), of: "store")
            }
            busy.release()
            return count
        }.value
        try await patient.acquire(wait: .seconds(120), of: "store")
        isIn.withLock { $0 = true }
        patient.release()
        #expect(try await steps < 100)
    }

    @Test func `one that was stopped when it was its turn holds up nobody for long`() async throws {
        let world = try World()
        let path = world.root + "/store.step"
        let other = try StoreLock(path: path)
        let stopped = open(path, O_RDWR | O_CLOEXEC)
        defer { close(stopped) }
        var turn = flock()
        turn.l_type = Int16(F_WRLCK)
        turn.l_len = 1
        // F_OFD_SETLK
        #expect(fcntl(stopped, 37, &turn) == 0)
        try await other.acquire(wait: .seconds(120), of: "store")
        other.release()
    }

    @Test func `a step that waited while the store was given to another process says that that one has it`()
        async throws
    {
        let world = try World()
        let a = try await world.founder("a", rows: ["one"])
        let replicator = try a.replicator()
        _ = try await replicator.sync()
        let (directory, path) = (await replicator.stateDirectory, replicator.path)
        let locks = directory.locks + "/"
        let other = try StoreLock(path: locks + StoreLocks.name(path) + ".step")
        try await other.acquire(wait: .seconds(120), of: path)
        let waiting = Task { try await replicator.sync() }
        // It waits once the next turn is its own.
        let third = open(locks + StoreLocks.name(path) + ".step", O_RDWR | O_CLOEXEC)
        defer { close(third) }
        try await eventually(within: .seconds(120), "it waits") {
            var turn = flock()
            turn.l_type = Int16(F_WRLCK)
            turn.l_len = 1
            // F_OFD_SETLK
            if fcntl(third, 37, &turn) != 0 { return true }
            turn.l_type = Int16(F_UNLCK)
            #expect(fcntl(third, 37, &turn) == 0)
            return false
        }
        let request = locks + StoreLocks.requestName(path)
        #expect(FileManager.default.createFile(atPath: request, contents: nil))
        let lettingGo = Task { try await replicator.letGoWhereAsked() }
        try await eventually(within: .seconds(120), "it has let go") { await !replicator.isOpen }
        other.release()
        let error = await #expect(throws: LogSyncError.self) { try await waiting.value }
        #expect(error?.message.contains("for itself") == true, "\(String(describing: error))")
        #expect(unlink(request) == 0)
        #expect(try await lettingGo.value)
        _ = try await replicator.sync()
        await replicator.close()
    }

    @Test func `one that gave up waiting holds up nobody`() async throws {
        let world = try World()
        let path = world.root + "/store.step"
        let (holder, waiting) = (try StoreLock(path: path), try StoreLock(path: path))
        try await holder.acquire(wait: .seconds(120), of: "store")
        await #expect(throws: (any Error).self) { try await waiting.acquire(wait: .milliseconds(20), of: "store") }
        holder.release()
        try await holder.acquire(wait: .zero, of: "store")
        holder.release()
        try await waiting.acquire(wait: .zero, of: "store")
        waiting.release()
    }
}

extension Replicator { fileprivate var isOpen: Bool { opened != nil } }
