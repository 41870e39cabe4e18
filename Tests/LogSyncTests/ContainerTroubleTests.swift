import Foundation
import LogSyncModel
import LogSync
import Testing

@Suite("The folder is disposable, the store is not")
struct ContainerTroubleTests {
    let world: World
    let a: Machine
    let b: Machine

    init() async throws {
        world = try World()
        a = try await world.founder("a", rows: ["one"])
        b = try await world.clone("b")
        try await settle(a, b)
    }

    private func remove(_ path: String) throws { try FileManager.default.removeItem(atPath: path) }

    private func expectUnavailable(_ machine: Machine) async {
        let error = await #expect(throws: LogSyncError.self) { try await machine.sync() }
        #expect(error?.code == .containerUnavailable)
    }

    @Test("An unmounted container is unavailable: changes are recorded and wait, and nothing is created")
    func unmounted() async throws {
        try FileManager.default.moveItem(atPath: world.container, toPath: world.container + "-away")
        try a.insert("two")
        await expectUnavailable(a)
        #expect(!FileManager.default.fileExists(atPath: world.container))
        let status = try await a.status()
        #expect(!status.container.available && status.outbox == 1 && status.pending == 0)
        try FileManager.default.moveItem(atPath: world.container + "-away", toPath: world.container)
        try await settle(a, b)
        #expect(try b.ids() == ["one", "two"])
    }

    @Test("A peer whose folder may not be read is held, and the others are imported")
    func unreadable() async throws {
        let c = try await world.clone("c")
        try await settle(a, b, c)
        let (ofA, peer) = (try await a.status().peer.id, try await a.status().peer)
        try a.insert("from a")
        try await a.sync()
        try c.insert("from c")
        try await c.sync()
        var refused = b
        refused.configuration.fileSystem = RefusingFileSystem(
            EACCES, below: "\(world.contentPath)/peers/\(ofA)", refusesLooks: true)
        let result = try await refused.with { try await $0.sync() }
        #expect(result.held.map(\.peer) == [peer] && result.held.map(\.reason) == [.incomplete])
        #expect(result.outcome == .held)
        #expect(try await refused.with { try await $0.status() }.held.count == 1)
        #expect(try b.ids().contains("from c") && !b.ids().contains("from a"))
        try await settle(a, b, c)
        #expect(try b.ids().contains("from a"))
        #expect(try await b.status().held.isEmpty)
    }

    @Test("A wiped container deletes no row and is not made anew")
    func wiped() async throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: world.container) {
            try remove("\(world.container)/\(name)")
        }
        try a.insert("two")
        await expectUnavailable(a)
        await expectUnavailable(b)
        #expect(try FileManager.default.contentsOfDirectory(atPath: world.container).isEmpty)
        #expect(try a.ids() == ["one", "two"])
        #expect(try b.ids() == ["one"])
    }

    @Test("Where the marker is back and the rest is not, every peer puts its own back")
    func emptied() async throws {
        try remove(world.contentPath + "/peers")
        try await settle(a, b)
        let c = try await world.clone("c")
        #expect(try c.ids() == ["one"])
        #expect(try await c.status().digest == c.status().digest)
    }

    @Test("Nobody joins or clones before the content's settings have arrived")
    func settingsMissing() async throws {
        for peer in [try await a.peer(), try await b.peer()] { try remove(world.logsPath(peer)) }
        let c = try world.machine("c")
        try c.makeDatabase()
        await #expect(throws: LogSyncError.self) { try await c.initialize() }
        await #expect(throws: LogSyncError.self) { try await world.clone("d") }
        #expect(try c.count("SELECT count(*) FROM sqlite_master WHERE name LIKE 'logsync%'") == 0)
    }

    @Test("A missing, a damaged and a truncated file are written again by their owner")
    func mending() async throws {
        for row in ["two", "three", "four"] {
            try a.insert(row)
            try await a.sync()
        }
        let peer = try await a.peer()
        let files = try world.logs(peer).map { "\(world.logsPath(peer))/\($0)" }
        #expect(files.count == 4)
        let before = try files.map { try Data(contentsOf: URL(fileURLWithPath: $0)) }
        try remove(files[0])
        var damaged = before[1]
        damaged[damaged.count / 2] ^= 1
        try damaged.write(to: URL(fileURLWithPath: files[1]))
        try before[2].prefix(100).write(to: URL(fileURLWithPath: files[2]))
        try await a.sync()
        #expect(!FileManager.default.fileExists(atPath: files[1]) && !FileManager.default.fileExists(atPath: files[2]))
        let listing = try world.listing()
        try await a.sync()
        #expect(try world.listing() == listing)
        let c = try await world.clone("c")
        #expect(try c.ids() == ["four", "one", "three", "two"])
    }

    @Test("A complaint counts, however far its author's clock is behind")
    func slowComplaint() async throws {
        struct Slow: WallClock { func now() -> Int64 { SystemClock().now() - 3 * 365 * 86_400_000 } }
        var slow = try world.machine("slow")
        slow.configuration.clock = Slow()
        slow.configuration.maximumDrift = .seconds(10 * 365 * 86_400)
        try a.insert("two")
        try await a.sync()
        _ = try await Replicator.clone(
            to: slow.path, container: world.container, content: "notes", peerName: "slow",
            configuration: slow.configuration)
        let owner = try await a.peer()
        // One daemon, which has looked at its files and found them sound.
        try await a.with { replicator in
            try a.insert("three")
            _ = try await replicator.sync()
            let name = try #require(try world.logs(owner).last)
            let path = "\(world.logsPath(owner))/\(name)"
            let sound = try Data(contentsOf: URL(fileURLWithPath: path))
            var bytes = sound
            bytes[bytes.count - 90] ^= 0x40
            try bytes.write(to: URL(fileURLWithPath: path))
            #expect(try await slow.sync().held.contains { $0.reason == .damaged && $0.file == name })
            // The owner's own copy is sound; the other's went wrong on the way.
            try sound.write(to: URL(fileURLWithPath: path))
            let before = try world.listing()["notes/peers/\(owner)/logs/\(name)"]
            _ = try await replicator.sync()
            let mended = try world.listing()["notes/peers/\(owner)/logs/\(name)"]
            #expect(mended != nil && mended != before, "the file was not written again")
            _ = try await replicator.sync()
            #expect(try world.listing()["notes/peers/\(owner)/logs/\(name)"] == mended, "it was written twice")
        }
        #expect(try await slow.sync().outcome == .complete)
        #expect(try slow.ids() == ["one", "three", "two"])
    }

    @Test("A damaged file stops only what depends on it, is reported by the receipt, and mended")
    func damage() async throws {
        try a.insert("two")
        try await a.sync()
        let peer = try await a.peer()
        let name = try #require(try world.logs(peer).last)
        let path = "\(world.logsPath(peer))/\(name)"
        let c = try await world.clone("c")
        try c.insert("from-c")
        try await c.sync()
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        bytes[bytes.count - 90] ^= 0x40
        try bytes.write(to: URL(fileURLWithPath: path))
        let result = try await b.sync()
        #expect(result.outcome == .integrity)
        #expect(result.held.contains { $0.reason == .damaged && $0.file == name && $0.peer.id == peer })
        #expect(try await b.status().held.contains { $0.reason == .damaged })
        #expect(try b.ids() == ["one"])
        try await a.sync()
        try await settle(a, b, c)
        #expect(try b.ids() == ["from-c", "one", "two"])
        #expect(try await b.sync().outcome == .complete)
    }

    @Test("An incomplete file, a gap, a foreign file and a newer format are held, each for its reason")
    func held() async throws {
        for row in ["two", "three"] {
            try a.insert(row)
            try await a.sync()
        }
        let peer = try await a.peer()
        let names = try world.logs(peer)
        let second = names[names.count - 2]
        let path = { (name: String) in "\(world.logsPath(peer))/\(name)" }
        let bytes = try Data(contentsOf: URL(fileURLWithPath: path(second)))

        try bytes.prefix(bytes.count - 10).write(to: URL(fileURLWithPath: path(second)))
        #expect(try await b.sync().held.map(\.reason) == [.incomplete])

        try remove(path(second))
        let gap = try await b.sync()
        #expect(gap.held.map(\.reason) == [.gap] && gap.outcome == .held)
        #expect(gap.held.first?.file == nil)

        // Another peer's bytes under this name and place.
        let stranger = try await b.peer()
        let other = try #require(try world.logs(stranger).first)
        try FileManager.default.copyItem(atPath: "\(world.logsPath(stranger))/\(other)", toPath: path(second))
        #expect(try await b.sync().held.map(\.reason) == [.damaged])

        try remove(path(second))
        try bytes.write(to: URL(fileURLWithPath: path(second)))
        #expect(try await b.sync().outcome == .complete)
        #expect(try b.ids() == ["one", "three", "two"])
    }

    @Test("A transaction from the future is held for the clock, and let in on request")
    func clock() async throws {
        var future = a
        future.configuration.clock = FixedClock(SystemClock().now() + 3 * 24 * 3_600_000)
        try future.execute("UPDATE note SET body = 'later' WHERE id = 'one'")
        // The capture's own milliseconds are the machine's; the recording's are the clock's.
        try await future.sync()
        let result = try await b.sync()
        #expect(result.held.map(\.reason) == [.clock])
        #expect(result.outcome == .held)
        let peer = try await a.peer()
        try await b.with { try await $0.acceptClock(of: peer) }
        #expect(try await b.sync().outcome == .complete)
        #expect(try b.notes() == ["one=later"])
    }

    @Test("What waits for a transaction that is held here says what lets that one in")
    func waitsForTheClock() async throws {
        let c = try await world.clone("c")
        var future = a
        future.configuration.clock = FixedClock(SystemClock().now() + 3 * 24 * 3_600_000)
        try future.execute("UPDATE note SET body = 'later' WHERE id = 'one'")
        try await future.sync()
        let peer = try await a.peer()
        try await b.with { try await $0.acceptClock(of: peer) }
        #expect(try await b.sync().outcome == .complete)
        try b.insert("two")
        try await b.sync()
        let held = try await c.sync().held
        #expect(Set(held.map(\.reason)) == [.clock, .dependency], "\(held)")
        let waiting = try #require(held.first { $0.reason == .dependency })
        let sequence = try #require(held.first { $0.reason == .clock }?.sequence)
        let help = waiting.help(at: c.path)
        #expect(help.contains("after a:\(sequence), which is held here (clock)"), "\(help)")
        #expect(help.contains("logsync peers accept-clock") && !help.contains("sync engine"), "\(help)")
        try await c.with { try await $0.acceptClock(of: peer) }
        #expect(try await c.sync().outcome == .complete)
        #expect(try c.notes() == b.notes())
    }

    @Test("A time as late as one that was let in is no sign of a wrong clock")
    func timeLetInBefore() async throws {
        let ahead = SystemClock().now() + 3 * 24 * 3_600_000
        var (future, other) = (a, try await world.clone("c"))
        future.configuration.clock = FixedClock(ahead)
        other.configuration.clock = FixedClock(ahead - 60_000)
        try future.execute("UPDATE note SET body = 'later' WHERE id = 'one'")
        try await future.sync()
        let peer = try await a.peer()
        try await b.with { try await $0.acceptClock(of: peer) }
        #expect(try await b.sync().outcome == .complete)
        try other.insert("two")
        try await other.sync()
        #expect(try await b.sync().held.isEmpty)
        #expect(try b.notes() == ["one=later", "two="])
    }

    @Test("What depends on a transaction that is not here waits for it")
    func dependency() async throws {
        try a.insert("two")
        try await a.sync()
        try await b.sync()
        try b.execute("UPDATE note SET body = 'seen' WHERE id = 'two'")
        try await b.sync()
        let peer = try await a.peer()
        let name = try #require(try world.logs(peer).last)
        let hidden = world.root + "/hidden"
        try FileManager.default.moveItem(atPath: "\(world.logsPath(peer))/\(name)", toPath: hidden)
        let c = try await world.clone("c")
        #expect(try await c.status().held.map(\.reason) == [.dependency])
        try FileManager.default.moveItem(atPath: hidden, toPath: "\(world.logsPath(peer))/\(name)")
        try await c.sync()
        #expect(try c.notes() == ["one=", "two=seen"])
    }

    @Test("Files of a sync engine are passed over")
    func strangers() async throws {
        let peer = try await a.peer()
        let name = try #require(try world.logs(peer).first)
        for stranger in [".syncthing.\(name).tmp", name + ".part", "x.sync-conflict-20250101-120000.tlog", "~" + name] {
            try Data([1, 2, 3]).write(to: URL(fileURLWithPath: "\(world.logsPath(peer))/\(stranger)"))
        }
        #expect(try await b.sync().outcome == .complete)
    }
}

/// A clock that stands still.
struct FixedClock: WallClock {
    let milliseconds: Int64

    init(_ milliseconds: Int64) { self.milliseconds = milliseconds }

    func now() -> Int64 { milliseconds }
}
