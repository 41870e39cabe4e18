import Forgery
import Foundation
import LogSync
import LogSyncFormat
import LogSyncModel
import Testing

/// What a liar has put into the folder, and every call that may read it.
@Suite("Whatever a store is asked while a liar writes its folder")
struct HostileCommandTests {
    private let world: World
    private let a: Machine
    private let folder: ForgedFolder

    init() async throws {
        world = try World()
        a = try await world.founder("a", rows: ["one"])
        folder = ForgedFolder(world.contentPath)
    }

    @Test("it answers or says by name what it does not do, and the honest rows stay", arguments: Liar.Lie.allCases)
    func everyCall(lie: Liar.Lie) async throws {
        try Liar(world).tell(lie, of: try await a.peer())
        _ = try await a.status()
        try a.execute("INSERT INTO note(id) VALUES('two')")
        let package = world.root + "/package.db"
        try a.execute("CREATE TABLE note(id TEXT PRIMARY KEY NOT NULL, body TEXT, stars INTEGER)", at: package)
        try a.execute("INSERT INTO note(id) VALUES('packed')", at: package)
        let a = a
        let calls: [(name: String, call: @Sendable () async throws -> Void)] = [
            ("import", { _ = try await a.with { try await $0.import() } }),
            ("sync", { _ = try await a.sync() }),
            ("status", { _ = try await a.status() }),
            ("export", { _ = try await a.with { try await $0.export() } }),
            ("log", { _ = try await a.with { try await $0.log() } }),
            ("history", { _ = try await a.with { try await $0.history() } }),
            ("conflicts", { _ = try await a.with { try await $0.conflicts() } }),
            ("snapshot", { _ = try await a.snapshot() }),
            ("compact", { _ = try await a.compact() }),
            ("rescan", { _ = try await a.with { try await $0.rescan() } }),
            ("seed", { _ = try await a.with { try await $0.seed(from: package) } }),
            ("migrate", { _ = try await a.with { try await $0.migrate("ALTER TABLE note ADD COLUMN more TEXT") } }),
            ("rebuild", { _ = try await a.with { try await $0.rebuild() } }),
            ("doctor", { _ = try await Replicator.doctor(a.path, configuration: a.configuration) }),
            ("verify", { _ = try await Replicator.verify(a.path, configuration: a.configuration) }),
            (
                "doctor of the folder",
                { [world] in _ = try await Replicator.doctor(world.container, configuration: a.configuration) }
            ),
            (
                "verify of the folder",
                { [world] in _ = try await Replicator.verify(world.container, configuration: a.configuration) }
            ),
            ("sync again", { _ = try await a.sync() }),
        ]
        for (name, call) in calls {
            do {
                try await call()
            } catch {
                Issue.record("\(name): \(error)")
            }
            #expect(try Set(a.ids()).isSuperset(of: ["one", "two"]), "\(name)")
        }
        #expect(try a.ids().contains("packed"))
        try await expectClone(lie)
        #expect(!FileManager.default.fileExists(atPath: world.root + "/owned"))
    }

    private func expectClone(_ lie: Liar.Lie) async throws {
        let c: Machine
        do {
            c = try await world.clone("c")
        } catch let error as LogSyncError where lie == .schemas && error.code == .invalidStore {
            // The newest schema is the liar's, and is refused by name.
            return
        }
        // A clone takes the newest schema and the greatest snapshot that there is, whoever has put it there.
        guard ![.schemas, .snapshots].contains(lie) else { return }
        #expect(try Set(c.ids()).isSuperset(of: ["one", "two", "packed"]))
        try c.insert("of the clone")
        for machine in [c, a] { try await machine.sync() }
        #expect(try a.ids().contains("of the clone"))
    }

    private static let settings = [
        ("identity", "note", "surrogate"), ("identity", "note", "columns=[]"),
        ("identity", "note", "columns=[\"none\"]"), ("skip", "note", "1"), ("local", "note", "1"),
        ("reference", "note.body", "note"), ("reference", "note.none", "none"),
        ("policy", "note.body", "no-such-policy"), ("policy", "", ""), ("key", "note", "[]"),
        ("key", "note", "[\"body\"]"), ("rename", "note.body", "note.id"), ("unenforced", "note.body", "1"),
        ("retired", "OWN", "1"), ("name", "OWN", "\u{9B}31m"), ("", "", ""),
    ]

    @Test("a setting that no schema can follow is passed over, and all goes on", arguments: settings.indices)
    func setting(index: Int) async throws {
        let setting = Self.settings[index]
        try tell(setting, own: try await a.peer())
        let a = a
        try a.insert("two")
        for call in [{ _ = try await a.sync() }, { _ = try await a.snapshot() }] as [() async throws -> Void] {
            try await call()
        }
        try a.insert("three")
        try await a.sync()
        _ = try await Replicator.verify(a.path, configuration: a.configuration)
        #expect(try Set(a.ids()) == ["one", "two", "three"], "\(setting)")
        let c = try await world.clone("c")
        // That a clone leaves a table out is what a setting can say.
        if ["skip", "local"].contains(setting.0) { return }
        #expect(try Set(c.ids()) == ["one", "two", "three"], "\(setting)")
        try c.insert("of the clone")
        for machine in [c, a] { try await machine.sync() }
        #expect(try a.ids().contains("of the clone"), "\(setting)")
    }

    private func tell(_ setting: (String, String, String), own: PeerID, by number: UInt64 = 1) throws {
        let target = setting.1 == "OWN" ? own.description : setting.1
        let key = RowIdentity(natural: [setting.0, target].map { .text(Array($0.utf8)[...]) })
        let group = ForgedGroup(
            .insert, "logsync_setting", identities: [Array(key.bytes)],
            columns: [ForgedGroup.Column("value", ForgedValues.texts([setting.2]))])
        let peer = PeerID(high: Liar.stranger.high, low: number)
        try folder.put(ForgedLogFile([ForgedTransaction(Dot(peer, 1), groups: [group])]), of: peer)
    }

    @Test("a clone does not go on with a file that is not its own", arguments: ["", "-wal", "-shm"])
    func planted(suffix: String) async throws {
        try await a.sync()
        let victim = world.root + "/victim"
        try "theirs".write(toFile: victim, atomically: true, encoding: .utf8)
        let c = try world.machine("c")
        try FileManager.default.createSymbolicLink(
            atPath: c.path + ".logsync-clone" + suffix, withDestinationPath: victim)
        do {
            _ = try await world.clone("c")
        } catch let error as LogSyncError {
            #expect(error.code == .cannotCreate)
        }
        #expect(try String(contentsOfFile: victim, encoding: .utf8) == "theirs")
    }
}
