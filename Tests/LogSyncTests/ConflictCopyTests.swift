import Foundation
@testable import LogSync
import LogSyncContainer
import LogSyncModel
import Testing

/// What a sync engine puts into a name before its extension.
private let infix = ".sync-conflict-20250101-120000-ABCDEFG"

@Suite("A conflict copy is put back where nothing else has its bytes, and deleted only where the original is sound")
struct ConflictCopyTests {
    let world: World
    let a: Machine
    let b: Machine
    let peer: PeerID

    init() async throws {
        world = try World(blobThreshold: 1000)
        a = try await world.founder("a", rows: ["one"])
        b = try await world.clone("b")
        peer = try await a.peer()
        try a.insert("two", String(repeating: "x", count: 5000))
        try await settle(a, b)
        _ = try await a.snapshot()
    }

    enum Kind: String, CaseIterable { case logs, blobs, snapshots, schemas }

    private func file(_ kind: Kind) throws -> String {
        let folder = "\(world.contentPath)/peers/\(peer)/\(kind)"
        let name = try FileManager.default.contentsOfDirectory(atPath: folder).sorted().last
        return "\(folder)/\(try #require(name))"
    }

    private func copyName(_ path: String) -> String {
        let end = (path as NSString).pathExtension
        return (path as NSString).deletingPathExtension + infix + (end.isEmpty ? "" : ".\(end)")
    }

    private func repair(dryRun: Bool = false) async throws -> DoctorReport {
        try await Replicator.repair(world.container, dryRun: dryRun, configuration: b.configuration)
    }

    private func bytes(_ path: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path)) }

    private func copies(_ report: DoctorReport) -> [Finding] { report.findings.filter { $0.code == "conflict-copy" } }

    @Test(
        "The only sound version of a file takes the place of its original",
        arguments: Kind.allCases, [nil, Harm.zeros, .cutShort])
    func onlyVersion(kind: Kind, harm: Harm?) async throws {
        let original = try file(kind)
        let whole = try bytes(original)
        let copy = copyName(original)
        try FileManager.default.moveItem(atPath: original, toPath: copy)
        if let harm {
            try whole.write(to: URL(fileURLWithPath: original))
            try harm.apply(to: original)
        }
        let found = try await Replicator.doctor(world.container, configuration: b.configuration)
        let said = try #require(copies(found).first)
        #expect(said.place == copy && said.help?.contains("--repair puts it in the place") == true, "\(said)")
        let planned = try await repair(dryRun: true)
        #expect(planned.repairs?.map(\.action) == [.restore] && planned.repairs?.first?.place == copy)
        #expect(try bytes(copy) == whole, "a dry run leaves it")
        let done = try await repair()
        #expect(done.repairs?.map(\.done) == [true] && copies(done).isEmpty, "\(done)")
        #expect(try bytes(original) == whole)
        #expect(!FileManager.default.fileExists(atPath: copy))
        #expect(done.outcome == .complete, "\(done.findings)")
    }

    @Test("Of two copies of a lost file one is put back and the other deleted, also where one of them is damaged")
    func twoCopies() async throws {
        let original = try file(.logs)
        let whole = try bytes(original)
        let copy = copyName(original)
        let other = copy.replacingOccurrences(of: "ABCDEFG", with: "AAAAAAA")
        let damaged = original + " (conflicted copy)"
        for path in [copy, other, damaged] { try FileManager.default.copyItem(atPath: original, toPath: path) }
        try Harm.flipped.apply(to: damaged)
        try FileManager.default.removeItem(atPath: original)
        let done = try await repair()
        #expect(done.repairs?.map(\.action) == [.restore, .restore], "\(done)")
        #expect(done.repairs?.allSatisfy(\.done) == true, "\(done)")
        #expect(try bytes(original) == whole)
        #expect(!FileManager.default.fileExists(atPath: copy) && !FileManager.default.fileExists(atPath: other))
        #expect(FileManager.default.fileExists(atPath: damaged), "it was not known to be needed by nobody")
        #expect(try await repair().repairs?.map(\.action) == [.remove])
        #expect(!FileManager.default.fileExists(atPath: damaged))
    }

    @Test("Where neither version is sound, both are kept", arguments: Kind.allCases)
    func neither(kind: Kind) async throws {
        let original = try file(kind)
        let copy = copyName(original)
        try FileManager.default.copyItem(atPath: original, toPath: copy)
        for path in [original, copy] { try Harm.flipped.apply(to: path) }
        let said = try #require(copies(try await repair()).first)
        #expect(said.place == copy && said.help?.contains("when the original is sound") == true, "\(said)")
        for path in [original, copy] { #expect(FileManager.default.fileExists(atPath: path)) }
    }

    @Test(
        "The copy of a receipt or description is kept where the original cannot be read",
        arguments: ["receipt", "peer"])
    func documents(name: String) async throws {
        let original = "\(world.contentPath)/peers/\(peer)/\(name).json"
        let copy = copyName(original)
        try FileManager.default.moveItem(atPath: original, toPath: copy)
        try await #expect(repair().repairs?.isEmpty == true)
        #expect(FileManager.default.fileExists(atPath: copy))
        try FileManager.default.copyItem(atPath: copy, toPath: original)
        try await #expect(repair().repairs?.map(\.action) == [.remove])
        #expect(!FileManager.default.fileExists(atPath: copy) && FileManager.default.fileExists(atPath: original))
    }

    @Test("A store puts back what its peer has lost, and imports it")
    func imported() async throws {
        try a.insert("three")
        try await a.sync()
        let original = try file(.logs)
        try FileManager.default.moveItem(atPath: original, toPath: copyName(original))
        let done = try await Replicator.repair(b.path, configuration: b.configuration)
        #expect(done.repairs?.map(\.action) == [.restore], "\(done)")
        try await b.sync()
        #expect(try b.ids() == ["one", "three", "two"])
    }

    @Test("Another's files that are called conflict copies are strange files, and are never deleted")
    func strangers() async throws {
        let places = ["", "/peers", "/peers/\(peer)", "/peers/\(peer)/logs"]
        let names = ["thesis\(infix).docx", "photo (conflicted copy).jpg"]
        let files = places.flatMap { place in names.map { "\(world.contentPath)\(place)/\($0)" } }
        for file in files { try Data([1]).write(to: URL(fileURLWithPath: file)) }
        // What is no file has no bytes to compare.
        let log = try file(.logs)
        let link = copyName(log)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: log)
        let done = try await repair()
        #expect(done.repairs?.isEmpty == true && done.outcome == .complete, "\(done)")
        #expect(Set(done.findings.filter { $0.code == "strange-file" }.map(\.place)) == Set(files + [link]))
        #expect(try files.allSatisfy { try bytes($0) == Data([1]) })
    }

    @Test("A second version of a whole folder is told to be looked through, and is kept", arguments: [true, false])
    func folders(ofPeer: Bool) async throws {
        let folder = "\(world.contentPath)/peers/\(peer)" + (ofPeer ? "" : "/logs")
        let copy = folder + infix
        try FileManager.default.copyItem(atPath: folder, toPath: copy)
        let done = try await repair()
        let said = try #require(copies(done).first)
        #expect(said.place == copy && said.help?.hasPrefix("copy into \(folder) the files that it lacks") == true)
        #expect(done.repairs?.isEmpty == true && FileManager.default.fileExists(atPath: copy))
    }
}

/// A disk that does not tell what conflict copies are.
private struct FailingFileSystem: ForwardingFileSystem {
    let base = PosixFileSystem()

    func status(_ path: String, followingLinks: Bool) throws(FileSystemError) -> FileStatus {
        if path.contains(infix) { throw FileSystemError("look at", path, number: EIO) }
        return try base.status(path, followingLinks: followingLinks)
    }
}

extension ConflictCopyTests {
    @Test("One that the disk does not show is kept, and nobody is told to delete it as a stranger's")
    func unseen() async throws {
        let original = try file(.logs)
        let copy = copyName(original)
        try FileManager.default.moveItem(atPath: original, toPath: copy)
        var configuration = b.configuration
        configuration.fileSystem = FailingFileSystem()
        let report = try await Replicator.repair(world.container, configuration: configuration)
        #expect(copies(report).map(\.place) == [copy])
        #expect(copies(report).allSatisfy { $0.severity == .trouble && $0.repair == nil })
        #expect(!report.findings.contains { $0.code == "strange-file" })
        #expect(FileManager.default.fileExists(atPath: copy))
    }
}
