import Foundation
import LogSync
import LogSyncModel
import LogSyncStore
import Testing

@Suite("Two state directories at one store") struct StateDirectoryTests {
    private let world: World
    private let a: Machine
    private let b: Machine

    init() async throws {
        world = try World()
        a = try await world.founder("a")
        b = try await world.clone("b")
    }

    /// The same store, as a program opens it that was given another state directory.
    private func other(_ name: String = "other-state") -> Machine {
        var other = a
        other.configuration.stateDirectory = world.root + "/" + name
        return other
    }

    private func peers() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: world.contentPath + "/peers")
    }

    @Test("A directory that cannot be made is not needed where the store names another")
    func notNeeded() async throws {
        let other = other("a/notes.db/state")
        try other.insert("one")
        #expect(try await other.sync().recorded == 1)
        _ = try await other.status()
        let verified = try await Replicator.verify(other.path, configuration: other.configuration)
        #expect(verified.findings.isEmpty, "\(verified.findings)")
        let examined = try await Replicator.doctor(other.path, configuration: other.configuration)
        #expect(examined.findings.isEmpty, "\(examined.findings)")
        // Nor is one made that nobody needs.
        let unused = self.other("unused")
        _ = try await unused.status()
        #expect(!FileManager.default.fileExists(atPath: unused.configuration.stateDirectory))
    }

    @Test("Programs that take turns are one peer")
    func turns() async throws {
        let peer = try await a.peer()
        for turn in 0..<4 {
            try b.insert("b\(turn)")
            try await b.sync()
            try a.insert("a\(turn)")
            try await (turn.isMultiple(of: 2) ? other() : a).sync()
        }
        try await settle(b, other(), a)
        #expect(try await other().peer() == peer)
        #expect(try peers().count == 2)
        #expect(try await a.status().identity == nil)
        #expect(try a.ids() == b.ids() && a.ids().count == 8)
    }

    @Test("Programs that run at one time are one peer")
    func running() async throws {
        let replicators = try [a, other(), b].map { try $0.replicator() }
        for replicator in replicators { await replicator.start() }
        for number in 0..<10 {
            try a.insert("a\(number)")
            try b.insert("b\(number)")
        }
        try await eventually("all rows are everywhere") { try a.ids().count == 20 && b.ids().count == 20 }
        for replicator in replicators { await replicator.stop() }
        #expect(try peers().count == 2)
    }

    @Test("A store that names no state directory takes that of the program that comes first")
    func unnamed() async throws {
        let peer = try await a.peer()
        try a.execute("DELETE FROM logsync_store WHERE key = 'state_directory'")
        // Open before the other says where the store is kept.
        let late = try other().replicator()
        try a.insert("one")
        try await a.sync()
        try b.insert("two")
        try await b.sync()
        _ = try await late.sync()
        try a.insert("three")
        _ = try await late.sync()
        await late.close()
        try await settle(a, b)
        #expect(try await a.peer() == peer)
        #expect(try peers().count == 2)
        #expect(try b.ids() == ["one", "three", "two"])
    }

    @Test("A state directory that was moved is found where the program says, and lost sight of nowhere")
    func moved() async throws {
        let peer = try await a.peer()
        try FileManager.default.moveItem(atPath: a.configuration.stateDirectory, toPath: world.root + "/other-state")
        try a.insert("one")
        try await other().sync()
        #expect(try await other().peer() == peer)
        // Now the store names that one, and the program with the former setting follows.
        try a.insert("two")
        try await a.sync()
        #expect(try await a.peer() == peer)
        #expect(try await a.status().identity == nil)
        let states = try? FileManager.default.contentsOfDirectory(atPath: a.configuration.stateDirectory + "/stores")
        #expect(states?.isEmpty != false)
    }

    @Test("A copy of the store is a peer of its own, whatever directory it names")
    func copied() async throws {
        try a.checkpoint()
        let path = world.root + "/copy.db"
        try FileManager.default.copyItem(atPath: a.path, toPath: path)
        try await other().sync(path)
        #expect(try await other().peer(path) != a.peer())
        #expect(try await a.status().identity == nil)
        let store = try Store.open(path, configuration: StoreConfiguration())
        defer { try? store.close() }
        #expect(try store.registration().stateDirectory == world.root + "/other-state")
    }

    @Test("A store that another user keeps is refused, and stays the peer that it is", .enabled(if: geteuid() != 0))
    func anotherUsers() async throws {
        let files = FileManager.default
        try files.setAttributes([.posixPermissions: 0], ofItemAtPath: a.configuration.stateDirectory)
        let error = #expect(throws: LogSyncError.self) { try other().replicator() }
        #expect(error?.code == .noPermission && error?.message.contains(a.configuration.stateDirectory) == true)
        try files.setAttributes([.posixPermissions: 0o700], ofItemAtPath: a.configuration.stateDirectory)
        try await a.sync()
        #expect(try peers().count == 2)
    }

    @Test("Root leaves no files there that the store's user could not read", .enabled(if: geteuid() == 0))
    func roots() async throws {
        let stores = a.configuration.stateDirectory + "/stores"
        #expect(chown(stores, 65534, 65534) == 0)
        let error = #expect(throws: LogSyncError.self) { try other().replicator() }
        #expect(error?.code == .noPermission && error?.message.contains(a.configuration.stateDirectory) == true)
        #expect(chown(stores, 0, 0) == 0)
        try await other().sync()
    }
}
