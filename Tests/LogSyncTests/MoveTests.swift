import Foundation
import LogSyncModel
import LogSync
import Testing

@Suite("A store moves with its whole history")
struct MoveTests {
    let world: World
    let there: String
    let a: Machine
    let b: Machine

    init() async throws {
        world = try World()
        there = world.root + "/There"
        try FileManager.default.createDirectory(atPath: there, withIntermediateDirectories: true)
        a = try await world.founder("a", rows: ["one"])
        b = try await world.clone("b")
        try b.insert("two")
        try await settle(a, b)
        try a.execute("UPDATE note SET body = 'seen' WHERE id = 'two'")
        try await settle(a, b)
    }

    private func clone(_ name: String, from container: String, _ content: String) async throws -> Machine {
        let machine = try world.machine(name)
        _ = try await Replicator.clone(
            to: machine.path, container: container, content: content, peerName: name,
            configuration: machine.configuration)
        return machine
    }

    @Test(
        "A newcomer at the new place gets everything; the others go on where they are", arguments: ["notes", "diary"])
    func moved(content: String) async throws {
        try a.insert("three")
        try await a.sync()
        // But for the receipt, which says that it has left.
        let own = "peers/\(try await a.peer())"
        func former() throws -> [String: String] {
            try world.listing().filter { !$0.key.hasSuffix("receipt.json") && !$0.key.hasSuffix(own) }
        }
        let before = try former()
        let digest = try await a.status().digest
        let report = try await a.with { try await $0.move(to: there, content: content) }
        #expect(report.changed && report.place.content == content && report.former.container == world.container)
        #expect(report.copied > 2 && report.snapshot == nil && report.result.held.isEmpty)
        #expect(report.staying.map(\.name) == ["b"])
        let status = try await a.status()
        #expect(status.container.available && status.container.path == there && status.content == content)
        #expect(status.digest == digest && status.outbox == 0)
        #expect(try former() == before, "the former stays")
        let c = try await clone("c", from: there, content)
        #expect(try c.notes() == ["one=", "three=", "two=seen"])
        let verified = try await Replicator.verify(there, configuration: a.configuration)
        #expect(verified.findings.isEmpty)
        try a.insert("four")
        try await settle(a, c)
        #expect(try c.ids().count == 4)
        try b.insert("alone")
        #expect(try await b.sync().outcome == .complete)
        #expect(try b.ids() == ["alone", "one", "three", "two"])
        #expect(try !a.ids().contains("alone"))
    }

    @Test("The second peer that moves joins the first, with what it did meanwhile")
    func second() async throws {
        _ = try await a.with { try await $0.move(to: there, content: "diary") }
        try a.insert("by-a")
        try b.insert("by-b")
        try await a.sync()
        let report = try await b.with { try await $0.move(to: there, content: "diary") }
        #expect(report.changed && report.result.imported >= 1)
        try await settle(a, b)
        #expect(try a.ids() == ["by-a", "by-b", "one", "two"])
        #expect(try b.ids() == a.ids())
        #expect(try await a.status().digest == b.status().digest)
        let again = try await b.with { try await $0.move(to: there, content: "diary") }
        #expect(!again.changed && again.copied == 0)
    }

    @Test("Without the former folder the whole state goes along in a snapshot, and the others' history when they move")
    func withoutFormer() async throws {
        try a.insert("three")
        try FileManager.default.removeItem(atPath: world.container)
        let report = try await a.with { try await $0.move(to: there) }
        #expect(report.copied == 0 && report.snapshot != nil && report.missing.isEmpty)
        #expect(try a.ids() == ["one", "three", "two"])
        let c = try await clone("c", from: there, "notes")
        #expect(try c.notes() == ["one=", "three=", "two=seen"])
        _ = try await b.with { try await $0.move(to: there) }
        try await settle(a, b, c)
        #expect(try b.ids() == ["one", "three", "two"])
        #expect(try await b.status().digest == a.status().digest)
    }

    @Test("The same folder by another path is no other place, and nobody stays behind")
    func sameFolder() async throws {
        let link = world.root + "/Link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: world.container)
        let report = try await a.with { try await $0.move(to: link) }
        #expect(report.changed && report.isSameFolder && report.copied == 0 && report.staying.isEmpty, "\(report)")
        try b.insert("three")
        try await b.sync()
        #expect(try await a.sync().imported == 1)
        // It has not left the folder either.
        #expect(try await b.status().peers.allSatisfy { !$0.retired })
    }

    @Test("Who is in the folder that it goes back to does not stay behind")
    func back() async throws {
        let away = try await a.with { try await $0.move(to: there) }
        #expect(away.copied > 0 && away.staying.map(\.name) == ["b"])
        try await b.sync()
        let back = try await a.with { try await $0.move(to: world.container) }
        #expect(back.copied == 0 && back.staying.isEmpty && !back.isSameFolder, "\(back)")
        #expect(try await a.with { try await $0.move(to: there) }.staying.map(\.name) == ["b"])
    }

    @Test("Where it cannot go it stays, and nothing is made there")
    func refused() async throws {
        let other = try World()
        _ = try await other.founder("stranger", rows: ["theirs"])
        for (path, code) in [
            (other.container, LogSyncError.Code.configuration), (world.root + "/Nowhere", .containerUnavailable),
            (world.root + "/a", .configuration),
        ] {
            let error = await #expect(throws: LogSyncError.self) { try await a.with { try await $0.move(to: path) } }
            #expect(error?.code == code, "\(String(describing: error))")
        }
        let error = await #expect(throws: LogSyncError.self) {
            try await a.with { try await $0.move(to: there, content: "Bad Name") }
        }
        #expect(error?.code == .usage)
        #expect(!FileManager.default.fileExists(atPath: world.root + "/Nowhere"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: there).isEmpty)
        #expect(try await a.status().container.path == world.container)
        #expect(try await a.sync().outcome == .complete)
    }

    @Test("A damaged file of another peer is not copied, and a snapshot stands for it")
    func damaged() async throws {
        let peer = try await b.peer()
        let name = try #require(try world.logs(peer).last)
        let path = "\(world.logsPath(peer))/\(name)"
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        bytes[bytes.count / 2] ^= 1
        try bytes.write(to: URL(fileURLWithPath: path))
        let report = try await a.with { try await $0.move(to: there, content: "diary") }
        #expect(report.snapshot != nil && report.missing.isEmpty)
        #expect(try await clone("early", from: there, "diary").ids() == ["one", "two"])
        _ = try await b.with { try await $0.move(to: there, content: "diary") }
        try await settle(a, b)
        #expect(try await clone("c", from: there, "diary").ids() == ["one", "two"])
    }

    @Test("A running replicator lets go and follows")
    func whileRunning() async throws {
        let replicator = try a.replicator()
        await replicator.start()
        try await eventually("a runs") { try await !a.status().peers.isEmpty }
        let there = there
        _ = try await a.with { try await $0.move(to: there) }
        let c = try await clone("c", from: there, "notes")
        try c.insert("three")
        try await c.sync()
        try await eventually("a has what came at the new place") { try a.ids() == ["one", "three", "two"] }
        await replicator.stop()
        await replicator.close()
    }

    // MARK: Backups from before

    /// Takes a copy of `a`'s store, and returns what puts it back.
    private func backup() throws -> () throws -> Void {
        let backup = world.root + "/backup.db"
        try a.checkpoint()
        try FileManager.default.copyItem(atPath: a.path, toPath: backup)
        return {
            for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: a.path + suffix) }
            try FileManager.default.copyItem(atPath: backup, toPath: a.path)
        }
    }

    @Test(
        "A backup from before the move, restored, goes on where the store was last",
        arguments: [true, false], ["notes", "diary"])
    func backupOfBefore(writesMore: Bool, content: String) async throws {
        let restore = try backup()
        _ = try await a.with { try await $0.move(to: there, content: content) }
        let c = try await clone("c", from: there, content)
        if writesMore {
            try a.insert("since")
            try await settle(a, c)
        }
        try restore()
        try a.insert("after")
        try await settle(a, c)
        #expect(try a.ids() == (writesMore ? ["after", "one", "since", "two"] : ["after", "one", "two"]))
        #expect(try c.ids() == a.ids())
        let status = try await a.status()
        #expect(status.container.path == there && status.content == content)
        // Nor does it come back to the folder by what the state file says of later.
        try restore()
        try await settle(a, c)
        #expect(try a.ids() == c.ids())
        // Nor where the peers that it has been since have left again.
        let last = world.root + "/Last"
        try FileManager.default.createDirectory(atPath: last, withIntermediateDirectories: true)
        _ = try await a.with { try await $0.move(to: last) }
        try restore()
        try await a.sync()
        #expect(try await a.status().container.path == last)
        #expect(try a.ids() == c.ids())
    }

    @Test("A backup from before the move on a machine that knows nothing of it says that it had gone from the folder")
    func backupWithoutState() async throws {
        let restore = try backup()
        _ = try await a.with { try await $0.move(to: there) }
        try a.insert("since")
        try await a.sync()
        try restore()
        try FileManager.default.removeItem(atPath: a.configuration.stateDirectory)
        try await a.sync()
        let trouble = try #require(try await a.status().identity)
        #expect(trouble.detail.contains("it had gone from this folder"), "\(trouble.detail)")
        _ = try await a.with { try await $0.move(to: there) }
        #expect(try a.ids() == ["one", "since", "two"])
    }

    @Test("A backup from before attach, restored, goes on where the store was last; a copy beside it stays where it is")
    func backupOfBeforeAttach() async throws {
        let restore = try backup()
        let (now, third) = (world.root + "/Renamed", world.root + "/Third")
        for path in [now, third] { try FileManager.default.copyItem(atPath: world.container, toPath: path) }
        _ = try await a.with { try await $0.attach(to: now) }
        try restore()
        try await a.sync()
        #expect(try await a.status().container.path == now)
        // What is said of a copy is not said of its original.
        try restore()
        let copy = world.root + "/copy.db"
        try FileManager.default.copyItem(atPath: a.path, toPath: copy)
        _ = try await a.with(copy) { try await $0.attach(to: third) }
        try await a.sync()
        #expect(try await a.status().container.path == now)
        #expect(try await a.status(copy).container.path == third)
    }
}
