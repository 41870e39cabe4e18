import Foundation
import LogSync
import LogSyncModel
import Testing

@Suite("A folder that takes nothing, as where it may only be read or its disk is full")
struct RefusingFolderTests {
    let world: World
    let a: Machine
    let b: Machine
    /// `b` as long as the folder refuses.
    private var refused: Machine

    init() async throws {
        world = try World()
        a = try await world.founder("a", rows: ["one"])
        b = try await world.clone("b")
        try await settle(a, b)
        refused = b
    }

    private mutating func refuse(_ number: CInt, looks: Bool = false) {
        refused.configuration.fileSystem = RefusingFileSystem(number, below: world.contentPath, refusesLooks: looks)
    }

    private func send(_ row: String) async throws {
        try a.insert(row)
        try await a.sync()
    }

    // MARK: Importing

    @Test(
        "What others have published is imported, though a change waits here", arguments: [EROFS, ENOSPC, EACCES, EIO])
    mutating func imports(number: CInt) async throws {
        refuse(number)
        try await send("of a")
        try b.insert("of b")
        let refused = refused
        let error = await #expect(throws: LogSyncError.self) { try await refused.sync() }
        #expect([.noPermission, .ioError].contains(error?.code) && error?.message.contains("outbox") == true)
        #expect(try b.ids() == ["of a", "of b", "one"])
        #expect(try await b.status().outbox == 1)
        try await settle(a, b)
        #expect(try a.ids() == b.ids())
    }

    @Test("A daemon imports on, too, for as long as it lasts")
    mutating func daemon() async throws {
        refuse(ENOSPC)
        refused.configuration.pollInterval = .milliseconds(50)
        try b.insert("of b")
        let (b, replicator) = (b, try refused.replicator())
        await replicator.start()
        for row in ["of a", "of a, later"] {
            try await send(row)
            try await eventually("\(row) is imported") { try b.ids().contains(row) }
        }
        await replicator.stop()
        #expect(try await b.status().outbox == 1)
    }

    // MARK: Leaving

    @Test(
        "A store leaves it all the same, and says what reaches nobody", arguments: [true, false], [EROFS, ENOSPC, EIO])
    mutating func leave(waits: Bool, number: CInt) async throws {
        refuse(number)
        if waits { try b.insert("of b") }
        let refused = refused
        let prospect = try await refused.with { try await $0.leave(dryRun: true) }
        #expect(!prospect.published && prospect.unpublished == (waits ? 1 : 0))
        let report = try await refused.with { try await $0.leave() }
        #expect(report == prospect)
        #expect(try b.count("SELECT count(*) FROM sqlite_master WHERE name LIKE 'logsync%'") == 0)
        #expect(try b.ids() == (waits ? ["of b", "one"] : ["one"]))
    }

    @Test("So it leaves one that a liar has made no folder", arguments: ["logsync.json", "peers"])
    func leaveLies(name: String) async throws {
        try b.insert("of b")
        let path = "\(world.contentPath)/\(name)"
        try FileManager.default.moveItem(atPath: path, toPath: world.root + "/aside")
        #expect(mkfifo(path, 0o644) == 0)
        let report = try await b.with { try await $0.leave() }
        #expect(!report.published && report.unpublished == 1)
        #expect(try b.ids() == ["of b", "one"])
        #expect(try b.count("SELECT count(*) FROM sqlite_master WHERE name LIKE 'logsync%'") == 0)
    }

    @Test("One that takes everything is told")
    func leaveWell() async throws {
        try b.insert("of b")
        let prospect = try await b.with { try await $0.leave(dryRun: true) }
        #expect(prospect.published && prospect.unpublished == 0)
        #expect(try await b.with { try await $0.leave() } == prospect)
        try await a.sync()
        #expect(try a.ids() == ["of b", "one"])
    }

    // MARK: Moving

    @Test("A store moves away from it with everything that it holds", arguments: [EROFS, ENOSPC])
    mutating func move(number: CInt) async throws {
        refuse(number)
        try await send("of a")
        try b.insert("of b")
        let there = world.root + "/There"
        try FileManager.default.createDirectory(atPath: there, withIntermediateDirectories: true)
        let refused = refused
        let report = try await refused.with { try await $0.move(to: there) }
        #expect(report.copied > 0 && report.staying.map(\.name) == ["a"] && report.missing.isEmpty)
        _ = try await a.with { try await $0.move(to: there) }
        try await settle(a, b)
        for machine in [a, b] { #expect(try machine.ids() == ["of a", "of b", "one"]) }
        #expect(try await a.status().digest == b.status().digest)
    }
}
