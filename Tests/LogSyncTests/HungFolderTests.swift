import Foundation
import LogSync
import LogSyncContainer
import LogSyncModel
import Logging
import Synchronization
import Testing

/// A file system that does not answer while it is held, as a mount whose server is gone.
private final class HungFileSystem: ForwardingFileSystem {
    let base = PosixFileSystem()
    private let gate = NSCondition()
    nonisolated(unsafe) private var isHeld = false

    func hold(_ held: Bool) {
        gate.withLock {
            isHeld = held
            gate.broadcast()
        }
    }

    private func pass() {
        gate.withLock { while isHeld { gate.wait() } }
    }

    func list(_ directory: String, statuses: Bool) throws(FileSystemError) -> [DirectoryEntry] {
        pass()
        return try base.list(directory, statuses: statuses)
    }

    func status(_ path: String, followingLinks: Bool) throws(FileSystemError) -> FileStatus {
        pass()
        return try base.status(path, followingLinks: followingLinks)
    }
}

@Suite("A folder that does not answer")
struct HungFolderTests {
    @Test("It is said once, other stores go on, and it is said when the folder answers again")
    func hung() async throws {
        let world = try World()
        var a = try await world.founder("a", rows: ["one"])
        let (lines, others) = (CapturedLog.Lines(), CapturedLog.Lines())
        let (fileSystem, second) = (HungFileSystem(), HungFileSystem())
        a.configuration.logger = Logger(label: "a") { _ in CapturedLog(lines) }
        a.configuration.fileSystem = fileSystem
        a.configuration.pollInterval = .milliseconds(50)
        let (elsewhere, other) = (try World(), try World())
        var (b, c) = (try await elsewhere.founder("b"), try await other.founder("c"))
        b.configuration.pollInterval = .milliseconds(50)
        c.configuration.pollInterval = .milliseconds(50)
        c.configuration.logger = Logger(label: "c") { _ in CapturedLog(others) }
        c.configuration.fileSystem = second
        let running = [try a.replicator(), try b.replicator(), try c.replicator()]
        let ears = running.map { ReadyEar($0) }
        for replicator in running { await replicator.start() }
        try await eventually("all have begun") { ears.allSatisfy(\.isReady) }
        let peer = try await b.peer()
        fileSystem.hold(true)
        func said(_ lines: CapturedLog.Lines) -> Int {
            lines.all.count { $0.contains("the folder has not answered for") }
        }
        try await eventually("it is said") { said(lines) > 0 }
        #expect(running.map(\.isContainerSilent) == [true, false, false])
        try b.insert("two")
        try await eventually("another store goes on") { try elsewhere.logs(peer).count == 1 }
        // By the time that another is said to be silent it has been looked at again.
        second.hold(true)
        try await eventually("the silence of another is said") { said(others) > 0 }
        #expect(said(lines) == 1, "\(lines.all)")
        second.hold(false)
        fileSystem.hold(false)
        try await eventually("it is said that it answers") { lines.all.contains { $0.contains("answers again") } }
        try await eventually("it answers") { !running[0].isContainerSilent }
        for replicator in running { await replicator.stop() }
        #expect(said(lines) == 1, "\(lines.all)")
    }
}
