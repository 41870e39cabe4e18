import Foundation
import GRDB
import LogSyncModel
import LogSync
import Testing

/// Every way in which a database can turn up that is not quite the one that logsync left. No row is lost in any.
@Suite("Who a store is")
struct IdentityTests {
    let world: World
    let a: Machine
    let b: Machine

    init() async throws {
        world = try World()
        a = try await world.founder("a", rows: ["one"])
        b = try await world.clone("b")
        try await settle(a, b)
    }

    private func copy(_ from: String, _ to: String) throws {
        #expect(!FileManager.default.fileExists(atPath: from + "-wal"))
        try? FileManager.default.removeItem(atPath: to)
        try FileManager.default.copyItem(atPath: from, toPath: to)
    }

    private func elsewhere(_ name: String) throws -> String {
        let directory = "\(world.root)/\(name)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        return directory + "/notes.db"
    }

    @Test("A moved store stays the same peer, and status says so")
    func moved() async throws {
        let peer = try await a.peer()
        let path = try elsewhere("moved")
        try a.checkpoint()
        try FileManager.default.moveItem(atPath: a.path, toPath: path)
        try a.insert("two", at: path)
        try await a.sync(path)
        let status = try await a.status(path)
        #expect(status.peer.id == peer)
        #expect(status.identity?.kind == .moved)
        #expect(status.succeeds.isEmpty)
        try await b.sync()
        #expect(try b.ids() == ["one", "two"])
    }

    @Test("A copy beside the original becomes a peer of its own, and both go on")
    func copied() async throws {
        let peer = try await a.peer()
        let path = try elsewhere("copy")
        try a.checkpoint()
        try copy(a.path, path)
        try a.insert("original")
        try a.insert("copied", at: path)
        try await a.sync(path)
        try await a.sync()
        try await b.sync()
        try await a.sync(path)
        try await a.sync()
        let status = try await a.status(path)
        #expect(status.peer.id != peer && status.succeeds.map(\.id) == [peer])
        #expect(status.identity?.kind == .copied)
        #expect(try await a.peer() == peer)
        #expect(try await b.status().peers.first { $0.id == peer }?.retired == false)
        for path in [a.path, path, b.path] { #expect(try a.ids(at: path) == ["copied", "one", "original"]) }
    }

    @Test("A copy with unpublished transactions publishes what the original may never publish")
    func copiedWithOutbox() async throws {
        try a.insert("unpublished")
        _ = try await a.with { try await $0.import() }
        let path = try elsewhere("copy")
        try a.checkpoint()
        try copy(a.path, path)
        var other = a
        other.configuration.stateDirectory = world.root + "/other-state"
        other.configuration.machineID = "other"
        try await other.sync(path)
        try await b.sync()
        #expect(try b.ids() == ["one", "unpublished"])
        // The original lives on after all, and says the same.
        try await a.sync()
        try await b.sync()
        #expect(try await b.status().held.isEmpty)
        #expect(try await b.sync().outcome == .complete)
    }

    @Test("A copy on another machine becomes a peer of its own")
    func copiedElsewhere() async throws {
        let path = try elsewhere("copy")
        try a.checkpoint()
        try copy(a.path, path)
        var other = a
        other.configuration.stateDirectory = world.root + "/other-state"
        other.configuration.machineID = "other"
        try other.insert("two", at: path)
        try await other.sync(path)
        #expect(try await other.peer(path) != a.peer())
        try await b.sync()
        #expect(try b.ids() == ["one", "two"])
    }

    @Test("A restored backup becomes a new peer that takes in what its former self had done", arguments: [true, false])
    func restored(hasState: Bool) async throws {
        let peer = try await a.peer()
        try a.insert("kept")
        try await a.sync()
        try a.checkpoint()
        let backup = world.root + "/backup.db"
        try copy(a.path, backup)
        try a.insert("lost?")
        try await a.sync()
        try a.checkpoint()
        try copy(backup, a.path)
        if !hasState { try FileManager.default.removeItem(atPath: a.configuration.stateDirectory) }
        try a.insert("after")
        try await a.sync()
        let status = try await a.status()
        #expect(status.peer.id != peer && status.succeeds.map(\.id) == [peer])
        #expect(status.identity?.kind == .restored)
        #expect(status.peer.name == "a")
        #expect(try a.ids() == ["after", "kept", "lost?", "one"])
        try await settle(a, b)
        #expect(try b.notes() == a.notes())
        let former = try await b.status().peers.first { $0.id == peer }
        #expect(former?.retired == true)
        #expect(try await b.sync().outcome == .complete)
    }

    @Test("A backup that is restored again retires also who the store was in between")
    func restoredAgain() async throws {
        try a.checkpoint()
        let backup = world.root + "/backup.db"
        try copy(a.path, backup)
        var selves: Set<PeerID> = [try await a.peer()]
        for round in 1...3 {
            try a.insert("after \(round)")
            try await settle(a, b)
            try a.checkpoint()
            try copy(backup, a.path)
            try await settle(a, b)
            selves.insert(try await a.peer())
        }
        #expect(selves.count == 4)
        #expect(try a.ids() == ["after 1", "after 2", "after 3", "one"])
        let retired = try await b.status().peers.filter(\.retired).map(\.id)
        #expect(try Set(retired) == selves.subtracting([await a.peer()]))
    }

    @Test(
        "A backup that SQLite restores in place, while a sync waits for the write lock, is no other history of the peer"
    )
    func restoredInPlace() async throws {
        let peer = try await a.peer()
        try a.insert("in the backup")
        let backup = try DatabaseQueue(path: world.root + "/backup.db")
        let database = try a.database()
        try database.backup(to: backup)
        for id in ["later", "later still"] {
            try a.insert(id)
            try await a.sync()
        }
        try a.insert("undone")
        let a = a
        var syncing: Task<SyncResult, any Error>?
        var step = 0
        try backup.backup(to: database, pagesPerStep: 1) { _ in
            // The whole of it is one transaction.
            if step == 1 { syncing = Task.detached { try await a.sync() } }
            step += 1
            usleep(20_000)
        }
        try #require(step > 20, "a sync comes as far as the write lock meanwhile")
        _ = try await syncing?.value
        let status = try await a.status()
        #expect(status.peer.id != peer && status.identity?.kind == .restored)
        try await settle(a, b)
        #expect(try await b.status().vector.sequences.count == 3, "there is no branch")
        #expect(try b.ids() == ["in the backup", "later", "later still", "one"])
        #expect(try a.ids() == b.ids())
        #expect(try await b.status().digest == a.status().digest)
    }

    @Test("A state directory alone that goes back to an older state changes nothing", arguments: [true, false])
    func olderStateDirectory(hasRecorded: Bool) async throws {
        let peer = try await a.peer()
        try copy(a.configuration.stateDirectory, world.root + "/older-state")
        for body in ["two", "three"] {
            try (hasRecorded ? a : b).insert(body)
            try await settle(a, b)
        }
        try copy(world.root + "/older-state", a.configuration.stateDirectory)
        try await a.sync()
        try a.insert("four")
        try await a.sync()
        let status = try await a.status()
        #expect(status.peer.id == peer && status.identity == nil && status.succeeds.isEmpty)
        try await settle(a, b)
        #expect(try b.ids() == ["four", "one", "three", "two"])
        #expect(try await a.sync().outcome == .complete)
        #expect(try await a.peer() == peer)
    }

    @Test("A restored store puts back what its former self had published, when the folder has lost it")
    func formerSelfMended() async throws {
        let peer = try await a.peer()
        try a.checkpoint()
        let backup = world.root + "/backup.db"
        try copy(a.path, backup)
        try a.insert("two")
        try await a.sync()
        try a.checkpoint()
        try copy(backup, a.path)
        try await settle(a, b)
        try FileManager.default.removeItem(atPath: "\(world.contentPath)/peers/\(peer)")
        try await a.sync()
        #expect(try world.logs(peer).count == 1)
    }

    @Test("A backup restored without state file or own folder is told by what others have seen")
    func restoredSeenByOthers() async throws {
        let peer = try await a.peer()
        try a.checkpoint()
        let backup = world.root + "/backup.db"
        try copy(a.path, backup)
        try a.insert("two")
        try await settle(a, b)
        try b.execute("UPDATE note SET body = 'seen' WHERE id = 'two'")
        try await b.sync()
        try a.checkpoint()
        try copy(backup, a.path)
        try FileManager.default.removeItem(atPath: a.configuration.stateDirectory)
        let hidden = world.root + "/hidden"
        try FileManager.default.moveItem(atPath: "\(world.contentPath)/peers/\(peer)", toPath: hidden)
        let receipt = "\(world.contentPath)/peers/\(try await b.peer())/receipt.json"
        try FileManager.default.removeItem(atPath: receipt)
        try a.insert("after")
        try await a.sync()
        #expect(try await a.peer() != peer)
        let own = try FileManager.default.contentsOfDirectory(atPath: world.contentPath + "/peers")
        for name in own where name == peer.description {
            try FileManager.default.removeItem(atPath: "\(world.contentPath)/peers/\(name)")
        }
        try FileManager.default.moveItem(atPath: hidden, toPath: "\(world.contentPath)/peers/\(peer)")
        try await settle(a, b)
        #expect(try a.notes() == ["after=", "one=", "two=seen"])
        #expect(try b.notes() == a.notes())
    }

    /// What happens before a disk and the folder both go back, and between that and the next sync.
    enum Rollback: CaseIterable { case writes, writesUponAnswer, idle }

    @Test("A disk and the folder that both go back lose nothing that another peer has", arguments: Rollback.allCases)
    func rolledBackWithItsFolder(_ kind: Rollback) async throws {
        let places = [a.world.root + "/a", a.configuration.stateDirectory, world.container]
        try a.checkpoint()
        for place in places { try copy(place, place + "-backup") }
        try a.insert("after")
        try await settle(a, b)
        if kind == .writesUponAnswer {
            try b.execute("UPDATE note SET body = 'answer' WHERE id = 'after'")
            try await b.sync()
        }
        try a.checkpoint()
        for place in places { try copy(place + "-backup", place) }
        if kind != .idle { try a.insert("new") }
        for _ in 0..<4 {
            try await a.sync()
            try await b.sync()
        }
        let after = kind == .writesUponAnswer ? "after=answer" : "after="
        #expect(try a.notes() == (kind == .idle ? [after, "one="] : [after, "new=", "one="]))
        #expect(try b.notes() == a.notes())
        #expect(try await a.sync().outcome == .complete)
        let snapshots = try snapshotCount()
        let c = try await world.clone("c")
        #expect(try c.notes() == a.notes())
        try await settle(a, b, c)
        let digest = try await a.status().digest
        #expect(try await b.status().digest == digest)
        #expect(try await c.status().digest == digest)
        #expect(try snapshotCount() == snapshots, "no more are taken than are needed")
    }

    private func snapshotCount() throws -> Int {
        FileManager.default.enumerator(atPath: world.contentPath)?
            .filter { ($0 as? String)?.hasSuffix(".snap") ?? false }.count ?? 0
    }

    @Test("A backup restored while the container is away is told by the state file alone")
    func restoredOffline() async throws {
        let peer = try await a.peer()
        try a.checkpoint()
        let backup = world.root + "/backup.db"
        try copy(a.path, backup)
        try a.insert("lost?")
        try await a.sync()
        try a.checkpoint()
        try copy(backup, a.path)
        try FileManager.default.moveItem(atPath: world.container, toPath: world.container + "-away")
        try a.insert("after")
        await #expect(throws: LogSyncError.self) { try await a.sync() }
        #expect(try await a.peer() != peer)
        try FileManager.default.moveItem(atPath: world.container + "-away", toPath: world.container)
        try await settle(a, b)
        #expect(try a.ids() == ["after", "lost?", "one"])
        #expect(try b.ids() == a.ids())
    }

    @Test("A store without state file and receipt is a new peer: its former self may have gone further")
    func untold() async throws {
        let c = try await world.clone("c")
        let peer = try await c.peer()
        try c.checkpoint()
        let backup = world.root + "/backup.db"
        try copy(c.path, backup)
        try c.insert("lost?")
        try await c.sync()
        try c.checkpoint()
        try copy(backup, c.path)
        try FileManager.default.removeItem(atPath: c.configuration.stateDirectory)
        let own = "\(world.contentPath)/peers/\(peer)"
        // The carrier has not brought the new disk's folder anything of this peer yet.
        try FileManager.default.moveItem(atPath: own, toPath: world.root + "/hidden")
        try c.insert("after")
        try await c.sync()
        let status = try await c.status()
        #expect(status.peer.id != peer && status.succeeds.map(\.id) == [peer] && status.identity?.kind == .restored)
        if FileManager.default.fileExists(atPath: own) { try FileManager.default.removeItem(atPath: own) }
        try FileManager.default.moveItem(atPath: world.root + "/hidden", toPath: own)
        try await settle(a, b, c)
        #expect(try c.ids() == ["after", "lost?", "one"])
        #expect(try a.ids() == c.ids() && b.ids() == c.ids())
        #expect(try await c.sync().held.isEmpty)
    }

    @Test("Without state file and container nothing is recorded, and nothing is lost", arguments: [true, false])
    func unknown(hasRecorded: Bool) async throws {
        let a = hasRecorded ? a : try await world.clone("c")
        try FileManager.default.removeItem(atPath: a.configuration.stateDirectory)
        try FileManager.default.moveItem(atPath: world.container, toPath: world.container + "-away")
        try a.insert("two")
        let error = await #expect(throws: LogSyncError.self) { try await a.sync() }
        #expect(error?.code == .containerUnavailable)
        let other = try await b.peer()
        await #expect(throws: LogSyncError.self) { try await a.with { try await $0.retire(other) } }
        #expect(try await a.status().pending == 1)
        try FileManager.default.moveItem(atPath: world.container + "-away", toPath: world.container)
        let peer = try await a.peer()
        try await a.sync()
        #expect(try await a.peer() == peer)
        try await b.sync()
        #expect(try b.ids() == ["one", "two"])
    }

    @Test("A lost state directory changes nothing where the machine id confirms the store")
    func stateLost() async throws {
        let peer = try await a.peer()
        try FileManager.default.removeItem(atPath: a.configuration.stateDirectory)
        try a.insert("two")
        try await a.sync()
        #expect(try await a.peer() == peer)
    }

    @Test("Without a machine id the inode confirms the store; a copy has another")
    func machineIDMissing() async throws {
        var a = a
        a.configuration.machineID = nil
        let peer = try await a.peer()
        try await a.sync()
        #expect(try await a.peer() == peer)
        try FileManager.default.removeItem(atPath: a.configuration.stateDirectory)
        try await a.sync()
        #expect(try await a.peer() == peer)
        let path = try elsewhere("copy")
        try a.checkpoint()
        try copy(a.path, path)
        a.configuration.stateDirectory = world.root + "/other-state"
        try a.insert("two", at: path)
        try await a.sync(path)
        #expect(try await a.peer(path) != peer)
        try await b.sync()
        #expect(try b.ids() == ["one", "two"])
    }

    @Test("Two machines that share store and state, as cloned disks do, are told apart by the nonce")
    func shared() async throws {
        let path = try elsewhere("disk")
        let state = world.root + "/disk-state"
        try a.checkpoint()
        try copy(a.path, path)
        try FileManager.default.copyItem(atPath: a.configuration.stateDirectory, toPath: state)
        // The clone has the same path and the same inode there; here the state file has to say so.
        let file = try #require(try FileManager.default.contentsOfDirectory(atPath: state + "/stores").first)
        var text = try String(contentsOfFile: "\(state)/stores/\(file)", encoding: .utf8)
        let inode = try #require(try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int)
        text = text.replacing(a.path.replacing("/", with: "\\/"), with: path.replacing("/", with: "\\/"))
        text = text.replacing(#/"inode":\d+/#, with: "\"inode\":\(inode)")
        try text.write(toFile: "\(state)/stores/\(file)", atomically: true, encoding: .utf8)
        try a.execute(
            """
            UPDATE logsync_store SET value = '\(path)' WHERE key = 'path';
            UPDATE logsync_store SET value = \(inode) WHERE key = 'inode';
            """, at: path)
        var clone = a
        clone.configuration.stateDirectory = state

        let peer = try await a.peer()
        try a.insert("two")
        try await a.sync()
        try clone.insert("three", at: path)
        try await clone.sync(path)
        #expect(try await clone.peer(path) != peer)
        try await a.sync()
        #expect(try await a.peer() == peer)
        try await b.sync()
        #expect(try b.ids() == ["one", "three", "two"])
        #expect(try a.ids() == ["one", "three", "two"])
    }
}
