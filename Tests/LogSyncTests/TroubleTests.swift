import Crypto
import Foundation
import LogSyncContainer
import LogSyncModel
import LogSync
import Testing

@Suite("Every trouble says what happened, what was kept and what helps")
struct TroubleTests {
    let world: World
    let a: Machine
    let b: Machine

    init() async throws {
        world = try World()
        a = try await world.founder("a", rows: ["one"])
        b = try await world.clone("b")
        try await settle(a, b)
    }

    // MARK: Tools

    private var files: FileManager { .default }
    private var marker: String { world.contentPath + "/logsync.json" }
    private var aside: String { world.root + "/aside/notes" }

    private func putAside(_ path: String) throws {
        try files.createDirectory(atPath: world.root + "/aside", withIntermediateDirectories: true)
        try files.moveItem(atPath: path, toPath: aside)
    }

    private func write(_ text: String, to path: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    }

    /// Syncs `a` with a change on its way and expects an error that explains itself and keeps the change.
    private func expectRefusal(
        _ code: LogSyncError.Code, keeps: String = "outbox", helps: String, as machine: Machine? = nil,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let machine = machine ?? a
        try machine.insert("two")
        let error = await #expect(throws: LogSyncError.self, sourceLocation: sourceLocation) {
            try await machine.sync()
        }
        #expect(error?.code == code, "\(String(describing: error))", sourceLocation: sourceLocation)
        #expect(error?.message.contains(keeps) == true, "\(String(describing: error))", sourceLocation: sourceLocation)
        #expect(error?.help?.contains(helps) == true, "\(String(describing: error))", sourceLocation: sourceLocation)
        #expect(try machine.ids() == ["one", "two"], sourceLocation: sourceLocation)
    }

    /// Everybody has everything, and what was written in the middle of the trouble too.
    private func expectRecovery(
        _ rows: [String] = ["one", "two"], sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await settle(a, b)
        for machine in [a, b] {
            #expect(try machine.ids() == rows, sourceLocation: sourceLocation)
            #expect(try await machine.sync().outcome == .complete, sourceLocation: sourceLocation)
        }
        #expect(try await a.status().digest == b.status().digest, sourceLocation: sourceLocation)
    }

    private func lastFile(of machine: Machine) async throws -> String {
        let peer = try await machine.peer()
        return "\(world.logsPath(peer))/\(try #require(try world.logs(peer).last))"
    }

    /// Does something to the newest file of `a` before `b` has read it, and expects `b` to hold it for a reason.
    private func expectHeld(_ reason: HeldItem.Reason, _ harm: (String) throws -> Void) async throws {
        try a.insert("two")
        try await a.sync()
        if reason == .gap {
            try a.insert("three")
            try await a.sync()
        }
        let peer = try await a.peer()
        let names = try world.logs(peer)
        let path = "\(world.logsPath(peer))/\(reason == .gap ? names[names.count - 2] : names[names.count - 1])"
        try harm(path)
        let result = try await b.sync()
        #expect(result.held.map(\.reason) == [reason], "\(result.held)")
        #expect(result.outcome == (reason == .damaged ? .integrity : .held))
        #expect(result.held.allSatisfy { $0.detail?.isEmpty == false })
        #expect(try b.ids() == ["one"])
        let doctor = try await Replicator.doctor(b.path, configuration: b.configuration)
        #expect(doctor.findings.contains { $0.help != nil })
    }

    // MARK: The troubles

    @Test(arguments: Trouble.allCases)
    func trouble(_ trouble: Trouble) async throws {
        switch trouble {
        case .away:
            try files.moveItem(atPath: world.container, toPath: world.root + "/aside")
            try await expectRefusal(.containerUnavailable, helps: "attach")
            #expect(!files.fileExists(atPath: world.container))
            try files.moveItem(atPath: world.root + "/aside", toPath: world.container)
            try await expectRecovery()
        case .empty:
            try putAside(world.contentPath)
            try await expectRefusal(.containerUnavailable, helps: "rebuild")
            #expect(try files.contentsOfDirectory(atPath: world.container).isEmpty)
            _ = try await a.with { try await $0.rebuild() }
            try await expectRecovery()
        case .noMarker:
            try files.removeItem(atPath: marker)
            try await expectRefusal(.containerUnavailable, helps: "rebuild")
            _ = try await b.with { try await $0.rebuild() }
            try await expectRecovery()
        case .badMarker:
            try write("{\"cont", to: marker)
            try await expectRefusal(.containerUnavailable, helps: "rebuild")
            _ = try await a.with { try await $0.rebuild() }
            try await expectRecovery()
        case .newerMarker:
            let bytes = try Data(contentsOf: URL(fileURLWithPath: marker))
            try write("{\"content\":\"notes\",\"format\":99}\n", to: marker)
            try await expectRefusal(.newerFormat, helps: "newer logsync")
            try bytes.write(to: URL(fileURLWithPath: marker))
            try await expectRecovery()
        case .otherContent:
            try await otherContent()
        default:
            try await fileSystemTrouble(trouble)
        }
    }

    private func otherContent() async throws {
        try putAside(world.contentPath)
        let other = try World()
        _ = try await other.founder("stranger", rows: ["theirs"])
        try files.copyItem(atPath: other.contentPath, toPath: world.contentPath)
        let error = await #expect(throws: LogSyncError.self) { try await a.with { try await $0.rebuild() } }
        #expect(error?.code == .configuration && error?.message.contains("nothing was changed") == true)
        try files.removeItem(atPath: world.contentPath)
        try files.moveItem(atPath: aside, toPath: world.contentPath)
        try a.insert("two")
        try await expectRecovery()
    }

    private func fileSystemTrouble(_ trouble: Trouble) async throws {
        var refused = a
        func refusing(_ number: CInt, looks: Bool = false) -> RefusingFileSystem {
            RefusingFileSystem(number, below: world.contentPath, refusesLooks: looks)
        }
        switch trouble {
        case .readOnly:
            refused.configuration.fileSystem = refusing(EROFS)
            try await expectRefusal(.noPermission, helps: "read-write", as: refused)
        case .denied:
            refused.configuration.fileSystem = refusing(EACCES, looks: true)
            try await expectRefusal(.noPermission, helps: "write access", as: refused)
        case .full:
            refused.configuration.fileSystem = refusing(ENOSPC)
            try await expectRefusal(.ioError, helps: "Free some space", as: refused)
        case .stale:
            refused.configuration.fileSystem = refusing(ESTALE, looks: true)
            try await expectRefusal(.containerUnavailable, helps: "Mount it", as: refused)
        case .failing:
            refused.configuration.fileSystem = refusing(EIO, looks: true)
            try await expectRefusal(.ioError, helps: "Check the disk", as: refused)
        default:
            return try await fileTrouble(trouble)
        }
        #expect(try await refused.with { try await $0.status() }.outbox == 1)
        try await expectRecovery()
    }

    private func fileTrouble(_ trouble: Trouble) async throws {
        switch trouble {
        case .rolledBack:
            let backup = world.root + "/backup/notes"
            try files.createDirectory(atPath: world.root + "/backup", withIntermediateDirectories: true)
            try files.copyItem(atPath: world.contentPath, toPath: backup)
            try a.insert("two")
            try b.execute("UPDATE note SET body = 'new' WHERE id = 'one'")
            try await settle(a, b)
            try files.removeItem(atPath: world.contentPath)
            try files.moveItem(atPath: backup, toPath: world.contentPath)
            try await expectRecovery()
            #expect(try a.notes() == ["one=new", "two="])
        case .peersGone:
            try files.removeItem(atPath: world.contentPath + "/peers")
            try a.insert("two")
            try await expectRecovery()
            #expect(try await world.clone("c").ids() == ["one", "two"])
        case .ownDamaged:
            let path = try await lastFile(of: a)
            try write("nonsense", to: path)
            try a.insert("two")
            try await expectRecovery()
            #expect(try await world.clone("c").ids() == ["one", "two"])
        case .otherDamaged:
            try await expectHeld(.damaged) { path in
                var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
                bytes[bytes.count - 90] ^= 1
                try bytes.write(to: URL(fileURLWithPath: path))
            }
            try await expectRecovery()
        case .incomplete:
            try await expectHeld(.incomplete) { path in
                let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
                try bytes.prefix(bytes.count / 2).write(to: URL(fileURLWithPath: path))
            }
            try await expectRecovery()
        case .gap:
            try await expectHeld(.gap) { try FileManager.default.removeItem(atPath: $0) }
            try await expectRecovery(["one", "three", "two"])
        case .blobMissing:
            try await blobTrouble(.missingBlob) { try FileManager.default.removeItem(atPath: $0) }
        case .blobDamaged:
            try await blobTrouble(.damaged) { try world.damage($0) }
        case .newerFile:
            try await newerFile()
        default:
            try await otherTrouble(trouble)
        }
    }

    private func blobTrouble(_ reason: HeldItem.Reason, _ harm: (String) throws -> Void) async throws {
        let value = String(repeating: "x", count: 300_000)
        try a.insert("two", value)
        try await a.sync()
        let peer = try await a.peer()
        let name = try #require(try world.blobs(peer).first)
        try harm("\(world.blobsPath(peer))/\(name)")
        let result = try await b.sync()
        #expect(result.held.map(\.reason) == [reason] && result.held.first?.file == name)
        #expect(try b.ids() == ["one"])
        try await expectRecovery()
        #expect(try b.notes() == ["one=", "two=" + value])
    }

    private func newerFile() async throws {
        var kept = Data()
        var path = ""
        try await expectHeld(.newerFormat) { file in
            path = file
            kept = try Data(contentsOf: URL(fileURLWithPath: file))
            var bytes = kept
            bytes[8] = 99
            // The check hash stands at the header's end in every version.
            let end = Int(bytes[12]) | Int(bytes[13]) << 8
            bytes.replaceSubrange(end - 8..<end, with: Array(SHA256.hash(data: bytes[..<(end - 8)])).prefix(8))
            try bytes.write(to: URL(fileURLWithPath: file))
        }
        try kept.write(to: URL(fileURLWithPath: path))
        try await expectRecovery()
    }

    private func otherTrouble(_ trouble: Trouble) async throws {
        switch trouble {
        case .clock:
            var future = a
            future.configuration.clock = FixedClock(SystemClock().now() + 3 * 24 * 3_600_000)
            try a.insert("two")
            try await future.sync()
            let result = try await b.sync()
            #expect(result.held.map(\.reason) == [.clock] && result.outcome == .held)
            #expect(try b.ids() == ["one"])
            let peer = try await a.peer()
            try await b.with { try await $0.acceptClock(of: peer) }
            try await expectRecovery()
        case .conflictCopy:
            let peer = try await a.peer()
            try write("older", to: "\(world.contentPath)/peers/\(peer)/receipt.sync-conflict-20250101-000000.json")
            try a.insert("two")
            try await expectRecovery()
            let report = try await Replicator.doctor(world.container, configuration: a.configuration)
            #expect(report.findings.contains { $0.code == "conflict-copy" && $0.help != nil })
        case .quietChange:
            let shell = Process()
            shell.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            shell.arguments = ["sqlite3", a.path, ".dbconfig enable_trigger off", "INSERT INTO note(id) VALUES('two')"]
            try shell.run()
            shell.waitUntilExit()
            try await settle(a, b)
            #expect(try b.ids() == ["one"])
            _ = try await a.with { try await $0.rescan() }
            try await expectRecovery()
        case .dropped:
            try a.execute("ALTER TABLE note DROP COLUMN stars")
            try a.insert("two")
            try await settle(a, b)
            let dry = try await a.compact(dryRun: true)
            #expect(dry.lacks.map(\.name) == ["note.stars"] && dry.blockedBy.isEmpty)
            let report = try await Replicator.doctor(a.path, configuration: a.configuration)
            let finding = try #require(report.findings.first { $0.code == "column-dropped" })
            #expect(finding.what.contains("note.stars") && finding.help?.contains("program of b") == true)
            try b.execute("ALTER TABLE note DROP COLUMN stars")
            try await b.sync()
            let after = try await Replicator.doctor(a.path, configuration: a.configuration)
            #expect(!after.findings.contains { $0.code == "column-dropped" })
            try await expectRecovery()
        case .locked:
            var hasty = a
            hasty.configuration.wait = .milliseconds(50)
            let impatient = hasty
            try a.insert("two")
            try await a.holding { try await impatient.expectLocked() }
            try await expectRecovery()
        case .noStateDirectory:
            try write("", to: world.root + "/file")
            var homeless = a
            homeless.configuration.stateDirectory = world.root + "/file/state"
            try a.insert("two")
            let stateless = homeless
            // Where the one that the store names is there, no other is needed.
            let (named, away) = (a.configuration.stateDirectory, world.root + "/away")
            try FileManager.default.moveItem(atPath: named, toPath: away)
            let error = await #expect(throws: LogSyncError.self) { try await stateless.sync() }
            #expect(error?.code == .cannotCreate && error?.help?.contains("XDG_STATE_HOME") == true)
            #expect(error?.message.contains("/file is no directory") == true, "\(String(describing: error))")
            try FileManager.default.moveItem(atPath: away, toPath: named)
            try await expectRecovery()
        default: try await identityTrouble(trouble)
        }
    }

    private func identityTrouble(_ trouble: Trouble) async throws {
        let peer = try await a.peer()
        try a.checkpoint()
        let copy = world.root + "/copy.db"
        try files.copyItem(atPath: a.path, toPath: copy)
        switch trouble {
        case .moved:
            try files.removeItem(atPath: copy)
            try files.moveItem(atPath: a.path, toPath: copy)
            try a.insert("two", at: copy)
            try await a.sync(copy)
            #expect(try await a.status(copy).identity?.kind == .moved)
            #expect(try await a.peer(copy) == peer)
            try files.moveItem(atPath: copy, toPath: a.path)
        case .copied:
            try a.insert("two", at: copy)
            try await a.sync(copy)
            #expect(try await a.status(copy).identity?.kind == .copied)
            #expect(try await a.peer(copy) != peer)
            #expect(try await a.peer() == peer)
        case .restored:
            try a.insert("two")
            try await a.sync()
            try a.checkpoint()
            try files.removeItem(atPath: a.path)
            try files.moveItem(atPath: copy, toPath: a.path)
            try await a.sync()
            #expect(try await a.status().identity?.kind == .restored)
            #expect(try await a.status().succeeds.map(\.id) == [peer])
        case .shared:
            let twin = try Twin(of: a)
            try a.insert("two")
            try await a.sync()
            try await twin.live {
                try $0.insert("three")
                try await $0.sync()
            }
            try twin.foldersMeet()
            try await expectRecovery(["one", "three", "two"])
            #expect(try await a.status().identity?.kind == .shared)
            #expect(try await a.status().succeeds.map(\.id) == [peer])
            return
        case .unknown:
            try files.removeItem(atPath: a.configuration.stateDirectory)
            try putAside(world.contentPath)
            var stranger = a
            stranger.configuration.machineID = nil
            try await expectRefusal(.containerUnavailable, keeps: "stay in the store", helps: "Mount", as: stranger)
            try files.moveItem(atPath: aside, toPath: world.contentPath)
        default:
            Issue.record("\(trouble) is not provoked")
        }
        try await expectRecovery()
    }

    @Test("The document lists exactly the troubles that are provoked here")
    func document() throws {
        var folder = URL(fileURLWithPath: #filePath)
        for _ in 0..<3 { folder.deleteLastPathComponent() }
        let text = try String(
            contentsOf: folder.appendingPathComponent("Documentation/troubles.md"), encoding: .utf8)
        let listed = text.split(separator: "\n").compactMap { line in
            line.firstMatch(of: #/^\| `([a-z-]+)` \|/#).map { String($0.output.1) }
        }
        #expect(Set(listed) == Set(Trouble.allCases.map(\.rawValue)))
        #expect(listed.count == Trouble.allCases.count)
    }
}
