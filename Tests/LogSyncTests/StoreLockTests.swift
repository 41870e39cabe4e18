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
            // Ends by itself where nobody is let in: a test that fails, not one that hangs.
            while !isIn.withLock({ $0 }), count < 3000 {
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
        #expect(try await steps < 3000)
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
