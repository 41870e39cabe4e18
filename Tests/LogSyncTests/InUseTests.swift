import Foundation
import LogSyncContainer
import LogSyncModel
import LogSyncStore
import Synchronization
import Testing

@testable import LogSync

/// A file system on which somebody else does something whenever a log file is about to be opened.
private final class BusyFileSystem: ForwardingFileSystem {
    let base = PosixFileSystem()
    private let end: String
    private let deed: @Sendable (Int) throws -> Void
    private let count = Mutex(0)
    private let isBusy = Mutex(false)

    /// - Parameters:
    ///   - end: how the paths end of the files that are meant.
    ///   - deed: is told how often it was called before. What it opens itself is not counted.
    init(opening end: String = ".tlog", _ deed: @escaping @Sendable (Int) throws -> Void) {
        self.end = end
        self.deed = deed
    }

    var opened: Int { count.withLock { $0 } }

    func open(_ path: String) throws(FileSystemError) -> any ReadableFile {
        if path.hasSuffix(end),
            isBusy.withLock({ busy in
                defer { busy = true }; return !busy
            })
        {
            let before = count.withLock { count in
                defer { count += 1 }; return count
            }
            #expect(throws: Never.self) { try deed(before) }
            isBusy.withLock { $0 = false }
        }
        return try base.open(path)
    }
}

@Suite("A store and a folder that are in use are examined as if they were not")
struct InUseTests {
    let world: World
    let a: Machine
    let b: Machine

    init() async throws {
        world = try World()
        a = try await world.founder("a", rows: ["one"])
        b = try await world.clone("b")
        for row in ["two", "three", "four"] {
            try a.insert(row)
            try b.insert("b-" + row)
            try await settle(a, b)
        }
    }

    private func machine(on fileSystem: BusyFileSystem) -> Machine {
        var machine = a
        machine.configuration.fileSystem = fileSystem
        return machine
    }

    private func examine(_ path: String, as machine: Machine) async throws -> [Finding] {
        try await Replicator.doctor(path, configuration: machine.configuration).findings
    }

    private func verify(_ path: String, as machine: Machine) async throws -> VerifyReport {
        try await Replicator.verify(path, configuration: machine.configuration)
    }

    private func folder(_ peer: PeerID) -> String { "\(world.contentPath)/peers/\(peer)" }

    /// The log files and the receipt of a peer as they are now, by their paths in its folder.
    private func files(_ peer: PeerID) throws -> [String: Data] {
        let names = try world.logs(peer).map { "logs/\($0)" } + ["receipt.json"]
        return try names.reduce(into: [:]) {
            $0[$1] = try Data(contentsOf: URL(fileURLWithPath: "\(folder(peer))/\($1)"))
        }
    }

    @Test("An app that commits, and whose changes are recorded, before each file that is read, is no trouble")
    func commits() async throws {
        let writing = a
        let fileSystem = BusyFileSystem { count in
            try writing.insert("meanwhile-\(count)")
            let store = try Store.open(writing.path, configuration: StoreConfiguration())
            _ = try store.record()
            try store.close()
        }
        let report = try await verify(a.path, as: machine(on: fileSystem))
        #expect(fileSystem.opened > 6)
        #expect(report.store == true && report.outcome == .complete, "\(report.findings)")
        #expect(report.findings.isEmpty, "\(report.findings)")
    }

    @Test("An app that commits before each file that is read, unrecorded, is no trouble")
    func captures() async throws {
        let writing = a
        let fileSystem = BusyFileSystem { count in try writing.insert("meanwhile-\(count)") }
        let report = try await verify(a.path, as: machine(on: fileSystem))
        #expect(report.store == true && report.findings.isEmpty, "\(report.findings)")
        // What was left out is said.
        try a.insert("not recorded")
        #expect(try await verify(a.path, as: a).notCompared == ["note"])
        try await a.sync()
        #expect(try await verify(a.path, as: a).notCompared == [])
    }

    @Test("A row that was changed behind the triggers' back is found beside an app that commits")
    func quietChange() async throws {
        try a.execute("CREATE TABLE other(id TEXT PRIMARY KEY NOT NULL, v)")
        try a.execute("INSERT INTO other VALUES('x', 1)")
        try await settle(a, b)
        let shell = Process()
        shell.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        shell.arguments = ["sqlite3", a.path, ".dbconfig enable_trigger off", "UPDATE other SET v = 2"]
        try shell.run()
        shell.waitUntilExit()
        let writing = a
        let fileSystem = BusyFileSystem { count in try writing.insert("meanwhile-\(count)") }
        let report = try await verify(a.path, as: machine(on: fileSystem))
        #expect(report.store == false && report.outcome == .held, "\(report.findings)")
        #expect(report.findings.contains { $0.code == "rows-differ" && $0.place.hasSuffix(": other") })
    }

    /// The files of b before and after they were merged; the folder has those from before.
    private func merged() async throws -> (before: [String: Data], after: [String: Data]) {
        let peer = try await b.peer()
        var before: [String: Data] = [:]
        var index = 0
        repeat {
            before = try files(peer)
            try b.insert("more-\(index)")
            try await b.sync()
            index += 1
            try #require(index < 60, "files are merged now and then")
        } while try files(peer).count > before.count
        return (before, try files(peer))
    }

    private func replace(_ former: [String: Data], by files: [String: Data], of peer: PeerID) throws {
        let folder = folder(peer)
        for (name, bytes) in files { try bytes.write(to: URL(fileURLWithPath: "\(folder)/\(name)")) }
        for name in former.keys where files[name] == nil {
            try FileManager.default.removeItem(atPath: "\(folder)/\(name)")
        }
    }

    @Test(
        "Files that are merged into another while they are read are no trouble, whichever look it is",
        arguments: [0, 3, 8, 15, 20, 30])
    func merges(at moment: Int) async throws {
        let (before, after) = try await merged()
        let peer = try await b.peer()
        for path in [a.path, world.container] {
            try replace(after, by: before, of: peer)
            let tests = self
            let examined = machine(
                on: BusyFileSystem { if $0 == moment { try tests.replace(before, by: after, of: peer) } })
            let report = try await verify(path, as: examined)
            #expect(report.findings.isEmpty && report.outcome == .complete, "\(path): \(report.findings)")
            #expect(report.store == (path == a.path ? true : nil))
            try replace(after, by: before, of: peer)
            let doctored = machine(
                on: BusyFileSystem { if $0 == moment { try tests.replace(before, by: after, of: peer) } })
            let findings = try await examine(path, as: doctored)
            #expect(findings.isEmpty, "\(path): \(findings)")
        }
    }

    @Test(
        "A file that is merged into another right before it is opened, for the first time or again, is read there",
        arguments: 0..<7)
    func mergedFile(at opening: Int) async throws {
        let (before, after) = try await merged()
        let peer = try await b.peer()
        let file = try #require(before.keys.filter { after[$0] == nil }.min())
        for path in [a.path, world.container] {
            try replace(after, by: before, of: peer)
            let tests = self
            let examined = machine(
                on: BusyFileSystem(opening: file) {
                    if $0 == opening { try tests.replace(before, by: after, of: peer) }
                }
            )
            let report = try await verify(path, as: examined)
            #expect(report.findings.isEmpty && report.outcome == .complete, "\(path): \(report.findings)")
        }
    }

    @Test("A file that has really gone is found, however much else comes and goes")
    func gone() async throws {
        let peer = try await b.peer()
        let name = try #require(try world.logs(peer).dropFirst().first)
        try FileManager.default.removeItem(atPath: "\(world.logsPath(peer))/\(name)")
        let note = "\(world.contentPath)/peers/\(peer)/.staged"
        let busy = machine(on: BusyFileSystem { try Data().write(to: URL(fileURLWithPath: "\(note)-\($0).tmp")) })
        for path in [a.path, world.container] {
            #expect(try await verify(path, as: busy).findings.contains { $0.code == "gap" && $0.severity == .trouble })
            #expect(try await examine(path, as: busy).contains { $0.code == "gap" && $0.severity == .trouble })
        }
    }

    @Test("What a daemon publishes a moment later does not wait")
    func outbox() async throws {
        let writing = a
        try a.insert("recorded")
        let store = try Store.open(a.path, configuration: StoreConfiguration())
        _ = try store.record()
        let dots = try store.outbox(unpublishedOnly: true).map(\.dot)
        try store.close()
        #expect(dots.count == 1)
        let waits = try await examine(a.path, as: a)
        #expect(waits.map(\.code) == ["outbox"], "\(waits)")
        async let examined = examine(a.path, as: a)
        try await writing.sync()
        #expect(try await examined.isEmpty)
    }

    @Test("What each look finds elsewhere is a note")
    func elsewhere() {
        func trouble(_ place: Int) -> Finding {
            Finding("gap", .trouble, "a gap", at: "\(place)", why: "w", help: "h")
        }
        let lasting = Finding("damaged-file", .damage, "a file", at: "x", why: "w", help: "h")
        var looks = RepeatedExamination([trouble(0), lasting])
        var count = 1
        while looks.isDoubtful {
            looks.add([trouble(count), lasting])
            count += 1
        }
        #expect(count == RepeatedExamination.limit)
        #expect(looks.findings(at: "y").map(\.code) == ["damaged-file", "in-use"])
        #expect(looks.findings(at: "y").last?.severity == .note)
        var quiet = RepeatedExamination([trouble(0)])
        quiet.add(nil)
        #expect(!quiet.isDoubtful && quiet.findings(at: "y") == [trouble(0)])
    }
}
