import Foundation
import LogSyncContainer
import LogSyncModel
import Synchronization
import Testing

@testable import LogSync

/// What stands outside the store goes away while a process is at it.
@Suite("A state directory that is lost under a process")
struct LostStateTests {
    let world: World
    let a: Machine
    let b: Machine

    init() async throws {
        world = try World()
        a = try await world.founder("a", rows: ["one"])
        b = try await world.clone("b")
        try await settle(a, b)
    }

    /// Removes it at one stroke, also while a daemon writes there.
    private func remove(_ part: String) throws {
        let path = a.configuration.stateDirectory + part
        let removed = "\(world.root)/removed-\(UUID())"
        try FileManager.default.moveItem(atPath: path, toPath: removed)
        try FileManager.default.removeItem(atPath: removed)
    }

    @Test("It is made anew, and the store goes on as the peer that it is", arguments: ["", "/stores", "/locks"])
    func removed(part: String) async throws {
        let daemon = try a.replicator()
        let peer = try await daemon.status().peer.id
        _ = try await daemon.sync()
        for round in 0..<3 {
            try remove(part)
            try a.insert("a \(round)")
            try b.insert("b \(round)")
            try await b.sync()
            let result = try await daemon.sync()
            #expect(result.published == 1 && result.imported == 1)
            // As a command beside the daemon.
            try a.insert("c \(round)")
            #expect(try await a.sync().published == 1)
        }
        let status = try await daemon.status()
        #expect(status.peer.id == peer && status.identity == nil && status.succeeds.isEmpty)
        await daemon.close()
        try await b.sync()
        #expect(try a.ids() == b.ids() && a.ids().count == 10)
        #expect(try StateDirectory(a.configuration.stateDirectory).load(peer) != nil)
    }

    enum Moment: CaseIterable {
        case atRest, inTheMiddle
        /// Something else that needs the directory has made it by the time that its loss is looked into.
        case inTheMiddleAndMadeAgain
    }

    @Test("A daemon publishes what is written after it, and says nothing of it", arguments: Moment.allCases)
    func daemon(_ moment: Moment) async throws {
        let removal = Once()
        var watched = a
        watched.configuration.fileSystem = InterruptedFileSystem { path in
            guard path.hasPrefix(a.configuration.stateDirectory), removal.isDue() else { return }
            try? remove("")
        } hasFailed: {
            if moment == .inTheMiddleAndMadeAgain { try? StateDirectory(a.configuration.stateDirectory).create() }
        }
        let daemon = try watched.replicator()
        let heard = daemon.events()
        let ear = Task {
            var others: [String] = []
            for await event in heard where !["ready", "didImport"].contains(event.name) {
                others.append(String(describing: event))
            }
            return others
        }
        await daemon.start()
        try await eventually(within: .seconds(120), "it works") {
            try b.insert(UUID().uuidString)
            try await b.sync()
            return try a.ids().count > 1
        }
        if moment == .atRest { try remove("") } else { removal.makeDue() }
        try a.insert("two")
        try await eventually(within: .seconds(120), "it is published") {
            try await b.sync()
            return try b.ids().contains("two")
        }
        await daemon.stop()
        await daemon.close()
        ear.cancel()
        let others = await ear.value
        #expect(others == [])
        #expect(removal.hasHappened == (moment != .atRest))
    }

    @Test("What another process had published since is not another store's")
    func publishedBeside() async throws {
        let daemon = try a.replicator()
        let peer = try await daemon.status().peer.id
        _ = try await daemon.sync()
        // Its receipt is of a run of which this process has not heard.
        try a.insert("two")
        #expect(try await a.sync().published == 1)
        try remove("")
        try a.insert("three")
        #expect(try await daemon.sync().published == 1)
        #expect(try await daemon.status().identity == nil)
        await daemon.close()
        #expect(try await a.peer() == peer)
        try await b.sync()
        #expect(try b.ids() == ["one", "three", "two"])
    }

    @Test("Without the folder this process goes by what it knows, and asks the folder when that is back")
    func away() async throws {
        let daemon = try a.replicator()
        let peer = try await daemon.status().peer.id
        _ = try await daemon.sync()
        try FileManager.default.moveItem(atPath: world.container, toPath: world.container + "-away")
        try remove("/stores")
        try a.insert("two")
        let refused = await #expect(throws: LogSyncError.self) { try await daemon.sync() }
        #expect(refused?.code == .containerUnavailable && refused?.message.contains("state file") == false)
        #expect(try await daemon.status().outbox == 1)
        try FileManager.default.moveItem(atPath: world.container + "-away", toPath: world.container)
        #expect(try await daemon.sync().published == 1)
        #expect(try await daemon.status().identity == nil)
        await daemon.close()
        #expect(try await a.peer() == peer)
    }

    @Test("A database that was set back meanwhile is still an older state of itself")
    func restored() async throws {
        try a.checkpoint()
        let backup = try Data(contentsOf: URL(fileURLWithPath: a.path))
        try a.insert("two")
        let daemon = try a.replicator()
        let peer = try await daemon.status().peer.id
        _ = try await daemon.sync()
        await daemon.close()
        try remove("")
        try backup.write(to: URL(fileURLWithPath: a.path))
        try await a.sync()
        #expect(try await a.peer() != peer)
        #expect(try a.ids() == ["one", "two"])
    }

    @Test("Who comes later takes the same locks")
    func locks() async throws {
        var impatient = a
        impatient.configuration.wait = .milliseconds(100)
        let daemon = try impatient.replicator()
        _ = try await daemon.sync()
        try remove("/locks")
        let directory = StateDirectory(a.configuration.stateDirectory)
        try directory.create()
        let other = try StoreLocks(directory, store: a.path, wait: .seconds(120))
        try await other.step.acquire(wait: .seconds(120), of: a.path)
        let refused = await #expect(throws: LogSyncError.self) { try await daemon.sync() }
        #expect(refused?.code == .locked)
        other.step.release()
        _ = try await daemon.sync()
        await daemon.close()
    }

    @Test("What may not be written there is a matter of permissions, not of space", arguments: [EACCES, EPERM, EROFS])
    func permissions(number: CInt) async throws {
        let error = DurableFile.failure("/state/stores/1.json", "made", number)
        #expect(error.code == .noPermission && error.help?.contains("space") == false)
        #expect(DurableFile.failure("/state/stores/1.json", "made", ENOSPC).code == .ioError)
        var closed = a
        closed.configuration.fileSystem = RefusingFileSystem(number, below: a.configuration.stateDirectory)
        let report = try await closed.with { try await $0.doctor() }
        let finding = try #require(report.findings.first { $0.place.hasPrefix(a.configuration.stateDirectory) })
        #expect(finding.severity == .trouble && finding.what.contains("state directory"))
        #expect(finding.help?.contains("container") == false)
    }
}

/// A file system in which something happens before a file is made, and where that fails.
private struct InterruptedFileSystem: ForwardingFileSystem {
    let base = PosixFileSystem()
    let willCreate: @Sendable (String) -> Void
    let hasFailed: @Sendable () -> Void

    func create(_ path: String, permissions: FilePermissions) throws(FileSystemError) -> any WritableFile {
        willCreate(path)
        do throws(FileSystemError) {
            return try base.create(path, permissions: permissions)
        } catch {
            hasFailed()
            throw error
        }
    }
}

/// Something that happens once, when it is due.
private final class Once: Sendable {
    private let state = Mutex((isDue: false, hasHappened: false))

    var hasHappened: Bool { state.withLock(\.hasHappened) }

    func makeDue() { state.withLock { $0.isDue = true } }

    /// Takes it to have happened where it is due.
    func isDue() -> Bool {
        state.withLock { state in
            defer { if state.isDue { state = (false, true) } }
            return state.isDue
        }
    }
}
