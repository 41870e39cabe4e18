import Foundation
@testable import LogSync
import LogSyncContainer
import LogSyncModel
import Logging
import Synchronization
import Testing

/// A file system that does not answer while it is held, as a mount whose server is gone.
private final class HungFileSystem: ForwardingFileSystem {
    let base = PosixFileSystem()
    private let gate = NSCondition()
    nonisolated(unsafe) private var heldFolder: String?
    nonisolated(unsafe) private var end = Date.distantPast

    func hold(_ held: Bool, _ folder: String = "/") {
        gate.withLock {
            heldFolder = held ? folder : nil
            // Where nothing else goes on meanwhile, nobody lets the folder go.
            end = Date(timeIntervalSinceNow: 120)
            gate.broadcast()
        }
    }

    private func pass(_ path: String) {
        gate.withLock {
            while let folder = heldFolder, path.hasPrefix(folder), gate.wait(until: end) {}
        }
    }

    func list(_ directory: String, statuses: Bool) throws(FileSystemError) -> [DirectoryEntry] {
        pass(directory)
        return try base.list(directory, statuses: statuses)
    }

    func status(_ path: String, followingLinks: Bool) throws(FileSystemError) -> FileStatus {
        pass(path)
        return try base.status(path, followingLinks: followingLinks)
    }
}

extension Replicator { fileprivate var isOpen: Bool { opened != nil } }

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

    /// Does something beside a status that waits for a folder, which answers afterwards.
    private func besideStatus(
        in world: World, _ body: @escaping @Sendable (Replicator) async throws -> Void
    ) async throws -> Replicator {
        var a = try await world.founder("a", rows: ["one"])
        let fileSystem = HungFileSystem()
        a.configuration.fileSystem = fileSystem
        let replicator = try a.replicator()
        fileSystem.hold(true, world.container)
        let status = Task { try await replicator.status() }
        try await eventually("the folder is asked") { replicator.folderCalls.oldest != nil }
        let isDone = Mutex(false)
        let work = Task {
            try await body(replicator)
            isDone.withLock { $0 = true }
        }
        try await eventually(within: .seconds(20), "it is done before the folder answers") { isDone.withLock { $0 } }
        fileSystem.hold(false)
        try await work.value
        #expect(try await status.value.container.available)
        return replicator
    }

    @Test("What is asked of the store alone is answered while a status waits for a folder")
    func statusWaits() async throws {
        let world = try World()
        let replicator = try await besideStatus(in: world) { replicator in
            _ = try await replicator.historyToken()
            _ = try await replicator.policies()
        }
        await replicator.close()
    }

    @Test("A store that was let go of while a status waited for the folder stays closed")
    func closedMeanwhile() async throws {
        let world = try World()
        let replicator = try await besideStatus(in: world) { await $0.close() }
        #expect(await !replicator.isOpen)
    }

    @Test("Stores are listed though the folders of some do not answer, and of these it is said")
    func listed() async throws {
        let (near, far) = (try World(), try World())
        let b = try await near.founder("b", rows: ["one"])
        var paths: [String] = []
        // More than are asked at a time.
        for number in 1...6 {
            var a = try far.machine("a\(number)")
            a.configuration = b.configuration
            try a.makeDatabase()
            _ = try await a.initialize()
            paths.append(a.path)
        }
        var configuration = b.configuration
        let fileSystem = HungFileSystem()
        configuration.fileSystem = fileSystem
        func states() async throws -> [String: ListReport.Store.State] {
            let stores = try await Replicator.list(configuration: configuration).stores
            #expect(stores.allSatisfy { $0.container == ($0.store == b.path ? near.container : far.container) })
            return Dictionary(uniqueKeysWithValues: stores.map { ($0.store, $0.state) })
        }
        fileSystem.hold(true, far.container)
        let found = try await states()
        fileSystem.hold(false)
        #expect(found[b.path] == .ok && found.count == 7)
        #expect(paths.allSatisfy { found[$0] == .silent })
        let answered = try await states()
        #expect(answered.count == 7 && !answered.values.contains(.silent))
    }

    private enum Look: CaseIterable { case doctor, verify, repair, initialize, clone, attach, move, destroy }

    /// A daemon is not there to say it: the command is.
    @Test("A folder that does not answer is noted for whichever command waits for it", arguments: Look.allCases)
    private func commands(look: Look) async throws {
        let world = try World()
        let a = try await world.founder("a", rows: ["one"])
        let b = try world.machine("b")
        try b.makeDatabase()
        let fileSystem = HungFileSystem()
        let calls = PendingCalls()
        var configuration = a.configuration
        configuration.fileSystem = TimedFileSystem(fileSystem, calls: calls)
        // As nobody has resolved it yet.
        let (settled, container) = (configuration, world.container + "/.")
        fileSystem.hold(true, world.container)
        let work = Task {
            switch look {
            case .doctor: _ = try await Replicator.doctor(container, configuration: settled)
            case .repair: _ = try await Replicator.repair(container, configuration: settled)
            case .verify: _ = try await Replicator.verify(container, configuration: settled)
            case .initialize:
                _ = try await Replicator.initialize(
                    b.path, container: container, content: "notes", configuration: settled)
            case .clone:
                _ = try await Replicator.clone(
                    to: b.path + "-clone", container: container, content: "notes", configuration: settled)
            case .attach, .move:
                let replicator = try Replicator(store: a.path, configuration: settled)
                switch look {
                case .attach: _ = try? await replicator.attach(to: container)
                default: _ = try? await replicator.move(to: container, content: "others")
                }
                await replicator.close()
            case .destroy:
                _ = try await Replicator.destroy(container: container, content: "notes", configuration: settled)
            }
        }
        try await eventually("the folder is asked") { calls.oldest != nil }
        #expect(calls.oldest?.path == container)
        fileSystem.hold(false)
        _ = await work.result
    }
}
